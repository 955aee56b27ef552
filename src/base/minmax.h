/* Small integer arithmetic that every folder needs: minimum, maximum, rounding up. */
#ifndef ATT_BASE_MINMAX_H
#define ATT_BASE_MINMAX_H

#include <stddef.h>
#include <stdint.h>

static inline int64_t att_min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t att_max_i64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline size_t att_min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t att_max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* `value` moved into [low, high]. */
static inline int64_t att_clamp_i64(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* Of non-negative `a` and positive `b`: a / b rounded up. */
static inline int64_t att_ceil_div_i64(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static inline size_t att_ceil_div(size_t a, size_t b)
{
    return (a + b - 1) / b;
}

/* `a` rounded up to a multiple of `b`. */
static inline size_t att_round_up(size_t a, size_t b)
{
    return att_ceil_div(a, b) * b;
}

/* The number of entries of an array (not of a pointer). */
#define ATT_COUNT(array) (sizeof(array) / sizeof *(array))

#endif
