/* One number from a row, in plain loops; see kern.h. */
#include "kern/ref/partials.h"
#include "kern/set/set.h"

float KERNEL(sum)(const float *x, size_t n)
{
    partials sums = partials_of(0.0f);
    for (size_t i = 0; i < n; i++)
        sums.at[i % ATT_LANES] += x[i];
    return tree_sum(sums);
}

float KERNEL(sum_squares)(const float *x, size_t n)
{
    return KERNEL(dot)(x, x, n);
}

float KERNEL(dot)(const float *x, const float *y, size_t n)
{
    partials sums = partials_of(0.0f);
    for (size_t i = 0; i < n; i++)
        sums.at[i % ATT_LANES] = fmaf(x[i], y[i], sums.at[i % ATT_LANES]);
    return tree_sum(sums);
}

float KERNEL(largest)(const float *x, size_t n)
{
    partials most = partials_of(-INFINITY);
    for (size_t i = 0; i < n; i++)
        most.at[i % ATT_LANES] = max_of(x[i], most.at[i % ATT_LANES]);
    return tree_largest(most);
}
