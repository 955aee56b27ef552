/* Metrics of classification: accuracy, precision, recall and F1 from a confusion matrix; loss,
 * calibration error and temperature scaling from predicted probabilities. */
#ifndef ATT_METRICS_CLASSIFICATION_H
#define ATT_METRICS_CLASSIFICATION_H

#include "attend.h"

/* ---- confusion matrix: counts [labels, labels] of sentences by true label (row) and predicted
 * label (column), and others [labels] of sentences by predicted label whose true label is not among
 * them; NULL: there are none */

/* The fraction of correct predictions; NaN if nothing was counted. */
double att_confusion_accuracy(const int64_t *counts, const int64_t *others, int64_t labels);

/* Precision, recall and F1 of one label against all others; 0 where they are 0 / 0. */
att_label_metrics att_confusion_label_metrics(const int64_t *counts, const int64_t *others,
                                              int64_t labels, int64_t which);

/* The mean F1 of all labels that occur or were predicted; NaN if there are none. */
double att_confusion_macro_f1(const int64_t *counts, const int64_t *others, int64_t labels);

/* ---- probabilities */

/* The log-probability of every label for each sentence. */
typedef struct att_label_predictions {
    int64_t count, labels;
    const float *log_probs; /* [count, labels] */
    const int32_t *truth;   /* [count] true labels, from 0; one out of range is always wrong */
} att_label_predictions;

/* The most probable label of a sentence, the first of equals. */
int64_t att_label_predictions_argmax(const att_label_predictions *predictions, int64_t index);

/* Adds all sentences whose label is in range to a confusion matrix, and to `others` [labels] by
 * predicted label those whose label is not. */
void att_label_predictions_confusion(int64_t *counts, int64_t *others,
                                     const att_label_predictions *predictions);

/* With log-probabilities divided by `temperature` and normalized again: the mean negative
 * log-likelihood of the true label in nats, over the sentences whose label is in range; and the
 * expected calibration error: the mean difference between the probability of the predicted label
 * and how often it is correct, in 15 bins of equal width (Guo et al. 2017, "On calibration of
 * modern neural networks"). */
double att_label_predictions_loss(const att_label_predictions *predictions, double temperature);
double att_label_predictions_calibration_error(const att_label_predictions *predictions,
                                               double temperature);

/* The temperature that minimizes the loss, between 1/20 and 20, rounded to four digits; 1 if there
 * are no sentences or fewer than two labels. Temperature scaling changes no predicted label. */
double att_label_predictions_fit_temperature(const att_label_predictions *predictions);

#endif
