/* The normalizers in double; see normalize.h. Softmax, sparsemax and 1.5-entmax map onto the
 * simplex and are invariant to shifting all scores, so each first subtracts the largest score. For
 * a row with NaN or +inf, or of -inf only, all weights are NaN (docs/attention.md). */
#include "attention/normalize.h"

#include "base/math.h"
#include "base/minmax.h"

#include <math.h>
#include <stdlib.h>

/* Writes scores minus the largest; returns false where the result contains NaN. */
static bool subtract_max(double *shifted, const double *scores, int64_t count)
{
    double top = -INFINITY;
    bool valid = true;
    for (int64_t j = 0; j < count; j++)
        top = scores[j] > top ? scores[j] : top;
    for (int64_t j = 0; j < count; j++) {
        shifted[j] = scores[j] - top;
        valid &= !isnan(shifted[j]);
    }
    return valid;
}

static void fill_nan(double *weights, int64_t count)
{
    for (int64_t j = 0; j < count; j++)
        weights[j] = NAN;
}

static double dot(const double *a, const double *b, int64_t count)
{
    double sum = 0;
    for (int64_t j = 0; j < count; j++)
        sum += a[j] * b[j];
    return sum;
}

/* Subtracting the maximum leaves the result unchanged and keeps exp() in (0, 1]. */
static void softmax(double *weights, const double *scores, int64_t count, double *scratch)
{
    (void)scratch;
    if (!subtract_max(weights, scores, count)) {
        fill_nan(weights, count);
        return;
    }
    double sum = 0;
    for (int64_t j = 0; j < count; j++) {
        weights[j] = att_exp(weights[j]);
        sum += weights[j];
    }
    for (int64_t j = 0; j < count; j++)
        weights[j] /= sum;
}

static void softmax_backward(double *score_grads, const double *weight_grads, const double *scores,
                             const double *weights, int64_t count)
{
    (void)scores;
    double mean = dot(weights, weight_grads, count);
    for (int64_t j = 0; j < count; j++)
        score_grads[j] = weights[j] * (weight_grads[j] - mean);
}

static void mean_forward(double *weights, const double *scores, int64_t count, double *scratch)
{
    (void)scratch;
    for (int64_t j = 0; j < count; j++)
        weights[j] = scores[j] / (double)count;
}

static void mean_backward(double *score_grads, const double *weight_grads, const double *scores,
                          const double *weights, int64_t count)
{
    (void)scores;
    (void)weights;
    for (int64_t j = 0; j < count; j++)
        score_grads[j] = weight_grads[j] / (double)count;
}

static int descending(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a < b) - (a > b);
}

/* Copies `shifted` in descending order. */
static void sort_into(double *sorted, const double *shifted, int64_t count)
{
    for (int64_t j = 0; j < count; j++)
        sorted[j] = shifted[j];
    qsort(sorted, (size_t)count, sizeof *sorted, descending);
}

/* Martins and Astudillo 2016, algorithm 1: the k largest scores are in the support while
 * 1 + k z_k > z_1 + … + z_k; the threshold makes their excess sum to 1. */
static void sparsemax(double *weights, const double *scores, int64_t count, double *scratch)
{
    if (!subtract_max(weights, scores, count)) {
        fill_nan(weights, count);
        return;
    }
    sort_into(scratch, weights, count);
    double sum = 0;
    double threshold = 0;
    for (int64_t k = 1; k <= count; k++) {
        double z = scratch[k - 1];
        sum += z;
        if (!(1 + (double)k * z > sum))
            break;
        threshold = (sum - 1) / (double)k;
    }
    for (int64_t j = 0; j < count; j++)
        weights[j] = weights[j] > threshold ? weights[j] - threshold : 0;
}

/* Inside the support the Jacobian subtracts the mean. */
static void sparsemax_backward(double *score_grads, const double *weight_grads,
                               const double *scores, const double *weights, int64_t count)
{
    (void)scores;
    if (isnan(weights[0])) {
        fill_nan(score_grads, count);
        return;
    }
    double sum = 0;
    double support = 0;
    for (int64_t j = 0; j < count; j++) {
        if (weights[j] == 0)
            continue;
        sum += weight_grads[j];
        support++;
    }
    for (int64_t j = 0; j < count; j++)
        score_grads[j] = weights[j] == 0 ? 0 : weight_grads[j] - sum / support;
}

/* Peters, Niculae and Martins 2019, algorithm 2, on half scores z: weights are (z - τ)² above the
 * threshold τ. With mean and sum of squared deviations of the k largest updated by Welford's
 * method, τ_k = mean - sqrt((1 - squares)/k); the support ends where z_k falls below τ_k. The
 * largest z is 0 and its weight is at most 1, so τ ≥ -1 and values ≤ -1 are outside the support. */
static void entmax15(double *weights, const double *scores, int64_t count, double *scratch)
{
    if (!subtract_max(weights, scores, count)) {
        fill_nan(weights, count);
        return;
    }
    for (int64_t j = 0; j < count; j++)
        weights[j] /= 2;
    sort_into(scratch, weights, count);
    double average = 0;
    double squares = 0;
    double threshold = -1;
    for (int64_t k = 1; k <= count && scratch[k - 1] > -1; k++) {
        double change = scratch[k - 1] - average;
        average += change / (double)k;
        squares += change * (scratch[k - 1] - average);
        double next = average - sqrt(fmax(0, (1 - squares) / (double)k));
        if (!(next <= scratch[k - 1]))
            break;
        threshold = next;
    }
    for (int64_t j = 0; j < count; j++) {
        double above = weights[j] > threshold ? weights[j] - threshold : 0;
        weights[j] = above * above;
    }
}

static void entmax15_backward(double *score_grads, const double *weight_grads, const double *scores,
                              const double *weights, int64_t count)
{
    (void)scores;
    double sum = 0;
    double roots = 0;
    for (int64_t j = 0; j < count; j++) {
        double root = sqrt(weights[j]);
        score_grads[j] = root;
        roots += root;
        if (root != 0)
            sum += root * weight_grads[j];
    }
    for (int64_t j = 0; j < count; j++)
        if (score_grads[j] != 0)
            score_grads[j] *= weight_grads[j] - sum / roots;
}

/* For x < -709 exp(-x) overflows and the result is 0; the error is below 1e-308. */
static double logistic(double x)
{
    return 1 / (1 + att_exp(-x));
}

static void sigmoid(double *weights, const double *scores, int64_t count, double *scratch)
{
    (void)scratch;
    for (int64_t j = 0; j < count; j++)
        weights[j] = logistic(scores[j]);
}

/* σ(-x) = 1 - σ(x) without the cancellation where σ(x) is near 1. */
static void sigmoid_backward(double *score_grads, const double *weight_grads, const double *scores,
                             const double *weights, int64_t count)
{
    for (int64_t j = 0; j < count; j++)
        score_grads[j] = weight_grads[j] * weights[j] * logistic(-scores[j]);
}

static double total(const double *scores, int64_t count)
{
    double sum = 0;
    for (int64_t j = 0; j < count; j++)
        sum += scores[j];
    return sum;
}

/* IEEE division: scores that sum to 0 give infinities or NaN. */
static void sum_forward(double *weights, const double *scores, int64_t count, double *scratch)
{
    (void)scratch;
    double all = total(scores, count);
    for (int64_t j = 0; j < count; j++)
        weights[j] = scores[j] / all;
}

static void sum_backward(double *score_grads, const double *weight_grads, const double *scores,
                         const double *weights, int64_t count)
{
    double all = total(scores, count);
    double mean_grad = dot(weights, weight_grads, count);
    for (int64_t j = 0; j < count; j++)
        score_grads[j] = (weight_grads[j] - mean_grad) / all;
}

static void identity_forward(double *weights, const double *scores, int64_t count, double *scratch)
{
    (void)scratch;
    for (int64_t j = 0; j < count; j++)
        weights[j] = scores[j];
}

static void identity_backward(double *score_grads, const double *weight_grads, const double *scores,
                              const double *weights, int64_t count)
{
    (void)scores;
    (void)weights;
    for (int64_t j = 0; j < count; j++)
        score_grads[j] = weight_grads[j];
}

static const att_normalizer_impl normalizers[ATT_NORMALIZER_COUNT] = {
    [ATT_NORMALIZE_SOFTMAX] = { "softmax", softmax, softmax_backward },
    [ATT_NORMALIZE_MEAN] = { "mean", mean_forward, mean_backward },
    [ATT_NORMALIZE_SPARSEMAX] = { "sparsemax", sparsemax, sparsemax_backward },
    [ATT_NORMALIZE_ENTMAX15] = { "entmax", entmax15, entmax15_backward },
    [ATT_NORMALIZE_SIGMOID] = { "sigmoid", sigmoid, sigmoid_backward },
    [ATT_NORMALIZE_SUM] = { "sum", sum_forward, sum_backward },
    [ATT_NORMALIZE_NONE] = { "none", identity_forward, identity_backward },
};

const att_normalizer_impl *att_normalizer_get(att_normalizer normalizer)
{
    size_t row = (size_t)normalizer;
    return row < ATT_NORMALIZER_COUNT ? &normalizers[row] : NULL;
}

const char *att_normalizer_name(att_normalizer normalizer)
{
    const att_normalizer_impl *row = att_normalizer_get(normalizer);
    return row ? row->name : NULL;
}

double att_log_sum_exp(const double *scores, int64_t count)
{
    double top = -INFINITY;
    for (int64_t j = 0; j < count; j++)
        if (scores[j] > top || isnan(scores[j]))
            top = scores[j];
    if (!isfinite(top))
        return top;
    double sum_exp = 0;
    for (int64_t j = 0; j < count; j++)
        sum_exp += att_exp(scores[j] - top);
    return top + att_log(sum_exp);
}

double att_entropy(const double *weights, int64_t count)
{
    double entropy = 0;
    for (int64_t j = 0; j < count; j++)
        if (weights[j] != 0)
            entropy -= weights[j] * att_log(weights[j]);
    return entropy;
}
