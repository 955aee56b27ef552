/* Sums, maxima and dot products of a row against double precision. With 16 partial sums no element
 * passes through more than n/16 + 1 + 4 additions, each of which has a relative error of EPS. */
#include "kern/check.h"

static double depth(size_t n)
{
    return (double)n / ATT_LANES + 5;
}

static void sums_err_by_their_depth_at_most(void **state)
{
    (void)state;
    float x[ROW_MAX], y[ROW_MAX];
    FOR_EACH_SET(kernels)
    FOR_EACH_LENGTH(n)
    {
        fill(x, n, 21 + n, -3, 5);
        fill(y, n, 22 + n, -4, 4);
        double sum = 0, squares = 0, dot = 0, size = 0, dot_size = 0;
        for (size_t i = 0; i < n; i++) {
            sum += x[i];
            size += fabs((double)x[i]);
            squares += (double)x[i] * x[i];
            dot += (double)x[i] * y[i];
            dot_size += fabs((double)x[i] * y[i]);
        }
        check_near(kernels->sum(x, n), sum, depth(n) * EPS * size, "sum", kernels->name, n, 0);
        check_near(kernels->sum_squares(x, n), squares, depth(n) * EPS * squares, "squares",
                   kernels->name, n, 0);
        check_near(kernels->dot(x, y, n), dot, depth(n) * EPS * dot_size, "dot", kernels->name, n,
                   0);
    }
}

static void the_largest_is_found_at_every_place(void **state)
{
    (void)state;
    float x[70];
    FOR_EACH_SET(kernels)
    for (size_t n = 1; n <= 70; n++)
        for (size_t at = 0; at < n; at++) {
            fill(x, n, n, -9, -7);
            x[at] = -6.5f;
            assert_true(kernels->max(x, n) == -6.5f);
        }
}

static void nothing_sums_to_zero_and_has_no_largest(void **state)
{
    (void)state;
    FOR_EACH_SET(kernels)
    {
        assert_true(kernels->sum(NULL, 0) == 0);
        assert_true(kernels->dot(NULL, NULL, 0) == 0);
        assert_true(kernels->max(NULL, 0) == -INFINITY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_err_by_their_depth_at_most),
        cmocka_unit_test(the_largest_is_found_at_every_place),
        cmocka_unit_test(nothing_sums_to_zero_and_has_no_largest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
