/* Wide formulas of Markdown are broken into lines, at sums and never inside of braces, stretched
 * parentheses and matrices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "attend.h"
#include "render/tex_break.h"

static void assert_broken(const char *tex, int64_t width, const char *expected)
{
    att_string text = { 0 };
    att_writer out = att_writer_on(&text);
    att_put_tex_broken(&out, tex, width);
    assert_int_equal(out.status, ATT_OK);
    assert_string_equal(text.data, expected);
    att_string_free(&text);
}

static void a_sum_is_broken_before_its_signs(void **state)
{
    (void)state;
    assert_broken("a &= 1 \\cdot 2 + 3 \\cdot 4 + 5 \\cdot 6 = 44", 40,
                  "a &= 1 \\cdot 2 + 3 \\cdot 4 + 5 \\cdot 6 = 44");
    assert_broken("a &= 1 \\cdot 2 + 3 \\cdot 4 + 5 \\cdot 6 = 44", 14,
                  "a &= 1 \\cdot 2 + 3 \\cdot 4 \\\\\n&\\qquad + 5 \\cdot 6 = 44");
    assert_broken("a &= \\tanh(1.5 + 2.5 - 3.5) \\approx 0.46", 14,
                  "a &= \\tanh(1.5 + 2.5 \\\\\n&\\qquad - 3.5) \\\\\n&\\qquad \\approx 0.46");
}

static void the_arguments_of_a_call_are_broken_behind_commas(void **state)
{
    (void)state;
    assert_broken("y &= \\operatorname{f}(a,\\ b_{1,2},\\ c)", 12,
                  "y &= \\operatorname{f}(a, \\\\\n&\\qquad\\ b_{1,2},\\ c)");
}

static void what_belongs_together_is_not_broken(void **state)
{
    (void)state;
    static const char *const whole[] = {
        "a &= \\frac{1 + 2 + 3 + 4}{5 - 6 - 7}",
        "a &= \\left(1 + 2 + 3 + 4\\right)",
        "a &= \\begin{bmatrix}1 + 2 & 3 - 4 \\\\ 5 & 6\\end{bmatrix}",
        "a &= e^{1 + 2 + 3 + 4}",
    };
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        assert_broken(whole[i], 3, whole[i]);
    assert_broken("a &= \\left(1 + 2\\right) + \\left(3 + 4\\right)", 9,
                  "a &= \\left(1 + 2\\right) \\\\\n&\\qquad + \\left(3 + 4\\right)");
}

static void widths_count_what_is_seen(void **state)
{
    (void)state;
    assert_int_equal(att_tex_width("12.5"), 5);
    assert_int_equal(att_tex_width("\\mathrm{ab}"), 3);
    assert_int_equal(att_tex_width("1 \\cdot 2"), 4);
    assert_int_equal(att_tex_width("\\begin{bmatrix}1 & 2 \\\\ 3 & 4\\end{bmatrix}"),
                     att_tex_width("\\begin{bmatrix}1 & 2\\end{bmatrix}"));
    assert_int_equal(att_tex_width(""), 0);
    assert_int_equal(att_tex_widest_piece("1 + \\frac{1 + 2}{3} - 4"), 5);
    assert_int_equal(att_tex_width("é"), 2);
    assert_broken("\\", 1, "\\");
    assert_broken("a } = \\begin{x", 20, "a } = \\begin{x");
}

static size_t count_of(const char *text, const char *word)
{
    size_t count = 0;
    for (; (text = strstr(text, word)); text++)
        count++;
    return count;
}

/* Wide statements, sums and fractions: blocks are closed, no line is wider than the page. */
static void a_markdown_document_has_no_line_wider_than_the_page(void **state)
{
    (void)state;
    static const char sheet[] =
        "detail all\nX = random(2, 8, seed = 1)\nW = random(8, 2, seed = 2)\n"
        "y = X * W\nn = layernorm(X)\n"
        "a_long_name = attention(X, X, X, score = additive, W = W, U = W, v = [0.125 0.25], "
        "normalizer = softmax, scale = 0.5)\n"
        "another_long_name = (X + X + X + X + X + X) .* (X + X + X + X + X) + (X - X - X) / 2 + X "
        "+ X + X + X + X + X + X + X + X\n"
        "round each step to 2 decimals\nrounded_by_hand = X .* X + X .* X + X .* X + X .* X + X .* "
        "X "
        "+ X .* X + X .* X + X .* X\n";
    att_sheet *made;
    att_error err = { 0 };
    if (att_sheet_read(&made, sheet, strlen(sheet), "wide", NULL, &err) != ATT_OK)
        fail_msg("line %d: %s", err.line, err.message);
    att_string text = { 0 };
    const att_render_options options = { .size = sizeof options, .format = ATT_FORMAT_MARKDOWN };
    assert_int_equal(att_sheet_render(&text, made, &options, NULL), ATT_OK);
    att_sheet_free(made);
    assert_int_equal(count_of(text.data, "\\begin{aligned}"),
                     count_of(text.data, "\\end{aligned}"));
    assert_true(count_of(text.data, "&= ") > 20 && count_of(text.data, "&\\qquad") > 5);
    bool math = false;
    for (const char *at = text.data; *at;) {
        char line[4096] = "";
        size_t length = strcspn(at, "\n");
        snprintf(line, sizeof line, "%.*s", (int)length, at);
        for (const char *c = line; *c; c++)
            assert_true((unsigned char)*c >= ' ');
        if (strncmp(line, "```", 3) == 0)
            math = !math;
        else if (math && att_tex_width(line) > 90)
            fail_msg("%lld wide: %s", (long long)att_tex_width(line), line);
        at += length + (at[length] == '\n');
    }
    att_string_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sum_is_broken_before_its_signs),
        cmocka_unit_test(the_arguments_of_a_call_are_broken_behind_commas),
        cmocka_unit_test(what_belongs_together_is_not_broken),
        cmocka_unit_test(widths_count_what_is_seen),
        cmocka_unit_test(a_markdown_document_has_no_line_wider_than_the_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
