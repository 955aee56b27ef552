/* Tasks made up: strings of random letters, and what becomes of them. */
#ifndef ATT_TEXT_TASKS_H
#define ATT_TEXT_TASKS_H

#include "attend.h"
#include "settings/settings.h"

/* Appends lines of source<TAB>target. All strings are different, so that none of the validation is
 * trained on; lengths are spread evenly as far as there are enough strings of each. The same
 * settings give the same lines on every machine. */
att_status att_task_make(att_text *train, att_text *valid, const att_settings *settings,
                         att_error *err);

#endif
