/* A set of strings, numbered in the order in which they were added. */
#include "base/string_set.h"

#include "base/alloc.h"
#include "failing_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static size_t add(att_string_set *set, const char *text, size_t length)
{
    size_t index;
    assert_int_equal(att_string_set_add(set, text, length, &index), ATT_OK);
    return index;
}

static void an_empty_set_finds_nothing(void **state)
{
    (void)state;
    att_string_set set = { 0 };
    assert_int_equal(att_string_set_find(&set, "a", 1), -1);
    att_string_set_free(&set);
}

static void strings_are_numbered_once(void **state)
{
    (void)state;
    att_string_set set = { 0 };
    assert_int_equal(add(&set, "a", 1), 0);
    assert_int_equal(add(&set, "", 0), 1);
    assert_int_equal(add(&set, "a\0b", 3), 2);
    assert_int_equal(add(&set, "a", 1), 0);
    assert_int_equal(set.count, 3);
    assert_int_equal(att_string_set_find(&set, "a\0b", 3), 2);
    assert_int_equal(att_string_set_find(&set, "a\0c", 3), -1);
    assert_int_equal(set.items[2].length, 3);
    assert_memory_equal(set.items[2].text, "a\0b", 4);
    att_string_set_free(&set);
}

static void thousands_of_strings_keep_their_numbers(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    att_string_set set = { 0 };
    char text[16];
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < COUNT; i++) {
            int length = snprintf(text, sizeof text, "w%d", i);
            assert_int_equal(add(&set, text, (size_t)length), i);
        }
    assert_int_equal(set.count, COUNT);
    assert_int_equal(att_string_set_find(&set, "w5000", 5), -1);
    att_string_set_free(&set);
}

static att_status fill(void *context)
{
    (void)context;
    att_string_set set = { 0 };
    att_status status = ATT_OK;
    for (int i = 0; i < 200 && status == ATT_OK; i++) {
        char text[16];
        size_t index, before = set.count;
        int length = snprintf(text, sizeof text, "w%d", i);
        status = att_string_set_add(&set, text, (size_t)length, &index);
        assert_int_equal(set.count, before + (status == ATT_OK));
        assert_int_equal(att_string_set_find(&set, text, (size_t)length),
                         status == ATT_OK ? i : -1);
    }
    att_string_set_free(&set);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    every_allocation_fails(fill, NULL, 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_set_finds_nothing),
        cmocka_unit_test(strings_are_numbered_once),
        cmocka_unit_test(thousands_of_strings_keep_their_numbers),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
