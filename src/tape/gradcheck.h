/* Checks operations against their truth: the forward against the same formula in double precision,
 * the backward against central differences of that. The public side is in attend.h. */
#ifndef ATT_TAPE_GRADCHECK_H
#define ATT_TAPE_GRADCHECK_H

#include "dev/attend_dev.h"
#include "tape/op.h"

/* Checks one operation on one of its samples. A failure to run at all is a status; a wrong result
 * is told in *out. */
att_status att_gradcheck_sample(att_gradcheck *out, const att_op *op, int sample, att_error *err);

#endif
