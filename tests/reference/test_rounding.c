/* Rounding and cutting off as on paper. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/minmax.h"
#include "reference/rounding.h"

#include <math.h>

static void decimals_are_rounded_and_cut(void **state)
{
    (void)state;
    static const struct {
        double x, unit, rounded, cut;
    } rows[] = {
        { 0.285, 100, 0.29, 0.28 },
        { -0.285, 100, -0.29, -0.28 },
        { 0.29, 100, 0.29, 0.29 },
        { 0.2849, 100, 0.28, 0.28 },
        { 2.5, 1, 3, 2 },
        { -2.5, 1, -3, -2 },
        { 1250, 0.01, 1300, 1200 },
        { 0, 100, 0, 0 },
        { 1e300, 100, 1e300, 1e300 },
        { 4.814, 10, 4.8, 4.8 },
        { 7.15, 10, 7.2, 7.1 },
        { 0.9999, 10, 1, 0.9 },
        { INFINITY, 10, INFINITY, INFINITY },
    };
    for (size_t i = 0; i < ATT_COUNT(rows); i++) {
        assert_true(att_reference_round(rows[i].x, rows[i].unit) == rows[i].rounded);
        assert_true(att_reference_cut(rows[i].x, rows[i].unit) == rows[i].cut);
    }
    assert_true(isnan(att_reference_round(NAN, 10)) && isnan(att_reference_cut(NAN, 10)));
}

/* What was rounded once stays as it is. */
static void both_are_idempotent(void **state)
{
    (void)state;
    for (int i = -3000; i <= 3000; i++) {
        double x = att_reference_round(i / 7.0, 1000);
        assert_true(att_reference_round(x, 1000) == x && att_reference_cut(x, 1000) == x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decimals_are_rounded_and_cut),
        cmocka_unit_test(both_are_idempotent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
