/* The second column of a sheet whose steps are rounded: the same statements, computed as by hand.
 */
#ifndef ATT_SHEET_HAND_H
#define ATT_SHEET_HAND_H

#include "sheet/interpreter.h"

/* The environment in which steps are rounded: names have the values of the second column. */
att_scope att_hand_scope(const att_interpreter *interpreter);

/* Computes the step's formula by hand too, if the sheet rounds, and adds the rounded results to the
 * step. *out is the value of the second column, to be kept under the step's name. */
att_status att_hand_add(att_interpreter *interpreter, const att_value *value, att_trace_step *step,
                        att_value *out);

/* The calculations of the second column; where a value is not exactly its sum, it was rounded. */
att_status att_hand_calculations(const att_scope *scope, const att_calculation *from, size_t count,
                                 const att_calculation **out);

/* Keeps a value of the second column. */
att_status att_hand_set(att_interpreter *interpreter, const char *name, const att_value *value);

#endif
