/* Formulas in every notation: parentheses where they are needed and nowhere else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/minmax.h"
#include "render/formula.h"
#include "render/xml_check.h"
#include "sheet/function.h"

#include <string.h>

static att_arena arena;

static int free_arena(void **state)
{
    (void)state;
    att_arena_free(&arena);
    return 0;
}

static void assert_shown(const att_expr *expr, const att_notation *notation, const char *expected)
{
    att_string text = { 0 };
    att_writer out = att_writer_on(&text);
    att_put_formula(&out, expr, notation, 4);
    assert_int_equal(att_writer_finish(&out, NULL), ATT_OK);
    assert_string_equal(text.data, expected);
    att_string_free(&text);
}

static const struct {
    const char *written;
    const char *unicode;
    const char *ascii;
    const char *tex;
} cases[] = {
    { "q * k'", "q · kᵀ", "q * k'", "q\\,{k}^{\\top}" },
    { "softmax(Q * K' / sqrt(d_k)) * V", "softmax(Q · Kᵀ / √d_k) · V",
      "softmax(Q * K' / sqrt(d_k)) * V",
      "\\operatorname{softmax}\\left(\\frac{Q\\,{K}^{\\top}}{\\sqrt{d_{k}}}\\right)\\,V" },
    { "(a + b) * c", "(a + b) · c", "(a + b) * c", "(a + b)\\,c" },
    { "a + (b * c)", "a + b · c", "a + b * c", "a + b\\,c" },
    { "a - (b - c)", "a - (b - c)", "a - (b - c)", "a - (b - c)" },
    { "(a - b) - c", "a - b - c", "a - b - c", "a - b - c" },
    { "a / (b * c)", "a / (b · c)", "a / (b * c)", "\\frac{a}{b\\,c}" },
    { "(a + b) / c", "(a + b) / c", "(a + b) / c", "\\frac{a + b}{c}" },
    { "(A * B)'", "(A · B)ᵀ", "(A * B)'", "{(A\\,B)}^{\\top}" },
    { "2 * 3 + 4 * 5", "2·3 + 4·5", "2*3 + 4*5", "2 \\cdot 3 + 4 \\cdot 5" },
    { "2 * x", "2 · x", "2 * x", "2\\,x" },
    { "0.4 * -0.2", "0.4·(-0.2)", "0.4*(-0.2)", "0.4 \\cdot (-0.2)" },
    { "-x + 1", "-x + 1", "-x + 1", "-x + 1" },
    { "(-x)^2", "(-x)^2", "(-x)^2", "{(-x)}^{2}" },
    { "a^b^c", "a^b^c", "a^b^c", "{a}^{{b}^{c}}" },
    { "(a^b)^c", "(a^b)^c", "(a^b)^c", "{({a}^{b})}^{c}" },
    { "2^(x + 1)", "2^(x + 1)", "2^(x + 1)", "{2}^{x + 1}" },
    { "sqrt(a + b)", "√(a + b)", "sqrt(a + b)", "\\sqrt{a + b}" },
    { "exp(0.6) / (exp(0.6) + exp(1.04))", "exp(0.6) / (exp(0.6) + exp(1.04))",
      "exp(0.6) / (exp(0.6) + exp(1.04))", "\\frac{e^{0.6}}{e^{0.6} + e^{1.04}}" },
    { "exp(x)^2", "exp(x)^2", "exp(x)^2", "{(e^{x})}^{2}" },
    { "abs(x - y)", "|x - y|", "|x - y|", "\\left|x - y\\right|" },
    { "a .* b ./ c", "a ⊙ b ⊘ c", "a .* b ./ c", "a \\odot b \\oslash c" },
    { "tanh(W_c * [c; s])", "tanh(W_c · [c; s])", "tanh(W_c * [c; s])",
      "\\tanh\\left(W_{c}\\,\\begin{bmatrix}c\\\\s\\end{bmatrix}\\right)" },
    { "[a, b]", "[a, b]", "[a, b]", "\\begin{bmatrix}a & b\\end{bmatrix}" },
    { "[1 2; 3 4]", "[1 2; 3 4]", "[1 2; 3 4]", "\\begin{bmatrix}1 & 2\\\\3 & 4\\end{bmatrix}" },
    { "X[2, :]", "X[2, :]", "X[2, :]", "{X}_{2,:}" },
    { "X[1:2]", "X[1:2]", "X[1:2]", "{X}_{1:2}" },
    { "a.head[2].weights", "a.head[2].weights", "a.head[2].weights",
      "{a.\\mathrm{head}}_{2}.\\mathrm{weights}" },
    { "attention(s, h, h, score = dot, W = W_a, causal)",
      "attention(s, h, h, score = dot, W = W_a, causal)",
      "attention(s, h, h, score = dot, W = W_a, causal)",
      "\\operatorname{attention}(s,\\ \\allowbreak h,\\ \\allowbreak h,\\ \\allowbreak "
      "\\mathrm{score}=\\mathrm{dot},\\ \\allowbreak \\mathrm{W}=W_{a},\\ \\allowbreak "
      "\\mathrm{causal})" },
    { "multihead(X, {A, B})", "multihead(X, {A, B})", "multihead(X, {A, B})",
      "\\operatorname{multihead}(X,\\ \\allowbreak \\left\\{A,\\ B\\right\\})" },
    { "alpha * W_q_1 + h1 * state", "alpha · W_q_1 + h1 · state", "alpha * W_q_1 + h1 * state",
      "\\alpha\\,W_{q,1} + h_{1}\\,\\mathit{state}" },
    { "from_cut_weights", "from_cut_weights", "from_cut_weights",
      "\\mathit{from\\_cut\\_weights}" },
    { "[1 2 3 4 5 6 7 8 9 10 11 12 13]", "[1 2 3 4 5 6 … 12 13]", "[1 2 3 4 5 6 ... 12 13]",
      "\\begin{bmatrix}1 & 2 & 3 & 4 & 5 & 6 & \\dots & 12 & 13\\end{bmatrix}" },
    { "1.5e-9 * x", "1.5e-9 · x", "1.5e-9 * x", "1.5{\\times}10^{-9}\\,x" },
};

static void each_notation_shows_the_formula_with_as_few_parentheses_as_it_needs(void **state)
{
    (void)state;
    for (size_t i = 0; i < ATT_COUNT(cases); i++) {
        const att_expr *expr = att_formula(&arena, cases[i].written);
        assert_non_null(expr);
        assert_shown(expr, &att_notation_unicode, cases[i].unicode);
        assert_shown(expr, &att_notation_ascii, cases[i].ascii);
        assert_shown(expr, &att_notation_tex, cases[i].tex);
    }
}

/* The ASCII notation can be parsed again, with the same result. */
static void the_ascii_notation_reads_back_as_the_same_formula(void **state)
{
    (void)state;
    for (size_t i = 0; i < ATT_COUNT(cases); i++) {
        if (strstr(cases[i].ascii, "...") || strchr(cases[i].ascii, '|'))
            continue; /* abbreviated, or in notation that cannot be parsed */
        const att_expr *again = att_formula(&arena, cases[i].ascii);
        assert_non_null(again);
        assert_shown(again, &att_notation_ascii, cases[i].ascii);
    }
}

static void mathml_is_well_formed_for_every_formula(void **state)
{
    (void)state;
    for (size_t i = 0; i < ATT_COUNT(cases); i++) {
        att_string text = { 0 };
        att_writer out = att_writer_on(&text);
        att_put(&out, "<math><mrow>");
        att_put_formula(&out, att_formula(&arena, cases[i].written), &att_notation_mathml, 4);
        att_put(&out, "</mrow></math>");
        assert_int_equal(out.status, ATT_OK);
        assert_well_formed(text.data);
        att_string_free(&text);
    }
}

static void mathml_draws_fractions_roots_and_indices(void **state)
{
    (void)state;
    assert_shown(att_formula(&arena, "a / sqrt(d_k)"), &att_notation_mathml,
                 "<mfrac><mrow><mi>a</mi></mrow><mrow><msqrt><mrow><msub><mi>d</mi><mrow><mi>k</mi>"
                 "</mrow></msub></mrow></msqrt></mrow></mfrac>");
    assert_shown(
        att_formula(&arena, "-1e-5"), &att_notation_mathml,
        "<mo form=\"prefix\">−</mo><mn>1</mn><mo>×</mo><msup><mn>10</mn><mn>−5</mn></msup>");
}

/* Nodes that only calculations have: subscripted names, rounded numbers, values in place. */
static void calculations_are_rounded_and_subscripted(void **state)
{
    (void)state;
    double data[] = { 0.123456, 2 };
    const att_matrix row = { .rows = 1, .cols = 2, .data = data };
    att_expr one = { .kind = ATT_EXPR_NUMBER, .number = 1 };
    att_expr twelve = { .kind = ATT_EXPR_NUMBER, .number = 12 };
    att_expr *short_index[] = { &one, &one };
    att_expr *long_index[] = { &one, &twelve };
    const att_expr e11 = {
        .kind = ATT_EXPR_INDEXED, .text = "e", .child = short_index, .children = 2
    };
    const att_expr e112 = {
        .kind = ATT_EXPR_INDEXED, .text = "e", .child = long_index, .children = 2
    };
    assert_shown(&e11, &att_notation_unicode, "e₁₁");
    assert_shown(&e112, &att_notation_unicode, "e[1, 12]");
    assert_shown(&e11, &att_notation_ascii, "e[1, 1]");
    assert_shown(&e112, &att_notation_tex, "{e}_{1,12}");
    att_expr weight = { .kind = ATT_EXPR_NUMBER, .number = -1.0 / 3 };
    att_expr value = { .kind = ATT_EXPR_CONSTANT, .matrix = &row };
    att_expr *factors[] = { &weight, &value };
    const att_expr product = {
        .kind = ATT_EXPR_BINARY, .op = ATT_OP_MULTIPLY, .child = factors, .children = 2
    };
    assert_shown(&product, &att_notation_unicode, "-0.3333·[0.1235 2.0000]");
    att_expr *backwards[] = { &value, &weight };
    const att_expr other = {
        .kind = ATT_EXPR_BINARY, .op = ATT_OP_MULTIPLY, .child = backwards, .children = 2
    };
    assert_shown(&other, &att_notation_unicode, "[0.1235 2.0000]·(-0.3333)");
}

static void exact_formulas_keep_every_digit(void **state)
{
    (void)state;
    const att_expr third = { .kind = ATT_EXPR_NUMBER, .number = 1.0 / 3 };
    att_string text = { 0 };
    att_writer out = att_writer_on(&text);
    att_put_formula(&out, &third, &att_notation_ascii, ATT_DIGITS_EXACT);
    assert_string_equal(text.data, "0.3333333333333333");
    att_string_free(&text);
}

static void names_with_hostile_characters_cannot_leave_their_place(void **state)
{
    (void)state;
    const att_expr text = { .kind = ATT_EXPR_STRING, .text = "</math>\\end{x}\"$" };
    assert_shown(&text, &att_notation_mathml, "<mtext>“&lt;/math&gt;\\end{x}&quot;$”</mtext>");
    assert_shown(&text, &att_notation_tex, "\\mathtt{\"</math>\\backslash{}end\\{x\\}\"\\$\"}");
    const att_expr name = { .kind = ATT_EXPR_NAME, .text = "日本_x" };
    assert_shown(
        &name, &att_notation_tex,
        "\\mathit{\\text{\\attendother{U+65E5 U+672C}{日本}{Noto Sans CJK JP}{Script=CJK}}}_{x}");
    assert_shown(&name, &att_notation_mathjax, "\\mathit{日本}_{x}");
}

static void only_plain_numbers_are_literals(void **state)
{
    (void)state;
    assert_true(att_expr_is_literal(att_formula(&arena, "[1 -2; 3 4]")));
    assert_true(att_expr_is_literal(att_formula(&arena, "-3")));
    assert_false(att_expr_is_literal(att_formula(&arena, "[1 x]")));
    assert_false(att_expr_is_literal(att_formula(&arena, "1 + 2")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_notation_shows_the_formula_with_as_few_parentheses_as_it_needs),
        cmocka_unit_test(the_ascii_notation_reads_back_as_the_same_formula),
        cmocka_unit_test(mathml_is_well_formed_for_every_formula),
        cmocka_unit_test(mathml_draws_fractions_roots_and_indices),
        cmocka_unit_test(calculations_are_rounded_and_subscripted),
        cmocka_unit_test(exact_formulas_keep_every_digit),
        cmocka_unit_test(names_with_hostile_characters_cannot_leave_their_place),
        cmocka_unit_test(only_plain_numbers_are_literals),
    };
    return cmocka_run_group_tests(tests, NULL, free_arena);
}
