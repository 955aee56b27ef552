/* The terms added to a score after scale and soft cap: dense bias, ALiBi, relative table. */
#ifndef ATT_ATTENTION_BIAS_H
#define ATT_ATTENTION_BIAS_H

#include "attention/mask.h"
#include "base/minmax.h"

/* One pair of query (b, h, i) and key j. */
typedef struct att_qk_pair {
    int64_t b, h, i, j;
    int64_t distance; /* position of the key minus that of the query */
} att_qk_pair;

/* The index in a table [2R+1] of the entry for a distance; larger distances use the last entry. */
static inline int64_t att_relative_index(int64_t R, int64_t distance)
{
    return att_clamp_i64(distance, -R, R) + R;
}

/* The sum of all biases of a pair; `bias`, `alibi` and `relative` of `in` may each be NULL. */
double att_bias_get(const att_attention_inputs *in, const att_qk_pair *pair);

/* Adds the gradient of a pair's score to the gradients of its biases; tensors without data are
 * skipped. */
void att_bias_backward(const att_tensor *bias, const att_tensor *alibi, const att_tensor *relative,
                       const att_qk_pair *pair, double grad);

#endif
