/* Labels counted and probabilities held against what came true; see labels.h. */
#include "metrics/classification.h"

#include "base/math.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- counts */

double att_confusion_accuracy(const int64_t *counts, int64_t labels)
{
    int64_t right = 0, all = 0;
    for (int64_t i = 0; i < labels * labels; i++) {
        all += counts[i];
        right += i / labels == i % labels ? counts[i] : 0;
    }
    return all > 0 ? (double)right / (double)all : NAN;
}

static double rate(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

att_label_metrics att_confusion_label_metrics(const int64_t *counts, int64_t labels, int64_t which)
{
    int64_t there = 0, given = 0, right = counts[which * labels + which];
    for (int64_t i = 0; i < labels; i++) {
        there += counts[which * labels + i];
        given += counts[i * labels + which];
    }
    return (att_label_metrics){ .support = there,
                                .predicted = given,
                                .precision = rate(right, given),
                                .recall = rate(right, there),
                                .f1 = rate(2 * right, there + given) };
}

double att_confusion_macro_f1(const int64_t *counts, int64_t labels)
{
    double sum = 0;
    int64_t seen = 0;
    for (int64_t i = 0; i < labels; i++) {
        att_label_metrics rates = att_confusion_label_metrics(counts, labels, i);
        if (rates.support + rates.predicted == 0)
            continue;
        sum += rates.f1;
        seen++;
    }
    return seen > 0 ? sum / (double)seen : NAN;
}

/* ---- probabilities */

int64_t att_label_predictions_argmax(const att_label_predictions *judged, int64_t index)
{
    const float *row = judged->log_probs + index * judged->labels;
    int64_t best = 0;
    for (int64_t i = 1; i < judged->labels; i++)
        if (row[i] > row[best])
            best = i;
    return best;
}

void att_label_predictions_confusion(int64_t *counts, const att_label_predictions *judged)
{
    for (int64_t i = 0; i < judged->count; i++)
        counts[judged->truth[i] * judged->labels + att_label_predictions_argmax(judged, i)]++;
}

/* The logarithm of the sum of exp(sharpness * row), and the mean of the row under the probabilities
 * that this makes. */
static double log_sum_exp(const float *row, int64_t labels, int64_t best, double sharpness,
                          double *mean)
{
    double sum = 0, weighted = 0, most = sharpness * (double)row[best];
    for (int64_t i = 0; i < labels; i++) {
        double part = att_exp(sharpness * (double)row[i] - most);
        sum += part;
        weighted += part > 0 ? part * (double)row[i] : 0;
    }
    *mean = weighted / sum;
    return most + att_log(sum);
}

double att_label_predictions_loss(const att_label_predictions *judged, double temperature)
{
    double loss = 0, mean;
    for (int64_t i = 0; i < judged->count; i++) {
        const float *row = judged->log_probs + i * judged->labels;
        loss += log_sum_exp(row, judged->labels, att_label_predictions_argmax(judged, i),
                            1 / temperature, &mean) -
                (double)row[judged->truth[i]] / temperature;
    }
    return loss / (double)judged->count;
}

double att_label_predictions_calibration_error(const att_label_predictions *judged,
                                               double temperature)
{
    enum { BINS = 15 };
    double promised[BINS] = { 0 }, kept[BINS] = { 0 }, error = 0, mean;
    for (int64_t i = 0; i < judged->count; i++) {
        const float *row = judged->log_probs + i * judged->labels;
        int64_t best = att_label_predictions_argmax(judged, i);
        double all = log_sum_exp(row, judged->labels, best, 1 / temperature, &mean);
        double probability = att_exp((double)row[best] / temperature - all);
        int bin = (int)ceil(probability * BINS) - 1;
        bin = bin < 0 ? 0 : bin >= BINS ? BINS - 1 : bin;
        promised[bin] += probability;
        kept[bin] += best == judged->truth[i];
    }
    for (int bin = 0; bin < BINS; bin++)
        error += fabs(promised[bin] - kept[bin]);
    return error / (double)judged->count;
}

/* The slope of the loss over the sharpness 1 / temperature, which rises with it: the loss is
 * convex. */
static double slope_at(const att_label_predictions *judged, double sharpness)
{
    double slope = 0, mean;
    for (int64_t i = 0; i < judged->count; i++) {
        const float *row = judged->log_probs + i * judged->labels;
        log_sum_exp(row, judged->labels, att_label_predictions_argmax(judged, i), sharpness, &mean);
        slope += mean - (double)row[judged->truth[i]];
    }
    return slope;
}

/* Four digits are more than the data knows, and few enough that the last bits of a C library's
 * exp() do not show. */
static double round_to_four_digits(double value)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%.3e", value);
    return strtod(digits, NULL);
}

double att_label_predictions_fit_temperature(const att_label_predictions *judged)
{
    enum { HALVINGS = 40 };
    double low = att_log(1.0 / 20), high = att_log(20.0); /* of the sharpness */
    if (judged->count == 0 || judged->labels < 2)
        return 1;
    for (int i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2;
        if (slope_at(judged, att_exp(middle)) < 0)
            low = middle;
        else
            high = middle;
    }
    return round_to_four_digits(att_exp(-(low + high) / 2));
}
