/* Synthetic sequence-to-sequence tasks: random strings, reversed, copied or sorted. */
#ifndef ATT_DATA_SYNTHETIC_STRINGS_H
#define ATT_DATA_SYNTHETIC_STRINGS_H

#include "attend.h"
#include "settings/settings.h"

/* Appends source<TAB>target lines. All strings are different, so that no validation string occurs
 * in training. Lengths are uniform as far as there are enough strings of each length. The same
 * settings give the same lines on every machine. */
att_status att_task_generate(att_string *train, att_string *valid, const att_settings *settings,
                             att_error *err);

#endif
