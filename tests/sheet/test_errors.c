/* Invalid sheets: each error has the right place and message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "attend.h"
#include "base/alloc.h"
#include "base/minmax.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER ATTEND_SOURCE_DIR "/tests/sheet/data"

static const struct bad_sheet {
    const char *text;
    int line;
    int column;
    const char *message;
} bad_sheets[] = {
    /* Brackets */
    { "x = [1 2\n3 4", 1, 5, "this '[' is not closed: expected ']', found the end of the sheet" },
    { "x = [1 2\n3 4\ny = [1 2]", 1, 5,
      "this '[' is not closed: expected ']', found '=' on line 3" },
    { "x = (1 + 2", 1, 5, "this '(' is not closed: expected ')', found the end of the sheet" },
    { "x = (1 + 2\ny = 3", 1, 5, "this '(' is not closed: expected ')', found 'y' on line 2" },
    { "x = f(1, 2\ny = 3", 1, 6, "this '(' is not closed: expected ')', found 'y' on line 2" },
    { "x = [1 2)", 1, 9, "expected a blank, ',', ';' or ']' after the element, found ')'" },
    { "x = {1, 2", 1, 5, "this '{' is not closed: expected '}', found the end of the sheet" },
    { "x = [[1, 2], [3, 4]]", 1, 5,
      "rows in brackets of their own, as in NumPy: expected ';' between rows, [1 2; 3 4], and no "
      "brackets around what stands side by side, [1 2 3 4]" },
    { "x = [1 2]\ny = x^T", 2, 7, "unknown name 'T': a transpose is written A'" },
    { "x = [1 2]\ny = x.T", 2, 7, "found '.T': a transpose is written x'" },
    { "x = [1 2]\ny = attention(x, x, x, score = Bahdanau)", 2, 32,
      "score takes dot, scaled, general, additive, concat, gaussian, cosine or location, found "
      "'Bahdanau': did you mean 'additive'?" },
    { "x = {}", 1, 6, "expected a number, a name or a bracket, found '}'" },

    /* Expressions */
    { "x = 1 +", 1, 8, "expected a number, a name or a bracket, found the end of the line" },
    { "x = * 2", 1, 5, "expected a number, a name or a bracket, found '*'" },
    { "x =", 1, 4, "expected a number, a name or a bracket, found the end of the line" },
    { "x = 1 ééééééééééééééééééééé", 1, 7,
      "expected an operator or the end of the statement, found 'éééééééééééééééééééé' (a line of "
      "text that looks like a statement starts with '>')" },
    { "x = 1 2", 1, 7,
      "expected an operator or the end of the statement, found the number 2 (a line of text that "
      "looks like a statement starts with '>')" },

    /* Names, functions and options */
    { "x = y", 1, 5, "unknown name 'y'" },
    { "Weights = 1\nx = Wieghts", 2, 5, "unknown name 'Wieghts': did you mean 'Weights'?" },
    { "x = sofmax([1 2])", 1, 5, "unknown function 'sofmax': did you mean 'softmax'?" },
    { "x = softmax", 1, 5, "'softmax' is a function: expected softmax(…)" },
    { "x = softmax([1 2], 3)", 1, 5,
      "softmax takes 1 argument, found 2: softmax(X), each row, or softmax(X, cols)" },
    { "x = layernorm()", 1, 5,
      "layernorm takes 1 to 3 arguments, found 0: layernorm(X, gain, bias, eps = 1e-5)" },
    { "x = softmax({[1], [2]})", 1, 13, "softmax: {[1], [2]} is a list of 2, expected a matrix" },
    { "x = softmax()", 1, 5,
      "softmax takes 1 argument, found 0: softmax(X), each row, or softmax(X, cols)" },
    { "x = softmax([1 2], row)", 1, 5,
      "softmax takes 1 argument, found 2: softmax(X), each row, or softmax(X, cols)" },
    { "x = layernorm([1 2], epss = 1)", 1, 22,
      "layernorm has no option 'epss': did you mean 'eps'?" },
    { "x = layernorm([1 2], zonk = 1)", 1, 22,
      "layernorm has no option 'zonk': layernorm(X, gain, bias, eps = 1e-5)" },
    { "x = tanh([1 2], a = 1)", 1, 17, "tanh takes no options, found 'a': tanh(X)" },
    { "x = layernorm([1 2], eps = 1, eps = 2)", 1, 31, "the option 'eps' is given twice" },
    { "x = sum([1 2], rows = 1)", 1, 16, "'rows' is a flag and takes no value" },
    { "x = sum([1 2], rows, cols)", 1, 5, "sum: expected rows or cols, found both" },
    { "x = sum(rows, [1 2])", 1, 15, "an argument follows an option: options come last" },

    /* Shapes */
    { "Q = [1 2;3 4;5 6]\nK = [1 2;3 4;5 6;7 8]\nx = Q * K", 3, 5,
      "Q * K: Q is 3 × 2 and K is 4 × 2; the inner sizes 2 and 4 must agree (did you mean K'?)" },
    { "x = [1 2 3] + [1 2]", 1, 5,
      "[1 2 3] + [1 2]: [1 2 3] is 1 × 3 and [1 2] is 1 × 2; element-wise operands must have the "
      "same shape, or one of them must be a matching row, a matching column or a number" },
    { "x = [1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20] + [1 2]", 1, 5,
      "[1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19… + [1 2]: [1 2 3 4 5 6 7 8 9 10 11 12 13 "
      "14 15 16 17 18 19… is 1 × 20 and [1 2] is 1 × 2; element-wise operands must have the same "
      "shape, or one of them must be a matching row, a matching column or a number" },
    { "x = [1 2 3] / [1 2]", 1, 5,
      "[1 2 3] / [1 2]: [1 2 3] is 1 × 3 and [1 2] is 1 × 2; expected a number or a matrix of the "
      "same shape as divisor (./ broadcasts rows and columns; there is no division by a matrix)" },
    { "x = 1 / []", 1, 5,
      "1 / []: 1 is 1 × 1 and [] is 0 × 0; expected a number or a matrix of the same shape as "
      "divisor (./ broadcasts rows and columns; there is no division by a matrix)" },
    { "x = [1 2; 3]", 1, 11, "row 2 of the matrix has 1 column, the first has 2" },
    { "x = [1, [1;2]]", 1, 9,
      "matrices side by side need the same number of rows: 1 is 1 × 1 and [1;2] is 2 × 1" },

    /* Indices and fields */
    { "X = [1 2;3 4]\nx = X[3]", 2, 7, "row 3 is out of range: X has 2 rows" },
    { "X = [1 2;3 4]\nx = X[1, 0]", 2, 10, "column 0 is out of range: X has 2 columns" },
    { "X = [1 2;3 4]\nx = X[1.5]", 2, 7, "an index must be a whole number, found 1.5" },
    { "X = [1 2;3 4]\nx = X[2:1]", 2, 7, "the range 2:1 is empty: its end is before its start" },
    { "X = [1 2;3 4]\nx = X[1, 2, 3]", 2, 11, "expected ']', found ','" },
    { "X = [1 2;3 4]\nx = X[", 2, 6,
      "this '[' is not closed: expected ']', found the end of the sheet" },
    { "X = [1 2;3 4]\nx = X(2)", 2, 5,
      "'X' is a value, not a function: a row is X[2], a product needs a '*'" },
    { "X = [1 2;3 4]\nx = X.weights", 2, 7, "X is a matrix and has no fields, found '.weights'" },
    { "a = attention([1 2],[1 2],[1 2])\nx = a.wieghts", 2, 7,
      "a has no field 'wieghts': did you mean 'weights'?" },
    { "a = attention([1 2],[1 2],[1 2])\nx = a.zonk", 2, 7,
      "a has no field 'zonk': it has q, k, v, products, scores, weights, output" },

    /* Options that accept words */
    { "a = attention([1 2],[1 2],[1 2], scor = dot)", 1, 34,
      "attention has no option 'scor': did you mean 'score'?" },
    { "q = [1 2]\na = attention(q, q, q, normalise = sum)", 2, 24,
      "attention has no option 'normalise': did you mean 'normalizer'?" },
    { "q = [1 2]\na = attention(q, q, q, score = general, W = [1 0;0 1])\nx = a.mapped", 3, 7,
      "a has no field 'mapped': did you mean 'projected'?" },

    /* Options that accept words */
    { "a = attention([1 2],[1 2],[1 2], score = dott)", 1, 42,
      "score takes dot, scaled, general, additive, concat, gaussian, cosine or location, found "
      "'dott': did you mean 'dot'?" },

    /* Options that accept words */
    { "a = attention([1 2],[1 2],[1 2], score = 3)", 1, 42,
      "score takes dot, scaled, general, additive, concat, gaussian, cosine or location, found "
      "'3'" },
    { "a = attention(score = dot, [1 2], [1 2])", 1, 28,
      "an argument follows an option: options come last" },

    /* Lists */
    { "L = {[1],[2]}\nx = L + 1", 2, 5, "L is a list of 2, expected a matrix" },
    { "L = {[1],[2]}\nx = L[3]", 2, 7, "item 3 is out of range: L has 2 items" },
    { "L = {[1],[2]}\nx = L[1,1]", 2, 9, "expected one index of a list, found two" },

    /* Strings, numbers and characters */
    { "x = \"abc\"", 1, 5, "a string is not a value: expected a matrix" },
    { "x = \"abc", 1, 5, "this string is not closed: expected a second '\"' on its line" },
    { "x = \"a\\q\"", 1, 7, "unknown escape in a string: expected \\\" \\\\ \\n or \\t" },
    { "x = 3x", 1, 5,
      "the number 3 runs into a letter: a product needs a '*', and a name cannot start with a "
      "digit" },
    { "x = 1e+", 1, 5,
      "the number 1 runs into a letter: a product needs a '*', and a name cannot start with a "
      "digit" },
    { "x = 1e999", 1, 5, "the number 1e999 is too large for double precision" },
    { "x = 2 $ 3", 1, 7, "unexpected character '$'" },
    { "x = “a”", 1, 5, "unexpected character '“': a string is written in straight quotes: \"…\"" },
    { "x = 2 × 3", 1, 7, "unexpected character '×': a product is written with *" },

    /* Statements, and text that may be one */
    { "x == 3", 1, 3,
      "found '==': a value is assigned with one '=', and checked with 'expect … = …'" },
    { "expect = 3", 1, 1, "'expect' is a keyword and cannot be a name" },
    { "load = 3", 1, 1, "'load' is a keyword and cannot be a name" },
    { "expct 1 = 2", 1, 1,
      "unknown statement 'expct': did you mean 'expect'? (text that looks like a statement starts "
      "with '>')" },
    { "exect x = 3 within 1", 1, 1,
      "unknown statement 'exect': did you mean 'expect'? (text that looks like a statement starts "
      "with '>')" },
    { "expct error [1 2]*[3 4]", 1, 1,
      "unknown statement 'expct': did you mean 'expect'? (text that looks like a statement starts "
      "with '>')" },
    { "x = 1\nshwo x", 2, 1,
      "unknown statement 'shwo': did you mean 'show'? (text that looks like a statement starts "
      "with '>')" },
    { "x = 1\nplott x'  # a note", 2, 1,
      "unknown statement 'plott': did you mean 'plot'? (text that looks like a statement starts "
      "with '>')" },
    { "x = 1\nExpect x = 3", 2, 1,
      "unknown statement 'Expect': did you mean 'expect'? (text that looks like a statement starts "
      "with '>')" },
    { "x = 1\n1. expect x = 3", 2, 1,
      "a claim that nobody checks: expected 'expect … = …' at the start of a line, or '> …' for "
      "text" },
    { "x = 1\nassert x = 3", 2, 1,
      "a claim that nobody checks: expected 'expect … = …' at the start of a line, or '> …' for "
      "text" },
    { "x = 1\nexpect x = 1 within 1 % of it", 2, 25,
      "expected the end of the line behind '%' (a comment behind a tolerance starts with '#'), "
      "found 'of'" },
    { "x = 50%", 1, 7,
      "found '%', which starts a comment: expected a blank before and a text behind it (a "
      "percentage can only be a tolerance: 'within 1 %')" },
    { "expectt error softmax([1 2])", 1, 1,
      "unknown statement 'expectt': did you mean 'expect'? (text that looks like a statement "
      "starts with '>')" },
    { "x += 1", 1, 1,
      "found '+=' after a name: did you mean '='? (text that looks like a statement starts with "
      "'>')" },
    { "x = 1\nx -= 2", 2, 1,
      "found '-=' after a name: did you mean '='? (text that looks like a statement starts with "
      "'>')" },
    { "naïve := 2", 1, 1,
      "found ':=' after a name: did you mean '='? (text that looks like a statement starts with "
      "'>')" },
    { "x *= 2", 1, 1,
      "found '*=' after a name: did you mean '='? (text that looks like a statement starts with "
      "'>')" },
    { "x = 1\nexpct error softmax(x,\ny)", 2, 1,
      "unknown statement 'expct': did you mean 'expect'? (text that looks like a statement starts "
      "with '>')" },
    { "shwo [1 2\n3 4]", 1, 1,
      "unknown statement 'shwo': did you mean 'show'? (text that looks like a statement starts "
      "with '>')" },
    { "[1 2 3]", 1, 1, "a line cannot start with '[': expected a statement, or '> …' for text" },
    { "0.1 0.2 0.3", 1, 1,
      "numbers on their own: expected a statement, or '> …' for text (was a matrix closed too "
      "early?)" },
    { "X = 1\nX", 2, 1,
      "an expression on its own: expected 'show …' to show it, 'name = …' to keep it, or '> …' for "
      "text" },
    { "X = 1\nX + 2", 2, 1,
      "an expression on its own: expected 'show …' to show it, 'name = …' to keep it, or '> …' for "
      "text" },
    { "a.weights", 1, 1,
      "an expression on its own: expected 'show …' to show it, 'name = …' to keep it, or '> …' for "
      "text" },
    { "softmax([1 2])", 1, 1,
      "an expression on its own: expected 'show …' to show it, 'name = …' to keep it, or '> …' for "
      "text" },
    { "X = 1\nX[1] = 3", 2, 1,
      "a value can only be assigned to a plain name: expected 'name = …', 'expect … = …', or '> …' "
      "for text" },
    { "-1 is negative", 1, 1,
      "a line cannot start with '-': expected a statement, or '> …' for text" },
    { "#### deep", 1, 1, "a heading needs one to three '#' and a text" },
    { "#", 1, 1, "a heading needs one to three '#' and a text" },

    /* Expectations */
    { "expect 1", 1, 9, "expected an operator or '=', found the end of the line" },
    { "expect 1 = 1 within", 1, 20,
      "expected a number, a name or a bracket, found the end of the line" },
    { "expect 1 = 1 within inf", 1, 21, "the tolerance must be a finite number" },
    { "expect 1 = 1 within -1", 1, 21, "a tolerance cannot be negative, found -1" },
    { "expect 1 = 1 within [1 2]", 1, 21,
      "the tolerance must be one number, found a 1 × 2 matrix" },
    { "expect 1 = 1 to 3", 1, 18, "expected 'digits' or 'decimals', found the end of the line" },
    { "expect 1 = 1 to 3.5 digits", 1, 17,
      "expected a number of digits from 0 to 17 after 'to', found the number 3.5" },
    { "expect 1 = 1 to 0 digits", 1, 19, "expected at least 1 digit, found 0" },
    { "expect 1 = 1 as print", 1, 17, "expected 'printed' after 'as', found 'print'" },
    { "expect 1 = 1 withn 3", 1, 14,
      "expected 'within', 'to', 'as printed', 'by hand' or the end of the statement, found "
      "'withn'" },
    { "expect pi = pi as printed", 1, 13,
      "'as printed' counts the digits of written numbers: expected a number here" },
    { "expect 1 = [1 pi] as printed", 1, 15,
      "'as printed' counts the digits of written numbers: expected a number here" },
    { "expect error zonk([1 2])", 1, 14, "unknown function 'zonk'" },
    { "q = [1 2]\nexpect error attention(q, q, q, score = general, W = qq)", 2, 54,
      "unknown name 'qq': did you mean 'q'?" },
    { "expect error zonk", 1, 14, "unknown name 'zonk'" },
    { "expect error 1 saying", 1, 22,
      "expected the error's words in quotes after 'saying', found the end of the line" },

    /* Labels */
    { "label X \"a\"", 1, 7, "unknown name 'X'" },
    { "X = [1;2]\nlabel X \"a\"", 2, 9, "X has 2 rows, found 1 label" },
    { "X = [1 2 3]\nlabel X \"a\" \"b\" \"c\"", 2, 9,
      "X has 1 row, found 3 labels (columns are labeled with 'label … cols …')" },
    { "X = [1 2 3]\nlabel X cols \"a\" \"b\"", 2, 14, "X has 3 columns, found 2 labels" },
    { "X = [1 2 3]\nlabel X a", 2, 9, "expected a label in quotes, found 'a'" },
    { "X = [1 2 3]\nlabel X rows \"a\" rows \"b\"", 2, 23, "the rows are labeled twice" },
    { "L = {[1],[2]}\nlabel L \"a\" \"b\"", 2, 7, "L is a list of 2, expected a matrix" },
    { "label pi \"a\"", 1, 7, "'pi' is not a name of this sheet" },
    { "label \"a\"", 1, 7, "expected the name of a matrix to label, found a string" },

    /* Plots and shown values */
    { "plot []", 1, 6, "cannot plot an empty matrix: it is 0 × 0" },
    { "plot {[1],[1 2]}", 1, 6,
      "panels of one plot must have the same shape: the first is 1 × 1, number 2 is 1 × 2" },
    { "plot", 1, 5, "expected a number, a name or a bracket, found the end of the line" },
    { "plot [1 2] 3", 1, 12,
      "expected an operator or the end of the statement, found the number 3 (a line of text that "
      "looks like a statement starts with '>')" },
    { "show", 1, 5, "expected a number, a name or a bracket, found the end of the line" },
    { "show 1 2", 1, 8,
      "expected an operator or the end of the statement, found the number 2 (a line of text that "
      "looks like a statement starts with '>')" },

    /* Files */
    { "x = load", 1, 9, "expected a file in quotes after 'load', found the end of the line" },
    { "x = load \"none.npy\"", 1, 10, "none.npy: cannot open: No such file or directory" },
    { "x = load \"none.npy\" at", 1, 23,
      "expected a number after 'at', found the end of the line" },
    { "compare 1", 1, 10, "expected an operator or a file in quotes, found the end of the line" },
    { "compare 1 \"x.npy\" as printed", 1, 19,
      "'as printed' needs numbers written in the sheet: expected 'within' or 'to'" },

    /* Arguments of functions */
    { "x = permute([1;2], [1 1])", 1, 20, "permute: the order holds 1 twice" },

    /* Arguments of functions */
    { "x = permute([1;2], [1 3])", 1, 20, "permute: the order holds 3, expected 1 to 2" },

    /* Arguments of functions */
    { "x = permute([1;2], [1])", 1, 20, "permute: expected an order of 2 rows, found 1 numbers" },
    { "x = zeros(-1, 2)", 1, 11, "zeros: a size must be a whole number from 0 to 1e9" },
    { "x = zeros(100000, 100000)", 1, 5, "this needs more memory than the limit of 2048 MB" },
    { "x = zeros(1e18)", 1, 11, "zeros: a size must be a whole number from 0 to 1e9" },
    { "x = zeros(1.5, 2)", 1, 11, "zeros: a size must be a whole number from 0 to 1e9" },
    { "x = mean([])", 1, 10, "mean of an empty matrix: it is 0 × 0" },
    { "x = round([1 2], 0.5)", 1, 18, "round: the digits must be a whole number from -300 to 300" },
    { "x = layernorm([1 2], [1 2 3])", 1, 22,
      "layernorm: the gain must be 1 × 2 like the rows, found 1 × 3" },
    { "x = layernorm([1 2], eps = [1 2])", 1, 28, "layernorm: eps takes a number" },

    /* Characters count as one, tabs too */
    { "日本 = [1 2]\nx = 日本 * 日本 + 漢", 2, 5,
      "日本 * 日本: 日本 is 1 × 2 and 日本 is 1 × 2; the inner sizes 2 and 1 must agree (did you "
      "mean 日本'?)" },
    { "\tx = y", 1, 6, "unknown name 'y'" },
};

static att_error refuse(const char *text, size_t length)
{
    att_error err = { 0 };
    att_sheet *sheet;
    size_t live = att_alloc_live();
    att_status status = att_sheet_read(&sheet, text, length, "bad.att", FOLDER, &err);
    if (status != ATT_BAD_INPUT)
        fail_msg("not refused (status %d): %.200s", (int)status, text);
    assert_null(sheet);
    assert_int_equal(err.status, ATT_BAD_INPUT);
    assert_string_equal(err.place, "bad.att");
    assert_int_equal(att_alloc_live(), live);
    return err;
}

static void every_bad_sheet_is_refused_with_its_place_and_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < ATT_COUNT(bad_sheets); i++) {
        const struct bad_sheet *bad = &bad_sheets[i];
        att_error err = refuse(bad->text, strlen(bad->text));
        if (err.line != bad->line || err.column != bad->column ||
            strcmp(err.message, bad->message) != 0)
            fail_msg("%s\nfound    %d:%d: %s\nexpected %d:%d: %s", bad->text, err.line, err.column,
                     err.message, bad->line, bad->column, bad->message);
    }
}

/* The line that an error is about, from the text of the sheet. */
static void take_line(const char *text, int line, char *out, size_t size)
{
    while (line-- > 1)
        text = strchr(text, '\n') + 1;
    snprintf(out, size, "%.*s", (int)strcspn(text, "\n"), text);
}

static void every_error_shows_its_line_with_one_caret_below(void **state)
{
    (void)state;
    for (size_t i = 0; i < ATT_COUNT(bad_sheets); i++) {
        att_error err = refuse(bad_sheets[i].text, strlen(bad_sheets[i].text));
        char line[256];
        take_line(bad_sheets[i].text, bad_sheets[i].line, line, sizeof line);
        char *newline = strchr(err.excerpt, '\n');
        assert_non_null(newline);
        *newline = '\0';
        assert_string_equal(err.excerpt, line);
        size_t blanks = strspn(newline + 1, " \t");
        assert_string_equal(newline + 1 + blanks, "^");
    }
}

/* ---- The excerpt */

static void the_caret_follows_tabs_and_wide_characters(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *excerpt;
    } cases[] = {
        { "x = y", "x = y\n    ^" },
        { "\tx =\ty", "\tx =\ty\n\t   \t^" },
        { "日本 = y", "日本 = y\n       ^" },
        { "é = e\xCC\x81 + 1", "é = e\xCC\x81 + 1\n    ^" },
        { "x = [\"আমি\" y]", "x = [\"আমি\" y]\n     ^" },
    };
    for (size_t i = 0; i < ATT_COUNT(cases); i++)
        assert_string_equal(refuse(cases[i].text, strlen(cases[i].text)).excerpt, cases[i].excerpt);
}

static void a_long_line_is_truncated_around_the_place(void **state)
{
    (void)state;
    char text[4000] = "x = [";
    for (int i = 0; i < 200; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%d ", i);
    strcat(text, "$ ");
    for (int i = 0; i < 200; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%d ", i);
    att_error err = refuse(text, strlen(text));
    assert_int_equal(err.column, 696);
    assert_string_equal(err.excerpt,
                        "…191 192 193 194 195 196 197 198 199 $ 0 1 2 3 4 5 6 7 8 9 10 11 12 13 "
                        "1…\n                                     ^");
}

static void the_worst_long_line_fits_the_excerpt(void **state)
{
    (void)state;
    char text[8192] = "x = \"";
    for (int i = 0; i < 500; i++)
        strcat(text, "\U00020000"); /* four bytes, two columns */
    strcat(text, "\" $ \"");
    for (int i = 0; i < 500; i++)
        strcat(text, "\U00020000");
    att_error err = refuse(text, strlen(text));
    assert_int_equal(err.column, 508);
    assert_non_null(strstr(err.excerpt, "$"));
    assert_int_equal(err.excerpt[strlen(err.excerpt) - 1], '^');
}

static void the_worst_whole_line_fits_the_excerpt(void **state)
{
    (void)state;
    char text[121];
    memset(text, '\0', sizeof text);
    att_error err = refuse(text, 119);
    assert_int_equal(err.excerpt[strlen(err.excerpt) - 1], '^');
    memset(text, 'x', 119);
    text[119] = '\xFF';
    err = refuse(text, 120);
    assert_int_equal(err.column, 120);
    assert_int_equal(strlen(err.excerpt), 119 + 3 + 1 + 119 + 1);
}

static void a_message_is_one_line_for_any_string(void **state)
{
    (void)state;
    att_error err = refuse("x = load \"a\\nb\\tc.npy\"", 22);
    assert_string_equal(err.message, "a b c.npy: cannot open: No such file or directory");
}

/* ---- Invalid UTF-8 */

static void invalid_utf8_is_refused_with_the_offset_of_its_first_byte(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int line;
        int column;
        const char *message;
    } cases[] = {
        { "ok\nx = \xFF", 2, 5, "invalid UTF-8: byte 0xFF at offset 7" },
        { "\xC0\xAF", 1, 1, "invalid UTF-8: byte 0xC0 at offset 0" },
        { "é\xE2\x82", 1, 2, "invalid UTF-8: byte 0xE2 at offset 2" },
        { "\xED\xA0\x80", 1, 1, "invalid UTF-8: byte 0xED at offset 0" },
        { "a\xF4\x90\x80\x80", 1, 2, "invalid UTF-8: byte 0xF4 at offset 1" },
        { "a\r\n\xFF", 2, 1, "invalid UTF-8: byte 0xFF at offset 3" },
        { "\xEF\xBB\xBF\xFF", 1, 1, "invalid UTF-8: byte 0xFF at offset 3" },
    };
    for (size_t i = 0; i < ATT_COUNT(cases); i++) {
        att_error err = refuse(cases[i].text, strlen(cases[i].text));
        assert_string_equal(err.message, cases[i].message);
        assert_int_equal(err.line, cases[i].line);
        assert_int_equal(err.column, cases[i].column);
        assert_null(strchr(err.excerpt, '\xFF'));
    }
}

static void control_characters_are_refused_and_never_shown(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t length;
        const char *message;
    } cases[] = {
        { "a\0b", 3, "the control character U+0000 is not allowed in a sheet" },
        { "red \x1B[31m", 9, "the control character U+001B is not allowed in a sheet" },
        { "bell \x07", 6, "the control character U+0007 is not allowed in a sheet" },
        { "\x7F", 1, "the control character U+007F is not allowed in a sheet" },
        { "\xC2\x9B 31m", 6, "the control character U+009B is not allowed in a sheet" },
        { "\xEF\xBF\xBF", 3, "the control character U+FFFF is not allowed in a sheet" },
    };
    for (size_t i = 0; i < ATT_COUNT(cases); i++) {
        att_error err = refuse(cases[i].text, cases[i].length);
        assert_string_equal(err.message, cases[i].message);
        assert_null(strpbrk(err.excerpt, "\x1B\x07\x7F"));
        assert_null(strstr(err.excerpt, "\xC2\x9B"));
    }
}

/* ---- Limits */

/* `before`, then `middle` `count` times, then `after`; the caller frees it. */
static char *repeat(const char *before, const char *middle, size_t count, const char *after)
{
    size_t head = strlen(before);
    size_t step = strlen(middle);
    char *text = malloc(head + step * count + strlen(after) + 1);
    assert_non_null(text);
    memcpy(text, before, head);
    for (size_t i = 0; i < count; i++)
        memcpy(text + head + i * step, middle, step);
    strcpy(text + head + count * step, after);
    return text;
}

static void expressions_too_deep_or_too_large_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *before;
        const char *middle;
        size_t count;
        const char *after;
        int column;
        const char *message;
    } cases[] = {
        { "x = ", "(", 300, "1", 205, "brackets and signs are nested more than 200 deep" },
        { "x = ", "[", 300, "1", 205, "brackets and signs are nested more than 200 deep" },
        { "x = ", "-", 300, "1", 206, "brackets and signs are nested more than 200 deep" },
        { "x = ", "2^", 300, "1", 407, "brackets and signs are nested more than 200 deep" },
        { "x = ", "f(", 100000, "1", 406, "brackets and signs are nested more than 200 deep" },
        { "x = ", "{", 100000, "1", 205, "brackets and signs are nested more than 200 deep" },
        { "x = ", "1+", 3000, "1", 2008, "this expression is more than 1000 operations deep" },
        { "x = 1", "'", 3000, "", 1007, "this expression is more than 1000 operations deep" },
        { "x = 1", "[1]", 3000, "", 3009, "this expression is more than 1000 operations deep" },
        { "x = [", "1 ", 4100000, "]", 8000008,
          "the sheet has more than 4000000 numbers and operations: load large matrices from a "
          "file" },
        { "x = ones(4000000, 1) * ones(1, 40000)", "", 0, "", 5,
          "ones(4000000, 1) * ones(1, 40000): ones(4000000, 1) is 4000000 × 1 and ones(1, 40000) "
          "is 1 × 40000; this product takes more multiplications than a sheet may" },
        { "x = zeros(0, 2000000)", "", 0, "", 5,
          "this needs more memory than the limit of 2048 MB" },
        { "x = ones(30000, 10000)\n", "", 0, "", 5,
          "this needs more memory than the limit of 2048 MB" },
    };
    for (size_t i = 0; i < ATT_COUNT(cases); i++) {
        char *text = repeat(cases[i].before, cases[i].middle, cases[i].count, cases[i].after);
        att_error err = refuse(text, strlen(text));
        assert_string_equal(err.message, cases[i].message);
        assert_int_equal(err.column, cases[i].column);
        free(text);
    }
}

static void a_sum_of_many_terms_and_deep_brackets_still_work(void **state)
{
    (void)state;
    static const struct {
        const char *before;
        const char *middle;
        size_t count;
        const char *after;
    } cases[] = { { "x = ", "1+", 900, "1" }, { "x = 1", "'", 900, "" } };
    for (size_t i = 0; i < ATT_COUNT(cases); i++) {
        char *text = repeat(cases[i].before, cases[i].middle, cases[i].count, cases[i].after);
        att_sheet *sheet;
        assert_int_equal(att_sheet_read(&sheet, text, strlen(text), "deep", NULL, NULL), ATT_OK);
        att_sheet_free(sheet);
        free(text);
    }
}

static void a_line_of_100_megabytes_neither_hangs_nor_crashes(void **state)
{
    (void)state;
    static const struct {
        const char *before;
        const char *middle;
        const char *after;
        size_t megabytes; /* fewer where more would only be slower */
        att_status status;
    } cases[] = {
        { "", "text ", "", 100, ATT_OK },
        { "x = [", "1 2 3 4 ; ", "]", 100, ATT_BAD_INPUT },
        { "x = ", "((((((((((", "", 100, ATT_BAD_INPUT },
        { "x = ", "1234567890", "", 10, ATT_BAD_INPUT },
        { "x = 0.", "1234567890", "", 10, ATT_OK },
        { "", "name", " = 1", 10, ATT_OK },
        { "x = \"", "string ", "\"", 10, ATT_BAD_INPUT },
        { "x = 1 # ", "a note ", "", 10, ATT_OK },
        { "% ", "hidden ", "", 10, ATT_OK },
        { "x = 1", "         ", "", 10, ATT_OK },
        { "x = ", "many names ", "", 10, ATT_BAD_INPUT },
    };
    for (size_t i = 0; i < ATT_COUNT(cases); i++) {
        size_t count = cases[i].megabytes * 1000 * 1000 / strlen(cases[i].middle);
        char *text = repeat(cases[i].before, cases[i].middle, count, cases[i].after);
        att_sheet *sheet;
        att_status status = att_sheet_read(&sheet, text, strlen(text), "long", NULL, NULL);
        assert_int_equal(status, cases[i].status);
        att_sheet_free(sheet);
        free(text);
    }
}

static void a_sheet_beyond_the_size_limit_is_refused_unread(void **state)
{
    (void)state;
    att_error err = { 0 };
    att_sheet *sheet;
    assert_int_equal(att_sheet_read(&sheet, "", ((size_t)256 << 20) + 1, "big", NULL, &err),
                     ATT_BAD_INPUT);
    assert_string_equal(err.message,
                        "the sheet has 268435457 bytes, more than the limit of 268435456");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bad_sheet_is_refused_with_its_place_and_reason),
        cmocka_unit_test(every_error_shows_its_line_with_one_caret_below),
        cmocka_unit_test(the_caret_follows_tabs_and_wide_characters),
        cmocka_unit_test(a_long_line_is_truncated_around_the_place),
        cmocka_unit_test(the_worst_long_line_fits_the_excerpt),
        cmocka_unit_test(the_worst_whole_line_fits_the_excerpt),
        cmocka_unit_test(a_message_is_one_line_for_any_string),
        cmocka_unit_test(invalid_utf8_is_refused_with_the_offset_of_its_first_byte),
        cmocka_unit_test(control_characters_are_refused_and_never_shown),
        cmocka_unit_test(expressions_too_deep_or_too_large_are_refused),
        cmocka_unit_test(a_sum_of_many_terms_and_deep_brackets_still_work),
        cmocka_unit_test(a_line_of_100_megabytes_neither_hangs_nor_crashes),
        cmocka_unit_test(a_sheet_beyond_the_size_limit_is_refused_unread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
