/* Allocation: alignment, overflow, and failing on request. */
#include "attend.h"
#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void *never_allocate(void *user_data, size_t bytes, size_t alignment)
{
    (void)user_data;
    (void)bytes;
    (void)alignment;
    return NULL;
}

static void never_release(void *user_data, void *block)
{
    (void)user_data;
    (void)block;
}

static void blocks_are_aligned_to_64_bytes_and_counted(void **state)
{
    (void)state;
    size_t live = att_alloc_live();
    for (size_t size = 0; size < 300; size += 37) {
        unsigned char *block = att_alloc(size, 1);
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % 64, 0);
        if (size > 0)
            memset(block, 1, size);
        assert_int_equal(att_alloc_live(), live + 1);
        att_free(block);
        assert_int_equal(att_alloc_live(), live);
    }
    att_free(NULL);
    assert_int_equal(att_alloc_live(), live);
}

static void a_zeroed_block_is_zero(void **state)
{
    (void)state;
    unsigned char *dirty = att_alloc(1000, 1);
    memset(dirty, 0xAA, 1000);
    att_free(dirty); /* the next block is likely to be the same one */
    unsigned char *block = att_alloc_zero(10, 100);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(block[i], 0);
    att_free(block);
}

static void a_size_that_overflows_is_refused(void **state)
{
    (void)state;
    size_t live = att_alloc_live();
    assert_null(att_alloc(SIZE_MAX, 2));
    assert_null(att_alloc(2, SIZE_MAX));
    assert_null(att_alloc(SIZE_MAX / 8 + 1, 8));
    assert_null(att_alloc(SIZE_MAX - 10, 1)); /* rounding up to the alignment would overflow */
    assert_null(att_alloc_zero(SIZE_MAX / 2, 3));
    assert_null(att_realloc(NULL, 0, SIZE_MAX, 8));
    assert_int_equal(att_alloc_live(), live);
}

static void resizing_keeps_what_was_used(void **state)
{
    (void)state;
    size_t live = att_alloc_live();
    char *block = att_realloc(NULL, 0, 4, 1);
    memcpy(block, "abcd", 4);
    block = att_realloc(block, 4, 1000, 1);
    assert_memory_equal(block, "abcd", 4);
    block = att_realloc(block, 4, 2, 1); /* smaller than what was used */
    assert_memory_equal(block, "ab", 2);
    assert_int_equal(att_alloc_live(), live + 1);
    att_free(block);
}

static void a_growing_array_keeps_its_items(void **state)
{
    (void)state;
    size_t live = att_alloc_live(), capacity = 0;
    void *items = NULL;
    for (size_t count = 0; count < 100; count++) {
        assert_true(att_array_grow(&items, &capacity, count, sizeof(size_t)));
        assert_true(capacity > count);
        ((size_t *)items)[count] = count * count;
    }
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(((size_t *)items)[i], i * i);
    void *before = items;
    size_t room = capacity;
    att_alloc_fail_at(1);
    assert_false(att_array_grow(&items, &capacity, capacity, sizeof(size_t)));
    att_alloc_fail_at(0);
    assert_ptr_equal(items, before);
    assert_int_equal(capacity, room);
    att_free(items);
    assert_int_equal(att_alloc_live(), live);
}

static void a_failed_resize_leaves_the_old_block(void **state)
{
    (void)state;
    size_t live = att_alloc_live();
    char *block = att_alloc(4, 1);
    memcpy(block, "abcd", 4);
    att_alloc_fail_at(1);
    assert_null(att_realloc(block, 4, 100, 1));
    att_alloc_fail_at(0);
    assert_memory_equal(block, "abcd", 4);
    assert_int_equal(att_alloc_live(), live + 1);
    att_free(block);
}

static void the_nth_call_and_all_after_it_fail_until_turned_off(void **state)
{
    (void)state;
    att_alloc_fail_at(3);
    void *first = att_alloc(1, 1), *second = att_alloc_zero(1, 1);
    assert_non_null(first);
    assert_non_null(second);
    assert_null(att_alloc(1, 1));
    assert_null(att_alloc_zero(1, 1));
    assert_int_equal(att_alloc_calls(), 4);
    att_alloc_fail_at(0);
    void *third = att_alloc(1, 1);
    assert_non_null(third);
    assert_int_equal(att_alloc_calls(), 1);
    att_free(first);
    att_free(second);
    att_free(third);
}

static void an_allocator_comes_too_late_once_memory_is_in_use(void **state)
{
    (void)state;
    att_free(att_alloc(1, 1));
    att_allocator late = { .size = sizeof late,
                           .allocate = never_allocate,
                           .release = never_release };
    assert_int_equal(att_allocator_set(&late, NULL), ATT_BAD_INPUT);
    void *block = att_alloc(1, 1);
    assert_non_null(block);
    att_free(block);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_aligned_to_64_bytes_and_counted),
        cmocka_unit_test(a_zeroed_block_is_zero),
        cmocka_unit_test(a_size_that_overflows_is_refused),
        cmocka_unit_test(resizing_keeps_what_was_used),
        cmocka_unit_test(a_growing_array_keeps_its_items),
        cmocka_unit_test(a_failed_resize_leaves_the_old_block),
        cmocka_unit_test(an_allocator_comes_too_late_once_memory_is_in_use),
        cmocka_unit_test(the_nth_call_and_all_after_it_fail_until_turned_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
