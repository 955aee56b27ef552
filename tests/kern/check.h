/* Comparing kernels with double-precision references, on every instruction set of this machine. */
#ifndef ATT_TESTS_KERN_CHECK_H
#define ATT_TESTS_KERN_CHECK_H

#include "base/random.h"
#include "kern/kern.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Half a unit in the last place of numbers just above 1: the relative error of one rounding. */
#define EPS 0x1p-24

/* Runs the following statement with `kernels` set to the table of each instruction set in turn. */
#define FOR_EACH_SET(kernels)                                                                      \
    for (int cpu_ = ATT_CPU_SCALAR; cpu_ < ATT_CPU_COUNT; cpu_++)                                  \
        for (const att_kernels *kernels = att_kernels_for((att_cpu)cpu_); kernels; kernels = NULL)

/* A row with some random contents. */
enum { ROW_MAX = 1024 };

static inline void fill(float *x, size_t n, uint64_t seed, double low, double high)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(low + (high - low) * att_random_float(seed, 9, i));
}

/* Fails unless |got - want| <= bound; infinities and NaN must agree. */
static inline void check_near(double got, double want, double bound, const char *what,
                              const char *set, size_t n, size_t i)
{
    if (isnan(want) ? isnan(got) : isinf(want) ? got == want : fabs(got - want) <= bound)
        return;
    fail_msg("%s on %s, n = %zu, element %zu: %.9g, expected %.9g within %.3g", what, set, n, i,
             got, want, bound);
}

/* The lengths that references are compared at. */
static const size_t check_lengths[] = { 1, 2, 3, 7, 15, 16, 17, 31, 33, 64, 67, 200, 1000 };
enum { CHECK_LENGTHS = sizeof check_lengths / sizeof *check_lengths };

#define FOR_EACH_LENGTH(n)                                                                         \
    for (size_t l_ = 0, n = check_lengths[0]; l_ < CHECK_LENGTHS;                                  \
         l_++, n = l_ < CHECK_LENGTHS ? check_lengths[l_] : 0)

#endif
