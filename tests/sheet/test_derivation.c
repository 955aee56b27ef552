/* Derivations: every operation is written out, inner results have names, and every sum holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/minmax.h"
#include "base/string.h"
#include "sheet_help.h"

static const char setup[] = "x = [1 2 -1]\nA = [1 2; -3 4]\nb = [0.5 -0.25]\n"
                            "W = [0.1 0.2; 0.3 0.4; -0.5 0.6]\nk = 3\n";

/* An expression, the names of its inner results and how many elements are worked out. */
static const struct {
    const char *expression, *inner;
    size_t count;
} cases[] = {
    { "x * W", "", 2 },
    { "x * W + b", "", 2 },
    { "A * A'", "", 4 },
    { "A * A * A", "z y", 8 },
    { "(A + 1) * A", "z y", 8 },
    { "2 * A - b", "", 4 },
    { "A .* A ./ b", "", 4 },
    { "A ^ 2", "", 4 },
    { "-x", "", 3 },
    { "k * k + 1", "", 1 },
    { "tanh(A)", "", 4 },
    { "tanh(x * W + b)", "", 2 },
    { "relu(tanh(A))", "z y", 8 },
    { "gelu(A) + sigmoid(b)", "", 4 },
    { "log(abs(A))", "z y", 8 },
    { "exp(x) / sum(exp(x))", "z y", 4 },
    { "sum(A)", "", 1 },
    { "mean(A, rows)", "", 2 },
    { "mean((x - k) ^ 2)", "z y", 4 }, /* nine terms: the squares come first */
    { "sum(x .* x)", "", 1 },
    { "max(A, cols)", "", 2 },
    { "min(A)", "", 1 },
    { "argmax(A)", "", 2 },
    { "softmax(A)", "", 4 },
    { "softmax(A, cols)", "", 4 },
    { "softmax([0 -inf 1] + 0 * x)", "z y", 6 },
    { "softmax(x * W / sqrt(2))", "z y", 4 },
    { "layernorm(A)", "mean variance y", 8 },
    { "layernorm(A, b, b)", "mean variance y", 8 },
    { "rmsnorm(A', b', vectors = columns)", "square y", 6 },
    { "relu(linear(x, W, b))", "z y", 4 },
    { "softmax(relu(linear(x, W, b)))", "z u y", 6 },
    { "attention(linear(x, W), A, A)", "z", 9 },
    { "attention(b, A, A)[2]", "z.q z.k z.v z.products z.scores z.weights z y", 7 },
    { "attention(b, A, A, score = additive, W = A, U = A, v = b)", "qW kU", 11 },
    { "(x * W)'", "z y", 2 },
    { "cross_entropy(A, [1 2])", "", 1 },
    { "cross_entropy(A, [1 2], rows)", "", 2 },
    { "dropout(A, 0.5, seed = 1)", "", 4 },
    { "dropout(x, 0, seed = 1 + k)", "z y", 4 },
    { "dropout(x * W, 0.25, seed = 2)", "z y", 4 },
    { "dropout(relu(A), k / 6, seed = 2) + b", "z u r y", 13 },
    { "A < b", "", 4 },
    { "where(A < b, A, 0)", "z y", 4 },
    { "x", "", 0 },
    { "2 + 3", "", 0 },
    { "sqrt(2)", "", 0 },
    { "[A, A]", "", 0 },
    { "shape(A)", "", 0 },
};

static void every_operation_is_worked_out(void **state)
{
    (void)state;
    for (size_t i = 0; i < ATT_COUNT(cases); i++) {
        char text[512];
        att_string inner = { 0 };
        snprintf(text, sizeof text, "%sy = %s\n", setup, cases[i].expression);
        att_sheet *sheet = sheet_from(text);
        const att_trace_step *step = step_named(sheet, "y");
        att_string_puts(&inner, "");
        for (size_t p = 0; p < step->part_count; p++)
            if (step->parts[p].inner)
                att_string_printf(&inner, "%s%s", inner.length ? " " : "", step->parts[p].name);
        if (strcmp(inner.data, cases[i].inner) != 0)
            fail_msg("%s: inner results %s, expected %s", cases[i].expression, inner.data,
                     cases[i].inner);
        size_t count = assert_workings_hold(sheet);
        if (count != cases[i].count)
            fail_msg("%s: %zu calculations, expected %zu", cases[i].expression, count,
                     cases[i].count);
        att_string_free(&inner);
        att_sheet_free(sheet);
    }
}

static void assert_rendered(const char *sheet_text, att_render_options options, const char *needle,
                            bool shown)
{
    att_sheet *sheet = sheet_from(sheet_text);
    att_string out = { 0 };
    options.size = sizeof options;
    assert_int_equal(att_sheet_render(&out, sheet, &options, NULL), ATT_OK);
    if ((strstr(out.data, needle) != NULL) != shown)
        fail_msg("expected %s\"%s\" in:\n%s", shown ? "" : "no ", needle, out.data);
    att_string_free(&out);
    att_sheet_free(sheet);
}

static const char causal[] =
    "%sX = [1 2; 3 4; 5 6]\na = attention(X, X, X, score = dot, mask = causal)\n";

/* The element that is shown alone is the one with the most numbers. */
static void detail_is_chosen_by_the_sheet_and_by_the_options(void **state)
{
    (void)state;
    static const struct {
        const char *statement;
        att_detail option;
        bool first, longest;
    } rows[] = {
        { "", ATT_DETAIL_SHEET, false, true },
        { "detail one\n", ATT_DETAIL_SHEET, false, true },
        { "detail none\n", ATT_DETAIL_SHEET, false, false },
        { "detail all  # everything\n", ATT_DETAIL_SHEET, true, true },
        { "detail all\n", ATT_DETAIL_NONE, false, false },
        { "detail none\n", ATT_DETAIL_ALL, true, true },
        { "detail all\n", ATT_DETAIL_ONE, false, true },
    };
    for (size_t i = 0; i < ATT_COUNT(rows); i++) {
        char text[256];
        const att_render_options options = { .detail = rows[i].option };
        snprintf(text, sizeof text, causal, rows[i].statement);
        assert_rendered(text, options, "a₁₁ = ", rows[i].first);
        assert_rendered(text, options, "a₃₁ = ", rows[i].longest);
    }
    char text[256];
    snprintf(text, sizeof text, causal, "detail none\n");
    assert_rendered(text, (att_render_options){ .format = ATT_FORMAT_JSON }, "\"calculations\"",
                    true);
    assert_rendered("x = [1 2]\ny = relu(linear(x, x'))\n",
                    (att_render_options){ .detail = ATT_DETAIL_NONE },
                    "y = relu(linear(x, xᵀ)) = 5", true);
    assert_rendered("x = [1 2]\ndetail all\ny = x + x\ndetail none\nw = x + 2 * x\n",
                    (att_render_options){ 0 }, "y₂ = 2 + 2 = 4", true);
    assert_rendered("x = [1 2]\ndetail all\ny = x + x\ndetail none\nw = x + 2 * x\n",
                    (att_render_options){ 0 }, "w₁", false);
}

/* A letter of the sheet is not taken for an inner result. */
static void inner_results_have_names_of_their_own(void **state)
{
    (void)state;
    assert_rendered("z = [1 2]\nu = relu(linear(z, z'))\n", (att_render_options){ 0 },
                    "    r = linear(z, zᵀ)", true);
}

static void every_format_shows_inner_results(void **state)
{
    (void)state;
    static const struct {
        att_format format;
        const char *inner, *sum;
    } rows[] = {
        { ATT_FORMAT_TEXT, "z = linear(x, xᵀ) = 5", "z₁₁ = 1·1 + 2·2 = 5" },
        { ATT_FORMAT_MARKDOWN, "z = \\operatorname{linear}(",
          "{z}_{1,1} &= 1 \\cdot 1 + 2 \\cdot 2" },
        { ATT_FORMAT_LATEX, "{z = \\operatorname{linear}(", "{z}_{1,1} = 1 \\cdot 1 + 2 \\cdot 2" },
        { ATT_FORMAT_HTML, "<mi>z</mi><mo>=</mo><mtext>linear</mtext>",
          "<mo form=\"infix\" lspace=\"0\" rspace=\"0.25em\">+</mo><mn>2</mn>" },
        { ATT_FORMAT_JSON, "\"derivation\":[{\"name\":\"z\"", "\"right\":\"1*1 + 2*2\"" },
    };
    for (size_t i = 0; i < ATT_COUNT(rows); i++) {
        const att_render_options options = { .format = rows[i].format };
        assert_rendered("x = [1 2]\ny = relu(linear(x, x'))\n", options, rows[i].inner, true);
        assert_rendered("x = [1 2]\ny = relu(linear(x, x'))\n", options, rows[i].sum, true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_is_worked_out),
        cmocka_unit_test(detail_is_chosen_by_the_sheet_and_by_the_options),
        cmocka_unit_test(inner_results_have_names_of_their_own),
        cmocka_unit_test(every_format_shows_inner_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
