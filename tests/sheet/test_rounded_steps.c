/* `round each step to N decimals`: the second column, claims about it, and what they say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/minmax.h"
#include "base/string.h"
#include "sheet_help.h"

static void every_step_is_rounded_before_it_is_used(void **state)
{
    (void)state;
    assert_sheet_passes("x = [1.87 1.09]\n" /* as written: not rounded */
                        "round each step to 1 decimal\n"
                        "expect x = [1.87 1.09] by hand\n"
                        "expect x' = [1.87; 1.09] by hand\n"
                        "expect [x, 1.234] = [1.87 1.09 1.234] by hand\n"
                        "expect transpose(x) = [1.87; 1.09] by hand\n"
                        "y = x * 1.5\n"
                        "expect y = [2.805 1.635]\n"
                        "expect y = [2.8 1.6] by hand\n"
                        "z = y + y\n"
                        "expect z = [5.61 3.27]\n"
                        "expect z = [5.6 3.2] by hand\n"
                        "expect sqrt(2) * 3 = 4.2 by hand\n"
                        "expect linear(x, [1; 1], 0.16) = 3.1 by hand\n"
                        "y = [7 7]\n" /* a new value of the name in both columns */
                        "expect y = [7 7] by hand\n"
                        "cut each step to 1 decimals\n"
                        "expect x * 1.5 = [2.8 1.6] by hand\n"
                        "expect -0.29 * 1 = -0.2 by hand\n"
                        "expect z = [5.6 3.2] by hand\n");
}

/* The mean 2.33 and the variance 1.56 are rounded to 2.3 and 1.6 before they are used. */
static void norms_round_their_mean_and_variance(void **state)
{
    (void)state;
    assert_sheet_passes("round each step to 1 decimal\n"
                        "y = layernorm([1 2 4])\n"
                        "expect y = [-1.069 -0.267 1.336] to 3 decimals\n"
                        "expect y = [-1.0 -0.2 1.3] by hand\n"
                        "expect layernorm([1 2 4], [2 1 1], [0 1 0]) = [-2.1 0.8 1.3] by hand\n"
                        "expect layernorm([1; 2; 4], vectors = columns) = [-1; -0.2; 1.3] by hand\n"
                        "expect rmsnorm([1 0.5 0.3]) = [1.6 0.8 0.5] by hand\n");
}

/* -1.2 · 1.5 + 5.5 · 0.3 is -0.15 on paper, and slightly less in binary. */
static void a_tie_on_paper_is_a_tie(void **state)
{
    (void)state;
    assert_sheet_passes("round each step to 1 decimals\n"
                        "expect [-1.2 5.5] * [1.5; 0.3] = -0.2 by hand\n"
                        "expect [1.2 5.5] * [1.5; -0.3] = 0.2 by hand\n");
}

static void layers_round_their_parts(void **state)
{
    (void)state;
    assert_sheet_passes(
        "round each step to 1 decimals\n"
        "q = [-1.04 3.66]\n"
        "a = self_attention(q, [1 0; 0 1], [2 0; 0 1], score = dot)\n"
        "expect a.q = [-1.0 3.7] by hand\n"
        "expect a.k = [-2.1 3.7] by hand\n"
        "expect a.scores = 15.8 by hand\n" /* 2.1 + 13.69 */
        "s = attention([1 2], [1 2; 2 1], [1 2; 3 4])\n"
        "expect s.products = [5 4] by hand\n"
        "expect s.scores = [3.5 2.8] by hand\n"
        "expect s.weights = [0.7 0.3] by hand\n"
        "expect s = [1.6 2.6] by hand\n"
        "m = attention([1 2; 1 2], [1 2; 2 1], [1 2; 3 4], mask = causal)\n"
        "expect m.weights = [1 0; 0.7 0.3] by hand\n"
        "expect m = [1 2; 1.6 2.6] by hand\n"
        "g = attention([1 2], [1 2; 2 1], [1; 3], score = general, W = [0.44 0; 0 1])\n"
        "expect g.projected = [0.4 2; 0.9 1] by hand\n"
        "expect g.scores = [4.4 2.9] by hand\n"
        "d = attention([1 2], [1 2; 2 1], [1; 3], score = additive, W = [0.44; 0.1], U = [0.1; "
        "0.2], v = [2])\n"
        "expect d.scores = [1.6 1.5] by hand\n" /* 2 tanh(0.6 + 0.5), 2 tanh(0.6 + 0.4) */
        "b = attention([1 2], [1 2; 2 1], [1; 3], score = dot, bias = [0.04 0.06], softcap = 5)\n"
        "expect b.scores = [3.8 3.4] by hand\n"
        "r = rnn([1; 2], [0.55], [0.33], [0.5])\n"
        "expect r.z = [0.6; 0.9] by hand\n" /* 0.33 + 0.275; 0.66 + 0.5 · 0.5 */
        "expect r = [0.5; 0.7] by hand\n"
        "l = lstm([1], [0], [0.2], [1 2 3 4] / 10, [0 0 0 0])\n"
        "expect l.c = 0.3 by hand\n" /* 0.5 · 0.2 + 0.5 · 0.3 */
        "u = gru([1], [0.5], [1 2 3] / 10, [0 0 0])\n"
        "expect u.z = 0.5 by hand\n"
        "expect u = 0.4 by hand\n");
}

static const char *message_of(const att_sheet *sheet, size_t step)
{
    return sheet->steps[step].check->message;
}

static void the_outcome_says_whether_rounding_explains_a_number(void **state)
{
    (void)state;
    static const char text[] = "x = [1.04 2.06]\n"
                               "round each step to 1 decimal\n"
                               "y = x * [1; 1]\n"
                               "z = x * [3; 3]\n"
                               "w = y * 3\n"
                               "expect z = 9.3 by hand\n"
                               "expect w = 9.3 by hand\n"
                               "expect 10 * y = 31 by hand\n"
                               "expect w = 9.4 by hand\n"
                               "expect not w = 9.4 by hand\n";
    att_sheet *sheet = sheet_from(text);
    const size_t first = 4;
    assert_string_equal(message_of(sheet, first), "agrees by hand, and so does the exact result");
    assert_string_equal(message_of(sheet, first + 1),
                        "agrees by hand, and so does the exact result");
    assert_string_equal(message_of(sheet, first + 2),
                        "agrees by hand, and so does the exact result");
    assert_false(sheet->steps[first + 3].check->passed);
    assert_true(sheet->steps[first + 4].check->passed);
    att_sheet_free(sheet);
    sheet = sheet_from("x = 1.24\nround each step to 1 decimal\ny = x * 1\nz = y * 10\n"
                       "expect z = 12 by hand\nexpect z = 12.0 as printed\n");
    assert_string_equal(message_of(sheet, 3),
                        "agrees by hand: rounding alone explains it, the exact result differs by "
                        "0.4");
    assert_false(sheet->steps[4].check->passed);
    assert_non_null(
        strstr(message_of(sheet, 4), "rounding alone explains it: expected '… by hand'"));
    att_sheet_free(sheet);
}

static void both_columns_are_in_every_format(void **state)
{
    (void)state;
    static const struct {
        att_format format;
        const char *column, *sum;
    } rows[] = {
        { ATT_FORMAT_TEXT, "  ≈ [ 1.9  3.7 ]   each step rounded to 1 decimal",
          "y₁ = 1.87·1 ≈ 1.9" },
        { ATT_FORMAT_MARKDOWN, "\\approx \\left[", "{y}_{1} &= 1.87 \\cdot 1 \\approx 1.9" },
        { ATT_FORMAT_LATEX, "\\quad \\approx \\left[", "{y}_{1} = 1.87 \\cdot 1 \\approx 1.9" },
        { ATT_FORMAT_HTML, "<mo>≈</mo></mrow></math>", ">≈</mo><mn>1.9</mn>" },
        { ATT_FORMAT_JSON, "\"rounded\":{\"rows\":1,\"cols\":2,\"data\":[[1.9,3.7]]}",
          "\"rounded\":true" },
    };
    for (size_t i = 0; i < ATT_COUNT(rows); i++) {
        att_sheet *sheet = sheet_from("x = [1.87 3.74]\nround each step to 1 decimal\n"
                                      "y = x * 1\nround no step\nw = x * 1\n");
        const att_render_options options = { .size = sizeof options, .format = rows[i].format };
        att_string out = { 0 };
        assert_int_equal(att_sheet_render(&out, sheet, &options, NULL), ATT_OK);
        if (!strstr(out.data, rows[i].column) || !strstr(out.data, rows[i].sum))
            fail_msg("%s", out.data);
        assert_null(step_named(sheet, "w")->rounded);
        att_string_free(&out);
        att_sheet_free(sheet);
    }
}

static void mistakes_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        { "x = 1\nexpect x = 1 by hand\n", "nothing is computed by hand here" },
        { "round each step to 1 decimal\nexpect 1 = 1 by\n", "expected 'hand' after 'by'" },
        { "round each step to two decimals\n", "a number of decimals from 0 to 12" },
        { "round each step to 2\n", "expected 'decimals'" },
        { "round each step to 2 digits\n", "expected 'decimals'" },
        { "round each step\n", "expected 'to'" },
        { "cut each step to 99 decimals\n", "from 0 to 12" },
        { "round each step to 2 decimals and go on\n", "end of the statement" },
        { "round no step now\n", "end of the statement" },
    };
    for (size_t i = 0; i < ATT_COUNT(rows); i++) {
        att_sheet *sheet;
        att_error err = { 0 };
        assert_int_equal(
            att_sheet_read(&sheet, rows[i].text, strlen(rows[i].text), "test", NULL, &err),
            ATT_BAD_INPUT);
        if (!strstr(err.message, rows[i].message))
            fail_msg("%s: %s", rows[i].text, err.message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_step_is_rounded_before_it_is_used),
        cmocka_unit_test(norms_round_their_mean_and_variance),
        cmocka_unit_test(a_tie_on_paper_is_a_tie),
        cmocka_unit_test(layers_round_their_parts),
        cmocka_unit_test(the_outcome_says_whether_rounding_explains_a_number),
        cmocka_unit_test(both_columns_are_in_every_format),
        cmocka_unit_test(mistakes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
