/* Worksheets as Python programs: what is written, and that every function and option of the
 * language is. tests/render/export runs the programs. */
#include "failing_memory.h"

#include "base/file.h"
#include "base/minmax.h"
#include "base/string.h"
#include "sheet/function.h"
#include "sheet/trace.h"

#include <string.h>

#define DATA ATTEND_SOURCE_DIR "/tests/sheet/data"

static att_sheet *sheet_of(const char *text)
{
    att_sheet *sheet;
    att_error err = { 0 };
    if (att_sheet_read(&sheet, text, strlen(text), "folder/sheet.att", DATA, &err) != ATT_OK)
        fail_msg("%s: %s", text, err.message);
    return sheet;
}

static const struct {
    const char *sheet;
    const char *numpy; /* a line of the program */
    const char *torch; /* NULL: the same */
} rows[] = {
    { "x = 2\n", "\nx = scalar(2)\n", NULL },
    { "x = [1 2; 3 -4]\n", "\nx = array([[1, 2],\n           [3, -4]])\n", NULL },
    { "x = [1 2]' * [3 4] * 2\n", "\nx = array([[1, 2]]).T @ array([[3, 4]]) * 2\n", NULL },
    { "x = 3\ny = x * [1 2] ^ 2\n", "\ny = x * array([[1, 2]]) ** 2\n", NULL },
    { "x = (1 - 2) - (3 - 4) / 5\n", "\nx = scalar(1 - 2 - (3 - 4) / 5)\n", NULL },
    { "x = sum([1 2], rows)\n", "\nx = np.sum(array([[1, 2]]), axis=1, keepdims=True)\n",
      "\nx = torch.sum(array([[1, 2]]), dim=1, keepdim=True)\n" },
    { "x = exp(1)\n", "\nx = np.exp(1)\n", "\nx = torch.exp(scalar(1))\n" },
    { "x = softmax([1 2; 3 4], cols)\n", ", axis=0)\n", NULL },
    { "x = [1 2; 3 4]\ny = x[2, 1] + x[1] + x[:, 2]\n", "\ny = x[1, 0] + x[[0]] + x[:, [1]]\n",
      NULL },
    { "x = [1 2]\ni = 2\ny = x[i]\n", "\ny = select(x, i)\n", NULL },
    { "q = [1 2]\na = attention(q, q, q, score = dot, causal)\nb = a + a.weights\n",
      "\na = attention(q, q, q, score=\"dot\", causal=True)\nb = a.output + a.weights\n", NULL },
    { "q = [1 2]\na = multihead(q, {q'}, {q'}, {q'}, from = q)\nb = 2 * a\n",
      "\na = multihead(q, [q.T], [q.T], [q.T], source=q)\nb = 2 * a.heads\n", NULL },
    { "x = linear([1 2], [1; 2]).output\n", "\nx = linear(array([[1, 2]]), array([[1],\n", NULL },
    { "pi = 2 * pi\nx = pi\n", "\npi = scalar(2 * np.pi)\nx = pi\n",
      "\npi = scalar(2 * math.pi)\nx = pi\n" },
    { "lambda = 1 # why \"not\"\n", "\nlambda_ = scalar(1)  # why \"not\"\n", NULL },
    { "x = 1\nx = [x, x]\nexpect x = 1\n", "\nexpect(x, 1, line=3)\n", NULL },
    { "expect [1 2.5] = [1 2.50] as printed\n",
      "\nexpect(array([[1, 2.5]]), *as_printed(\"1 2.50\"), line=1)\n", NULL },
    { "expect not 1 = 2 within 0.5\n", "\nexpect_not(1, 2, within(0.5), line=1)\n", NULL },
    { "expect 1 = 1 to 3 decimals\n", "\nexpect(1, 1, to_decimals(3), line=1)\n", NULL },
    { "expect 1 = 1 within 2 %\n", "\nexpect(1, 1, within_percent(2), line=1)\n", NULL },
    { "expect error [1 2] / [1 2 3]\n",
      "\nexpect_error(lambda: divide(array([[1, 2]]), array([[1, 2, 3]])), line=1)\n", NULL },
    { "expect error exp(1, 2)\n", "\n# left out, a rule of the language of worksheets: expect",
      NULL },
    { "x = [1 2]\nplot x \"t\"\n", "\n# left out: plot x \"t\"\n", NULL },
    { "x = load \"cube.npy\" at 2\ncompare x \"cube.npy\" at 2 within 1\n",
      "\nx = load(\"cube.npy\", at=[2])\n"
      "compare(x, \"cube.npy\", at=[2], allowed=within(1), known_as=\"x\", line=2)\n",
      NULL },
    { "x = 1:3\ny = (x < 2) + (1 <= 2)\n",
      "\nx = inclusive_range(1, 3)\ny = (x < 2).astype(float) + scalar(1 <= 2)\n",
      "\nx = inclusive_range(1, 3)\ny = (x < 2).double() + scalar(1 <= 2)\n" },
    { "f(x, W) = x * W # why\ny = f([1 2], [1; 2])\n",
      "\n\n\ndef f(x, W):\n    return x @ W  # why\n\n\ny = f(array([[1, 2]]), array([[1],\n",
      NULL },
    { "f(x) = x * x\ny = f(2)\nz = f([1 2; 3 4])\n", "\n    return multiply(x, x)\n", NULL },
    { "h = [0 0]\nfor x of [1 2; 3 4]: h = h + x; s = sum(h)\n",
      "\nh_steps, s_steps = [], []\nfor x in rows_of(array([[1, 2],\n                        [3, "
      "4]])):\n    h = h + x\n    h_steps.append(h)\n",
      NULL },
    { "x = 5\nfor x in [1 2]: y = 2 * x\nz = x\n",
      "\nfor x_ in numbers_of(array([[1, 2]])):\n    y = 2 * x_\n", NULL },
    { "W = [1 2]\nL = sum(W .* W)\ngradient L\nV = W - W.grad\n",
      "\nW = tracked(array([[1, 2]]))\nL = np.sum(W * W)\ngrad = gradient(L, L=L, W=W)\n"
      "V = W - grad.W\n",
      "\nW = tracked(array([[1, 2]]))\nL = torch.sum(W * W)\ngrad = gradient(L, L=L, W=W)\n"
      "V = W - grad.W\n" },
    { "given x = [1 2]\nask x * 2 \"twice\"\nhint \"double it\"\n",
      "\nx = array([[1, 2]])\n# ask x * 2 \"twice\"\n", NULL },
    { "given x = random 1 x 2 from 1 to 2\n",
      "\n# given x = random 1 x 2 from 1 to 2\nx = array([[", NULL },
    { "x = [1.26 2]\nround each step to 1 decimal\ny = 2 * x + 1 / 3\nexpect y = 2.9 by hand\n",
      "\nhand = by_hand(1)\ny_hand = hand(hand(2 * x) + hand(1 / 3))\ny = 2 * x + 1 / 3\n"
      "expect(y_hand, 2.9, line=4)\n",
      NULL },
    { "q = [1 2]\ncut each step to 2 decimals\na = attention(q, q, q)\n"
      "expect not a.weights = 2 by hand\n",
      "\nhand = by_hand(2, cut=True)\na_hand = attention(q, q, q, step=hand)\n"
      "a = attention(q, q, q)\nexpect_not(a_hand.weights, 2, line=4)\n",
      NULL },
    { "f(x) = x * 2\nround each step to 1 decimal\ny = f(1.26)\nexpect y = 2.5 by hand\n",
      "\n# left out, about results rounded as by hand: expect y = 2.5 by hand\n", NULL },
    { "round each step to 1 decimal\ny = 1.26 * 2\n", "\ny = scalar(1.26 * 2)\n", NULL },
    { "x = [1; 2]\nlabel x \"a\" \"\\\"\"\n", "\n# rows of x: \"a\", \"\\\"\"\n", NULL },
    { "# Title\nOne.\n> Two \xE2\x80\xAE three.\n",
      "\n# Title\n# =====\n\n# One.\n# Two \xEF\xBF\xBD three.\n", NULL },
    { "x = 1\n", "#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n# The worksheet sheet.att",
      NULL },
};

static void a_statement_is_a_line_of_python(void **state)
{
    (void)state;
    for (size_t i = 0; i < ATT_COUNT(rows); i++) {
        att_sheet *sheet = sheet_of(rows[i].sheet);
        for (int language = ATT_EXPORT_NUMPY; language <= ATT_EXPORT_PYTORCH; language++) {
            att_string text = { 0 };
            bool torch = language == ATT_EXPORT_PYTORCH && rows[i].torch;
            const char *line = torch ? rows[i].torch : rows[i].numpy;
            assert_int_equal(att_sheet_export(&text, sheet, (att_export_language)language, NULL),
                             ATT_OK);
            if (!strstr(text.data, line))
                fail_msg("%s: expected %s, found\n%s", rows[i].sheet, line, text.data);
            att_string_free(&text);
        }
        att_sheet_free(sheet);
    }
}

/* Whether `name` stands in `text` as a word, followed by one of `ends`. */
static bool has_word(const char *text, const char *name, const char *ends)
{
    size_t length = strlen(name);
    for (const char *at = text; (at = strstr(at, name)); at += length) {
        bool starts = at == text || strchr("\n (,[{", at[-1]);
        if (starts && at[length] && strchr(ends, at[length]))
            return true;
    }
    return false;
}

/* tests/render/export compares the values of this sheet with those of its program. */
static void the_sheet_of_everything_has_every_function_and_option(void **state)
{
    (void)state;
    static const char *const statements[] = { "show", "expect", "compare", "gradient", "label",
                                              "plot", "for",    "detail",  "round",    "given",
                                              "ask",  "hint",   "require" };
    att_string text = { 0 };
    assert_int_equal(att_file_read(&text, DATA "/everything.att", 1 << 20, NULL), ATT_OK);
    const att_function *row;
    for (size_t i = 0; (row = att_function_get(i)); i++) {
        if (!has_word(text.data, row->name, "("))
            fail_msg("no call of %s in everything.att", row->name);
        for (const att_option_spec *option = row->options; option && option->name; option++)
            if (!has_word(text.data, option->name, " ),"))
                fail_msg("no option %s in everything.att", option->name);
    }
    for (size_t i = 0; i < ATT_COUNT(statements); i++)
        if (!has_word(text.data, statements[i], " "))
            fail_msg("no statement %s in everything.att", statements[i]);
    att_sheet *sheet;
    assert_int_equal(att_sheet_load(&sheet, DATA "/everything.att", NULL), ATT_OK);
    for (int language = ATT_EXPORT_NUMPY; language <= ATT_EXPORT_PYTORCH; language++) {
        att_string program = { 0 };
        att_error err = { 0 };
        if (att_sheet_export(&program, sheet, (att_export_language)language, &err) != ATT_OK)
            fail_msg("line %d: %s", err.line, err.message);
        att_string_free(&program);
    }
    att_sheet_free(sheet);
    att_string_free(&text);
}

static void a_statement_that_cannot_be_exported_is_named_by_its_line(void **state)
{
    (void)state;
    att_sheet *sheet = sheet_of("x = 1\n\ny = sum(x)\n");
    att_error err = { 0 };
    att_string text = { 0 };
    ((att_expr *)sheet->steps[1].formula)->text = "mystery";
    assert_int_equal(att_sheet_export(&text, sheet, ATT_EXPORT_NUMPY, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "the function 'mystery' cannot be exported yet");
    assert_int_equal(err.line, 3);
    assert_int_equal(text.length, 0);
    sheet->steps[0].kind = (att_step_kind)99;
    assert_int_equal(att_sheet_export(&text, sheet, ATT_EXPORT_NUMPY, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "this statement cannot be exported yet");
    assert_int_equal(err.line, 1);
    att_string_free(&text);
    att_sheet_free(sheet);
}

/* What a program would compute differently is refused. */
static void a_sheet_that_python_would_read_differently_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *sheet, *words;
        int line;
    } refused[] = {
        { "f(z, W) = tanh(z * W, seed = 3)\n", "the call of 'tanh' is not valid", 1 },
        { "f(z) = transpose()\n", "the call of 'transpose' is not valid", 1 },
        { "a = [1 2]\nf(x) = x + a\na = attention(a, a, a)\ny = f(1)\n", "'a' is computed again",
          2 },
        { "x = 1\ny = 2\nf(z) = x + z\nfor x in 1:2: y = f(x)\n", "'x' of this loop hides", 4 },
        { "W = [1 2]\nL = sum(W .* W)\ngradient L\nf(x) = x - W.grad\ny = f(1)\n",
          "this gradient cannot be exported", 4 },
    };
    for (size_t i = 0; i < ATT_COUNT(refused); i++)
        for (int language = ATT_EXPORT_NUMPY; language <= ATT_EXPORT_PYTORCH; language++) {
            att_sheet *sheet = sheet_of(refused[i].sheet);
            att_string text = { 0 };
            att_error err = { 0 };
            assert_int_equal(att_sheet_export(&text, sheet, (att_export_language)language, &err),
                             ATT_BAD_INPUT);
            if (!strstr(err.message, refused[i].words))
                fail_msg("%s: %s", refused[i].sheet, err.message);
            assert_int_equal(err.line, refused[i].line);
            att_sheet_free(sheet);
        }
}

static void an_unknown_language_is_refused(void **state)
{
    (void)state;
    att_sheet *sheet = sheet_of("x = 1\n");
    att_string text = { 0 };
    assert_int_equal(att_sheet_export(&text, sheet, (att_export_language)7, NULL), ATT_BAD_INPUT);
    att_sheet_free(sheet);
}

/* No two names of a sheet become one in Python, which normalizes identifiers. */
static void names_stay_apart(void **state)
{
    (void)state;
    att_sheet *sheet = sheet_of("h₁ = 1\nh1 = 2\nϵ = 3\nε = 4\nx_ = 5\nnp = 6\nnp_ = 7\n__x = 8\n");
    att_string text = { 0 };
    assert_int_equal(att_sheet_export(&text, sheet, ATT_EXPORT_NUMPY, NULL), ATT_OK);
    assert_non_null(strstr(text.data, "\nh1 = scalar(1)\nh1_ = scalar(2)\n_u03F5 = scalar(3)\n"
                                      "ε = scalar(4)\nx_ = scalar(5)\nnp_ = scalar(6)\n"
                                      "np__ = scalar(7)\nv__x = scalar(8)\n"));
    att_string_free(&text);
    att_sheet_free(sheet);
}

static att_status export_sheet(void *context)
{
    att_string text = { 0 };
    att_status status = att_sheet_export(&text, context, ATT_EXPORT_NUMPY, NULL);
    att_string_free(&text);
    return status;
}

static void failing_memory_is_reported(void **state)
{
    (void)state;
    att_sheet *sheet = sheet_of("h₁ = [1 2]\na = attention(h₁, h₁, h₁)\nexpect a = h₁\n"
                                "x = load \"row.npy\"\ncompare x \"row.npy\"\n"
                                "f(x, y) = x * y\nfor r of h₁: s = f(r, 2); t = s\n"
                                "L = sum(h₁)\ngradient L check\ng = h₁.grad\n"
                                "round each step to 1 decimal\ny = 1.26 * h₁\n"
                                "expect not y = 9 by hand\n");
    every_arena_allocation_fails(export_sheet, sheet, 200);
    att_sheet_free(sheet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_statement_is_a_line_of_python),
        cmocka_unit_test(the_sheet_of_everything_has_every_function_and_option),
        cmocka_unit_test(a_statement_that_cannot_be_exported_is_named_by_its_line),
        cmocka_unit_test(a_sheet_that_python_would_read_differently_is_refused),
        cmocka_unit_test(an_unknown_language_is_refused),
        cmocka_unit_test(names_stay_apart),
        cmocka_unit_test(failing_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
