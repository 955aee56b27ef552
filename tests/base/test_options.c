/* Structs that begin with their size: callers compiled against an older or a newer header. */
#include "base/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

typedef struct old_options {
    size_t size;
    int first;
} old_options;

typedef struct new_options {
    size_t size;
    int first, padding;
    double second;
} new_options;

static void an_older_caller_gets_defaults_for_what_it_lacks(void **state)
{
    (void)state;
    const old_options given = { sizeof given, 7 };
    new_options out;
    memset(&out, 0xFF, sizeof out);
    assert_int_equal(att_options_copy(&out, sizeof out, &given, "options", NULL), ATT_OK);
    assert_int_equal(out.size, sizeof out);
    assert_int_equal(out.first, 7);
    assert_true(out.second == 0);
}

static void a_newer_caller_is_served_unless_it_sets_an_unknown_field(void **state)
{
    (void)state;
    new_options given = { sizeof given, 7, 0, 0 };
    old_options out;
    att_error err = { 0 };
    assert_int_equal(att_options_copy(&out, sizeof out, &given, "options", &err), ATT_OK);
    assert_int_equal(out.first, 7);
    given.second = 1;
    assert_int_equal(att_options_copy(&out, sizeof out, &given, "options", &err), ATT_BAD_INPUT);
    assert_string_equal(err.place, "options");
    assert_non_null(strstr(err.message, "sets a field that libattend " ATT_VERSION));
}

static void no_options_are_the_defaults_and_a_size_of_zero_is_refused(void **state)
{
    (void)state;
    old_options out = { 1, 1 };
    const old_options unset = { 0, 7 };
    att_error err = { 0 };
    assert_int_equal(att_options_copy(&out, sizeof out, NULL, "options", &err), ATT_OK);
    assert_int_equal(out.size, sizeof out);
    assert_int_equal(out.first, 0);
    assert_int_equal(att_options_copy(&out, sizeof out, &unset, "att_x", &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "has size 0: start from ATT_INIT(att_x)");
}

static void a_result_fills_as_much_as_the_caller_has_room_for(void **state)
{
    (void)state;
    const new_options result = { sizeof result, 7, 0, 2.5 };
    struct {
        old_options out;
        int after;
    } older = { { sizeof older.out, 0 }, 42 };
    struct {
        new_options out;
        double later;
    } newer = { { sizeof newer, 0, 0, 0 }, 9 };
    assert_int_equal(att_result_copy(&older.out, &result, sizeof result, "result", NULL), ATT_OK);
    assert_int_equal(older.out.size, sizeof older.out);
    assert_int_equal(older.out.first, 7);
    assert_int_equal(older.after, 42);
    assert_int_equal(att_result_copy(&newer.out, &result, sizeof result, "result", NULL), ATT_OK);
    assert_int_equal(newer.out.size, sizeof newer);
    assert_true(newer.out.second == 2.5 && newer.later == 0);
    old_options unset = { 0 };
    assert_int_equal(att_result_copy(&unset, &result, sizeof result, "result", NULL),
                     ATT_BAD_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_older_caller_gets_defaults_for_what_it_lacks),
        cmocka_unit_test(a_newer_caller_is_served_unless_it_sets_an_unknown_field),
        cmocka_unit_test(no_options_are_the_defaults_and_a_size_of_zero_is_refused),
        cmocka_unit_test(a_result_fills_as_much_as_the_caller_has_room_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
