/* Losses in double precision, in nats: cross-entropy with label smoothing, and guided alignment. */
#ifndef ATT_REFERENCE_LOSS_H
#define ATT_REFERENCE_LOSS_H

#include <stdint.h>

/* -Σ_j t_j log softmax(logits)_j for one row of `classes` logits. The target distribution t is
 * label_smoothing / classes everywhere, plus 1 - label_smoothing at class `target`. */
double att_reference_cross_entropy(const double *logits, int64_t classes, int64_t target,
                                   double label_smoothing);

/* A weight below this one costs no more, and its gradient is no larger: sparsemax yields zeros,
 * whose logarithm is infinite. */
#define ATT_GUIDED_ALIGNMENT_MIN_WEIGHT 1e-6

/* -log of the attention weight at the key that the alignment names. */
double att_reference_guided_alignment(const double *weights, int64_t key);

#endif
