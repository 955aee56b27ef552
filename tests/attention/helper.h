/* Shared by the attention tests: cmocka, tensors over plain arrays, comparing. */
#ifndef TESTS_ATTENTION_HELPER_H
#define TESTS_ATTENTION_HELPER_H

#include "attend.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* A row-major view of doubles; sizes not used are 0 beyond `rank`. */
static inline att_tensor view(const double *data, int rank, int64_t a, int64_t b, int64_t c,
                              int64_t d)
{
    att_tensor tensor = { .data = (void *)(uintptr_t)data, .dtype = ATT_F64, .rank = rank };
    const int64_t shape[4] = { a, b, c, d };
    int64_t stride = 1;
    for (int n = rank - 1; n >= 0; n--) {
        tensor.shape[n] = shape[n];
        tensor.stride[n] = stride;
        stride *= shape[n];
    }
    return tensor;
}

static inline att_tensor view4(const double *data, int64_t a, int64_t b, int64_t c, int64_t d)
{
    return view(data, 4, a, b, c, d);
}

static inline att_tensor view3(const double *data, int64_t a, int64_t b, int64_t c)
{
    return view(data, 3, a, b, c, 0);
}

static inline att_tensor view2(const double *data, int64_t a, int64_t b)
{
    return view(data, 2, a, b, 0, 0);
}

static inline att_tensor view1(const double *data, int64_t a)
{
    return view(data, 1, a, 0, 0, 0);
}

/* Checks that every number is within `limit` of the expected one; NaN and infinities must agree. */
static inline void assert_near(const double *found, const double *expected, size_t count,
                               double limit)
{
    for (size_t n = 0; n < count; n++) {
        bool same = found[n] == expected[n] || (isnan(found[n]) && isnan(expected[n]));
        if (!same && !(fabs(found[n] - expected[n]) <= limit))
            fail_msg("element %zu is %.17g, expected %.17g within %g", n, found[n], expected[n],
                     limit);
    }
}

/* The same for one number; cmocka's own comparison is of floats. */
static inline void assert_close(double found, double expected, double limit)
{
    assert_near(&found, &expected, 1, limit);
}

#define ASSERT_OK(call)                                                                            \
    do {                                                                                           \
        att_error error_ = { 0 };                                                                  \
        att_error *err = &error_;                                                                  \
        if ((call) != ATT_OK)                                                                      \
            fail_msg("%s: %s", #call, error_.message);                                             \
    } while (0)

#endif
