/* What is added to a score after scale and soft cap: a dense bias, ALiBi, a relative table. */
#ifndef ATT_ATTENTION_BIAS_H
#define ATT_ATTENTION_BIAS_H

#include "attention/mask.h"

/* One pair of query and key. */
typedef struct att_qk_pair {
    int64_t b, h, i, j;
    int64_t distance; /* position of the key minus that of the query */
} att_qk_pair;

/* The sum of all biases of a pair; `bias`, `alibi` and `relative` of `in` may each be NULL. */
double att_bias_get(const att_attention_inputs *in, const att_qk_pair *pair);

/* Adds the gradient of a pair's score to those of its biases; one without data is left out. */
void att_bias_backward(const att_tensor *bias, const att_tensor *alibi, const att_tensor *relative,
                       const att_qk_pair *pair, double grad);

#endif
