/* Confusion matrices, and the loss and calibration of predicted probabilities. */
#include "metrics/classification.h"

#include "base/math.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- confusion matrices */

double att_confusion_accuracy(const int64_t *counts, const int64_t *others, int64_t labels)
{
    int64_t correct = 0, all = 0;
    for (int64_t i = 0; others && i < labels; i++)
        all += others[i];
    for (int64_t i = 0; i < labels * labels; i++) {
        all += counts[i];
        correct += i / labels == i % labels ? counts[i] : 0;
    }
    return all > 0 ? (double)correct / (double)all : NAN;
}

/* 0 if there is nothing to divide by, as F1 of a label that never occurs. */
static double ratio(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

att_label_metrics att_confusion_label_metrics(const int64_t *counts, const int64_t *others,
                                              int64_t labels, int64_t which)
{
    int64_t support = 0, predicted = others ? others[which] : 0;
    int64_t correct = counts[which * labels + which];
    for (int64_t i = 0; i < labels; i++) {
        support += counts[which * labels + i];
        predicted += counts[i * labels + which];
    }
    return (att_label_metrics){ .support = support,
                                .predicted = predicted,
                                .precision = ratio(correct, predicted),
                                .recall = ratio(correct, support),
                                .f1 = ratio(2 * correct, support + predicted) };
}

double att_confusion_macro_f1(const int64_t *counts, const int64_t *others, int64_t labels)
{
    double sum = 0;
    int64_t seen = 0;
    for (int64_t i = 0; i < labels; i++) {
        att_label_metrics rates = att_confusion_label_metrics(counts, others, labels, i);
        if (rates.support + rates.predicted == 0)
            continue;
        sum += rates.f1;
        seen++;
    }
    return seen > 0 ? sum / (double)seen : NAN;
}

/* ---- probabilities */

int64_t att_label_predictions_argmax(const att_label_predictions *predictions, int64_t index)
{
    const float *row = predictions->log_probs + index * predictions->labels;
    int64_t best = 0;
    for (int64_t i = 1; i < predictions->labels; i++)
        if (row[i] > row[best])
            best = i;
    return best;
}

static bool is_label(const att_label_predictions *predictions, int64_t index)
{
    return predictions->truth[index] >= 0 && predictions->truth[index] < predictions->labels;
}

/* The log-probability of the true label, which is in range. */
static double true_log_prob(const att_label_predictions *predictions, int64_t index)
{
    const float *row = predictions->log_probs + index * predictions->labels;
    return (double)row[predictions->truth[index]];
}

void att_label_predictions_confusion(int64_t *counts, int64_t *others,
                                     const att_label_predictions *predictions)
{
    for (int64_t i = 0; i < predictions->count; i++) {
        int64_t predicted = att_label_predictions_argmax(predictions, i);
        if (is_label(predictions, i))
            counts[predictions->truth[i] * predictions->labels + predicted]++;
        else
            others[predicted]++;
    }
}

/* Log-sum-exp of sharpness * row, and the mean of the row under softmax(sharpness * row). `best` is
 * the index of the largest value. */
static double log_sum_exp(const float *row, int64_t labels, int64_t best, double sharpness,
                          double *mean)
{
    double sum = 0, weighted = 0, max = sharpness * (double)row[best];
    for (int64_t i = 0; i < labels; i++) {
        double part = att_exp(sharpness * (double)row[i] - max);
        sum += part;
        weighted += part > 0 ? part * (double)row[i] : 0;
    }
    *mean = weighted / sum;
    return max + att_log(sum);
}

double att_label_predictions_loss(const att_label_predictions *predictions, double temperature)
{
    double loss = 0, mean;
    int64_t known = 0;
    for (int64_t i = 0; i < predictions->count; i++) {
        if (!is_label(predictions, i))
            continue;
        known++;
        const float *row = predictions->log_probs + i * predictions->labels;
        loss += log_sum_exp(row, predictions->labels, att_label_predictions_argmax(predictions, i),
                            1 / temperature, &mean) -
                true_log_prob(predictions, i) / temperature;
    }
    return loss / (double)known;
}

double att_label_predictions_calibration_error(const att_label_predictions *predictions,
                                               double temperature)
{
    enum { BINS = 15 };
    double confidence[BINS] = { 0 }, correct[BINS] = { 0 }, error = 0, mean;
    for (int64_t i = 0; i < predictions->count; i++) {
        const float *row = predictions->log_probs + i * predictions->labels;
        int64_t best = att_label_predictions_argmax(predictions, i);
        double all = log_sum_exp(row, predictions->labels, best, 1 / temperature, &mean);
        double probability = att_exp((double)row[best] / temperature - all);
        /* NaN, from weights that overflow, has no bin: it makes the error NaN in any */
        int bin = probability > 0 ? (int)ceil(probability * BINS) - 1 : 0;
        bin = bin >= BINS ? BINS - 1 : bin;
        confidence[bin] += probability;
        correct[bin] += best == predictions->truth[i];
    }
    for (int bin = 0; bin < BINS; bin++)
        error += fabs(confidence[bin] - correct[bin]);
    return error / (double)predictions->count;
}

/* The derivative of the loss by the sharpness 1 / temperature. The loss is convex in it, so the
 * derivative rises. */
static double slope_at(const att_label_predictions *predictions, double sharpness)
{
    double slope = 0, mean;
    for (int64_t i = 0; i < predictions->count; i++) {
        const float *row = predictions->log_probs + i * predictions->labels;
        if (!is_label(predictions, i))
            continue;
        log_sum_exp(row, predictions->labels, att_label_predictions_argmax(predictions, i),
                    sharpness, &mean);
        slope += mean - true_log_prob(predictions, i);
    }
    return slope;
}

/* Four digits are more than the data determine, and hide rounding of the last bits. */
static double round_to_four_digits(double value)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%.3e", value);
    return strtod(digits, NULL);
}

double att_label_predictions_fit_temperature(const att_label_predictions *predictions)
{
    enum { HALVINGS = 40 };
    double low = att_log(1.0 / 20), high = att_log(20.0); /* of the sharpness */
    int64_t known = 0;
    for (int64_t i = 0; i < predictions->count; i++)
        known += is_label(predictions, i);
    if (known == 0 || predictions->labels < 2)
        return 1;
    for (int i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2;
        if (slope_at(predictions, att_exp(middle)) < 0)
            low = middle;
        else
            high = middle;
    }
    return round_to_four_digits(att_exp(-(low + high) / 2));
}
