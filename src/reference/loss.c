/* Losses in double precision. */
#include "reference/loss.h"

#include "attention/normalize.h"
#include "base/math.h"

#include <stdbool.h>

double att_reference_cross_entropy(const double *logits, int64_t classes, int64_t target,
                                   double label_smoothing)
{
    double lse = att_log_sum_exp(logits, classes), sum = 0;
    for (int64_t j = 0; j < classes; j++) {
        double t = label_smoothing / (double)classes + (j == target ? 1 - label_smoothing : 0);
        if (t != 0) /* 0 times the logarithm of 0 is 0 */
            sum -= t * (logits[j] - lse);
    }
    return sum;
}

double att_reference_consistency(const double *x, const double *y, int64_t classes)
{
    double lse_x = att_log_sum_exp(x, classes), lse_y = att_log_sum_exp(y, classes), sum = 0;
    for (int64_t j = 0; j < classes; j++) {
        double log_p = x[j] - lse_x, log_q = y[j] - lse_y;
        sum += (att_exp(log_p) - att_exp(log_q)) * (log_p - log_q);
    }
    return sum;
}

double att_reference_guided_alignment(const double *weights, int64_t key)
{
    double weight = weights[key];
    return -att_log(weight < ATT_GUIDED_ALIGNMENT_MIN_WEIGHT ? ATT_GUIDED_ALIGNMENT_MIN_WEIGHT
                                                             : weight);
}

double att_reference_copy_cross_entropy(const att_reference_copy_row *row, int64_t target,
                                        double label_smoothing)
{
    double lse = att_log_sum_exp(row->logits, row->classes), gate = 1 / (1 + att_exp(-row->gate));
    double weight = 0, mean = 0;
    bool found = false;
    for (int64_t j = 0; j < row->keys; j++)
        if (row->key_ids[j] == target) {
            weight += row->weights[j];
            found = true;
        }
    if (found && weight < ATT_COPY_MIN_WEIGHT)
        weight = ATT_COPY_MIN_WEIGHT;
    double p = weight / (1 + att_exp(row->gate)); /* 1 - g, without loss of digits */
    if (target < row->classes)
        p += gate * att_exp(row->logits[target] - lse);
    for (int64_t j = 0; j < row->classes; j++)
        mean += (lse - row->logits[j]) / (double)row->classes;
    return (1 - label_smoothing) * -att_log(p) + label_smoothing * mean;
}
