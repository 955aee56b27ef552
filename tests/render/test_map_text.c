/* Maps in the terminal: alignment, colors and width. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "failing_memory.h"
#include "render/map.h"
#include "render/maps.h"
#include "render/number.h"
#include "text/display_width.h"

#include <string.h>

static att_string drawn(const att_map *map, att_render_options options)
{
    att_string text = { 0 };
    options.size = sizeof options;
    assert_int_equal(att_map_render(&text, map, &options, NULL), ATT_OK);
    return text;
}

static void assert_drawn(const att_map *map, att_render_options options, const char *expected)
{
    att_string text = drawn(map, options);
    assert_string_equal(text.data, expected);
    att_string_free(&text);
}

static void without_color_cells_have_shades_and_values(void **state)
{
    (void)state;
    assert_drawn(&dot_map, (att_render_options){ .size = sizeof(att_render_options), .width = 80 },
                 "Attention of the decoder\n"
                 "               key\n"
                 "query   I      go    home\n"
                 "s_t    ░0.26  ░0.33  ▒0.41\n"
                 "      0    ░░░░░░▒▒▒▒▒▒▓▓▓▓▓▓███ 1\n");
}

static void marked_queries_have_a_star(void **state)
{
    (void)state;
    static const uint8_t marked[] = { 1, 0 };
    static const double values[] = { 1, 0, 0, 1 };
    att_map map = { .panels = 1,
                    .queries = 2,
                    .keys = 2,
                    .weights = values,
                    .query_labels = english,
                    .query_name = "output",
                    .marked = marked,
                    .mark_name = "copied" };
    const att_render_options options = { .size = sizeof options, .width = 80 };
    assert_drawn(&map, options,
                 "                       key\n"
                 "output (* copied)   1      2\n"
                 "I*                 █1.00   0.00\n"
                 "go                  0.00  █1.00\n"
                 "                  0    ░░░░░░▒▒▒▒▒▒▓▓▓▓▓▓███ 1\n");
    map.marked = marked + 1; /* the first of them */
    map.queries = 1;
    att_string text = drawn(&map, options);
    assert_null(strchr(text.data, '*'));
    att_string_free(&text);
}

static void ascii_uses_nothing_else(void **state)
{
    (void)state;
    att_map map = causal_map;
    map.title = "heads";
    map.query_labels = map.key_labels = english;
    att_string text = drawn(
        &map,
        (att_render_options){ .size = sizeof(att_render_options), .ascii = true, .width = 80 });
    for (size_t i = 0; i < text.length; i++)
        assert_in_range(text.data[i], '\n', '~');
    assert_non_null(strstr(text.data, "//////"));
    assert_non_null(strstr(text.data, "@1.00"));
    att_string_free(&text);
}

static void masks_and_nan_are_marked(void **state)
{
    (void)state;
    att_map map = causal_map;
    map.key_labels = english;
    assert_drawn(&map,
                 (att_render_options){ .size = sizeof(att_render_options), .width = 80, .head = 2 },
                 "আমি <স্কুলে> & যাই\n"
                 "               key\n"
                 "query   I      go    home\n"
                 "আমি    █1.00 ╱╱╱╱╱╱ ╱╱╱╱╱╱\n"
                 "স্কুলে   █0.90   0.10 ╱╱╱╱╱╱\n"
                 "যাই    ░0.20  nan    ▒0.50\n"
                 "      0    ░░░░░░▒▒▒▒▒▒▓▓▓▓▓▓███ 1   ╱╱ masked\n");
}

static void colors_are_those_of_the_colormap_and_end_with_the_cell(void **state)
{
    (void)state;
    const double ends[] = { 0, 1 };
    const att_map map = { .panels = 1, .queries = 1, .keys = 2, .weights = ends };
    att_string text =
        drawn(&map, (att_render_options){
                        .size = sizeof(att_render_options), .color = ATT_COLOR_TRUE, .width = 80 });
    assert_non_null(strstr(text.data, "\033[48;2;34;20;61;38;2;255;255;255m 0.00 \033[0m"));
    assert_non_null(strstr(text.data, "\033[48;2;251;237;92;38;2;16;16;16m 1.00 \033[0m"));
    att_string_free(&text);
    text =
        drawn(&map, (att_render_options){
                        .size = sizeof(att_render_options), .color = ATT_COLOR_256, .width = 80 });
    assert_non_null(strstr(text.data, "\033[48;5;17;38;5;231m 0.00 \033[0m"));
    assert_non_null(strstr(text.data, "\033[48;5;227;38;5;16m 1.00 \033[0m"));
    assert_null(strstr(text.data, "48;2;"));
    att_string_free(&text);
}

/* The columns of the longest line, escape sequences aside. */
static int longest_line(const char *text)
{
    int longest = 0, column = 0;
    while (*text) {
        if (*text == '\n') {
            column = 0;
            text++;
        } else if (*text == '\033') {
            text += strcspn(text, "m") + 1;
        } else {
            column += att_display_width_next(&text);
            longest = column > longest ? column : longest;
        }
    }
    return longest;
}

static void infinite_cells_are_marked(void **state)
{
    (void)state;
    att_string text = drawn(
        &infinite_map, (att_render_options){ .size = sizeof(att_render_options), .width = 80 });
    assert_non_null(strstr(text.data, "  ∞      -∞"));
    att_string_free(&text);
    text = drawn(
        &infinite_map,
        (att_render_options){ .size = sizeof(att_render_options), .width = 80, .ascii = true });
    assert_non_null(strstr(text.data, " inf    -inf"));
    att_string_free(&text);
    att_map flat = infinite_map;
    flat.queries = 1;
    flat.keys = 4;
    text = drawn(&flat, (att_render_options){
                            .size = sizeof(att_render_options), .width = 20, .ascii = true });
    assert_non_null(strstr(text.data, "^^vv")); /* in cells of two columns */
    att_string_free(&text);
}

static void a_number_fits_its_cell(void **state)
{
    (void)state;
    static const struct {
        double value;
        att_color_scale scale;
        int room;
        const char *text;
    } cells[] = {
        { 0.408738, { 0, 1, false }, 6, "0.41" },
        { 0.00085, { 0, 1, false }, 6, "0.00" },
        { -0.00085, { -3, 3, true }, 6, "0.00" },
        { 0.00085, { 0, 0.0009, false }, 6, "0.0008" }, /* if all values are that small */
        { 4.25e-07, { 0, 5e-07, false }, 5, "4e-07" },
        { 123456, { 0, 123456, false }, 6, "1e+05" },
        { 123, { 0, 123, false }, 6, "123.00" },
    };
    char text[ATT_NUMBER_SIZE];
    for (size_t i = 0; i < ATT_COUNT(cells); i++) {
        att_map_number(text, cells[i].value, &cells[i].scale, 2, cells[i].room);
        assert_string_equal(text, cells[i].text);
    }
}

static void every_line_keeps_within_the_terminal(void **state)
{
    (void)state;
    static double weights[8 * 120 * 130];
    const int64_t shapes[][3] = { { 1, 1, 3 },   { 2, 6, 6 },     { 8, 5, 7 },
                                  { 1, 40, 40 }, { 1, 120, 130 }, { 3, 2, 60 } };
    const int widths[] = { 20, 40, 80, 133 };
    for (size_t i = 0; i < ATT_COUNT(shapes); i++) {
        for (size_t k = 0; k < ATT_COUNT(widths); k++) {
            att_map map = { .panels = shapes[i][0],
                            .queries = shapes[i][1],
                            .keys = shapes[i][2],
                            .weights = weights };
            att_string text = drawn(&map, (att_render_options){ .size = sizeof(att_render_options),
                                                                .width = widths[k],
                                                                .color = ATT_COLOR_TRUE });
            int most = widths[k] < 50 ? 50 : widths[k]; /* the line that states a reduction */
            assert_in_range(longest_line(text.data), 1, most);
            att_string_free(&text);
        }
    }
}

static void cells_line_up_under_labels_of_any_width(void **state)
{
    (void)state;
    const char *const labels[] = { "日本語", "e\xCC\x81", "স্কুলে" };
    att_map map = dot_map;
    map.queries = 3;
    map.weights = causal_weights;
    map.query_labels = labels;
    map.title = NULL;
    att_string text =
        drawn(&map, (att_render_options){ .size = sizeof(att_render_options), .width = 80 });
    const char *line = strchr(strchr(text.data, '\n') + 1, '\n') + 1;
    int columns[3];
    for (int i = 0; i < 3; i++) {
        char before[64] = "";
        const char *point = strchr(line, '.');
        memcpy(before, line, (size_t)(point - line));
        columns[i] = att_display_width(before);
        line = strchr(line, '\n') + 1;
    }
    assert_int_equal(columns[0], columns[1]);
    assert_int_equal(columns[1], columns[2]);
    att_string_free(&text);
}

static void long_labels_are_numbered_with_a_legend(void **state)
{
    (void)state;
    att_string text =
        drawn(&causal_map, (att_render_options){ .size = sizeof(att_render_options), .width = 60 });
    assert_non_null(strstr(text.data, "1      2      3"));
    assert_non_null(strstr(text.data, "1 <b>&\"'   2 日本語\n"));
    assert_non_null(strstr(text.data, "3 a very long label that goes on and on\n"));
    att_string_free(&text);
}

static void a_map_too_large_is_averaged_and_states_both_sizes(void **state)
{
    (void)state;
    static double weights[100 * 100];
    static uint8_t allowed[100 * 100];
    for (int i = 0; i < 100 * 100; i++) {
        weights[i] = i % 5 == 0 ? 0.9 : 0.4; /* five to a cell: 0.5 on average */
        allowed[i] = i / 100 < 50;
    }
    const att_map map = {
        .panels = 1, .queries = 100, .keys = 100, .weights = weights, .allowed = allowed
    };
    att_string text = drawn(
        &map,
        (att_render_options){ .size = sizeof(att_render_options), .width = 48, .ascii = true });
    assert_non_null(strstr(text.data, "100 x 100 shown as 60 x 20, each cell the mean\n"));
    assert_non_null(strstr(text.data, "++++++++++++++++++++++++++++++++++++++++\n"));
    assert_non_null(strstr(text.data, "////////////////////////////////////////\n"));
    att_string_free(&text);
}

static void a_reduced_map_takes_the_mean_of_unmasked_cells(void **state)
{
    (void)state;
    const double weights[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    const uint8_t allowed[] = { 1, 0, 0, 0, 1, 1, 0, 0 };
    const att_map map = {
        .panels = 1, .queries = 2, .keys = 4, .weights = weights, .allowed = allowed
    };
    att_arena arena = { 0 };
    att_map small;
    assert_true(att_map_shrink(&small, &map, 1, 2, &arena));
    assert_int_equal(small.queries, 1);
    assert_int_equal(small.keys, 2);
    assert_true(small.weights[0] == 4); /* of 1, 5 and 6 */
    assert_int_equal(small.allowed[0], 1);
    assert_int_equal(small.allowed[1], 0);
    assert_string_equal(small.query_labels[0], "1-2");
    assert_string_equal(small.key_labels[1], "3-4");
    att_arena_free(&arena);
}

static void a_head_out_of_range_is_refused(void **state)
{
    (void)state;
    att_string text = { 0 };
    att_error err = { 0 };
    const att_render_options options = { .size = sizeof(att_render_options), .head = 3 };
    assert_int_equal(att_map_render(&text, &causal_map, &options, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "head 3 is out of range: the map has 2");
    assert_null(text.data);
}

static att_status draw_large(void *context)
{
    static double weights[200 * 200];
    const att_map map = { .panels = 1, .queries = 200, .keys = 200, .weights = weights };
    const att_render_options options = { .size = sizeof(att_render_options), .width = 60 };
    att_string text = { 0 };
    (void)context;
    att_status status = att_map_render(&text, &map, &options, NULL);
    assert_true(status == ATT_OK || text.length == 0);
    att_string_free(&text);
    return status;
}

static void sizes_that_are_negative_or_overflow_are_refused(void **state)
{
    (void)state;
    const int64_t huge = INT64_C(1) << 32;
    static const double one[] = { 1 };
    const att_map maps[] = {
        { .panels = 1, .queries = huge, .keys = huge, .weights = one },
        { .panels = huge, .queries = huge, .keys = 1, .weights = one },
        { .panels = INT64_MAX, .queries = 0, .keys = INT64_MAX, .weights = one },
        { .panels = 1, .queries = INT64_MAX / 4, .keys = 1, .weights = one },
        { .panels = 1, .queries = -1, .keys = 1, .weights = one },
        { .panels = 1, .queries = 1, .keys = 1 },
    };
    static const char *const messages[] = {
        "1 × 4294967296 × 4294967296 weights are more than fit in memory",
        "4294967296 × 4294967296 × 1 weights are more than fit in memory",
        "9223372036854775807 × 0 × 9223372036854775807 weights are more than fit in memory",
        "1 × 2305843009213693951 × 1 weights are more than fit in memory",
        "1 × -1 × 1 weights: expected no negative size",
        "has 1 × 1 × 1 weights, but `weights` is NULL",
    };
    static const att_format formats[] = { ATT_FORMAT_TEXT, ATT_FORMAT_SVG };
    for (size_t i = 0; i < ATT_COUNT(maps); i++)
        for (size_t f = 0; f < 2; f++) {
            att_string text = { 0 };
            att_error err = { 0 };
            const att_render_options options = { .size = sizeof options, .format = formats[f] };
            assert_int_equal(att_map_render(&text, &maps[i], &options, &err), ATT_BAD_INPUT);
            assert_string_equal(err.message, messages[i]);
            assert_int_equal(text.length, 0);
            att_string_free(&text);
        }
}

static void running_out_of_memory_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    every_allocation_fails(draw_large, NULL, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_color_cells_have_shades_and_values),
        cmocka_unit_test(marked_queries_have_a_star),
        cmocka_unit_test(ascii_uses_nothing_else),
        cmocka_unit_test(masks_and_nan_are_marked),
        cmocka_unit_test(colors_are_those_of_the_colormap_and_end_with_the_cell),
        cmocka_unit_test(infinite_cells_are_marked),
        cmocka_unit_test(a_number_fits_its_cell),
        cmocka_unit_test(every_line_keeps_within_the_terminal),
        cmocka_unit_test(cells_line_up_under_labels_of_any_width),
        cmocka_unit_test(long_labels_are_numbered_with_a_legend),
        cmocka_unit_test(a_map_too_large_is_averaged_and_states_both_sizes),
        cmocka_unit_test(a_reduced_map_takes_the_mean_of_unmasked_cells),
        cmocka_unit_test(a_head_out_of_range_is_refused),
        cmocka_unit_test(sizes_that_are_negative_or_overflow_are_refused),
        cmocka_unit_test(running_out_of_memory_is_reported_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
