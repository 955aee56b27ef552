/* The growing string att_string. */
#include "base/string.h"

#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void a_string_grows_and_stays_terminated(void **state)
{
    (void)state;
    att_string text = { 0 };
    for (int i = 0; i < 10000; i++) {
        assert_int_equal(att_string_append(&text, "abc", 3), ATT_OK);
        assert_int_equal(text.length, 3 * (i + 1));
        assert_int_equal(text.data[text.length], '\0');
        assert_true(text.length < text.capacity);
    }
    assert_memory_equal(text.data + 29997, "abc", 4);
    att_string_free(&text);
    assert_null(text.data);
    assert_int_equal(text.length, 0);
    att_string_free(&text);
    att_string_free(NULL);
}

static void zero_bytes_are_bytes_like_others(void **state)
{
    (void)state;
    att_string text = { 0 };
    assert_int_equal(att_string_append(&text, "a\0b", 3), ATT_OK);
    assert_int_equal(att_string_puts(&text, "c"), ATT_OK);
    assert_int_equal(text.length, 4);
    assert_memory_equal(text.data, "a\0bc", 5);
    att_string_free(&text);
}

static void adding_nothing_makes_an_empty_string(void **state)
{
    (void)state;
    att_string text = { 0 };
    assert_int_equal(att_string_append(&text, NULL, 0), ATT_OK);
    assert_string_equal(text.data, "");
    att_string_free(&text);
}

static void printing_and_repeating_append(void **state)
{
    (void)state;
    att_string text = { 0 };
    assert_int_equal(att_string_printf(&text, "%d/%s", 7, "eight"), ATT_OK);
    assert_int_equal(att_string_repeat(&text, "=-", 3), ATT_OK);
    assert_int_equal(att_string_repeat(&text, "x", 0), ATT_OK);
    assert_int_equal(att_string_repeat(&text, "x", -1), ATT_OK);
    assert_string_equal(text.data, "7/eight=-=-=-");
    assert_int_equal(att_string_printf(&text, "%5000d", 1), ATT_OK);
    assert_int_equal(text.length, 13 + 5000);
    assert_int_equal(strlen(text.data), text.length);
    att_string_free(&text);
}

static void a_failed_allocation_leaves_the_string_unchanged(void **state)
{
    (void)state;
    att_string text = { 0 };
    assert_int_equal(att_string_puts(&text, "kept"), ATT_OK);
    size_t live = att_alloc_live();
    att_alloc_fail_at(1);
    assert_int_equal(att_string_printf(&text, "%5000d", 1), ATT_NO_MEMORY);
    assert_int_equal(att_string_repeat(&text, "0123456789", 100), ATT_NO_MEMORY);
    att_alloc_fail_at(0);
    assert_int_equal(strncmp(text.data, "kept", 4), 0);
    assert_int_equal(strlen(text.data), text.length);
    assert_int_equal(att_string_reserve(&text, SIZE_MAX), ATT_NO_MEMORY);
    assert_int_equal(att_string_reserve(&text, SIZE_MAX / 2), ATT_NO_MEMORY);
    assert_int_equal(att_alloc_live(), live);
    att_string_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_string_grows_and_stays_terminated),
        cmocka_unit_test(zero_bytes_are_bytes_like_others),
        cmocka_unit_test(adding_nothing_makes_an_empty_string),
        cmocka_unit_test(printing_and_repeating_append),
        cmocka_unit_test(a_failed_allocation_leaves_the_string_unchanged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
