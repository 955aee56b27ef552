/* The parser: precedence, matrices by blanks and newlines, calls; and the classification of lines
 * as statements, headings or text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/minmax.h"
#include "base/string.h"
#include "sheet/function.h"
#include "sheet_help.h"

/* ---- Trees as text: (+ 1 (* 2 x)) */

static const char *const op_signs[] = {
    [ATT_OP_ADD] = "+",
    [ATT_OP_SUBTRACT] = "-",
    [ATT_OP_MULTIPLY] = "*",
    [ATT_OP_DIVIDE] = "/",
    [ATT_OP_MULTIPLY_ELEMENTWISE] = ".*",
    [ATT_OP_POWER] = "^",
    [ATT_OP_DIVIDE_ELEMENTWISE] = "./",
};

static const char *const kind_words[] = {
    [ATT_EXPR_FIELD] = "field", [ATT_EXPR_INDEX] = "index",   [ATT_EXPR_RANGE] = "range",
    [ATT_EXPR_CALL] = "call",   [ATT_EXPR_OPTION] = "option", [ATT_EXPR_NEGATE] = "neg",
    [ATT_EXPR_TRANSPOSE] = "t", [ATT_EXPR_ROW] = "row",       [ATT_EXPR_MATRIX] = "matrix",
    [ATT_EXPR_LIST] = "list",   [ATT_EXPR_LOAD] = "load",
};

static void write_tree(att_string *out, const att_expr *node)
{
    if (!node) {
        att_string_puts(out, "none");
    } else if (node->kind == ATT_EXPR_ALL) {
        att_string_puts(out, ":");
    } else if (node->kind == ATT_EXPR_STRING) {
        att_string_printf(out, "\"%s\"", node->text);
    } else if (node->kind == ATT_EXPR_NUMBER || node->kind == ATT_EXPR_NAME) {
        att_string_puts(out, node->text);
    } else {
        bool binary = node->kind == ATT_EXPR_BINARY;
        att_string_printf(out, "(%s", binary ? op_signs[node->op] : kind_words[node->kind]);
        if (node->text)
            att_string_printf(out, " %s", node->text);
        for (size_t i = 0; i < node->children; i++) {
            att_string_puts(out, " ");
            write_tree(out, node->child[i]);
        }
        att_string_puts(out, ")");
    }
}

static void assert_tree(const char *text, const char *tree)
{
    att_arena arena = { 0 };
    att_string out = { 0 };
    const att_expr *node = att_formula(&arena, text);
    if (!node)
        fail_msg("does not parse: %s", text);
    write_tree(&out, node);
    if (strcmp(out.data, tree) != 0)
        fail_msg("%s\nfound    %s\nexpected %s", text, out.data, tree);
    att_string_free(&out);
    att_arena_free(&arena);
}

struct tree_case {
    const char *text;
    const char *tree;
};

static void assert_trees(const struct tree_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_tree(cases[i].text, cases[i].tree);
}

#define ASSERT_TREES(cases) assert_trees(cases, ATT_COUNT(cases))

static void operators_bind_as_on_paper(void **state)
{
    (void)state;
    static const struct tree_case cases[] = {
        { "1 + 2 * 3", "(+ 1 (* 2 3))" },
        { "1 - 2 - 3", "(- (- 1 2) 3)" },
        { "8 / 4 / 2", "(/ (/ 8 4) 2)" },
        { "(1 + 2) * 3", "(* (+ 1 2) 3)" },
        { "2^3^2", "(^ 2 (^ 3 2))" },
        { "-2^2", "(neg (^ 2 2))" },
        { "2^-1", "(^ 2 (neg 1))" },
        { "-a * b", "(* (neg a) b)" },
        { "a * -b", "(* a (neg b))" },
        { "+a - +b", "(- a b)" },
        { "a .* b ./ c .^ d", "(./ (.* a b) (^ c d))" },
        { "a * b'", "(* a (t b))" },
        { "a''", "(t (t a))" },
        { "a^b'", "(^ a (t b))" },
        { "1 \xE2\x88\x92 2", "(- 1 2)" },
    };
    ASSERT_TREES(cases);
}

static void numbers_keep_the_way_they_were_written(void **state)
{
    (void)state;
    static const struct tree_case cases[] = {
        { ".34", ".34" },       { "0.260", "0.260" },   { "1e-5", "1e-5" },
        { "2.", "2." },         { "2.5E+3", "2.5E+3" }, { "3.*x", "(.* 3 x)" },
        { "3./x", "(./ 3 x)" }, { "3.^2", "(^ 3 2)" },  { "1.e2", "1.e2" },
    };
    ASSERT_TREES(cases);
}

static void a_matrix_has_elements_by_blanks_and_commas_and_rows_by_semicolons_and_newlines(
    void **state)
{
    (void)state;
    static const struct tree_case cases[] = {
        { "[]", "(matrix)" },
        { "[1]", "(matrix (row 1))" },
        { "[1 2; 3 4]", "(matrix (row 1 2) (row 3 4))" },
        { "[1, 2\n3, 4]", "(matrix (row 1 2) (row 3 4))" },
        { "[\n1 2\n\n3 4\n]", "(matrix (row 1 2) (row 3 4))" },
        { "[1,2,;3,4,]", "(matrix (row 1 2) (row 3 4))" },
        { "[1 2 # first\n 3 4 % second\n]", "(matrix (row 1 2) (row 3 4))" },
        { "[[1 2] [3 4]; x]", "(matrix (row (matrix (row 1 2)) (matrix (row 3 4))) (row x))" },
        { "[(1\n+ 2) 3]", "(matrix (row (+ 1 2) 3))" },
        { "[f(1,\n2)\n3]", "(matrix (row (call f 1 2)) (row 3))" },
    };
    ASSERT_TREES(cases);
}

static void in_a_matrix_a_sign_after_a_blank_and_before_none_starts_an_element(void **state)
{
    (void)state;
    static const struct tree_case cases[] = {
        { "[1 -2]", "(matrix (row 1 (neg 2)))" },
        { "[1 - 2]", "(matrix (row (- 1 2)))" },
        { "[1-2]", "(matrix (row (- 1 2)))" },
        { "[1 +2]", "(matrix (row 1 2))" },
        { "[1 -2 + 3]", "(matrix (row 1 (+ (neg 2) 3)))" },
        { "[1 \xE2\x88\x92"
          "2]",
          "(matrix (row 1 (neg 2)))" },
        { "[a' b']", "(matrix (row (t a) (t b)))" },
        { "[a -b']", "(matrix (row a (neg (t b))))" },
        { "[a * -b c]", "(matrix (row (* a (neg b)) c))" },
        { "[f (x)]", "(matrix (row f x))" },
        { "[f(x)]", "(matrix (row (call f x)))" },
        { "[a [1]]", "(matrix (row a (matrix (row 1))))" },
        { "[a[1]]", "(matrix (row (index a 1)))" },
        { "[a.b .5]", "(matrix (row (field b a) .5))" },
        { "[(1 -2) 3]", "(matrix (row (- 1 2) 3))" },
    };
    ASSERT_TREES(cases);
}

static void indices_fields_lists_and_calls_follow_their_operand(void **state)
{
    (void)state;
    static const struct tree_case cases[] = {
        { "X[2]", "(index X 2)" },
        { "X[2, 3]", "(index X 2 3)" },
        { "X[:, 3]", "(index X : 3)" },
        { "X[1:2, :]", "(index X (range 1 2) :)" },
        { "X[1][2]'", "(t (index (index X 1) 2))" },
        { "X[n - 1]", "(index X (- n 1))" },
        { "a.head[2].weights", "(field weights (index (field head a) 2))" },
        { "{A, B'}", "(list A (t B))" },
        { "{A,\n B}", "(list A B)" },
        { "f()", "(call f)" },
        { "f(x, 1 + 2)", "(call f x (+ 1 2))" },
        { "f (x)", "(call f x)" },
        { "f(x, eps = 1e-5)", "(call f x (option eps 1e-5))" },
        { "f(x, mode = \"a\", w = [1 2])",
          "(call f x (option mode \"a\") (option w (matrix (row 1 2))))" },
        { "softmax(x)'", "(t (call softmax x))" },
    };
    ASSERT_TREES(cases);
}

static void a_bare_flag_of_a_known_function_is_an_option_and_other_names_are_not(void **state)
{
    (void)state;
    static const struct tree_case cases[] = {
        { "sum(x, rows)", "(call sum x (option rows))" },
        { "sum(x, y)", "(call sum x y)" },
        { "unknown(x, rows)", "(call unknown x rows)" },
        { "layernorm(x, eps)", "(call layernorm x eps)" },
    };
    ASSERT_TREES(cases);
}

static void load_takes_a_file_a_name_and_leading_indices(void **state)
{
    (void)state;
    static const struct tree_case cases[] = {
        { "load \"a.npy\"", "(load \"a.npy\" none)" },
        { "load \"a.npz\" \"x\"", "(load \"a.npz\" \"x\")" },
        { "load \"a.npy\" at 2 3", "(load \"a.npy\" none 2 3)" },
        { "load \"a.npz\" \"x\" at 1", "(load \"a.npz\" \"x\" 1)" },
        { "load \"a.npy\" * 2", "(* (load \"a.npy\" none) 2)" },
        { "2 * load \"a.npy\"'", "(* 2 (t (load \"a.npy\" none)))" },
    };
    ASSERT_TREES(cases);
}

static void names_are_of_any_script_and_strings_of_any_text(void **state)
{
    (void)state;
    static const struct tree_case cases[] = {
        { "W_q2", "W_q2" },
        { "α + β", "(+ α β)" },
        { "日本", "日本" },
        { "আমি", "আমি" },
        { "h₁", "h₁" },
        { "_x", "_x" },
        { "\"a\\\"b\\\\c\"", "\"a\"b\\c\"" },
        { "\"\"", "\"\"" },
        { "\"\\t\\n\"", "\"\t\n\"" },
    };
    ASSERT_TREES(cases);
}

static void a_node_knows_where_it_was_written(void **state)
{
    (void)state;
    att_sheet *sheet = sheet_from("α = 1\nx = [1 2\n     3 4] * (α + 2)'\n");
    const att_expr *product = step_named(sheet, "x")->formula;
    const att_expr *matrix = product->child[0];
    const att_expr *transpose = product->child[1];
    assert_int_equal(product->line, 2);
    assert_int_equal(product->column, 5);
    assert_int_equal(product->end_line, 3);
    assert_int_equal(product->end_column, 21);
    assert_int_equal(matrix->end_line, 3);
    assert_int_equal(matrix->end_column, 10);
    assert_int_equal(transpose->line, 3);
    assert_int_equal(transpose->column, 13);
    assert_int_equal(transpose->child[0]->column, 14); /* of what is in the brackets */
    att_sheet_free(sheet);
}

/* ---- Lines */

struct line_case {
    const char *text;
    att_step_kind kind;
    const char *shows; /* text of the step, or name of the value */
};

static void each_kind_of_line_is_distinguished(void **state)
{
    (void)state;
    static const struct line_case cases[] = {
        { "# Attention", ATT_STEP_HEADING, "Attention" },
        { "### Deep # inside", ATT_STEP_HEADING, "Deep # inside" },
        { "#tight", ATT_STEP_HEADING, "tight" },
        { "  x = 3", ATT_STEP_VALUE, "x" },
        { "x=3", ATT_STEP_VALUE, "x" },
        { "show 1", ATT_STEP_VALUE, NULL },
        { "plot [1]", ATT_STEP_PLOT, NULL },
        { "expect 1 = 1", ATT_STEP_CHECK, NULL },
        { "expect error [1 2] * [1 2]", ATT_STEP_ERROR,
          "[1 2] * [1 2]: [1 2] is 1 × 2 and [1 2] is 1 × 2; the inner sizes 2 and 1 must agree" },
        { "> x = 3", ATT_STEP_PROSE, "x = 3" },
        { ">x", ATT_STEP_PROSE, "x" },
        { "> - a list", ATT_STEP_PROSE, "- a list" },
        { ">", ATT_STEP_PROSE, "" },
        { "Here d_k = 3, so we divide by it.", ATT_STEP_PROSE,
          "Here d_k = 3, so we divide by it." },
        { "The rows of X[1] = the first.", ATT_STEP_PROSE, "The rows of X[1] = the first." },
        { "3 queries attend 4 keys", ATT_STEP_PROSE, "3 queries attend 4 keys" },
        { "2. The second step", ATT_STEP_PROSE, "2. The second step" },
        { "\"Let's go\" means Vamos", ATT_STEP_PROSE, "\"Let's go\" means Vamos" },
        { "Expect nothing of nothing", ATT_STEP_PROSE, "Expect nothing of nothing" },
        { "well-known", ATT_STEP_PROSE, "well-known" },
        { "and/or", ATT_STEP_PROSE, "and/or" },
        { "Therefore", ATT_STEP_PROSE, "Therefore" },
        { "e.g.", ATT_STEP_PROSE, "e.g." },
        { "Result (rounded)", ATT_STEP_PROSE, "Result (rounded)" },
        { "… and so on", ATT_STEP_PROSE, "… and so on" },
        { "আমি স্কুলে যাই", ATT_STEP_PROSE, "আমি স্কুলে যাই" },
        { "table of weights", ATT_STEP_PROSE, "table of weights" },
    };
    for (size_t i = 0; i < ATT_COUNT(cases); i++) {
        att_sheet *sheet = sheet_from(cases[i].text);
        assert_int_equal(sheet->step_count, 1);
        const att_trace_step *step = &sheet->steps[0];
        if (step->kind != cases[i].kind)
            fail_msg("%s is step kind %d, expected %d", cases[i].text, (int)step->kind,
                     (int)cases[i].kind);
        const char *shows = step->kind == ATT_STEP_VALUE ? step->name : step->text;
        if (cases[i].shows)
            assert_string_equal(shows, cases[i].shows);
        assert_int_equal(step->line, 1);
        att_sheet_free(sheet);
    }
}

static void text_lines_in_a_row_are_one_paragraph_and_blank_lines_part_them(void **state)
{
    (void)state;
    att_sheet *sheet = sheet_from("one\n  two  \n% hidden\n> three\n\nfour\n# five\nsix\nx = 1\n");
    static const char *const texts[] = { "one\ntwo\nthree", "four", "five", "six" };
    static const int lines[] = { 1, 6, 7, 8 };
    assert_int_equal(sheet->step_count, 5);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(sheet->steps[i].text, texts[i]);
        assert_int_equal(sheet->steps[i].line, lines[i]);
    }
    assert_int_equal(sheet->steps[2].level, 1);
    att_sheet_free(sheet);
}

static void a_statement_keeps_its_source_over_lines_and_its_comment(void **state)
{
    (void)state;
    att_sheet *sheet = sheet_from("x = [1 2 # one\n   3 4]   # the \"states\" \n  y = 2 % hidden\n"
                                  "expect x[1] = [1 2] within 0.5 # checked\n");
    assert_string_equal(sheet->steps[0].source, "x = [1 2 # one\n   3 4]");
    assert_string_equal(sheet->steps[0].comment, "the \"states\"");
    assert_string_equal(sheet->steps[1].source, "y = 2");
    assert_null(sheet->steps[1].comment);
    assert_int_equal(sheet->steps[1].line, 3);
    assert_string_equal(sheet->steps[2].source, "expect x[1] = [1 2] within 0.5");
    assert_string_equal(sheet->steps[2].comment, "checked");
    att_sheet_free(sheet);
}

static void empty_sheets_marks_and_line_ends_of_any_system_are_fine(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t steps;
    } cases[] = {
        { "", 0 },
        { "\n\n  \n\t\n", 0 },
        { "% only this", 0 },
        { "\xEF\xBB\xBF", 0 },
        { "\xEF\xBB\xBFx = 1", 1 },
        { "x = 1\r\ny = [1\r\n2]\r\n", 2 },
        { "x = 1\ry = 2", 2 },
        { "x = 1\n\n\n", 1 },
    };
    for (size_t i = 0; i < ATT_COUNT(cases); i++) {
        att_sheet *sheet = sheet_from(cases[i].text);
        assert_int_equal(sheet->step_count, cases[i].steps);
        att_sheet_free(sheet);
    }
}

/* Text with words that resemble keywords, names of the sheet, and operators. */
static void text_that_only_resembles_a_statement_stays_text(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "plots show where a word looks",
        "shows a matrix of x",
        "shows that x and a agree",
        "expects error handling",
        "expects not to find it",
        "shown below",
        "Show x",
        "Plot 3 is the last",
        "Expect a surprise",
        "compared with a",
        "labels x, y and z",
        "a: the first of them",
        "slow a b",
        "shows a very (large",
        "expects error",
    };
    for (size_t i = 0; i < ATT_COUNT(lines); i++) {
        char text[200];
        snprintf(text, sizeof text, "x = 1\na = 2\n%s\n", lines[i]);
        att_sheet *sheet = sheet_from(text);
        assert_int_equal(sheet->step_count, 3);
        assert_int_equal(sheet->steps[2].kind, ATT_STEP_PROSE);
        assert_string_equal(sheet->steps[2].text, lines[i]);
        att_sheet_free(sheet);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_bind_as_on_paper),
        cmocka_unit_test(numbers_keep_the_way_they_were_written),
        cmocka_unit_test(
            a_matrix_has_elements_by_blanks_and_commas_and_rows_by_semicolons_and_newlines),
        cmocka_unit_test(in_a_matrix_a_sign_after_a_blank_and_before_none_starts_an_element),
        cmocka_unit_test(indices_fields_lists_and_calls_follow_their_operand),
        cmocka_unit_test(a_bare_flag_of_a_known_function_is_an_option_and_other_names_are_not),
        cmocka_unit_test(load_takes_a_file_a_name_and_leading_indices),
        cmocka_unit_test(names_are_of_any_script_and_strings_of_any_text),
        cmocka_unit_test(a_node_knows_where_it_was_written),
        cmocka_unit_test(each_kind_of_line_is_distinguished),
        cmocka_unit_test(text_lines_in_a_row_are_one_paragraph_and_blank_lines_part_them),
        cmocka_unit_test(text_that_only_resembles_a_statement_stays_text),
        cmocka_unit_test(a_statement_keeps_its_source_over_lines_and_its_comment),
        cmocka_unit_test(empty_sheets_marks_and_line_ends_of_any_system_are_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
