/* Failures: the fields of att_error, and the truncation of long text. */
#include "base/error.h"

#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void a_failure_fills_every_field(void **state)
{
    (void)state;
    att_error err;
    memset(&err, 0xAA, sizeof err);
    assert_int_equal(att_fail(&err, ATT_SYSTEM, "file", "%d of %s", 3, "four"), ATT_SYSTEM);
    assert_int_equal(err.status, ATT_SYSTEM);
    assert_string_equal(err.place, "file");
    assert_string_equal(err.message, "3 of four");
    assert_string_equal(err.excerpt, "");
    assert_int_equal(err.line, 0);
    assert_int_equal(err.column, 0);
    assert_int_equal(att_fail_at(&err, ATT_BAD_INPUT, NULL, 2, 5, "a = ]\n    ^", "unexpected"),
                     ATT_BAD_INPUT);
    assert_string_equal(err.place, "");
    assert_int_equal(err.line, 2);
    assert_int_equal(err.column, 5);
    assert_string_equal(err.excerpt, "a = ]\n    ^");
}

static void the_detail_is_optional(void **state)
{
    (void)state;
    assert_int_equal(att_fail(NULL, ATT_BAD_INPUT, "x", "y"), ATT_BAD_INPUT);
    assert_int_equal(att_fail_at(NULL, ATT_SYSTEM, "x", 1, 1, "z", "y"), ATT_SYSTEM);
    assert_int_equal(att_fail_memory(NULL), ATT_NO_MEMORY);
}

/* UTF-8 characters of every length, shifted so that the buffer ends at each byte of them. */
static void text_too_long_is_cut_between_characters(void **state)
{
    (void)state;
    static const char *const characters[] = { "x", "é", "ক", "😀" };
    for (size_t c = 0; c < 4; c++)
        for (int shift = 0; shift < 8; shift++) {
            char text[2000];
            memset(text, '.', (size_t)shift);
            size_t used = (size_t)shift, size = strlen(characters[c]);
            for (; used + size < sizeof text; used += size)
                memcpy(text + used, characters[c], size);
            text[used] = '\0';
            att_error err;
            att_fail_at(&err, ATT_BAD_INPUT, text, 1, 1, text, "%s", text);
            const char *fields[] = { err.place, err.message, err.excerpt };
            const size_t sizes[] = { sizeof err.place, sizeof err.message, sizeof err.excerpt };
            for (int f = 0; f < 3; f++) {
                size_t length = strlen(fields[f]);
                assert_true(att_utf8_valid(fields[f], length));
                assert_memory_equal(fields[f], text, length);
                assert_true(length < sizes[f] && length + size >= sizes[f]);
            }
        }
}

static void a_text_that_just_fits_is_not_cut(void **state)
{
    (void)state;
    att_error err;
    char text[sizeof err.place];
    memset(text, 'x', sizeof text);
    memcpy(text + sizeof text - 3, "é", 3);
    att_fail(&err, ATT_BAD_INPUT, text, "m");
    assert_string_equal(err.place, text);
}

static void every_status_has_a_name(void **state)
{
    (void)state;
    static const char *const names[] = {
        "ok",       "bad input", "out of memory", "system error", "not supported by this build",
        "cancelled"
    };
    for (int i = ATT_OK; i <= ATT_CANCELLED; i++)
        assert_string_equal(att_status_name((att_status)i), names[i]);
    assert_string_equal(att_status_name((att_status)99), "unknown status");
    assert_string_equal(att_status_name((att_status)-1), "unknown status");
}

static void the_library_has_the_version_of_the_header(void **state)
{
    (void)state;
    assert_string_equal(att_version(), ATT_VERSION);
    char numbers[32];
    snprintf(numbers, sizeof numbers, "%d.%d.%d", ATT_VERSION_MAJOR, ATT_VERSION_MINOR,
             ATT_VERSION_PATCH);
    assert_string_equal(numbers, ATT_VERSION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_fills_every_field),
        cmocka_unit_test(the_detail_is_optional),
        cmocka_unit_test(text_too_long_is_cut_between_characters),
        cmocka_unit_test(a_text_that_just_fits_is_not_cut),
        cmocka_unit_test(every_status_has_a_name),
        cmocka_unit_test(the_library_has_the_version_of_the_header),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
