/* Computing as by hand: `round each step to 2 decimals`. The sheet then computes everything twice,
 * exactly and with the result of each step rounded before it is used. A step is an operator, a
 * function or a part of a layer; numbers as written, selections and matrices put together are not
 * rounded. */
#ifndef ATT_SHEET_ROUNDING_H
#define ATT_SHEET_ROUNDING_H

#include "sheet/matrix.h"
#include "sheet/trace.h"

/* Rounds the numbers of a matrix that nobody else has; NULL: does nothing. */
void att_rounding_apply(const att_rounding *rounding, att_matrix *matrix);
double att_rounding_number(const att_rounding *rounding, double x);

/* A rounded copy. NULL when memory is out. */
const att_matrix *att_rounding_copy(att_arena *arena, const att_rounding *rounding,
                                    const att_matrix *from);

/* Whether the node is a step whose matrix is rounded: an operator or a function. */
bool att_rounding_is_step(const att_expr *node);

/* "each step rounded to 1 decimal", in `out`; returns `out`. */
enum { ATT_ROUNDING_WORDS = 64 };
const char *att_rounding_describe(const att_rounding *rounding, char out[ATT_ROUNDING_WORDS]);

#endif
