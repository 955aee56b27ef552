/* Selection of the rows and columns that are shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "render/view.h"

static void an_axis_that_fits_is_shown_whole(void **state)
{
    (void)state;
    for (int64_t count = 0; count <= 20; count++) {
        att_axis axis = att_axis_abridged(count, 20);
        assert_int_equal(att_axis_shown(&axis), count);
        for (int64_t k = 0; k < count; k++) {
            assert_int_equal(att_axis_at(&axis, k), k);
            assert_false(att_axis_gap(&axis, k));
        }
    }
}

static void the_rest_shows_both_ends_and_one_gap(void **state)
{
    (void)state;
    for (int64_t shown = 0; shown < 40; shown++) {
        att_axis axis = att_axis_ends(1000, shown);
        int64_t gaps = 0, all = att_axis_shown(&axis);
        assert_int_equal(att_axis_at(&axis, 0), 0);
        assert_int_equal(att_axis_at(&axis, all - 1), 999);
        assert_int_equal(all, shown < 2 ? 2 : shown);
        for (int64_t k = 0; k < all; k++)
            gaps += att_axis_gap(&axis, k);
        assert_int_equal(gaps, 1);
    }
}

static void a_selected_row_is_the_only_one_shown(void **state)
{
    (void)state;
    double data[6] = { 0 };
    const att_matrix tall = { .rows = 3, .cols = 2, .data = data };
    const att_matrix flat = { .rows = 1, .cols = 6, .data = data };
    att_render_options options = { .size = sizeof(att_render_options), .row = 3 };
    att_view view = att_view_of(&tall, &options, 20, 20);
    assert_int_equal(att_axis_shown(&view.rows), 1);
    assert_int_equal(att_axis_at(&view.rows, 0), 2);
    view = att_view_of(&flat, &options, 20, 20);
    assert_int_equal(att_axis_shown(&view.rows), 1);
    assert_int_equal(att_axis_at(&view.rows, 0), 0);
    options.row = 4;
    view = att_view_of(&tall, &options, 20, 20);
    assert_int_equal(att_axis_shown(&view.rows), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_axis_that_fits_is_shown_whole),
        cmocka_unit_test(the_rest_shows_both_ends_and_one_gap),
        cmocka_unit_test(a_selected_row_is_the_only_one_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
