/* Numbers: rounded and exact. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/minmax.h"
#include "render/number.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One matrix of up to four numbers, the requested digits, and the text of each number. */
static const struct {
    int digits;
    int count;
    double values[4];
    const char *shown[4];
} matrices[] = {
    { 4, 1, { 3 }, { "3" } },
    { 4, 2, { 1, -2 }, { "1", "-2" } },
    { 4, 4, { 0.1, 0.2, 0.3, 0.4 }, { "0.1", "0.2", "0.3", "0.4" } },
    { 4, 3, { 0.6, 0.82, 1.04 }, { "0.60", "0.82", "1.04" } },
    { 4,
      2,
      { 0.1 + 0.2, 1 },
      { "0.3", "1.0" } }, /* the rounding error of the double is not shown */
    { 4, 3, { 0.263242, 0.328020, 0.408738 }, { "0.2632", "0.3280", "0.4087" } },
    { 4, 1, { 1.0 / 3 }, { "0.3333" } },
    { 8, 1, { 1.0 / 3 }, { "0.33333333" } },
    { 0, 2, { 2.4, 2.6 }, { "2", "3" } },
    { 4, 2, { 0.99995, 4.8e-05 }, { "1.0000", "4.8e-05" } }, /* a small one among large ones */
    { 4, 2, { 4.8e-05, 1.2e-06 }, { "4.8000e-05", "1.2000e-06" } },
    { 4, 2, { 123456789.5, 1.5 }, { "1.2346e+08", "1.5000e+00" } },
    { 4, 2, { 123456789, -1 }, { "123456789", "-1" } }, /* whole numbers stay whole */
    { 4, 1, { 1e15 }, { "1.0000e+15" } },
    { 4, 2, { -0.0, 0.0 }, { "0", "0" } },
    { 2, 2, { -0.001, 0.5 }, { "-0.001", "0.50" } },
    { 0, 4, { 0.46, 2.4, 0.06, 0 }, { "0.5", "2", "0.06", "0" } },
    { 0, 2, { 0.0034, 4.8e-05 }, { "0.003", "4.8e-05" } },
    { 2, 3, { 0.00012, 0.25, 0.000012 }, { "0.0001", "0.25", "1.2e-05" } },
    { 4, 3, { NAN, INFINITY, -INFINITY }, { "nan", "inf", "-inf" } },
    { 2, 2, { NAN, 0.25 }, { "nan", "0.25" } },
    { 17, 1, { 0.1 }, { "0.1" } },
    { 17, 2, { 1234.56, 0.7 }, { "1234.56", "0.70" } },
    { 14, 1, { 0.1 + 0.2 }, { "0.3" } },
    { 17, 1, { 0.1 + 0.2 }, { "0.30000000000000004" } }, /* here it is shown */
    { 13, 1, { 1.0 / 3 }, { "0.3333333333333" } },
    { 17, 1, { 2.0 / 3 }, { "0.6666666666666666" } }, /* reads back as the same double */
    { 1, 2, { 0.5, 0.25 }, { "0.5", "0.2" } },
};

static void one_format_serves_a_matrix(void **state)
{
    (void)state;
    char text[ATT_NUMBER_SIZE];
    for (size_t i = 0; i < ATT_COUNT(matrices); i++) {
        att_number_format format =
            att_number_choose(matrices[i].values, NULL, matrices[i].count, matrices[i].digits);
        for (int k = 0; k < matrices[i].count; k++) {
            size_t length = att_number_print(text, matrices[i].values[k], format);
            assert_string_equal(text, matrices[i].shown[k]);
            assert_int_equal(length, strlen(text));
        }
    }
}

static void masked_numbers_do_not_choose_the_format(void **state)
{
    (void)state;
    const double values[] = { 0.5, 1e-9, 1e300 };
    const uint8_t allowed[] = { 1, 0, 0 };
    att_number_format format = att_number_choose(values, allowed, 3, 4);
    assert_int_equal(format.decimals, 1);
    assert_false(format.scientific);
}

static void nothing_but_zero_is_shown_as_zero(void **state)
{
    (void)state;
    char text[ATT_NUMBER_SIZE];
    for (int digits = 0; digits <= ATT_DIGITS_MAX; digits++) {
        for (int exponent = -320; exponent <= 0; exponent++) {
            const double pair[] = { pow(10, exponent) * 1.7, 0.5 };
            if (pair[0] == 0)
                continue;
            att_number_print(text, pair[0], att_number_choose(pair, NULL, 2, digits));
            assert_true(strtod(text, NULL) > 0);
        }
    }
}

static void exact_text_reads_back_as_the_same_double(void **state)
{
    (void)state;
    char text[ATT_NUMBER_SIZE];
    uint64_t bits = 0x9E3779B97F4A7C15u;
    for (int i = 0; i < 20000; i++) {
        double value;
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        att_number_exact(text, value);
        assert_true(strtod(text, NULL) == value);
    }
    att_number_exact(text, 0.1);
    assert_string_equal(text, "0.1");
    att_number_exact(text, 5e-324);
    assert_true(strtod(text, NULL) == 5e-324);
    att_number_exact(text, -INFINITY);
    assert_string_equal(text, "-inf");
}

static void short_text_has_no_needless_digits(void **state)
{
    (void)state;
    char text[ATT_NUMBER_SIZE];
    att_number_short(text, 0.40873812, 6);
    assert_string_equal(text, "0.408738");
    att_number_short(text, 0.25, 6);
    assert_string_equal(text, "0.25");
    att_number_short(text, -0.0, 6);
    assert_string_equal(text, "0");
    att_number_short(text, NAN, 6);
    assert_string_equal(text, "nan");
}

/* Makes a locale with a decimal comma in a temporary folder and switches to it. */
static bool switch_to_comma(char *folder)
{
    char command[256];
    if (!mkdtemp(folder))
        return false;
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >%s/log 2>&1",
             folder, folder);
    if (system(command) != 0)
        return false;
    setenv("LOCPATH", folder, 1);
    return setlocale(LC_ALL, "de_DE.UTF-8") && localeconv()->decimal_point[0] == ',';
}

static void a_decimal_comma_of_the_locale_has_no_effect(void **state)
{
    (void)state;
    char folder[] = "/tmp/attend-locale-XXXXXX";
    char command[64], text[3][ATT_NUMBER_SIZE];
    bool comma = switch_to_comma(folder);
    if (comma) {
        att_number_print(text[0], 0.25, (att_number_format){ .decimals = 3 });
        att_number_exact(text[1], -1.5e-07);
        att_number_short(text[2], 3.25, 6);
    }
    setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
    if (!comma)
        skip(); /* no localedef, or no sources of locales */
    assert_string_equal(text[0], "0.250");
    assert_string_equal(text[1], "-1.5e-07");
    assert_string_equal(text[2], "3.25");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_format_serves_a_matrix),
        cmocka_unit_test(masked_numbers_do_not_choose_the_format),
        cmocka_unit_test(nothing_but_zero_is_shown_as_zero),
        cmocka_unit_test(exact_text_reads_back_as_the_same_double),
        cmocka_unit_test(short_text_has_no_needless_digits),
        cmocka_unit_test(a_decimal_comma_of_the_locale_has_no_effect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
