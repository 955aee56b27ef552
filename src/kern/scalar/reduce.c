/* Reductions of a row to one number, in plain loops; see kern.h. */
#include "kern/scalar/partials.h"
#include "kern/isa/isa.h"

float KERNEL(sum)(const float *x, size_t n)
{
    partials sums = partials_fill(0.0f);
    for (size_t i = 0; i < n; i++)
        sums.lane[i % ATT_LANES] += x[i];
    return tree_sum(sums);
}

float KERNEL(sum_squares)(const float *x, size_t n)
{
    return KERNEL(dot)(x, x, n);
}

float KERNEL(dot)(const float *x, const float *y, size_t n)
{
    partials sums = partials_fill(0.0f);
    for (size_t i = 0; i < n; i++)
        sums.lane[i % ATT_LANES] = fmaf(x[i], y[i], sums.lane[i % ATT_LANES]);
    return tree_sum(sums);
}

float KERNEL(max)(const float *x, size_t n)
{
    partials max = partials_fill(-INFINITY);
    for (size_t i = 0; i < n; i++)
        max.lane[i % ATT_LANES] = max_float(x[i], max.lane[i % ATT_LANES]);
    return tree_max(max);
}
