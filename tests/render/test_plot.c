/* Plots: the scale covers every value, and each curve goes through its values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "render/render_as.h"
#include "base/alloc.h"
#include "render/plot.h"
#include "render/xml_check.h"

#include <math.h>
#include <string.h>

static const double falling[] = { 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1 };
static const double level[] = { 0.5, 0.5, 0, NAN, 0.5, 0.5, 0.5 };
static const att_curve curves[] = { { "RNN", falling }, { "LSTM <1>", level } };
static const att_plot sample = { .title = "Gradients",
                                 .x_label = "character",
                                 .y_label = "norm",
                                 .count = 7,
                                 .curves = curves,
                                 .curve_count = 2 };

static void assert_holds(const att_string *text, const char *word)
{
    if (!strstr(text->data, word))
        fail_msg("not in the document: %s\n%s", word, text->data);
}

static void the_scale_runs_between_powers_of_ten(void **state)
{
    (void)state;
    att_decades scale = att_plot_decades(&sample);
    assert_int_equal(scale.low, -6);
    assert_int_equal(scale.high, 0);
    assert_int_equal(scale.step, 1);
    assert_true(fabs(att_plot_height(&scale, 1e-3) - 0.5) < 1e-12);
    assert_true(att_plot_height(&scale, 0) < 0);
    assert_true(att_plot_height(&scale, NAN) < 0);
}

static void a_scale_has_at_most_forty_powers_and_at_least_one(void **state)
{
    (void)state;
    const att_plot tiny = { .count = 2,
                            .curves = &(att_curve){ "", (double[]){ 1, 1e-300 } },
                            .curve_count = 1 };
    att_decades scale = att_plot_decades(&tiny);
    assert_int_equal(scale.high - scale.low, 40);
    assert_true(att_plot_height(&scale, 1e-300) < 0);
    const att_plot flat = { .count = 1,
                            .curves = &(att_curve){ "", (double[]){ 1 } },
                            .curve_count = 1 };
    scale = att_plot_decades(&flat);
    assert_int_equal(scale.high - scale.low, 1);
    const att_plot none = { .count = 1,
                            .curves = &(att_curve){ "", (double[]){ 0 } },
                            .curve_count = 1 };
    scale = att_plot_decades(&none);
    assert_true(scale.high > scale.low);
}

static void without_colors_each_curve_has_its_own_character(void **state)
{
    (void)state;
    att_string text = { 0 };
    const att_render_options options = { .size = sizeof(att_render_options),
                                         .ascii = true,
                                         .width = 29 };
    assert_int_equal(att_plot_render(&text, &sample, &options, NULL), ATT_OK);
    /* 21 columns for 7 places, three to each but one and a half at the ends; 14 rows for 6 powers
     */
    assert_string_equal(text.data, "Gradients\n"
                                   "norm\n"
                                   " 1e+00 +                   **\n"
                                   "       |ooooo       ooooooooo\n"
                                   " 1e-01 +               ****\n"
                                   "       |\n"
                                   " 1e-02 +            ***\n"
                                   "       |\n"
                                   " 1e-03 +         ***\n"
                                   "       |\n"
                                   "       |\n"
                                   " 1e-04 +     ****\n"
                                   "       |\n"
                                   " 1e-05 +  ***\n"
                                   "       |\n"
                                   " 1e-06 +**\n"
                                   "       +---------------------\n"
                                   "        1     character     7\n"
                                   "        ** RNN\n"
                                   "        oo LSTM <1>\n");
    att_string_free(&text);
}

static void one_curve_is_drawn_in_dots_without_gaps(void **state)
{
    (void)state;
    att_string text = { 0 };
    att_plot one = sample;
    one.curve_count = 1;
    assert_int_equal(
        att_plot_render(&text, &one,
                        &(att_render_options){ .size = sizeof(att_render_options), .width = 20 },
                        NULL),
        ATT_OK);
    size_t rows = 0;
    for (const char *at = text.data; (at = strchr(at, '\n')); at++)
        rows += (unsigned char)at[-2] >= 0xA0 && (unsigned char)at[-2] <= 0xA3; /* of U+2800 on */
    assert_int_equal(rows, 14); /* steep as it is, it passes through every row */
    att_string_free(&text);
}

static void colors_distinguish_curves_that_dots_cannot(void **state)
{
    (void)state;
    att_string text = { 0 };
    const att_render_options options = { .size = sizeof(att_render_options),
                                         .color = ATT_COLOR_256 };
    assert_int_equal(att_plot_render(&text, &sample, &options, NULL), ATT_OK);
    assert_holds(&text, "\033[38;5;208m⠤⠤\033[0m RNN\n");
    assert_holds(&text, "\033[38;5;39m⠤⠤\033[0m LSTM <1>\n");
    att_string_free(&text);
}

static void the_drawing_breaks_a_curve_where_it_has_no_values(void **state)
{
    (void)state;
    att_string text = { 0 };
    assert_int_equal(att_plot_render(&text, &sample, RENDER_AS(ATT_FORMAT_SVG), NULL), ATT_OK);
    assert_well_formed(text.data);
    assert_holds(&text, "d=\"M64 350L177 300L290 250L404 200L517 150L630 100L744 50\"");
    assert_holds(&text, "d=\"M64 65L177 65M517 65L630 65L744 65\"");
    assert_holds(&text, ">LSTM &lt;1&gt;</text>");
    assert_holds(&text, ">character</text>");
    att_string_free(&text);
}

static void a_long_curve_has_no_more_points_than_pixels(void **state)
{
    (void)state;
    enum { LONG = 100000 };
    static double values[LONG];
    for (int i = 0; i < LONG; i++)
        values[i] = 1 + i;
    const att_plot plot = { .x_label = "",
                            .y_label = "",
                            .count = LONG,
                            .curves = &(att_curve){ "", values },
                            .curve_count = 1 };
    att_string text = { 0 };
    assert_int_equal(att_plot_render(&text, &plot, RENDER_AS(ATT_FORMAT_SVG), NULL), ATT_OK);
    assert_true(text.length < 20000);
    assert_holds(&text, "L744 24\""); /* the last place is among them */
    att_string_free(&text);
}

static void running_out_of_memory_leaves_the_text_as_it_was(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        att_status status = ATT_NO_MEMORY;
        for (size_t n = 1; status != ATT_OK; n++) {
            att_string text = { 0 };
            size_t live = att_alloc_live();
            att_alloc_fail_at(n);
            status = kind == 0
                         ? att_plot_render(&text, &sample,
                                           &(att_render_options)ATT_INIT(att_render_options), NULL)
                         : att_plot_render(&text, &sample, RENDER_AS(ATT_FORMAT_SVG), NULL);
            att_alloc_fail_at(0);
            assert_true(n < 100);
            if (status != ATT_OK)
                assert_int_equal(text.length, 0);
            att_string_free(&text);
            assert_int_equal(att_alloc_live(), live);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_scale_runs_between_powers_of_ten),
        cmocka_unit_test(a_scale_has_at_most_forty_powers_and_at_least_one),
        cmocka_unit_test(without_colors_each_curve_has_its_own_character),
        cmocka_unit_test(one_curve_is_drawn_in_dots_without_gaps),
        cmocka_unit_test(colors_distinguish_curves_that_dots_cannot),
        cmocka_unit_test(the_drawing_breaks_a_curve_where_it_has_no_values),
        cmocka_unit_test(a_long_curve_has_no_more_points_than_pixels),
        cmocka_unit_test(running_out_of_memory_leaves_the_text_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
