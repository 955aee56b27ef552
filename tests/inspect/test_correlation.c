/* The streaming correlation equals its definition; the AUC is the fraction of ordered pairs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "failing_memory.h"
#include "inspect/correlation.h"

#include <math.h>

enum { POSITIONS = 6, UNITS = 3, PROPERTIES = 3 };

/* The last unit and the last property are constant. */
static const float units[POSITIONS][UNITS] = { { 0.5f, -0.5f, 0.1f }, { 0.25f, 0.5f, 0.1f },
                                               { -1, 1, 0.1f },       { 0, 0, 0.1f },
                                               { 0.75f, -1, 0.1f },   { -0.25f, 0.25f, 0.1f } };
static const double properties[POSITIONS][PROPERTIES] = { { 1, 3, 7 }, { 1, 0, 7 }, { 0, 0, 7 },
                                                          { 0, 2, 7 }, { 1, 5, 7 }, { 0, 0, 7 } };

/* The definition: deviations from the means. */
static double by_definition(int p, int u)
{
    double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
    for (int i = 0; i < POSITIONS; i++) {
        x += (double)units[i][u] / POSITIONS;
        y += properties[i][p] / POSITIONS;
    }
    for (int i = 0; i < POSITIONS; i++) {
        double dx = (double)units[i][u] - x, dy = properties[i][p] - y;
        xx += dx * dx;
        yy += dy * dy;
        xy += dx * dy;
    }
    return xy / sqrt(xx * yy);
}

static void streaming_sums_agree_with_the_definition(void **state)
{
    (void)state;
    att_correlation all;
    assert_int_equal(att_correlation_new(&all, UNITS, PROPERTIES, NULL), ATT_OK);
    for (int i = 0; i < POSITIONS; i++)
        att_correlation_add(&all, units[i], properties[i]);
    for (int p = 0; p < 2; p++)
        for (int u = 0; u < 2; u++)
            assert_true(fabs(att_correlation_get(&all, p, u) - by_definition(p, u)) < 1e-12);
    assert_true(att_correlation_get(&all, 0, 0) > 0.8 && att_correlation_get(&all, 0, 1) < -0.5);
    assert_true(fabs(att_correlation_mean(&all, 1) - 10.0 / 6) < 1e-14);
    att_correlation_free(&all);
}

static void a_constant_has_no_correlation(void **state)
{
    (void)state;
    att_correlation all;
    assert_int_equal(att_correlation_new(&all, UNITS, PROPERTIES, NULL), ATT_OK);
    assert_true(isnan(att_correlation_get(&all, 0, 0))); /* no positions yet */
    for (int i = 0; i < POSITIONS; i++)
        att_correlation_add(&all, units[i], properties[i]);
    for (int k = 0; k < 3; k++) {
        assert_true(isnan(att_correlation_get(&all, 2, k)));
        assert_true(isnan(att_correlation_get(&all, k, 2)));
    }
    att_correlation_free(&all);
}

static void auc_is_the_fraction_of_pairs_in_the_right_order(void **state)
{
    (void)state;
    static att_auc_histogram histogram;
    assert_true(isnan(att_auc_histogram_auc(&histogram)));
    att_auc_histogram_add(&histogram, 0.9, true);
    att_auc_histogram_add(&histogram, 0.1, true);
    assert_true(isnan(att_auc_histogram_auc(&histogram)));
    att_auc_histogram_add(&histogram, 0.5, false);
    att_auc_histogram_add(&histogram, -0.5, false);
    att_auc_histogram_add(&histogram, -1, false);
    /* 0.9 is above three negatives, 0.1 above two, of 2 * 3 pairs */
    assert_true(fabs(att_auc_histogram_auc(&histogram) - 5.0 / 6) < 1e-14);
    att_auc_histogram_add(&histogram, 0.1, false); /* a tie with 0.1 counts half; 0.9 is above it */
    assert_true(fabs(att_auc_histogram_auc(&histogram) - 6.5 / 8) < 1e-14);
    att_auc_histogram_add(&histogram, NAN, true); /* counts as the lowest activation */
    att_auc_histogram_add(&histogram, 7, true);
    assert_true(fabs(att_auc_histogram_auc(&histogram) - (6.5 + 0.5 + 4) / 16) < 1e-14);
}

static att_status make_sums(void *context)
{
    (void)context;
    att_correlation all;
    att_error err = { 0 };
    att_status status = att_correlation_new(&all, 4, 4, &err);
    assert_int_equal(err.status, status);
    if (status == ATT_OK)
        att_correlation_free(&all);
    return status;
}

static void running_out_of_memory_leaves_nothing_behind(void **state)
{
    (void)state;
    assert_true(every_allocation_fails(make_sums, NULL, 20) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streaming_sums_agree_with_the_definition),
        cmocka_unit_test(a_constant_has_no_correlation),
        cmocka_unit_test(auc_is_the_fraction_of_pairs_in_the_right_order),
        cmocka_unit_test(running_out_of_memory_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
