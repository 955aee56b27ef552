/* Losses in double precision. */
#include "reference/loss.h"

#include "attention/normalize.h"
#include "base/math.h"

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

double att_reference_guided_alignment(const double *weights, int64_t key)
{
    double weight = weights[key];
    return -att_log(weight < ATT_GUIDED_ALIGNMENT_MIN_WEIGHT ? ATT_GUIDED_ALIGNMENT_MIN_WEIGHT
                                                             : weight);
}
