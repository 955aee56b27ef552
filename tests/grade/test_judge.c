/* Outcomes, points and reports of graded answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/minmax.h"
#include "failing_memory.h"
#include "grade/judge.h"

#include <stdio.h>
#include <string.h>

static const char sheet_text[] = "# Attention\n"
                                 "given h = [1 2; 3 1; 0 2]\n"
                                 "given s = [1 0.5]\n"
                                 "a = attention(s, h, h)\n"
                                 "ask a.products \"the <products>\" points 2\n"
                                 "ask a.scores \"the scores\" points 2 within 0.01\n"
                                 "hint \"divide by the root\"\n"
                                 "ask a.weights \"the weights\" points 3 within 0.01\n"
                                 "ask a \"the context\" points 2 partial within 0.01\n";

static att_grading *grade_text(const char *sheet, const char *variant, const char *answers)
{
    att_exercise *exercise;
    att_grading *grading;
    att_error err = { 0 };
    if (att_exercise_read(&exercise, sheet, strlen(sheet), "sheet.att", NULL, &err) != ATT_OK)
        fail_msg("%s", err.message);
    if (att_exercise_grade(&grading, exercise, "ada", variant, answers, strlen(answers), "ada.txt",
                           &err) != ATT_OK)
        fail_msg("%s", err.message);
    att_exercise_free(exercise);
    return grading;
}

static void expect(const char *answers, const char *outcomes, double points)
{
    att_grading *grading = grade_text(sheet_text, "ada", answers);
    char found[200] = "";
    for (size_t i = 0; i < grading->count; i++) {
        const att_mark *mark = &grading->marks[i];
        snprintf(found + strlen(found), sizeof found - strlen(found), "%s%s%s%s", i ? " " : "",
                 att_grade_outcome_name(mark->outcome), mark->slip_count ? ":" : "",
                 mark->slip_count ? mark->slips[0].what->id : "");
    }
    assert_string_equal(found, outcomes);
    if (grading->points != points)
        fail_msg("%s: %g points, expected %g", answers, grading->points, points);
    att_grading_free(grading);
}

static void right_answers_earn_all_points(void **state)
{
    (void)state;
    expect("products = 2 3.5 1\nscores = 1.41 2.47 0.71\nweights = 0.23 0.66 0.11\na = 2.21 1.34",
           "right right right right", 9);
}

static void what_follows_from_a_wrong_step_is_right(void **state)
{
    (void)state;
    expect("products = 2 3.5 1\nscores = 2 3.5 1\nweights = 0.171 0.766 0.063\na = 2.469 1.234",
           "right wrong:no-scale follows follows", 7);
}

static void the_steps_that_are_carried_are_named(void **state)
{
    (void)state;
    att_grading *grading = grade_text(
        sheet_text, "ada",
        "products = 2 3.5 1\nscores = 2 3.5 1\nweights = 0.171 0.766 0.063\na = 2.469 1.234");
    assert_true(grading->marks[2].carried[1] && !grading->marks[2].carried[0]);
    assert_true(grading->marks[3].carried[2] && !grading->marks[3].carried[1]);
    att_grading_free(grading);
}

static void following_a_trivial_value_earns_nothing(void **state)
{
    (void)state;
    expect("products = 0 0 0\nscores = 0 0 0\nweights = 0.333 0.333 0.333\na = 1.333 1.667",
           "wrong withheld withheld withheld", 0);
    expect("scores = 5 5 5\nweights = 0.333 0.333 0.333\na = 1.333 1.667",
           "missing wrong withheld withheld", 0);
}

static void late_steps_count_when_early_ones_are_missing(void **state)
{
    (void)state;
    expect("a = 2.21 1.34", "missing missing missing right", 2);
    expect("weights = 0.23 0.66 0.11", "missing missing right missing", 3);
}

static void a_right_late_step_needs_no_right_early_one(void **state)
{
    (void)state;
    expect("products = 9 9 8\nscores = 1.41 2.47 0.71\nweights = 0.23 0.66 0.11\na = 2.21 1.34",
           "wrong right right right", 7);
}

static void partial_credit_is_by_element(void **state)
{
    (void)state;
    expect("a = 2.21 5", "missing missing missing wrong", 1);
    expect("weights = 0.23 0.66 0.5", "missing missing wrong missing", 0); /* not asked for */
}

static void a_slip_at_an_unasked_step_is_named_where_it_shows(void **state)
{
    (void)state;
    expect("a = 2.469 1.234", "missing missing missing wrong:no-scale", 0);
}

static void rounding_that_is_carried_is_no_mistake(void **state)
{
    (void)state;
    static const char *const sheet = "given x = [1.23 4.56]\ny = x * [2; 3]\nz = y * 1000\n"
                                     "ask y \"y\" to 2 digits\nask z \"z\" within 1\n";
    static const char *const answers[] = { "y = 16\nz = 16000", "y = 16\nz = 16140" };
    for (size_t i = 0; i < ATT_COUNT(answers); i++) {
        att_grading *grading = grade_text(sheet, "ada", answers[i]);
        assert_int_equal(grading->marks[1].outcome, ATT_OUTCOME_RIGHT);
        att_grading_free(grading);
    }
}

static void random_values_depend_on_the_variant_alone(void **state)
{
    (void)state;
    static const char *const sheet = "# T\ngiven x = random 1 x 9 from 0 to 9\nask x \"x\"\n";
    static const char *const longer = "# T\nMore text.\ngiven x = random 1 x 9 from 0 to 9\n"
                                      "ask x \"x\" points 7\n";
    att_grading *a = grade_text(sheet, "ada", ""), *b = grade_text(longer, "ada", "");
    att_grading *c = grade_text(sheet, "bob", "");
    size_t size = 9 * sizeof(double);
    assert_memory_equal(a->marks[0].truth->data, b->marks[0].truth->data, size);
    assert_memory_not_equal(a->marks[0].truth->data, c->marks[0].truth->data, size);
    att_grading_free(a);
    att_grading_free(b);
    att_grading_free(c);
}

/* ---- Reports */

static const char wrong_answers[] = "products = 2 3.5 1\nscores = 2 3.5 1\nweights = <b>|*x*|\n";

static void a_page_gives_the_answer_away_only_if_told(void **state)
{
    (void)state;
    att_grading *grading = grade_text(sheet_text, "ada", wrong_answers);
    for (int format = ATT_FORMAT_TEXT; format <= ATT_FORMAT_JSON; format++)
        for (int detail = ATT_GRADE_EXPLAIN; detail <= ATT_GRADE_REVEAL; detail++) {
            att_string page = { 0 };
            const att_render_options options = { .size = sizeof options,
                                                 .format = (att_format)format };
            if (format == ATT_FORMAT_LATEX)
                continue;
            assert_int_equal(
                att_grading_render(&page, grading, (att_grade_detail)detail, &options, NULL),
                ATT_OK);
            bool revealed = strstr(page.data, "2.474") != NULL; /* of the scores */
            assert_int_equal(revealed, detail == ATT_GRADE_REVEAL);
            bool named = strstr(page.data, "square root") != NULL;
            assert_int_equal(named, detail != ATT_GRADE_CHECK);
            if (format == ATT_FORMAT_HTML)
                assert_null(strstr(page.data, "<products>"));
            att_string_free(&page);
        }
    att_grading_free(grading);
}

/* Numbers that are computed, whatever the statement: by sums, own functions, loops, rounding by
 * hand and gradients. */
static void a_question_paper_states_no_computed_number(void **state)
{
    (void)state;
    static const char sheet[] = "given X = [1 2; 3 4]\ndetail all\nround each step to 2 decimals\n"
                                "q = X * [0.333 0.2; 0.1 0.777]   # 1.754\n"
                                "for x of X: s = x * [0.123; 0.456]\nf(z) = z * 3.17\nr = f(X)\n"
                                "round no step\nL = sum(q .* q)\ngradient L\ng = X.grad + 0\n"
                                "n = relu(X * [1; 1] - 4.25)\nexpect (L > 0) = 1\nshow q\n"
                                "plot q\nask q \"q\"\nask g \"g\"\nask s \"s\"\nask r \"r\"\n";
    static const char *const secret[] = { "0.53",  "1.75",  "3.71", "1.04",  "2.19",  "3.508",
                                          "19.06", "1.056", "6.34", "9.51",  "2.75",  "-1.25",
                                          "12.68", "6.042", "2.41", "1.399", "0.5329" };
    att_exercise *exercise;
    assert_int_equal(att_exercise_read(&exercise, sheet, strlen(sheet), "s.att", NULL, NULL),
                     ATT_OK);
    for (int format = ATT_FORMAT_TEXT; format <= ATT_FORMAT_JSON; format++) {
        att_string paper = { 0 };
        const att_render_options options = { .size = sizeof options, .format = (att_format)format };
        assert_int_equal(att_exercise_render(&paper, exercise, "ada", false, &options, NULL),
                         ATT_OK);
        for (size_t i = 0; i < ATT_COUNT(secret); i++)
            if (strstr(paper.data, secret[i]))
                fail_msg("format %d gives %s away:\n%s", format, secret[i], paper.data);
        assert_non_null(strstr(paper.data, "0.777")); /* which is in the formula */
        assert_non_null(strstr(paper.data, "for x of X"));
        att_string_free(&paper);
    }
    att_exercise_free(exercise);
}

static void the_table_counts_slips(void **state)
{
    (void)state;
    att_grading *gradings[] = { grade_text(sheet_text, "ada", wrong_answers),
                                grade_text(sheet_text, "bob", wrong_answers) };
    att_string table = { 0 }, csv = { 0 };
    const att_render_options options = { .size = sizeof options };
    const att_grading *const *all = (const att_grading *const *)gradings;
    assert_int_equal(att_gradings_render(&table, all, 2, &options, NULL), ATT_OK);
    assert_non_null(strstr(table.data, "2 × step 2: the division by the square root"));
    assert_int_equal(att_gradings_csv(&csv, all, 2, NULL), ATT_OK);
    assert_non_null(strstr(csv.data, "wrong,\"no-scale\""));
    assert_int_equal(att_gradings_csv(&csv, all, 0, NULL), ATT_BAD_INPUT);
    att_string_free(&table);
    att_string_free(&csv);
    att_grading_free(gradings[0]);
    att_grading_free(gradings[1]);
}

static void a_spreadsheet_runs_no_name(void **state)
{
    (void)state;
    att_exercise *exercise;
    att_grading *grading;
    att_string csv = { 0 };
    assert_int_equal(att_exercise_read(&exercise, sheet_text, strlen(sheet_text), "s", NULL, NULL),
                     ATT_OK);
    assert_int_equal(att_exercise_grade(&grading, exercise, "=cmd|\"x\"", "v", "", 0, "a", NULL),
                     ATT_OK);
    const att_grading *const all[] = { grading };
    assert_int_equal(att_gradings_csv(&csv, all, 1, NULL), ATT_OK);
    assert_non_null(strstr(csv.data, "\n\"'=cmd|\"\"x\"\"\","));
    att_string_free(&csv);
    att_grading_free(grading);
    att_exercise_free(exercise);
}

static void answers_that_cannot_be_read_are_a_grading_too(void **state)
{
    (void)state;
    att_exercise *exercise;
    att_grading *grading;
    att_error err = { 0 };
    assert_int_equal(att_exercise_read(&exercise, sheet_text, strlen(sheet_text), "s", NULL, &err),
                     ATT_OK);
    assert_int_equal(att_exercise_grade(&grading, exercise, "ada", "ada", "a\0b", 3, "a", &err),
                     ATT_OK);
    assert_non_null(strstr(att_grading_problem(grading), "other bytes"));
    double max;
    assert_true(att_grading_points(grading, &max) == 0 && max == 9);
    att_grading_free(grading);
    assert_int_equal(
        att_exercise_grade_file(&grading, exercise, "ada", "ada", "/nowhere/ada.txt", &err),
        ATT_OK);
    assert_non_null(att_grading_problem(grading));
    att_grading_free(grading);
    att_exercise_free(exercise);
}

static void a_sheet_without_asks_is_no_exercise(void **state)
{
    (void)state;
    att_exercise *exercise;
    att_error err = { 0 };
    assert_int_equal(att_exercise_read(&exercise, "x = 3", 5, "s.att", NULL, &err), ATT_BAD_INPUT);
    assert_non_null(strstr(err.message, "expected a line such as"));
}

/* ---- Memory */

static att_status grade_and_report(void *context)
{
    (void)context;
    static const char answers[] = "products = 2 3.5 1\nscores = 1 2 3\n| weights | 1/3 | 1 | 2 |\n";
    att_exercise *exercise = NULL;
    att_grading *grading = NULL;
    att_string page = { 0 };
    const att_render_options options = { .size = sizeof options, .format = ATT_FORMAT_HTML };
    att_status status =
        att_exercise_read(&exercise, sheet_text, strlen(sheet_text), "s", NULL, NULL);
    if (status == ATT_OK)
        status = att_exercise_grade(&grading, exercise, "ada", "ada", answers, strlen(answers),
                                    "ada.txt", NULL);
    if (status == ATT_OK)
        status = att_grading_render(&page, grading, ATT_GRADE_REVEAL, &options, NULL);
    if (status == ATT_OK)
        status =
            att_gradings_render(&page, (const att_grading *const *)&grading, 1, &options, NULL);
    if (status == ATT_OK)
        status = att_gradings_csv(&page, (const att_grading *const *)&grading, 1, NULL);
    if (status == ATT_OK)
        status = att_grading_gradescope(&page, grading, ATT_GRADE_EXPLAIN, NULL);
    if (status == ATT_OK)
        status = att_exercise_render(&page, exercise, "ada", false, &options, NULL);
    att_string_free(&page);
    att_grading_free(grading);
    att_exercise_free(exercise);
    return status;
}

static void a_failed_allocation_fails_the_grading(void **state)
{
    (void)state;
    size_t live = att_alloc_live();
    size_t calls = 0;
    att_arena_single_blocks(true);
    for (size_t n = 1; n < 10000000; n += 1 + n / 20) {
        att_alloc_fail_once(n);
        att_status status = grade_and_report(NULL);
        bool reached = att_alloc_calls() >= n;
        att_alloc_fail_at(0);
        assert_int_equal(att_alloc_live(), live);
        if (!reached) {
            assert_int_equal(status, ATT_OK);
            break;
        }
        calls++;
        if (status != ATT_NO_MEMORY)
            fail_msg("allocation %zu alone fails: status %d", n, (int)status);
    }
    att_arena_single_blocks(false);
    assert_true(calls > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_answers_earn_all_points),
        cmocka_unit_test(what_follows_from_a_wrong_step_is_right),
        cmocka_unit_test(the_steps_that_are_carried_are_named),
        cmocka_unit_test(following_a_trivial_value_earns_nothing),
        cmocka_unit_test(late_steps_count_when_early_ones_are_missing),
        cmocka_unit_test(a_right_late_step_needs_no_right_early_one),
        cmocka_unit_test(partial_credit_is_by_element),
        cmocka_unit_test(a_slip_at_an_unasked_step_is_named_where_it_shows),
        cmocka_unit_test(rounding_that_is_carried_is_no_mistake),
        cmocka_unit_test(random_values_depend_on_the_variant_alone),
        cmocka_unit_test(a_page_gives_the_answer_away_only_if_told),
        cmocka_unit_test(a_question_paper_states_no_computed_number),
        cmocka_unit_test(the_table_counts_slips),
        cmocka_unit_test(a_spreadsheet_runs_no_name),
        cmocka_unit_test(answers_that_cannot_be_read_are_a_grading_too),
        cmocka_unit_test(a_sheet_without_asks_is_no_exercise),
        cmocka_unit_test(a_failed_allocation_fails_the_grading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
