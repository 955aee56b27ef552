/* What the statements of a sheet share. */
#ifndef ATT_SHEET_STATEMENTS_H
#define ATT_SHEET_STATEMENTS_H

#include "sheet/interpreter.h"

/* Makes the step show a value: its matrix, or the items of a list; the parts of a layer, where it
 * is computed; and its derivation, if the scope has noted them. */
att_status att_step_set_value(const att_scope *scope, const att_value *value, att_trace_step *step);

/* Evaluates the formula of a step and shows its value; *hand is the value by hand (hand.h). */
att_status att_step_evaluate(att_interpreter *interpreter, att_trace_step *step, att_value *value,
                             att_value *hand);

#endif
