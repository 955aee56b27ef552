/* Arenas: many allocations, one release, and a limit. */
#include "base/arena.h"

#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MANY = 5000 };

static void allocations_never_move_nor_overlap(void **state)
{
    (void)state;
    static unsigned char *taken[MANY];
    size_t live = att_alloc_live();
    att_arena arena = { 0 };
    for (int i = 0; i < MANY; i++) {
        size_t size = (size_t)(i * 7 % 257);
        taken[i] = att_arena_alloc(&arena, size, 1);
        assert_non_null(taken[i]);
        assert_int_equal((uintptr_t)taken[i] % 16, 0);
        for (size_t k = 0; k < size; k++)
            assert_int_equal(taken[i][k], 0);
        memset(taken[i], i & 0xFF, size);
    }
    for (int i = 0; i < MANY; i++)
        for (int k = 0; k < i * 7 % 257; k++)
            assert_int_equal(taken[i][k], i & 0xFF);
    assert_true(att_alloc_live() > live);
    att_arena_free(&arena);
    assert_int_equal(att_alloc_live(), live);
}

static void small_allocations_share_a_block(void **state)
{
    (void)state;
    size_t live = att_alloc_live();
    att_arena arena = { 0 };
    for (int i = 0; i < 100; i++)
        assert_non_null(att_arena_alloc(&arena, 1, 16));
    assert_int_equal(att_alloc_live(), live + 1);
    assert_non_null(att_arena_alloc(&arena, 100, 1 << 20)); /* larger than any step */
    assert_int_equal(att_alloc_live(), live + 2);
    att_arena_free(&arena);
}

static void an_arena_can_be_used_again(void **state)
{
    (void)state;
    att_arena arena = { .limit = 100 };
    assert_non_null(att_arena_alloc(&arena, 80, 1));
    assert_null(att_arena_alloc(&arena, 80, 1));
    assert_true(arena.limit_reached);
    att_arena_free(&arena);
    assert_false(arena.limit_reached);
    assert_non_null(att_arena_alloc(&arena, 80, 1));
    att_arena_free(&arena);
    att_arena_free(&arena); /* freeing an empty arena does nothing */
}

static void the_limit_and_overflow_are_distinguished_from_lack_of_memory(void **state)
{
    (void)state;
    att_arena bounded = { .limit = 1000 }, open = { 0 };
    assert_null(att_arena_alloc(&bounded, 1001, 1));
    assert_true(bounded.limit_reached);
    assert_null(att_arena_alloc(&open, SIZE_MAX, 2));
    assert_true(open.limit_reached);
    assert_null(att_arena_strndup(&open, "", SIZE_MAX));
    att_arena_free(&open);
    att_alloc_fail_at(1);
    assert_null(att_arena_alloc(&open, 1, 1));
    att_alloc_fail_at(0);
    assert_false(open.limit_reached);
    assert_non_null(att_arena_alloc(&open, 1, 1)); /* memory is available again */
    att_arena_free(&open);
    att_arena_free(&bounded);
}

static void strings_are_copied_and_formatted(void **state)
{
    (void)state;
    att_arena arena = { 0 };
    assert_string_equal(att_arena_strndup(&arena, "attention", 3), "att");
    assert_string_equal(att_arena_strndup(&arena, NULL, 0), "");
    assert_memory_equal(att_arena_strndup(&arena, "a\0b", 3), "a\0b", 4);
    assert_string_equal(att_arena_printf(&arena, "%d of %s", 3, "four"), "3 of four");
    char *wide = att_arena_printf(&arena, "%100000d", 7);
    assert_int_equal(strlen(wide), 100000);
    att_alloc_fail_at(1);
    assert_null(att_arena_printf(&arena, "%1000000d", 7));
    att_alloc_fail_at(0);
    att_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_never_move_nor_overlap),
        cmocka_unit_test(small_allocations_share_a_block),
        cmocka_unit_test(an_arena_can_be_used_again),
        cmocka_unit_test(the_limit_and_overflow_are_distinguished_from_lack_of_memory),
        cmocka_unit_test(strings_are_copied_and_formatted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
