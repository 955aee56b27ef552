/* Softmax, its logarithm and the cross-entropy of one row, in plain loops; see kern.h. */
#include "kern/scalar/partials.h"
#include "kern/isa/isa.h"

/* Subtracting the maximum leaves the softmax unchanged and keeps exp() in [0, 1]. In a row of -inf
 * only, 0 is subtracted instead: -inf - (-inf) would be NaN. */
static float finite_max(const float *x, size_t n)
{
    float max = KERNEL(max)(x, n);
    return max == -INFINITY ? 0.0f : max;
}

static float sum_of_exp(const float *x, float shift, size_t n)
{
    partials sums = partials_fill(0.0f);
    for (size_t i = 0; i < n; i++)
        sums.lane[i % ATT_LANES] += exp_of(x[i] - shift);
    return tree_sum(sums);
}

float KERNEL(softmax)(float *y, const float *x, size_t n)
{
    float shift = finite_max(x, n);
    float sum = sum_of_exp(x, shift, n);
    float inverse = sum == 0 ? 0.0f : 1.0f / sum;
    for (size_t i = 0; i < n; i++)
        y[i] = exp_of(x[i] - shift) * inverse;
    return shift + log_of(sum);
}

/* dx += y (dy - sum(dy y)). */
void KERNEL(softmax_backward)(float *dx, const float *dy, const float *kept, size_t n)
{
    float along = KERNEL(dot)(dy, kept, n);
    for (size_t i = 0; i < n; i++)
        dx[i] = fmaf(kept[i], dy[i] - along, dx[i]);
}

float KERNEL(log_softmax)(float *y, const float *x, size_t n)
{
    float shift = finite_max(x, n);
    float log_sum = log_of(sum_of_exp(x, shift, n));
    float less = log_sum == -INFINITY ? 0.0f : log_sum; /* a row of -inf stays -inf */
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] - shift - less;
    return shift + log_sum;
}

/* dx += dy - softmax sum(dy). */
void KERNEL(log_softmax_backward)(float *dx, const float *dy, const float *kept, size_t n)
{
    float total = KERNEL(sum)(dy, n);
    for (size_t i = 0; i < n; i++)
        dx[i] += fmaf(-exp_of(kept[i]), total, dy[i]);
}

/* All terms are relative to the maximum, so that a small loss keeps its digits beside large
 * logits. */
float KERNEL(cross_entropy)(const float *x, size_t n, att_cross_entropy_target target, float *lse)
{
    float shift = finite_max(x, n);
    float log_sum = log_of(sum_of_exp(x, shift, n));
    *lse = shift + log_sum;
    float loss = fmaf(target.label_smoothing - 1.0f, x[target.class] - shift, log_sum);
    if (target.label_smoothing == 0)
        return loss;
    partials sums = partials_fill(0.0f);
    for (size_t i = 0; i < n; i++)
        sums.lane[i % ATT_LANES] += x[i] - shift;
    return fmaf(-target.label_smoothing / (float)n, tree_sum(sums), loss);
}

void KERNEL(cross_entropy_backward)(float *dx, float dloss, const float *x, size_t n,
                                    att_cross_entropy_target target, float lse)
{
    float everywhere = target.label_smoothing / (float)n;
    for (size_t i = 0; i < n; i++)
        dx[i] = fmaf(dloss, exp_of(x[i] - lse) - everywhere, dx[i]);
    dx[target.class] = fmaf(dloss, target.label_smoothing - 1.0f, dx[target.class]);
}
