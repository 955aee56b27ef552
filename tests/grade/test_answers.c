/* What people write for numbers, and what is read from it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/minmax.h"
#include "base/string.h"
#include "grade/answers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char sheet_text[] = "r = [1 2 3]\nm = [1 2; 3 4]\nx = 5\n"
                                 "ask r \"the row\"\nask m \"a matrix\"\nask x \"the number\"\n";
enum { ROW, MATRIX, NUMBER };

static att_student_answers read(att_sheet **sheet, const void *bytes, size_t size)
{
    att_student_answers answers;
    att_error err = { 0 };
    assert_int_equal(att_sheet_read(sheet, sheet_text, strlen(sheet_text), "sheet.att", ".", &err),
                     ATT_OK);
    att_status status = att_student_answers_read(&answers, *sheet, bytes, size, "answers", &err);
    if (status != ATT_OK)
        fail_msg("%s", err.message);
    return answers;
}

static const struct {
    const char *text;
    double values[3];
} rows[] = {
    { "row is 0.1, 0.2 and 0.3", { 0.1, 0.2, 0.3 } },
    { "row = 0.1 and 0.2 and 0.3 and so on", { 0.1, 0.2, 0.3 } },
    { "r = 1 2 3", { 1, 2, 3 } },
    { "r = [1, 2, 3]", { 1, 2, 3 } },
    { "R=(1;2;3)", { 1, 2, 3 } },
    { "r: 1,5 2,5 -3,5", { 1.5, 2.5, -3.5 } },
    { "r: 1,5; 2,5; -3,5", { 1.5, 2.5, -3.5 } },
    { "r = 0,26, 0,33, 0,41", { 0.26, 0.33, 0.41 } },
    { "r = 1,2,3", { 1, 2, 3 } },
    { "r = [.5 -.25 +1]", { 0.5, -0.25, 1 } },
    { "r = 1/2, 1/4, -3/4", { 0.5, 0.25, -0.75 } },
    { "r = \\frac{1}{2}, \\frac14, 3", { 0, 0, 0 } },
    { "r = ½ ¼ ¾", { 0.5, 0.25, 0.75 } },
    { "r = 1e-3 2E+2 3e0", { 0.001, 200, 3 } },
    { "r = 1×10⁻³ 2*10^2 3 * 10^{-1}", { 0.001, 200, 0.3 } },
    { "r = 10 % 20% 30 %", { 0.1, 0.2, 0.3 } },
    { "r = −1 –2 -3", { -1, -2, -3 } },
    { "r → 1 2 3", { 1, 2, 3 } },
    { "r -> 1 2 3", { 1, 2, 3 } },
    { "r ≈ 1 2 3", { 1, 2, 3 } },
    { "r is 1 2 3", { 1, 2, 3 } },
    { "r := 1 2 3", { 1, 2, 3 } },
    { "the row: 1 2 3", { 1, 2, 3 } },
    { "Row = 1 2 3", { 1, 2, 3 } },
    { "1) 1 2 3", { 1, 2, 3 } },
    { "Question 1: 1 2 3", { 1, 2, 3 } },
    { "Q1 = 1 2 3", { 1, 2, 3 } },
    { "- r = 1 2 3", { 1, 2, 3 } },
    { "> **r** = `1 2 3`", { 1, 2, 3 } },
    { "r = np.array([1., 2., 3.])", { 1, 2, 3 } },
    { "r = tensor([[1.0, 2.0, 3.0]], dtype=torch.float64)", { 1, 2, 3 } },
    { "r = [[1 2\n 3]]", { 1, 2, 3 } },
    { "r =\n1\n2\n3\n\nx = 7", { 1, 2, 3 } },
    { "r =\n\n1 2 3", { 1, 2, 3 } },
    { "r = [1 2 3]'", { 1, 2, 3 } },
    { "r = a + b = 4 5 6 = 1 2 3", { 1, 2, 3 } },
    { "r = softmax(2) ~ 1 2 3", { 1, 2, 3 } },
    { "r = 1 2 3 # a remark", { 1, 2, 3 } },
    { "r = 1 2 3 (rounded)", { 1, 2, 3 } },
    { "r = 1 2 3 because it is", { 1, 2, 3 } },
    { "r = 1, 2, 3.", { 1, 2, 3 } },
    { "r[1] = 1\nr[2] = 2\nr[3] = 3", { 1, 2, 3 } },
    { "r_1 = 1\nr_2 = 2\nr_{3} = 3", { 1, 2, 3 } },
    { "r₁ = 1\nr(2) = 2\nr[3] = 3", { 1, 2, 3 } },
    { "r1 = 1, r2 = 2, r3 = 3", { 1, 2, 3 } },
    { "r1=1 r2=2 r3=3", { 1, 2, 3 } },
    { "r_1 = 1 and r_2 = 2 and r_3 = 3", { 1, 2, 3 } },
    { "x = 7; r = 1 2 3; s = 9", { 1, 2, 3 } },
    { "r = [1 2 3], std = 1.87", { 1, 2, 3 } },
    { "r = 0.5 x + 0.5 r = 1 2 3", { 1, 2, 3 } },
    { "the row = softmax([4 5 6]) which gives [1 2 3].", { 1, 2, 3 } },
    { "The row equals 1, 2, 3", { 1, 2, 3 } },
    { "r² = 1 2 3", { 0, 0, 0 } },
    { "σ² = 1 2 3\n(σ)² = 1 2 3", { 0, 0, 0 } },
    { "r = \\begin{bmatrix} 1 & 2 & 3 \\end{bmatrix}", { 1, 2, 3 } },
    { "r = \\begin{pmatrix} 1 \\\\ 2 \\\\ 3 \\end{pmatrix}", { 1, 2, 3 } },
    { "r:\n\n| a | b | c |\n|---|---|---|\n| 1 | 2 | 3 |\n", { 1, 2, 3 } },
    { "| r | 1 | 2 | 3 |", { 1, 2, 3 } },
    { "r = [0 0 0]\nr = [1 2 3]", { 1, 2, 3 } },
    { "r = [1 2 3]\nr = tbd", { 1, 2, 3 } },
    { "\xEF\xBB\xBFr = 1 2 3\r\nx = 4", { 1, 2, 3 } },
    { "\"r\" = 1 2 3", { 1, 2, 3 } },
};

static void numbers_are_read_as_people_write_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < ATT_COUNT(rows); i++) {
        att_sheet *sheet;
        att_student_answers answers = read(&sheet, rows[i].text, strlen(rows[i].text));
        const att_student_answer *answer = &answers.items[ROW];
        bool expected = rows[i].values[0] != 0; /* all zero: not read */
        if ((answer->state == ATT_ANSWER_READ && !isnan(answer->numbers.values[0])) != expected)
            fail_msg("%s: state %d, %s", rows[i].text, (int)answer->state,
                     answer->problem ? answer->problem : "");
        for (int j = 0; expected && j < 3; j++)
            if (fabs(answer->numbers.values[j] - rows[i].values[j]) > 1e-12)
                fail_msg("%s: number %d is %g", rows[i].text, j + 1, answer->numbers.values[j]);
        att_student_answers_free(&answers);
        att_sheet_free(sheet);
    }
}

/* Names and words of a sheet about gates and heads: which answers are found, and what is noted. */
static const char named_sheet[] = "μ = 3\nvar = 3.5\nh = [1 2]\nL = 0.7\n"
                                  "ask μ \"the mean\"\nask var \"the variance\"\n"
                                  "ask h \"the new hidden state\"\nask L \"the loss (mean)\"\n";

static const struct {
    const char *text;
    const char *read; /* a letter for each ask: r read, - not */
    const char *note;
} named[] = {
    { "mu = 3", "r---", NULL },
    { "μ = 3", "r---", NULL },
    { "$\\mu$ = 3", "r---", NULL },
    { "μ = 12/4 = 3, var = 3.5, std = 1.87", "rr--", "line 1: 'std' is not asked for" },
    { "New hidden state h_t = (1; 2)", "--r-", "line 1: 'New hidden state h_t' was read as h" },
    { "state (hidden): 1 2", "--r-", "line 1: 'state (hidden)' was read as h" },
    { "loss = 0.7 nats", "---r", "line 1: 'loss' was read as L" },
    { "mean: 3\nloss: 0.7", "r--r", "line 2: 'loss' was read as L" },
    { "h1 = 1,5; h2 = 2,5", "--r-", NULL },
    { "x1 = 3\nZ = [1 2]", "----", "line 1: 'x1' is not asked for; line 2: 'Z' is not asked for" },
    { "L1 = 0.7", "----", "line 1: 'L1' is not asked for" },
    { "I did not manage the rest: 7", "----", NULL },
};

static void answers_are_found_by_names_and_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < ATT_COUNT(named); i++) {
        att_sheet *sheet;
        att_student_answers answers;
        att_error err = { 0 };
        assert_int_equal(
            att_sheet_read(&sheet, named_sheet, strlen(named_sheet), "sheet.att", ".", &err),
            ATT_OK);
        assert_int_equal(att_student_answers_read(&answers, sheet, named[i].text,
                                                  strlen(named[i].text), "answers", &err),
                         ATT_OK);
        for (size_t j = 0; j < answers.count; j++)
            if ((answers.items[j].state == ATT_ANSWER_READ) != (named[i].read[j] == 'r'))
                fail_msg("%s: answer %zu has state %d", named[i].text, j + 1,
                         (int)answers.items[j].state);
        assert_string_equal(answers.note ? answers.note : "", named[i].note ? named[i].note : "");
        att_student_answers_free(&answers);
        att_sheet_free(sheet);
    }
}

/* In a sheet `A` and `a` are two values. A name in another case is read as the ask only if it is no
 * other value of the sheet, and replaces no answer that is spelled like the ask. */
static void capitals_and_small_letters_are_told_apart_where_both_are_names(void **state)
{
    (void)state;
    static const char both[] = "A = [1 2]\na = [3 4]\nask A \"weights\"\nask a \"output\"\n";
    static const char one[] = "A = [1 2]\na = [3 4]\nask a \"output\"\n";
    static const char alone[] = "a = [3 4]\nask a \"output\"\n";
    static const struct {
        const char *sheet, *text;
        double first, second; /* 0: not read */
        const char *note;
    } cases[] = {
        { both, "A = 1 2\na = 3 4", 1, 3, "" },
        { both, "a = 3 4\nA = 1 2", 1, 3, "" },
        { both, "a = 3 4", 0, 3, "" },
        { both, "a1 = 3\nA1 = 1\na2 = 4\nA2 = 2", 1, 3, "" },
        { one, "a = 3 4\nA = 1 2", 3, 0, "" },
        { one, "A = 1 2", 0, 0, "line 1: 'A' is not asked for" },
        { alone, "A = 3 4", 3, 0, "" },
        { alone, "A = 1 2\na = 3 4", 3, 0, "" },
        { alone, "a = 3 4\nA = 1 2", 3, 0, "" },
        { alone, "a = 1 2\na = 3 4", 3, 0, "" },
    };
    for (size_t i = 0; i < ATT_COUNT(cases); i++) {
        att_sheet *sheet;
        att_student_answers answers;
        assert_int_equal(
            att_sheet_read(&sheet, cases[i].sheet, strlen(cases[i].sheet), "s.att", ".", NULL),
            ATT_OK);
        assert_int_equal(att_student_answers_read(&answers, sheet, cases[i].text,
                                                  strlen(cases[i].text), "answers", NULL),
                         ATT_OK);
        for (size_t j = 0; j < answers.count; j++) {
            double wanted = j == 0 ? cases[i].first : cases[i].second;
            bool read = answers.items[j].state == ATT_ANSWER_READ;
            if (read != (wanted != 0) || (read && answers.items[j].numbers.values[0] != wanted))
                fail_msg("%s: answer %zu is not %g", cases[i].text, j + 1, wanted);
        }
        assert_string_equal(answers.note ? answers.note : "", cases[i].note);
        att_student_answers_free(&answers);
        att_sheet_free(sheet);
    }
}

/* With decimal commas the semicolon separates numbers: the answer is no column. */
static void semicolons_between_decimal_commas_make_a_list(void **state)
{
    (void)state;
    static const char *const texts[] = { "r = (0,5; 0,25; 0,125)", "r = 0.5; 0.25; 0.125" };
    for (size_t i = 0; i < ATT_COUNT(texts); i++) {
        att_sheet *sheet;
        att_student_answers answers = read(&sheet, texts[i], strlen(texts[i]));
        assert_int_equal(answers.items[ROW].state, ATT_ANSWER_READ);
        assert_int_equal(answers.items[ROW].turned, i == 1);
        att_student_answers_free(&answers);
        att_sheet_free(sheet);
    }
}

static const char *const matrices[] = {
    "m = [1 2; 3 4]",
    "m = [[1, 2], [3, 4]]",
    "m = [[1. 2.]\n     [3. 4.]]",
    "m = array([[1, 2],\n       [3, 4]])",
    "m =\n1 2\n3 4",
    "m = (1, 2), (3, 4)",
    "m = 1 2 3 4",
    "m:\n| 1 | 2 |\n|---|---|\n| 3 | 4 |",
    "m:\n\n|   | a | b |\n|---|---|---|\n| q1 | 1 | 2 |\n| q2 | 3 | 4 |",
    "m[1] = 1 2\nm[2] = 3 4",
    "m[1,1] = 1\nm[1,2] = 2\nm[2,1] = 3\nm[2,2] = 4",
    "m_11 = 1\nm_12 = 2\nm_21 = 3\nm_22 = 4",
    "m = [1 3; 2 4]^T",
    "m = np.array([[1, 3], [2, 4]]).T",
    "a matrix = {{1,2},{3,4}}",
    "m = \\begin{bmatrix} 1 & 2 \\\\ 3 & 4 \\end{bmatrix}",
};

static void matrices_are_read_row_by_row(void **state)
{
    (void)state;
    for (size_t i = 0; i < ATT_COUNT(matrices); i++) {
        att_sheet *sheet;
        att_student_answers answers = read(&sheet, matrices[i], strlen(matrices[i]));
        const att_student_answer *answer = &answers.items[MATRIX];
        if (answer->state != ATT_ANSWER_READ)
            fail_msg("%s: %s", matrices[i], answer->problem ? answer->problem : "not found");
        for (int j = 0; j < 4; j++)
            if (answer->numbers.values[j] != j + 1)
                fail_msg("%s: number %d is %g", matrices[i], j + 1, answer->numbers.values[j]);
        att_student_answers_free(&answers);
        att_sheet_free(sheet);
    }
}

static const struct {
    const char *text;
    const char *problem;
} problems[] = {
    { "x = five", "found 'five'" },
    { "x = 2 + 3", "a calculation" },
    { "x = <script>", "found '<'" },
    { "x = ٥", "another script" },
    { "x = ５", "another script" },
    { "x = __import__('os').system('true')", "found '__import__'" },
    { "x = ", "found none" },
    { "x = [", "found none" },
    { "x = ?", "found '?'" },
};

static void what_is_no_number_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < ATT_COUNT(problems); i++) {
        att_sheet *sheet;
        att_student_answers answers = read(&sheet, problems[i].text, strlen(problems[i].text));
        const att_student_answer *answer = &answers.items[NUMBER];
        if (answer->state != ATT_ANSWER_UNREADABLE || !strstr(answer->problem, problems[i].problem))
            fail_msg("%s: state %d, %s", problems[i].text, (int)answer->state,
                     answer->problem ? answer->problem : "");
        assert_int_equal(answer->line, 1);
        att_student_answers_free(&answers);
        att_sheet_free(sheet);
    }
}

static void the_unit_of_the_last_digit_is_known(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double unit;
    } units[] = { { "x = 5", 1 },         { "x = 5.0", 0.1 }, { "x = 5,00", 0.01 },
                  { "x = 5.0e-3", 1e-4 }, { "x = 500", 100 }, { "x = 50", 1 },
                  { "x = 26%", 0.01 },    { "x = 1/3", 0 } };
    for (size_t i = 0; i < ATT_COUNT(units); i++) {
        att_sheet *sheet;
        att_student_answers answers = read(&sheet, units[i].text, strlen(units[i].text));
        if (fabs(answers.items[NUMBER].numbers.units[0] - units[i].unit) > 1e-12)
            fail_msg("%s: unit %g", units[i].text, answers.items[NUMBER].numbers.units[0]);
        att_student_answers_free(&answers);
        att_sheet_free(sheet);
    }
}

static void a_notebook_is_read_cell_by_cell_without_running_it(void **state)
{
    (void)state;
    static const char notebook[] =
        "{\"cells\": [{\"cell_type\": \"markdown\", \"source\": [\"r = 1 2\\n\", \"\\n\"]},"
        "{\"cell_type\": \"code\", \"source\": [\"r = f(2)\\n\", \"x = np.float64(5.5)\\n\"],"
        "\"outputs\": [{\"output_type\": \"stream\", \"text\": [\"m = [[1 2]\\n\", \" [3 "
        "4]]\\n\"]},"
        "{\"data\": {\"text/plain\": \"r = array([1, 2, 3])\"}}]}]}";
    att_sheet *sheet;
    att_student_answers answers = read(&sheet, notebook, strlen(notebook));
    assert_int_equal(answers.items[ROW].state, ATT_ANSWER_READ);
    assert_int_equal(answers.items[ROW].cell, 2);
    assert_true(answers.items[ROW].numbers.values[2] == 3);
    assert_true(answers.items[MATRIX].numbers.values[3] == 4);
    assert_true(answers.items[NUMBER].numbers.values[0] == 5.5);
    att_student_answers_free(&answers);
    att_sheet_free(sheet);
}

static void refuse(const void *bytes, size_t size, const char *why)
{
    att_sheet *sheet;
    att_student_answers answers;
    att_error err = { 0 };
    assert_int_equal(att_sheet_read(&sheet, sheet_text, strlen(sheet_text), "sheet.att", ".", &err),
                     ATT_OK);
    assert_int_equal(att_student_answers_read(&answers, sheet, bytes, size, "answers", &err),
                     ATT_BAD_INPUT);
    if (!strstr(err.message, why))
        fail_msg("%s", err.message);
    att_student_answers_free(&answers);
    att_sheet_free(sheet);
}

static void bytes_that_are_no_answers_are_refused(void **state)
{
    (void)state;
    refuse("r\0 = 1", 6, "found other bytes");
    refuse("\xFF\xFEr\0", 4, "UTF-16");
    refuse("x", ATT_MAX_ANSWERS + 1, "more than the limit"); /* nothing beyond the size is read */
    refuse("{\"cells\": 3}", 12, "cells");
    refuse("{\"cells\": [", 11, "");
#ifdef ATT_HAVE_ZIP
    refuse("PK\x03\x04 no archive", 15, "");
#endif
}

#ifdef ATT_HAVE_ZIP
static void an_npz_file_has_an_array_for_each_answer(void **state)
{
    (void)state;
    static const char sheet_of_npz[] =
        "r = [1 2 3]\na = attention([1 2], [1 2; 3 4; 5 6], [1; 2; 3])\n"
        "ask r \"r\"\nask a.products \"p\"\nask a.weights \"w\"\n";
    att_string bytes = { 0 };
    att_sheet *sheet;
    att_student_answers answers;
    assert_int_equal(att_file_read(&bytes, ATTEND_SOURCE_DIR "/tests/fuzz/corpus/answers/npz",
                                   ATT_MAX_ANSWERS, NULL),
                     ATT_OK);
    assert_int_equal(att_sheet_read(&sheet, sheet_of_npz, strlen(sheet_of_npz), "s", NULL, NULL),
                     ATT_OK);
    assert_int_equal(
        att_student_answers_read(&answers, sheet, bytes.data, bytes.length, "a.npz", NULL), ATT_OK);
    assert_int_equal(answers.items[0].state, ATT_ANSWER_MISSING);
    assert_true(answers.items[1].numbers.values[1] == 3.5);
    assert_true(answers.items[2].numbers.values[2] == 0.5); /* a_weights */
    att_student_answers_free(&answers);
    att_sheet_free(sheet);
    att_string_free(&bytes);
}
#endif

static void deep_nesting_is_a_problem_of_one_answer(void **state)
{
    (void)state;
    att_string text = { 0 };
    att_sheet *sheet;
    assert_int_equal(att_string_puts(&text, "r = "), ATT_OK);
    assert_int_equal(att_string_repeat(&text, "[", 200000), ATT_OK);
    assert_int_equal(att_string_puts(&text, "\nm = 1 2\n3 4"), ATT_OK);
    att_student_answers answers = read(&sheet, text.data, text.length);
    assert_int_equal(answers.items[ROW].state, ATT_ANSWER_UNREADABLE);
    att_student_answers_free(&answers);
    att_sheet_free(sheet);
    att_string_free(&text);
}

static void escape_sequences_do_not_reach_a_message(void **state)
{
    (void)state;
    static const char text[] = "x = \x1b[31mred\x07\n";
    att_sheet *sheet;
    att_student_answers answers = read(&sheet, text, strlen(text));
    assert_int_equal(answers.items[NUMBER].state, ATT_ANSWER_UNREADABLE);
    assert_null(strpbrk(answers.items[NUMBER].problem, "\x1b\x07"));
    att_student_answers_free(&answers);
    att_sheet_free(sheet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_read_as_people_write_them),
        cmocka_unit_test(answers_are_found_by_names_and_words),
        cmocka_unit_test(capitals_and_small_letters_are_told_apart_where_both_are_names),
        cmocka_unit_test(semicolons_between_decimal_commas_make_a_list),
        cmocka_unit_test(matrices_are_read_row_by_row),
        cmocka_unit_test(what_is_no_number_is_named),
        cmocka_unit_test(the_unit_of_the_last_digit_is_known),
        cmocka_unit_test(a_notebook_is_read_cell_by_cell_without_running_it),
        cmocka_unit_test(bytes_that_are_no_answers_are_refused),
#ifdef ATT_HAVE_ZIP
        cmocka_unit_test(an_npz_file_has_an_array_for_each_answer),
#endif
        cmocka_unit_test(deep_nesting_is_a_problem_of_one_answer),
        cmocka_unit_test(escape_sequences_do_not_reach_a_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
