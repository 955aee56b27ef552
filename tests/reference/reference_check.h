/* Shared by the tests of src/reference: closeness, random numbers, central differences. */
#ifndef TESTS_REFERENCE_CHECK_H
#define TESTS_REFERENCE_CHECK_H

#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <float.h>
#include <math.h>

/* Whether the two differ by at most `roundings` roundings, relative to the larger of want and 1. */
static inline void assert_near(double got, double want, double roundings)
{
    double bound = roundings * DBL_EPSILON * fmax(1, fabs(want));
    if (!(fabs(got - want) <= bound))
        fail_msg("got %.17g, expected %.17g, bound %g", got, want, bound);
}

static inline void assert_all_near(const double *got, const double *want, size_t count,
                                   double roundings)
{
    for (size_t i = 0; i < count; i++)
        assert_near(got[i], want[i], roundings);
}

/* Uniform in [-1, 1). */
static inline void fill_random(double *out, size_t count, uint64_t stream)
{
    for (size_t i = 0; i < count; i++)
        out[i] = 2 * att_random_double(1, stream, i) - 1;
}

/* (f(x + h) - f(x - h)) / 2h. Error: h² f'''/6 + eps |f| / h, about 1e-10 for h = 1e-5. */
static inline double central_difference(double (*f)(double), double x)
{
    double h = 1e-5;
    return (f(x + h) - f(x - h)) / (2 * h);
}

#endif
