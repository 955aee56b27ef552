/* Ranges, comparisons, functions that choose and draw, own functions, loops. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/minmax.h"
#include "base/string.h"
#include "sheet_help.h"

static void ranges_are_rows(void **state)
{
    (void)state;
    assert_sheet_passes("expect 1:5 = [1 2 3 4 5]\n"
                        "n = 3\n"
                        "expect 1:n = [1 2 3]\n"
                        "expect 0.5:n = [0.5 1.5 2.5]\n"
                        "expect 2 * (1:3) = [2 4 6]\n"
                        "expect [1:3] = [1 2 3]\n"
                        "expect [1:2, 7] = [1 2 7]\n"
                        "expect (1:3)' = [1; 2; 3]\n"
                        "expect 1:n + 1 = [1 2 3 4]\n"
                        "expect sum(1:100) = 5050\n"
                        "expect shape(2:1) = [1 0]\n"
                        "X = [1 2; 3 4; 5 6]\n"
                        "expect X[2:3] = [3 4; 5 6]\n"
                        "expect X[1:2, 1:2] = [1 2; 3 4]\n"
                        "expect X[:, 2] = [2; 4; 6]\n"
                        "expect X[n - 1:n] = [3 4; 5 6]\n"
                        "expect error 1:2000000 saying \"at most a million\"\n"
                        "expect error 1:inf saying \"finite\"\n"
                        "expect error 1:[1 2] saying \"one number\"\n");
}

static void comparisons_are_zero_or_one(void **state)
{
    (void)state;
    assert_sheet_passes("x = [1 2 3]\n"
                        "expect (x < 2) = [1 0 0]\n"
                        "expect (x <= 2) = [1 1 0]\n"
                        "expect (x > 2) = [0 0 1]\n"
                        "expect (x >= 2) = [0 1 1]\n"
                        "expect (x == 2) = [0 1 0]\n"
                        "expect (x != 2) = [1 0 1]\n"
                        "expect (x' < x) = [0 1 1; 0 0 1; 0 0 0]\n"
                        "expect (x + 1 < 2 * x) = [0 1 1]\n"
                        "m = x < 2\n"
                        "expect m = [1 0 0]\n"
                        "expect (nan == nan) = 0\n"
                        "expect (nan != nan) = 1\n"
                        "expect where(x > 1, x, -x) = [-1 2 3]\n"
                        "expect where([1; 0], x, 0) = [1 2 3; 0 0 0]\n"
                        "causal = (1:3)' >= 1:3\n"
                        "expect causal = [1 0 0; 1 1 0; 1 1 1]\n"
                        "expect sum(x == 2) = 1\n"
                        "expect error where([1 0], x, 0) saying \"does not fit\"\n"
                        "expect error x < [1 2] saying \"x < [1 2]: x is 1 × 3\"\n");
}

static void functions_choose_and_order(void **state)
{
    (void)state;
    assert_sheet_passes("expect diag([1 2]) = [1 0; 0 2]\n"
                        "expect diag([1; 2]) = [1 0; 0 2]\n"
                        "expect diag([1 2; 3 4]) = [1 4]\n"
                        "expect diag([1 2 3; 4 5 6]) = [1 5]\n"
                        "expect sort([3 1 2; 1 5 4]) = [1 2 3; 1 4 5]\n"
                        "expect sort([3 1 2], descending) = [3 2 1]\n"
                        "expect sort([3; 1; 2], cols) = [1; 2; 3]\n"
                        "expect sort([nan 1 -inf]) = [-inf 1 nan]\n"
                        "expect topk([3 1 2; 5 6 4], 2) = [3 2; 6 5]\n"
                        "expect topk([3 1 2; 5 6 4], 2, mask) = [1 0 1; 1 1 0]\n"
                        "expect topk([1 1 1], 2, mask) = [1 1 0]\n"
                        "expect topk([nan 1], 1) = 1\n"
                        "expect onehot([2 1 3], 3) = [0 1 0; 1 0 0; 0 0 1]\n"
                        "expect onehot(2, 2) = [0 1]\n"
                        "expect cross_entropy([1 2 3], 3) = log(sum(exp([1 2 3]))) - 3\n"
                        "expect cross_entropy([1 1; 1 1], [1 2]) = log(2)\n"
                        "expect cross_entropy([1 1; 0 0], [1; 2], rows) = [log(2); log(2)]\n"
                        "expect error topk([1 2], 3) saying \"from 1 to 2\"\n"
                        "expect error onehot([4], 3) saying \"the index 4\"\n"
                        "expect error onehot([0.5], 3) saying \"whole number\"\n"
                        "expect error cross_entropy([1 2; 3 4], [1]) saying \"each of 2 rows\"\n");
}

/* The numbers are those of the library's generator, so they can be written down. */
static void random_numbers_are_the_same_everywhere(void **state)
{
    (void)state;
    assert_sheet_passes(
        "R = random(2, 2, seed = 1)\n"
        "expect R = random(2, 2, seed = 1) within 0\n"
        "expect not R = random(2, 2, seed = 2) within 0.01\n"
        "expect random(2, 3, seed = 1) = [0.0275 0.2228 0.2317; 0.8182 0.4891 0.4830] as printed\n"
        "expect (R >= 0) .* (R < 1) = 1\n"
        "N = random(100, 100, seed = 1, normal)\n"
        "expect mean(N) = 0 within 0.05\n"
        "expect mean(N .* N) = 1 within 0.05\n"
        "D = dropout(ones(100, 100), 0.25, seed = 3)\n"
        "expect max(D) = 4 / 3\n"
        "expect min(D) = 0\n"
        "expect mean(D) = 1 within 0.03\n"
        "expect dropout(R, 0, seed = 1) = R within 0\n"
        "expect D = dropout(ones(100, 100), 0.25, seed = 3) within 0\n"
        "expect error random(2, 2) saying \"expected seed\"\n"
        "expect error random(2, 2, seed = 0.5) saying \"whole number\"\n"
        "expect error dropout(R, 1, seed = 1) saying \"below 1\"\n");
}

static void own_functions_compute(void **state)
{
    (void)state;
    assert_sheet_passes("f(x, W) = tanh(x * W)\n"
                        "expect f([1 2], [0.1; 0.2]) = tanh(0.5)\n"
                        "k = 2\n"
                        "scaled(x) = k * x   # uses k\n"
                        "expect scaled(3) = 6\n"
                        "k = 5\n"
                        "expect scaled(3) = 15\n"
                        "g(x) = scaled(f(x, [1; 0])) + k\n"
                        "expect g([0 9]) = 5\n"
                        "head(X) = attention(X, X, X, score = dot)\n"
                        "a = head([1 2; 3 4])\n"
                        "expect a.weights = softmax([5 11; 11 25])\n"
                        "pick(L) = L[2]\n"
                        "expect pick({[1 2], [3 4]}) = [3 4]\n"
                        "expect error f([1 2], [1 2]) saying \"in f, called on line\"\n"
                        "round each step to 1 decimal\n"
                        "expect f([1 2], [0.1; 0.2]) = 0.5 by hand\n");
}

static void a_mistake_in_a_function_names_call_and_definition(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
        int line;
    } rows[] = {
        { "f(x) = x * [1 2]\ny = f([1 2 3])\n", "(in f, called on line 2)", 1 },
        { "f(x) = x\ny = f(1, 2)\n", "f is defined on line 1 with 1 parameter, found 2", 2 },
        { "f(x) = x\ny = f(1, k = 2)\n", "takes no options", 2 },
        { "f(x) = f(x - 1)\n", "'f' calls itself", 1 },
        { "f(x) = g(x)\n", "unknown function 'g'", 1 },
        { "f(x) = x\nf(y) = y\n", "'f' is defined on line 1 already", 2 },
        { "tanh(x) = x\n", "'tanh' is a function of the language", 1 },
        { "f = 3\nf(x) = x\n", "'f' is a value", 2 },
        { "f(x, x) = x\n", "'x' is given twice", 1 },
        { "f(x) = x\ny = ff(1)\n", "did you mean 'f'?", 2 },
        { "f(x) = q + x\ny = f(1)\n", "unknown name 'q' (in f, called on line 2)", 1 },
    };
    for (size_t i = 0; i < ATT_COUNT(rows); i++) {
        att_sheet *sheet;
        att_error err = { 0 };
        assert_int_equal(
            att_sheet_read(&sheet, rows[i].text, strlen(rows[i].text), "test", NULL, &err),
            ATT_BAD_INPUT);
        if (!strstr(err.message, rows[i].message) || err.line != rows[i].line)
            fail_msg("%s: line %d: %s", rows[i].text, err.line, err.message);
    }
}

/* 2^20 calls, or functions that nest deeply, end with an error. */
static void calls_are_bounded(void **state)
{
    (void)state;
    att_string text = { 0 };
    att_string_puts(&text, "f1(x) = x + x\n");
    for (int i = 2; i <= 15; i++)
        att_string_printf(&text, "f%d(x) = f%d(x) + f%d(x) + f%d(x)\n", i, i - 1, i - 1, i - 1);
    att_string_puts(&text, "y = f15(1)\n");
    att_sheet *sheet;
    att_error err = { 0 };
    assert_int_equal(att_sheet_read(&sheet, text.data, text.length, "test", NULL, &err),
                     ATT_BAD_INPUT);
    assert_non_null(strstr(err.message, "more than 10000 calls"));
    att_string_free(&text);
    text = (att_string){ 0 };
    att_string_puts(&text, "f1(x) = x\n");
    for (int i = 2; i <= 40; i++)
        att_string_printf(&text, "f%d(x) = f%d(x)\n", i, i - 1);
    att_string_puts(&text, "y = f40(1)\n");
    assert_int_equal(att_sheet_read(&sheet, text.data, text.length, "test", NULL, &err),
                     ATT_BAD_INPUT);
    assert_non_null(strstr(err.message, "more than 16 deep"));
    att_string_free(&text);
}

static void loops_make_tables(void **state)
{
    (void)state;
    assert_sheet_passes("X = [1 2; 3 4; 5 6]\n"
                        "label X \"I\" \"go\" \"home\"\n"
                        "for x of X: y = x * [1; 1]\n"
                        "expect y = [3; 7; 11]\n"
                        "h = 0\n"
                        "t = 7\n"
                        "for t in 1:3: h = 0.5 * h + t; g = h + t\n"
                        "expect h = [1; 2.5; 4.25]\n"
                        "expect g = [2; 4.5; 7.25]\n"
                        "s = [0 0]\n"
                        "for x of X: s = tanh(x + s)\n"
                        "expect s = rnn(X, [0 0], identity(2), identity(2))\n"
                        "W = {[1 0; 0 1], [0 1; 1 0]}\n"
                        "for w of W: Q = X * w\n" /* not rows: a list */
                        "expect Q[2] = [2 1; 4 3; 6 5]\n"
                        "for i in [3 1]: p = X[i]\n"
                        "expect p = [5 6; 1 2]\n"
                        "expect t = 7\n");
}

static void loop_labels_and_errors(void **state)
{
    (void)state;
    att_sheet *sheet = sheet_from("X = [1; 2]\nlabel X \"a\" \"b\"\nfor x of X: y = x\n"
                                  "for i in 1:2: z = i\nfor v of [1; 2]: w = v\n");
    assert_string_equal(step_named(sheet, "y")->value->row_labels[1], "b");
    assert_string_equal(step_named(sheet, "z")->value->row_labels[1], "i = 2");
    assert_string_equal(step_named(sheet, "w")->value->row_labels[1], "v 2");
    att_sheet_free(sheet);
    static const struct {
        const char *text, *message;
    } rows[] = {
        { "for i in 1:2000: y = i\n", "a loop runs 1 to 1000 times, found 2000" },
        { "for i in 2:1: y = i\n", "found 0" },
        { "for i in [1 2; 3 4]: y = i\n", "expected 'for i of …'" },
        { "for i in 1:2: y = i + q\n", "unknown name 'q'" },
        { "for i in 1:2: y = {1, 2}\n", "found a list" },
        { "for i in 1:2: y = i; 3\n", "expected a name" },
        { "for i in 1:2: y = i;\n", "expected a name" },
        { "for i in 1:2: y == i\n", "this looks like a loop" },
    };
    for (size_t i = 0; i < ATT_COUNT(rows); i++) {
        att_error err = { 0 };
        assert_int_equal(
            att_sheet_read(&sheet, rows[i].text, strlen(rows[i].text), "test", NULL, &err),
            ATT_BAD_INPUT);
        if (!strstr(err.message, rows[i].message))
            fail_msg("%s: %s", rows[i].text, err.message);
    }
}

static void every_format_writes_comparisons(void **state)
{
    (void)state;
    static const struct {
        att_format format;
        const char *text;
    } rows[] = {
        { ATT_FORMAT_TEXT, "m = (x ≤ 2)" },
        { ATT_FORMAT_MARKDOWN, "(x \\le 2)" },
        { ATT_FORMAT_LATEX, "(x \\le 2)" },
        { ATT_FORMAT_HTML, "<mi>x</mi><mo>≤</mo><mn>2</mn>" },
        { ATT_FORMAT_JSON, "\"formula\":\"(x <= 2)\"" },
    };
    for (size_t i = 0; i < ATT_COUNT(rows); i++) {
        att_sheet *sheet = sheet_from("x = [1 2 3]\nm = x <= 2\n");
        const att_render_options options = { .size = sizeof options, .format = rows[i].format };
        att_string out = { 0 };
        assert_int_equal(att_sheet_render(&out, sheet, &options, NULL), ATT_OK);
        if (!strstr(out.data, rows[i].text))
            fail_msg("%s", out.data);
        att_string_free(&out);
        att_sheet_free(sheet);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_rows),
        cmocka_unit_test(comparisons_are_zero_or_one),
        cmocka_unit_test(functions_choose_and_order),
        cmocka_unit_test(random_numbers_are_the_same_everywhere),
        cmocka_unit_test(own_functions_compute),
        cmocka_unit_test(a_mistake_in_a_function_names_call_and_definition),
        cmocka_unit_test(calls_are_bounded),
        cmocka_unit_test(loops_make_tables),
        cmocka_unit_test(loop_labels_and_errors),
        cmocka_unit_test(every_format_writes_comparisons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
