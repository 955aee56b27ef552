/* Normalizers: how a query's scores become weights, and the backward. Each is a row of one table.
 * They get only the keys that may be attended, `count` ≥ 1 of them. */
#ifndef ATT_ATTENTION_NORMALIZE_H
#define ATT_ATTENTION_NORMALIZE_H

#include "attend.h"

/* Every table of normalizers has this dimension, so that a row beyond it does not compile. */
enum { ATT_NORMALIZER_COUNT = ATT_NORMALIZE_NONE + 1 };

typedef struct att_normalizer_impl {
    const char *name;

    /* Weights from scores; `scratch` has room for `count` doubles. */
    void (*forward)(double *weights, const double *scores, int64_t count, double *scratch);

    /* Gradients of the scores from those of the weights, given the forward's scores and weights. */
    void (*backward)(double *score_grads, const double *weight_grads, const double *scores,
                     const double *weights, int64_t count);
} att_normalizer_impl;

/* The table row of a normalizer, or NULL for an invalid value. */
const att_normalizer_impl *att_normalizer_get(att_normalizer normalizer);

/* log Σ exp(scores): -inf for no scores, NaN if any is NaN. */
double att_log_sum_exp(const double *scores, int64_t count);

/* -Σ w ln w with 0 ln 0 = 0; NaN if a weight is negative. */
double att_entropy(const double *weights, int64_t count);

#endif
