/* Softmax, its logarithm and the cross-entropy of one row, over vectors; see kern.h and
 * scalar/softmax.c. */
#include "kern/vec/math.h"

INLINE float finite_max(const float *x, size_t n)
{
    float max = row_max(x, n);
    return max == -INFINITY ? 0.0f : max;
}

INLINE float log_of(float x)
{
    return v_first(v_log(v_set(x)));
}

/* Lanes past the end of the row hold -inf, whose exp() is 0. */
INLINE vec exp_shifted(const float *x, vec shift, size_t n)
{
    return v_exp(v_sub(v_load_fill(x, n, -INFINITY), shift));
}

INLINE float sum_of_exp(const float *x, float shift, size_t n)
{
    vec sums = v_set(0.0f), by = v_set(shift);
    for (size_t i = 0; i < n; i += LANES)
        sums = v_add(sums, exp_shifted(x + i, by, n - i));
    return v_reduce_sum(sums);
}

float KERNEL(softmax)(float *y, const float *x, size_t n)
{
    float shift = finite_max(x, n);
    vec sums = v_set(0.0f), by = v_set(shift);
    for (size_t i = 0; i < n; i += LANES) {
        vec e = exp_shifted(x + i, by, n - i);
        sums = v_add(sums, e);
        v_store_upto(y + i, e, n - i);
    }
    float sum = v_reduce_sum(sums);
    vec inverse = v_set(sum == 0 ? 0.0f : 1.0f / sum);
    for (size_t i = 0; i < n; i += LANES)
        v_store_upto(y + i, v_mul(v_load_upto(y + i, n - i), inverse), n - i);
    return shift + log_of(sum);
}

void KERNEL(softmax_backward)(float *dx, const float *dy, const float *kept, size_t n)
{
    vec along = v_set(KERNEL(dot)(dy, kept, n));
    for (size_t i = 0; i < n; i += LANES) {
        vec centered = v_sub(v_load_upto(dy + i, n - i), along);
        vec sum = v_fma(v_load_upto(kept + i, n - i), centered, v_load_upto(dx + i, n - i));
        v_store_upto(dx + i, sum, n - i);
    }
}

float KERNEL(log_softmax)(float *y, const float *x, size_t n)
{
    float shift = finite_max(x, n);
    float log_sum = log_of(sum_of_exp(x, shift, n));
    vec by = v_set(shift), less = v_set(log_sum == -INFINITY ? 0.0f : log_sum);
    for (size_t i = 0; i < n; i += LANES)
        v_store_upto(y + i, v_sub(v_sub(v_load_upto(x + i, n - i), by), less), n - i);
    return shift + log_sum;
}

void KERNEL(log_softmax_backward)(float *dx, const float *dy, const float *kept, size_t n)
{
    vec total = v_set(KERNEL(sum)(dy, n));
    for (size_t i = 0; i < n; i += LANES) {
        vec weight = v_exp(v_load_upto(kept + i, n - i));
        vec change = v_fnma(weight, total, v_load_upto(dy + i, n - i));
        v_store_upto(dx + i, v_add(v_load_upto(dx + i, n - i), change), n - i);
    }
}

float KERNEL(cross_entropy)(const float *x, size_t n, att_cross_entropy_target target, float *lse)
{
    float shift = finite_max(x, n);
    float log_sum = log_of(sum_of_exp(x, shift, n));
    *lse = shift + log_sum;
    float loss = fmaf(target.label_smoothing - 1.0f, x[target.class] - shift, log_sum);
    if (target.label_smoothing == 0)
        return loss;
    vec sums = v_set(0.0f), by = v_set(shift);
    for (size_t i = 0; i < n; i += LANES)
        sums = v_add(sums, v_upto(v_sub(v_load_upto(x + i, n - i), by), n - i));
    return fmaf(-target.label_smoothing / (float)n, v_reduce_sum(sums), loss);
}

void KERNEL(cross_entropy_backward)(float *dx, float dloss, const float *x, size_t n,
                                    att_cross_entropy_target target, float lse)
{
    vec everywhere = v_set(target.label_smoothing / (float)n), by = v_set(lse),
        scale = v_set(dloss);
    for (size_t i = 0; i < n; i += LANES) {
        vec change = v_sub(v_exp(v_sub(v_load_upto(x + i, n - i), by)), everywhere);
        v_store_upto(dx + i, v_fma(scale, change, v_load_upto(dx + i, n - i)), n - i);
    }
    dx[target.class] = fmaf(dloss, target.label_smoothing - 1.0f, dx[target.class]);
}
