/* Highlighted text: every token is shown in the color of its value, on lines that fit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "render/render_as.h"
#include "base/alloc.h"
#include "render/highlight.h"
#include "render/xml_check.h"
#include "text/display_width.h"

#include <math.h>
#include <string.h>

static const char *const tokens[] = { "i", "f", " ", "(", "\t", "<", "é", "\n", "日", "}" };
static const double values[] = { -1, -0.5, 0, 0.25, 0.5, 0.75, 1, 0, -1, NAN };
static const uint8_t marked[] = { 0, 0, 0, 1, 1, 0, 0, 0, 0, 0 };
static const att_highlight sample = { .title = "unit <7>",
                                      .count = 10,
                                      .tokens = tokens,
                                      .values = values,
                                      .underlined = marked,
                                      .max_value = 1 };

static att_string text_of(const att_highlight *highlight, att_render_options options)
{
    att_string text = { 0 };
    assert_int_equal(att_highlight_render(&text, highlight, &options, NULL), ATT_OK);
    return text;
}

static void assert_holds(const att_string *text, const char *word)
{
    if (!strstr(text->data, word))
        fail_msg("not in the document: %s\n%s", word, text->data);
}

static size_t count(const char *text, const char *word)
{
    size_t found = 0;
    for (; (text = strstr(text, word)); text++)
        found++;
    return found;
}

static void without_colors_blocks_below_each_line_show_the_values(void **state)
{
    (void)state;
    att_string text = text_of(&sample, (att_render_options)ATT_INIT(att_render_options));
    assert_string_equal(text.data, "unit <7>\n"
                                   "if (→   <é↵\n"
                                   "▁▂▄▅▆▆▆▆▇█▄\n"
                                   "日}\n"
                                   "▁▁\n"
                                   "-1 ▁▁▂▂▃▃▄▄▅▅▆▆▇▇██ 1\n");
    att_string_free(&text);
}

static void ascii_draws_with_nothing_else(void **state)
{
    (void)state;
    static const char *const plain[] = { "a", "\t", "\n" };
    const att_highlight highlight = { .count = 3,
                                      .tokens = plain,
                                      .values = (double[]){ 1, 0, -1 } };
    att_string text = text_of(
        &highlight, (att_render_options){ .size = sizeof(att_render_options), .ascii = true });
    assert_string_equal(text.data, "a>      $\n@+++++++\n-1  ..::-==++*##%%@ 1\n");
    att_string_free(&text);
}

static void in_color_each_value_has_its_background_and_marks_are_underlined(void **state)
{
    (void)state;
    att_string text = text_of(&sample, (att_render_options){ .size = sizeof(att_render_options),
                                                             .color = ATT_COLOR_TRUE });
    assert_holds(&text, "\033[48;2;255;176;77;38;2;16;16;16mi\033[0m"); /* -1: orange */
    assert_holds(&text, "\033[48;2;127;219;238;38;2;16;16;16mé");       /* 1: blue */
    assert_holds(&text, "\033[4m(\033[0m");
    assert_holds(&text, "\033[0m}\033[0m\n"); /* not a number: no color */
    att_string_free(&text);
}

static void of_256_colors_the_ends_are_orange_and_blue_and_zero_is_dark(void **state)
{
    (void)state;
    att_string text = text_of(&sample, (att_render_options){ .size = sizeof(att_render_options),
                                                             .color = ATT_COLOR_256 });
    assert_holds(&text, "\033[48;5;215;38;5;16mi");
    assert_holds(&text, "\033[48;5;235;38;5;231m ");
    assert_holds(&text, "\033[48;5;117;38;5;16mé");
    att_string_free(&text);
}

static void a_crlf_is_one_line_end(void **state)
{
    (void)state;
    static const char *const dos[] = { "a", "\r\n" };
    const att_highlight highlight = { .count = 2, .tokens = dos, .values = (double[]){ 1, 0 } };
    att_string text = text_of(&highlight, (att_render_options)ATT_INIT(att_render_options));
    assert_string_equal(text.data, "a↵\n█▁\n0 ▁▁▂▂▃▃▄▄▅▅▆▆▇▇██ 1\n");
    att_string_free(&text);
}

static void one_color_is_sent_to_the_terminal_once(void **state)
{
    (void)state;
    static const char *const same[] = { "a", "b", "c" };
    const att_highlight highlight = { .count = 3, .tokens = same, .values = (double[]){ 1, 1, 1 } };
    att_string text = text_of(&highlight, (att_render_options){ .size = sizeof(att_render_options),
                                                                .color = ATT_COLOR_256 });
    assert_holds(&text, "mabc\033[0m\n");
    att_string_free(&text);
}

static void user_text_cannot_send_escape_sequences(void **state)
{
    (void)state;
    static const char *const bad[] = { "\033", "[2J", "\xff" };
    const att_highlight highlight = { .count = 3, .tokens = bad, .values = (double[]){ 0, 0, 0 } };
    att_string text = text_of(&highlight, (att_render_options)ATT_INIT(att_render_options));
    assert_null(strchr(text.data, '\033'));
    assert_holds(&text, "\xEF\xBF\xBD[2J\xEF\xBF\xBD\n");
    att_string_free(&text);
}

static void values_that_are_never_negative_have_a_scale_from_zero_to_the_largest(void **state)
{
    (void)state;
    const att_highlight weights = { .count = 3,
                                    .tokens = tokens,
                                    .values = (double[]){ 0, 0.2, 4 } };
    att_color_scale scale = att_highlight_scale(&weights);
    assert_true(scale.low == 0 && scale.high == 4 && !scale.diverging);
    const att_highlight nothing = { .count = 1, .tokens = tokens, .values = (double[]){ NAN } };
    scale = att_highlight_scale(&nothing);
    assert_true(scale.low == 0 && scale.high == 1 && !scale.diverging);
}

/* The text of line `index` of a layout. */
static void line_text(char *out, const att_glyphs *glyphs, int64_t index)
{
    *out = '\0';
    for (int64_t i = glyphs->lines[index].first; i < glyphs->lines[index].end; i++)
        strncat(out, glyphs->all[i].text, glyphs->all[i].bytes);
}

static void assert_lines(const char *text, int columns, const char *const *lines, int64_t count_of)
{
    att_arena arena = { 0 };
    att_glyphs glyphs;
    const att_highlight highlight = { .count = 1, .tokens = &text, .values = (double[]){ 0 } };
    char found[200];
    assert_true(att_glyphs_lay_out(&glyphs, &highlight, columns, &arena));
    assert_int_equal(glyphs.line_count, count_of);
    for (int64_t i = 0; i < count_of; i++) {
        line_text(found, &glyphs, i);
        assert_string_equal(found, lines[i]);
    }
    att_arena_free(&arena);
}

static void lines_break_after_a_blank_that_is_near_and_else_where_they_are_full(void **state)
{
    (void)state;
    assert_lines("one two three", 9, (const char *[]){ "one two ", "three" }, 2);
    assert_lines("a abcdefghijkl", 9, (const char *[]){ "a abcdefg", "hijkl" }, 2);
    assert_lines("日本語", 5, (const char *[]){ "日本", "語" }, 2);
    assert_lines("123456789\nx", 9, (const char *[]){ "123456789\n", "x" },
                 2); /* it stands beyond the last column */
    assert_lines("a\n\nb\n", 9, (const char *[]){ "a\n", "\n", "b\n" }, 3);
    assert_lines("日", 1, (const char *[]){ "日" }, 1); /* a line has at least one glyph */
    assert_lines("a\r\n\r\nb", 9, (const char *[]){ "a\r\n", "\r\n", "b" }, 3);
    assert_lines("", 9, NULL, 0);
}

static void no_line_of_a_long_text_is_wider_than_asked(void **state)
{
    (void)state;
    static const char *const words[] = {
        "word", " ", "শব্দ", "\t", "日本", ",", " ", "x", "\n", "yy"
    };
    enum { COUNT = 400 };
    const char *all[COUNT];
    double zeros[COUNT] = { 0 };
    for (int i = 0; i < COUNT; i++)
        all[i] = words[(i * 7 + i / 9) % 10];
    const att_highlight highlight = { .count = COUNT, .tokens = all, .values = zeros };
    for (int columns = 8; columns < 60; columns += 3) {
        att_arena arena = { 0 };
        att_glyphs glyphs;
        assert_true(att_glyphs_lay_out(&glyphs, &highlight, columns, &arena));
        int64_t next = 0;
        for (int64_t i = 0; i < glyphs.line_count; i++) {
            const att_glyph *last = &glyphs.all[glyphs.lines[i].end - 1];
            assert_int_equal(glyphs.lines[i].first, next); /* nothing is lost or repeated */
            assert_int_equal(glyphs.all[next].column, 0);
            assert_true(last->column + (last->kind == ATT_GLYPH_NEWLINE ? 0 : last->columns) <=
                        columns);
            next = glyphs.lines[i].end;
        }
        assert_int_equal(next, glyphs.count);
        att_arena_free(&arena);
    }
}

static void the_drawing_has_a_background_for_each_run_of_one_color(void **state)
{
    (void)state;
    static const char *const same[] = { "a", "b", " ", "&", "\n" };
    const att_highlight highlight = { .count = 5,
                                      .tokens = same,
                                      .values = (double[]){ 1, 1, 1, 0, 0 } };
    att_string text = { 0 };
    assert_int_equal(att_highlight_render(&text, &highlight, RENDER_AS(ATT_FORMAT_SVG), NULL),
                     ATT_OK);
    assert_well_formed(text.data);
    assert_holds(&text, "<rect x=\"16\" y=\"16\" width=\"27\" height=\"20\" fill=\"#162250\"/>");
    assert_holds(&text, "<rect x=\"43\" y=\"16\" width=\"18\" height=\"20\" fill=\"#f7fbf3\"/>");
    assert_holds(&text, " fill=\"#fff\">ab</text>");
    assert_holds(&text, ">&amp;</text>");
    att_string_free(&text);
    assert_int_equal(att_highlight_render(&text, &sample, RENDER_AS(ATT_FORMAT_SVG), NULL), ATT_OK);
    assert_well_formed(text.data);
    assert_holds(&text, "<title>unit &lt;7&gt;</title>");
    assert_holds(&text, ">-1</text>");
    att_string_free(&text);
}

static void the_page_shows_each_value_under_the_pointer(void **state)
{
    (void)state;
    att_string text = { 0 };
    assert_int_equal(att_highlight_render(&text, &sample, RENDER_AS(ATT_FORMAT_HTML), NULL),
                     ATT_OK);
    assert_well_formed(strstr(text.data, "<html"));
    assert_holds(&text, "<i class=\"d0\" title=\"-1\">i</i>");
    assert_holds(&text, "<i class=\"d32\" title=\"1\">é</i>");
    assert_holds(&text, "<i class=\"d20\" title=\"0.25\"><u>(</u></i>");
    assert_holds(&text, "<i class=\"d28\" title=\"0.75\">&lt;</i>");
    assert_holds(&text,
                 "<i class=\"d16 end\" title=\"0\"></i>\n<i class=\"d0\" title=\"-1\">日</i>}<");
    assert_int_equal(count(text.data, ".d32{"), 2); /* light, and dark */
    att_string_free(&text);
}

static void running_out_of_memory_leaves_the_text_as_it_was(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        att_status status = ATT_NO_MEMORY;
        for (size_t n = 1; status != ATT_OK; n++) {
            att_string text = { 0 };
            size_t live = att_alloc_live();
            att_alloc_fail_at(n);
            status =
                kind == 0
                    ? att_highlight_render(&text, &sample,
                                           &(att_render_options)ATT_INIT(att_render_options), NULL)
                : kind == 1
                    ? att_highlight_render(&text, &sample, RENDER_AS(ATT_FORMAT_SVG), NULL)
                    : att_highlight_render(&text, &sample, RENDER_AS(ATT_FORMAT_HTML), NULL);
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
        cmocka_unit_test(without_colors_blocks_below_each_line_show_the_values),
        cmocka_unit_test(ascii_draws_with_nothing_else),
        cmocka_unit_test(in_color_each_value_has_its_background_and_marks_are_underlined),
        cmocka_unit_test(of_256_colors_the_ends_are_orange_and_blue_and_zero_is_dark),
        cmocka_unit_test(a_crlf_is_one_line_end),
        cmocka_unit_test(one_color_is_sent_to_the_terminal_once),
        cmocka_unit_test(user_text_cannot_send_escape_sequences),
        cmocka_unit_test(values_that_are_never_negative_have_a_scale_from_zero_to_the_largest),
        cmocka_unit_test(lines_break_after_a_blank_that_is_near_and_else_where_they_are_full),
        cmocka_unit_test(no_line_of_a_long_text_is_wider_than_asked),
        cmocka_unit_test(the_drawing_has_a_background_for_each_run_of_one_color),
        cmocka_unit_test(the_page_shows_each_value_under_the_pointer),
        cmocka_unit_test(running_out_of_memory_leaves_the_text_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
