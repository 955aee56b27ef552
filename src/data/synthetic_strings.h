/* Tasks made up: strings of random letters, and what becomes of them. */
#ifndef ATT_DATA_SYNTHETIC_STRINGS_H
#define ATT_DATA_SYNTHETIC_STRINGS_H

#include "attend.h"
#include "settings/settings.h"

/* Appends lines of source<TAB>target. All strings are different, so that none of the validation is
 * trained on; lengths are spread evenly as far as there are enough strings of each. The same
 * settings give the same lines on every machine. */
att_status att_task_generate(att_string *train, att_string *valid, const att_settings *settings,
                             att_error *err);

#endif
