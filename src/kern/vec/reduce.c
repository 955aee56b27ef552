/* Reductions of a row to one number, over vectors; see kern.h and scalar/reduce.c. Lanes past the
 * end of the row add zero, or compare as -inf, which changes no partial result. */
#include "kern/vec/vec.h"

float KERNEL(sum)(const float *x, size_t n)
{
    vec sums = v_set(0.0f);
    for (size_t i = 0; i < n; i += LANES)
        sums = v_add(sums, v_load_upto(x + i, n - i));
    return v_reduce_sum(sums);
}

float KERNEL(sum_squares)(const float *x, size_t n)
{
    return KERNEL(dot)(x, x, n);
}

float KERNEL(dot)(const float *x, const float *y, size_t n)
{
    vec sums = v_set(0.0f);
    for (size_t i = 0; i < n; i += LANES)
        sums = v_fma(v_load_upto(x + i, n - i), v_load_upto(y + i, n - i), sums);
    return v_reduce_sum(sums);
}

float KERNEL(max)(const float *x, size_t n)
{
    return row_max(x, n);
}
