/* Normalisers: how a query's scores become weights, and back. Each is a row of one table. They see
 * only the keys that may be attended, `count` ≥ 1 of them. */
#ifndef ATT_ATTENTION_NORMALIZE_H
#define ATT_ATTENTION_NORMALIZE_H

#include "attend.h"

typedef struct att_normalizer_impl {
    const char *name;

    /* weights from scores; `scratch` has room for `count` numbers. */
    void (*forward)(double *weights, const double *scores, int64_t count, double *scratch);

    /* Gradient of the scores, given that of the weights; both results of the forward are there. */
    void (*backward)(double *score_grads, const double *weight_grads, const double *scores,
                     const double *weights, int64_t count);
} att_normalizer_impl;

/* The row of a normaliser, or NULL where there is none. */
const att_normalizer_impl *att_normalizer_get(att_normalizer normalizer);

/* log Σ exp(scores): -inf for no scores, NaN if any is NaN. */
double att_log_sum_exp(const double *scores, int64_t count);

/* -Σ w ln w with 0 ln 0 = 0; NaN where a weight is negative. */
double att_entropy(const double *weights, int64_t count);

#endif
