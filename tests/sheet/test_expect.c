/* expect: tolerance rules, failures and messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/minmax.h"
#include "sheet_help.h"

struct verdict_case {
    const char *statement;
    bool passed;
    const char *message;
};

static void assert_messages(const struct verdict_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char text[512];
        snprintf(text, sizeof text, "x = [0.263242 0.328020 0.408738]\nn = 0.328020\n%s",
                 cases[i].statement);
        att_sheet *sheet = sheet_from(text);
        assert_int_equal(sheet->step_count, 3);
        assert_int_equal(sheet->steps[2].kind, ATT_STEP_CHECK);
        const att_check *check = sheet->steps[2].check;
        if (check->passed != cases[i].passed || strcmp(check->message, cases[i].message) != 0)
            fail_msg("%s\nfound    %d %s\nexpected %d %s", cases[i].statement, check->passed,
                     check->message, cases[i].passed, cases[i].message);
        assert_int_equal(att_sheet_checks(sheet), 1);
        assert_int_equal(att_sheet_failures(sheet), !cases[i].passed);
        att_sheet_free(sheet);
    }
}

#define ASSERT_MESSAGES(cases) assert_messages(cases, ATT_COUNT(cases))

static void a_message_names_the_element_its_difference_and_the_count(void **state)
{
    (void)state;
    static const struct verdict_case cases[] = {
        { "expect x = [0.26 0.33 0.41] within 0.005", true,
          "all 3 elements agree within 0.005, the largest difference is 0.00324" },
        { "expect x = [0.26 0.32 0.41] within 0.005", false,
          "element [1,2] is 0.32802, expected 0.32: off by 0.00802, allowed 0.005; 1 of 3 elements "
          "is out of tolerance" },
        { "expect x' = [0.2; 0.3; 0.4] within 0.01", false,
          "element [1,1] is 0.263242, expected 0.2: off by 0.0632, allowed 0.01; 2 of 3 elements "
          "are out of tolerance" },
        { "expect n = 0.33 within 0.005", true, "agrees within 0.005, off by 0.00198" },
        { "expect n = 0.33 within 0.001", false,
          "it is 0.32802, expected 0.33: off by 0.00198, allowed 0.001" },
        { "expect x = x", true, "all 3 elements agree exactly" },
        { "expect n = n within 0", true, "agrees exactly" },
        { "expect n = 0.3280200001 within 1e-12", false,
          "it is 0.32802, expected 0.3280200001: off by 1e-10, allowed 1e-12" },
        { "expect x = [1 2] within 9", false, "the shapes differ: expected 1 × 2, found 1 × 3" },
    };
    ASSERT_MESSAGES(cases);
}

static void digits_and_decimals_allow_half_a_unit_of_the_last_one(void **state)
{
    (void)state;
    static const struct verdict_case cases[] = {
        { "expect x = [0.26 0.33 0.41] to 2 digits", true,
          "all 3 elements agree to 2 digits, the largest difference is 0.00324" },
        { "expect x = [0.26 0.32 0.41] to 2 digits", false,
          "element [1,2] is 0.32802, expected 0.32: off by 0.00802, allowed 0.005; 1 of 3 elements "
          "is out of tolerance" },
        { "expect 1000 * n = 328 to 3 digits", true, "agrees to 3 digits, off by 0.02" },
        { "expect 1000 * n = 328 to 5 digits", false,
          "it is 328.02, expected 328: off by 0.02, allowed 0.005" },
        { "expect 0.04 = 0 to 1 digit", true, "agrees to 1 digit, off by 0.04" },
        { "expect 0.06 = 0 to 1 digit", false,
          "it is 0.06, expected 0: off by 0.06, allowed 0.05" },
        { "expect n = 0.33 to 2 decimals", true, "agrees to 2 decimals, off by 0.00198" },
        { "expect 100 * n = 33 to 0 decimals", true, "agrees to 0 decimals, off by 0.198" },
        { "expect 1000 = 1004 to 3 digits", true, "agrees to 3 digits, off by 4" },
        { "expect 0.001 = 0.0010004 to 4 digits", true, "agrees to 4 digits, off by 4e-07" },
        { "expect 0.001 = 0.0010006 to 4 digits", false,
          "it is 0.001, expected 0.0010006: off by 6e-07, allowed 5e-07" },
    };
    ASSERT_MESSAGES(cases);
}

static void as_printed_counts_the_digits_of_each_number(void **state)
{
    (void)state;
    static const struct verdict_case cases[] = {
        { "expect x = [0.263242 0.33 0.4] as printed", true,
          "all 3 elements agree in every printed digit, the largest difference is 0.00874" },
        { "expect x = [0.263242 0.330 0.4] as printed", false,
          "element [1,2] is 0.32802, expected 0.33: off by 0.00198, allowed 0.0005; 1 of 3 "
          "elements is out of tolerance" },
        { "expect -n = -0.33 as printed", true, "agrees in every printed digit, off by 0.00198" },
        { "expect 1e4 * n = 3.28e3 as printed", true, "agrees in every printed digit, off by 0.2" },
        { "expect 1e4 * n = 3.29e3 as printed", false,
          "it is 3280.2, expected 3290: off by 9.8, allowed 5" },
        { "expect n * 100 = 33 as printed", true, "agrees in every printed digit, off by 0.198" },
        { "expect x = 0.3 as printed", false,
          "element [1,3] is 0.408738, expected 0.3: off by 0.109, allowed 0.05; 1 of 3 elements is "
          "out of tolerance" },
    };
    ASSERT_MESSAGES(cases);
}

/* 0.265 is not representable: |0.265 - 0.26| is 0.0050000000000000044. */
static void a_decimal_half_is_not_failed_by_its_binary_neighbor(void **state)
{
    (void)state;
    static const struct verdict_case cases[] = {
        { "expect 0.265 = 0.26 as printed", true, "agrees in every printed digit, off by 0.005" },
        { "expect 0.265 = 0.27 as printed", true, "agrees in every printed digit, off by 0.005" },
        { "expect 0.265 = 0.26 within 0.005", true, "agrees within 0.005, off by 0.005" },
        { "expect 0.26500001 = 0.26 as printed", false,
          "it is 0.265, expected 0.26: off by 0.00500001, allowed 0.005" },
        { "expect 0.1 + 0.2 = 0.3", true, "agrees to 1e-09 relative, off by 5.55e-17" },
        { "expect 0.1 + 0.2 = 0.3 within 0", false,
          "it is 0.30000000000000004, expected 0.29999999999999999: off by 5.55e-17, allowed 0" },
    };
    ASSERT_MESSAGES(cases);
}

static void without_a_rule_a_billionth_of_one_and_of_the_number_is_allowed(void **state)
{
    (void)state;
    static const struct verdict_case cases[] = {
        { "expect 1 + 1.9e-9 = 1", true, "agrees to 1e-09 relative, off by 1.9e-09" },
        { "expect 1 + 2.1e-9 = 1", false,
          "it is 1.000000002, expected 1: off by 2.1e-09, allowed 2e-09" },
        { "expect 1e9 + 0.9 = 1e9", true, "agrees to 1e-09 relative, off by 0.9" },
        { "expect 0.9e-9 = 0", true, "agrees to 1e-09 relative, off by 9e-10" },
        { "expect 1.1e-9 = 0", false, "it is 1.1e-09, expected 0: off by 1.1e-09, allowed 1e-09" },
    };
    ASSERT_MESSAGES(cases);
}

static void nan_and_infinity_agree_only_with_themselves(void **state)
{
    (void)state;
    static const struct verdict_case cases[] = {
        { "expect nan = nan within 0", true, "agrees exactly" },
        { "expect inf = inf", true, "agrees exactly" },
        { "expect nan = 1 within 9", false, "it is nan, expected 1: off by inf, allowed 9" },
        { "expect 1 = nan within 9", false, "it is 1, expected nan: off by inf, allowed 9" },
        { "expect inf = 1 within 9", false, "it is inf, expected 1: off by inf, allowed 9" },
        { "expect inf = -inf within 9", false, "it is inf, expected -inf: off by inf, allowed 9" },
        { "expect inf = 3 to 2 digits", false, "it is inf, expected 3: off by inf, allowed 0.05" },
        { "expect 3 = inf to 2 digits", false, "it is 3, expected inf: off by inf, allowed 0.005" },
    };
    ASSERT_MESSAGES(cases);
}

static void expect_not_passes_on_other_numbers_and_never_by_an_accident_of_shape(void **state)
{
    (void)state;
    static const struct verdict_case cases[] = {
        { "expect not x = [0.26 0.32 0.41] as printed", true,
          "differs as expected: element [1,2] is 0.32802, not 0.32" },
        { "expect not n = 0.33 to 2 digits", false,
          "agrees to 2 digits, but was expected to differ" },
        { "expect not n = 0.34 to 2 digits", true, "differs as expected: it is 0.32802, not 0.34" },
        { "expect not x = [1 2]", false, "the shapes differ: expected 1 × 2, found 1 × 3" },
    };
    ASSERT_MESSAGES(cases);
}

static void a_single_expected_number_is_broadcast_but_a_scalar_is_no_matrix(void **state)
{
    (void)state;
    static const struct verdict_case cases[] = {
        { "expect x = 0.33 within 0.1", true,
          "all 3 elements agree within 0.1, the largest difference is 0.0787" },
        { "expect x = 0.33 within 0.07", false,
          "element [1,3] is 0.408738, expected 0.33: off by 0.0787, allowed 0.07; 1 of 3 elements "
          "is out of tolerance" },
        { "expect n = [0.32802 0.32802]", false, "the shapes differ: expected 1 × 2, found 1 × 1" },
    };
    ASSERT_MESSAGES(cases);
}

static void a_failed_expectation_does_not_stop_the_sheet(void **state)
{
    (void)state;
    att_sheet *sheet = sheet_from("expect 1 = 2\nx = 3\nexpect x = 4\nexpect x = 3\n");
    assert_int_equal(att_sheet_checks(sheet), 3);
    assert_int_equal(att_sheet_failures(sheet), 2);
    assert_int_equal(sheet->step_count, 4);
    att_error failure;
    att_sheet_failure_get(&failure, sheet, 1);
    assert_int_equal(failure.line, 3);
    assert_string_equal(failure.message, "it is 3, expected 4: off by 1, allowed 5e-09");
    att_sheet_free(sheet);
}

static void the_check_keeps_what_was_compared_and_by_which_rule(void **state)
{
    (void)state;
    att_sheet *sheet = sheet_from("x = [1 2; 3 4]\nexpect x = [1 2; 3 5] to 2 decimals\n"
                                  "expect not x = 7 within 0.5\n");
    const att_check *check = sheet->steps[1].check;
    assert_int_equal(check->rule, ATT_RULE_DECIMALS);
    assert_int_equal(check->digits, 2);
    assert_int_equal(check->row, 2);
    assert_int_equal(check->col, 2);
    assert_int_equal(check->mismatch_count, 1);
    assert_true(check->max_difference == 1);
    assert_true(check->actual->data[3] == 4 && check->expected->data[3] == 5);
    assert_string_equal(check->left->text, "x");
    assert_int_equal(check->right->kind, ATT_EXPR_MATRIX);
    assert_null(check->file);
    check = sheet->steps[2].check;
    assert_true(check->negated && check->passed);
    assert_true(check->tolerance == 0.5);
    assert_int_equal(check->expected->rows, 2); /* the number broadcast to the matrix */
    att_sheet_free(sheet);
}

static void expect_error_passes_on_the_error_and_keeps_its_message(void **state)
{
    (void)state;
    att_sheet *sheet = sheet_from("s = [1 2]\nh = [1 2; 3 4; 5 6]\n"
                                  "expect error s * h\n"
                                  "expect error s * h saying \"inner sizes\" # as it should\n"
                                  "expect error zeros(1e6, 1e6)\n"
                                  "expect error attention(s, h, h, score = dott)\n"
                                  "expect error attention([1 2 3], h, h, causal)\n");
    assert_int_equal(att_sheet_checks(sheet), 5);
    assert_int_equal(att_sheet_failures(sheet), 0);
    const att_trace_step *step = &sheet->steps[3];
    assert_int_equal(step->kind, ATT_STEP_ERROR);
    assert_string_equal(step->text, "s * h: s is 1 × 2 and h is 3 × 2; the inner sizes 2 and 3 "
                                    "must agree (did you mean h'?)");
    assert_string_equal(step->comment, "as it should");
    assert_int_equal(step->formula->kind, ATT_EXPR_BINARY);
    att_sheet_free(sheet);
}

static void expect_error_fails_without_an_error_or_with_another(void **state)
{
    (void)state;
    static const struct verdict_case cases[] = {
        { "expect error x + 1", false, "expected an error, found a 1 × 3 matrix" },
        { "expect error {x, n}", false, "expected an error, found a list of 2" },
        { "expect error x * x saying \"outer\"", false,
          "expected an error saying \"outer\", found \"x * x: x is 1 × 3 and x is 1 × 3; the inner "
          "sizes 3 and 1 must agree (did you mean x'?)\"" },
    };
    ASSERT_MESSAGES(cases);
}

static void a_failed_expectation_of_an_error_keeps_that_it_was_one_and_the_words(void **state)
{
    (void)state;
    att_sheet *sheet = sheet_from("expect error 1 + 1\nexpect error 1 + 1 saying \"no\"\n"
                                  "expect 1 = 2\n");
    assert_int_equal(sheet->steps[0].check->rule, ATT_RULE_ERROR);
    assert_null(sheet->steps[0].check->error_contains);
    assert_string_equal(sheet->steps[1].check->error_contains, "no");
    assert_int_equal(sheet->steps[2].check->rule, ATT_RULE_DEFAULT);
    assert_true(sheet->steps[2].check->tolerance == 1e-9);
    att_string text = { 0 };
    att_render_options options = { .size = sizeof(att_render_options), .digits = 4 };
    assert_int_equal(att_sheet_render(&text, sheet, &options, NULL), ATT_OK);
    assert_non_null(strstr(text.data, "error 1 + 1\n"));
    assert_non_null(strstr(text.data, "error 1 + 1 saying \"no\""));
    assert_non_null(strstr(text.data, "1 = 2 to 1e-09 relative"));
    assert_null(strstr(text.data, "within"));
    att_string_free(&text);
    att_sheet_free(sheet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_names_the_element_its_difference_and_the_count),
        cmocka_unit_test(digits_and_decimals_allow_half_a_unit_of_the_last_one),
        cmocka_unit_test(as_printed_counts_the_digits_of_each_number),
        cmocka_unit_test(a_decimal_half_is_not_failed_by_its_binary_neighbor),
        cmocka_unit_test(without_a_rule_a_billionth_of_one_and_of_the_number_is_allowed),
        cmocka_unit_test(nan_and_infinity_agree_only_with_themselves),
        cmocka_unit_test(expect_not_passes_on_other_numbers_and_never_by_an_accident_of_shape),
        cmocka_unit_test(a_single_expected_number_is_broadcast_but_a_scalar_is_no_matrix),
        cmocka_unit_test(a_failed_expectation_does_not_stop_the_sheet),
        cmocka_unit_test(the_check_keeps_what_was_compared_and_by_which_rule),
        cmocka_unit_test(expect_error_passes_on_the_error_and_keeps_its_message),
        cmocka_unit_test(expect_error_fails_without_an_error_or_with_another),
        cmocka_unit_test(a_failed_expectation_of_an_error_keeps_that_it_was_one_and_the_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
