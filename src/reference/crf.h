/* Linear-chain conditional random fields in double precision (Lafferty, McCallum and Pereira 2001).
 * The score of labels y_1 … y_T is start[y_1] + Σ_t emissions[t, y_t] + Σ_t transitions[y_t-1, y_t]
 * + end[y_T]; their probability is exp(score) over the sum of that for all sequences of labels. */
#ifndef ATT_REFERENCE_CRF_H
#define ATT_REFERENCE_CRF_H

#include <stdint.h>

typedef struct att_reference_crf {
    int64_t length, labels;    /* T, at least 1, and L */
    const double *emissions;   /* [T,L] */
    const double *transitions; /* [L,L] from the row's label to the column's */
    const double *start, *end; /* [L] */
} att_reference_crf;

double att_reference_crf_score(const att_reference_crf *crf, const int32_t *path);

/* The logarithm of the sum of exp(score) over all sequences of labels, by the forward recursion. */
double att_reference_crf_log_partition(const att_reference_crf *crf);

/* -log of the probability of `path`. */
double att_reference_crf_loss(const att_reference_crf *crf, const int32_t *path);

#endif
