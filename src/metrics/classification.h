/* How well sentences were sorted: which label was taken for which, and how far the probabilities of
 * labels can be trusted. */
#ifndef ATT_METRICS_CLASSIFICATION_H
#define ATT_METRICS_CLASSIFICATION_H

#include "attend.h"

/* ---- counts [labels, labels]: sentences of one label (row) that were given another (column) */

/* Of those on the diagonal. NaN where nothing was counted, as all rates here. */
double att_confusion_accuracy(const int64_t *counts, int64_t labels);

/* One label against all others; a rate of nothing is 0. */
att_label_metrics att_confusion_label_metrics(const int64_t *counts, int64_t labels, int64_t which);

/* The mean of the F1 of all labels that were there or were given. */
double att_confusion_macro_f1(const int64_t *counts, int64_t labels);

/* ---- probabilities */

/* Sentences with the log-probabilities that a model gave to each label. */
typedef struct att_label_predictions {
    int64_t count, labels;
    const float *log_probs; /* [count, labels] */
    const int32_t *truth;   /* [count] from 0 */
} att_label_predictions;

/* The label of a sentence that is the most probable, the first of equals. */
int64_t att_label_predictions_argmax(const att_label_predictions *judged, int64_t index);

/* Adds to counts [labels, labels]. */
void att_label_predictions_confusion(int64_t *counts, const att_label_predictions *judged);

/* With log-probabilities divided by `temperature` (and normalised again): the mean of -log
 * probability of the true label in nats; and the expected calibration error, the mean distance of
 * how often the most probable label is right from its probability, in 15 bins of equal width (Guo
 * et al. 2017, "On calibration of modern neural networks"). */
double att_label_predictions_loss(const att_label_predictions *judged, double temperature);
double att_label_predictions_calibration_error(const att_label_predictions *judged,
                                               double temperature);

/* The temperature with the least loss, between 1/20 and 20, in four digits; 1 where there is
 * nothing to fit it by. It changes no label. */
double att_label_predictions_fit_temperature(const att_label_predictions *judged);

#endif
