/* How well sentences were sorted: which label was taken for which, and how far the probabilities of
 * labels can be trusted. */
#ifndef ATT_METRICS_LABELS_H
#define ATT_METRICS_LABELS_H

#include "attend.h"

/* ---- counts [labels, labels]: sentences of one label (row) that were given another (column) */

/* Of those on the diagonal. NaN where nothing was counted, as all rates here. */
double att_confusion_accuracy(const int64_t *counts, int64_t labels);

/* One label against all others; a rate of nothing is 0. */
att_label_rates att_confusion_label(const int64_t *counts, int64_t labels, int64_t which);

/* The mean of the F1 of all labels that were there or were given. */
double att_confusion_macro_f1(const int64_t *counts, int64_t labels);

/* ---- probabilities */

/* Sentences with the log-probabilities that a model gave to each label. */
typedef struct att_judged {
    int64_t count, labels;
    const float *log_probs; /* [count, labels] */
    const int32_t *truth;   /* [count] from 0 */
} att_judged;

/* The label of a sentence that is the most probable, the first of equals. */
int64_t att_judged_label(const att_judged *judged, int64_t index);

/* Adds to counts [labels, labels]. */
void att_judged_count(int64_t *counts, const att_judged *judged);

/* With log-probabilities divided by `temperature` (and normalised again): the mean of -log
 * probability of the true label in nats; and the expected calibration error, the mean distance of
 * how often the most probable label is right from its probability, in 15 bins of equal width (Guo
 * et al. 2017, "On calibration of modern neural networks"). */
double att_judged_loss(const att_judged *judged, double temperature);
double att_judged_calibration_error(const att_judged *judged, double temperature);

/* The temperature with the least loss, between 1/20 and 20, in four digits; 1 where there is
 * nothing to fit it by. It changes no label. */
double att_judged_fit(const att_judged *judged);

#endif
