/* Colormaps: ends, order and terminal colors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "render/color.h"

#include <math.h>

static int luma(att_rgb c)
{
    return 299 * c.red + 587 * c.green + 114 * c.blue;
}

static void levels_run_from_end_to_end_and_clamp(void **state)
{
    (void)state;
    const att_color_scale unit = { 0, 1, false };
    assert_int_equal(att_color_scale_level(&unit, 0), 0);
    assert_int_equal(att_color_scale_level(&unit, 1), ATT_COLOR_LEVELS - 1);
    assert_int_equal(att_color_scale_level(&unit, 0.5), (ATT_COLOR_LEVELS - 1) / 2);
    assert_int_equal(att_color_scale_level(&unit, -3), 0);
    assert_int_equal(att_color_scale_level(&unit, INFINITY), ATT_COLOR_LEVELS - 1);
    assert_int_equal(att_color_scale_level(&unit, -INFINITY), 0);
    const att_color_scale both = { -2, 2, true };
    assert_int_equal(att_color_scale_level(&both, 0), (ATT_COLOR_LEVELS - 1) / 2);
}

static void a_colormap_passes_through_its_anchors(void **state)
{
    (void)state;
    for (int colormap = ATT_COLORMAP_PAPER; colormap <= ATT_COLORMAP_DIVERGING; colormap++) {
        for (int i = 0; i < ATT_COLORMAP_ANCHORS; i++) {
            att_rgb expected = att_colormap_anchor((att_colormap)colormap, i);
            int level = i * (ATT_COLOR_LEVELS - 1) / (ATT_COLORMAP_ANCHORS - 1);
            att_rgb found = att_colormap_color((att_colormap)colormap, level);
            assert_memory_equal(&found, &expected, sizeof found);
        }
    }
}

static void paper_darkens_and_screen_brightens_with_every_level(void **state)
{
    (void)state;
    for (int level = 1; level < ATT_COLOR_LEVELS; level++) {
        assert_true(luma(att_colormap_color(ATT_COLORMAP_PAPER, level)) <=
                    luma(att_colormap_color(ATT_COLORMAP_PAPER, level - 1)));
        assert_true(luma(att_colormap_color(ATT_COLORMAP_SCREEN, level)) >=
                    luma(att_colormap_color(ATT_COLORMAP_SCREEN, level - 1)));
    }
}

static void the_diverging_colormap_is_lightest_at_zero(void **state)
{
    (void)state;
    int middle = luma(att_colormap_color(ATT_COLORMAP_DIVERGING, (ATT_COLOR_LEVELS - 1) / 2));
    for (int level = 0; level < ATT_COLOR_LEVELS; level++)
        assert_true(luma(att_colormap_color(ATT_COLORMAP_DIVERGING, level)) <= middle);
    /* The two sides differ in hue, not only in lightness. */
    att_rgb low = att_colormap_color(ATT_COLORMAP_DIVERGING, 20);
    att_rgb high = att_colormap_color(ATT_COLORMAP_DIVERGING, ATT_COLOR_LEVELS - 21);
    assert_true(low.red > low.blue && high.blue > high.red);
}

static void text_on_a_color_can_be_read(void **state)
{
    (void)state;
    assert_true(att_rgb_is_dark((att_rgb){ 0, 0, 80 }));
    assert_false(att_rgb_is_dark((att_rgb){ 255, 255, 200 }));
    assert_false(att_rgb_is_dark(att_colormap_color(ATT_COLORMAP_PAPER, 0)));
    assert_true(att_rgb_is_dark(att_colormap_color(ATT_COLORMAP_PAPER, ATT_COLOR_LEVELS - 1)));
}

static void terminal_colors_are_of_the_fixed_part_of_the_palette(void **state)
{
    (void)state;
    for (int colormap = ATT_COLORMAP_PAPER; colormap <= ATT_COLORMAP_DIVERGING; colormap++)
        for (int level = 0; level < ATT_COLOR_LEVELS; level++)
            assert_in_range(att_colormap_256((att_colormap)colormap, level), 16, 255);
    assert_int_not_equal(att_colormap_256(ATT_COLORMAP_SCREEN, 0),
                         att_colormap_256(ATT_COLORMAP_SCREEN, ATT_COLOR_LEVELS - 1));
    /* Near white is a light gray of the gray ramp, or the white of the cube. */
    assert_true(att_colormap_256(ATT_COLORMAP_PAPER, 0) >= 230);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_run_from_end_to_end_and_clamp),
        cmocka_unit_test(a_colormap_passes_through_its_anchors),
        cmocka_unit_test(paper_darkens_and_screen_brightens_with_every_level),
        cmocka_unit_test(the_diverging_colormap_is_lightest_at_zero),
        cmocka_unit_test(text_on_a_color_can_be_read),
        cmocka_unit_test(terminal_colors_are_of_the_fixed_part_of_the_palette),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
