/* Logits of the output layer to log-probabilities, for every architecture. */
#ifndef ATT_MODEL_LOG_SOFTMAX_H
#define ATT_MODEL_LOG_SOFTMAX_H

#include "tape/ops.h"

/* The index of the largest of `count` numbers, the first of equals. */
int32_t att_argmax(const float *scores, int64_t count);

/* Replaces logits [...,V] by their log-probabilities, which it returns; NULL on failure. Fails the
 * tape where those of a row are not finite (layer_check.h). */
const float *att_log_softmax(att_tape *tape, att_node *scores);

/* Fails the tape and returns false where a log-sum-exp of the logits, one per row, is not finite.
 */
bool att_log_softmax_check(att_tape *tape, att_node *scores, const float *log_sum_exp);

#endif
