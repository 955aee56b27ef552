/* Parsing and formatting of numbers, in any locale. */
#include "base/number.h"
#include "base/minmax.h"

#include "base/comma_locale.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void integers_are_parsed_to_the_last_digit(void **state)
{
    (void)state;
    int64_t got;
    assert_true(att_int_parse(&got, "0") && got == 0);
    assert_true(att_int_parse(&got, "-12") && got == -12);
    assert_true(att_int_parse(&got, "+7") && got == 7);
    assert_true(att_int_parse(&got, "9223372036854775807") && got == INT64_MAX);
    assert_true(att_int_parse(&got, "-9223372036854775808") && got == INT64_MIN);
}

static void invalid_integers_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = { "",    "-",     "+",    "1.0",  "1e3",
                                       " 1",  "1 ",    "0x10", "--1",  "9223372036854775808",
                                       "one", "1_000", "１",   "1\n2", "NaN" };
    int64_t got;
    for (size_t i = 0; i < ATT_COUNT(bad); i++)
        if (att_int_parse(&got, bad[i]))
            fail_msg("took '%s'", bad[i]);
}

static void real_numbers_are_parsed_exactly(void **state)
{
    (void)state;
    double got;
    assert_true(att_double_parse(&got, "0.1") && got == 0.1);
    assert_true(att_double_parse(&got, ".5") && got == 0.5);
    assert_true(att_double_parse(&got, "-1e-8") && got == -1e-8);
    assert_true(att_double_parse(&got, "12E+3") && got == 12000);
    assert_true(att_double_parse(&got, "1.7976931348623157e308") && got == DBL_MAX);
}

static void invalid_or_infinite_numbers_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = { "",   ".",   "-",   "e5", "1e",    "inf",   "nan", "1e999",
                                       " 1", "1,5", "0x1", "1 ", "1.2.3", "1e5.0", "1d5", "--1" };
    double got;
    for (size_t i = 0; i < ATT_COUNT(bad); i++)
        if (att_double_parse(&got, bad[i]))
            fail_msg("took '%s'", bad[i]);
}

static void a_number_is_written_with_the_fewest_digits(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *written;
    } cases[] = { { 0, "0" },
                  { 0.1, "0.1" },
                  { 1e-8, "1e-08" },
                  { 65536, "65536" },
                  { 1000, "1000" },
                  { 1e30, "1e+30" },
                  { 9007199254740992.0, "9007199254740992" },
                  { 0.999999, "0.999999" },
                  { -2.5, "-2.5" },
                  { 1.0 / 3, "0.3333333333333333" } };
    char out[ATT_DOUBLE_STRING_SIZE];
    for (size_t i = 0; i < ATT_COUNT(cases); i++)
        assert_string_equal(att_double_format(out, cases[i].value), cases[i].written);
}

static void formatted_numbers_parse_to_the_same_value(void **state)
{
    (void)state;
    char out[ATT_DOUBLE_STRING_SIZE];
    double value = 0.1, got;
    for (int i = 0; i < 1000; i++) {
        value = fmod(value * 1234.5678901, 1e6) + 1e-12 * i;
        assert_true(att_double_parse(&got, att_double_format(out, value)));
        assert_true(got == value);
    }
    assert_true(att_double_parse(&got, att_double_format(out, DBL_TRUE_MIN)) &&
                got == DBL_TRUE_MIN);
    assert_true(att_double_parse(&got, att_double_format(out, -DBL_MAX)) && got == -DBL_MAX);
}

static void a_decimal_comma_of_the_locale_changes_nothing(void **state)
{
    (void)state;
    char directory[] = COMMA_LOCALE_FOLDER, out[ATT_DOUBLE_STRING_SIZE] = "";
    double got = 0;
    bool comma = comma_locale_enter(directory);
    bool read = comma && att_double_parse(&got, "0.5");
    if (comma)
        att_double_format(out, 0.25);
    assert_true(comma_locale_leave(directory));
    if (!comma)
        skip(); /* no localedef, or no locale sources */
    assert_true(read && got == 0.5);
    assert_string_equal(out, "0.25");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_parsed_to_the_last_digit),
        cmocka_unit_test(invalid_integers_are_refused),
        cmocka_unit_test(real_numbers_are_parsed_exactly),
        cmocka_unit_test(invalid_or_infinite_numbers_are_refused),
        cmocka_unit_test(a_number_is_written_with_the_fewest_digits),
        cmocka_unit_test(formatted_numbers_parse_to_the_same_value),
        cmocka_unit_test(a_decimal_comma_of_the_locale_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
