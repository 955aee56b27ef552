/* Losses in double precision, in nats: cross-entropy with label smoothing, guided alignment, and
 * the cross-entropy of a pointer-generator. */
#ifndef ATT_REFERENCE_LOSS_H
#define ATT_REFERENCE_LOSS_H

#include <stdint.h>

/* -Σ_j t_j log softmax(logits)_j for one row of `classes` logits. The target distribution t is
 * label_smoothing / classes everywhere, plus 1 - label_smoothing at class `target`. */
double att_reference_cross_entropy(const double *logits, int64_t classes, int64_t target,
                                   double label_smoothing);

/* The consistency loss of two predictions of one token, with other dropout (R-Drop, Wu et al.
 * 2021): KL(p | q) + KL(q | p) = Σ (p_j - q_j) (log p_j - log q_j), with p and q the softmax of the
 * logits. */
double att_reference_consistency(const double *x, const double *y, int64_t classes);

/* A weight below this one costs no more, and its gradient is no larger: sparsemax yields zeros,
 * whose logarithm is infinite. */
#define ATT_GUIDED_ALIGNMENT_MIN_WEIGHT 1e-6

/* -log of the attention weight at the key that the alignment names. */
double att_reference_guided_alignment(const double *weights, int64_t key);

/* One row of a pointer-generator (See et al. 2017), which generates a token or copies a token of
 * the source: P(y) = g P_vocab(y) + (1 - g) Σ weights_j over the source tokens j with the id of y.
 */
typedef struct att_reference_copy_row {
    const double *logits; /* [classes] of P_vocab */
    int64_t classes;
    double gate;            /* g = sigmoid(gate) */
    const double *weights;  /* [keys] attention weights of the source tokens */
    const int32_t *key_ids; /* [keys] their ids; from `classes` on: tokens that P_vocab lacks */
    int64_t keys;
} att_reference_copy_row;

/* The weight of a source token that can be copied counts as at least this: softmax may round to 0,
 * and sparsemax yields zeros, and the logarithm of 0 is infinite. */
#define ATT_COPY_MIN_WEIGHT 1e-9

/* -log P(target). Label smoothing is that of P_vocab alone, for which each of its classes is as
 * good a target as any other: (1 - s) (-log P(target)) + s mean_j (-log P_vocab(j)). */
double att_reference_copy_cross_entropy(const att_reference_copy_row *row, int64_t target,
                                        double label_smoothing);

#endif
