/* The replaceable allocator: set once, before anything is allocated, it serves every block. */
#include "attend.h"

#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* An allocator that counts, and that can be exhausted. */
typedef struct counting {
    atomic_int allocated, released, misaligned;
    atomic_bool exhausted;
} counting;

static counting counts;

static void *count_allocate(void *user_data, size_t bytes, size_t alignment)
{
    counting *c = user_data;
    void *block;
    if (atomic_load(&c->exhausted) || posix_memalign(&block, alignment, bytes) != 0)
        return NULL;
    atomic_fetch_add(&c->allocated, 1);
    if (alignment < 64 || bytes == 0)
        atomic_fetch_add(&c->misaligned, 1);
    return block;
}

static void count_release(void *user_data, void *block)
{
    counting *c = user_data;
    atomic_fetch_add(&c->released, 1);
    free(block);
}

static const att_allocator counting_allocator = { .size = sizeof(att_allocator),
                                                  .allocate = count_allocate,
                                                  .release = count_release,
                                                  .user_data = &counts };

static void an_incomplete_allocator_is_refused(void **state)
{
    (void)state;
    att_error err;
    att_allocator bad[3] = { counting_allocator, counting_allocator, counting_allocator };
    bad[0].size = sizeof(size_t);
    bad[1].allocate = NULL;
    bad[2].release = NULL;
    for (int i = 0; i < 3; i++)
        assert_int_equal(att_allocator_set(&bad[i], &err), ATT_BAD_INPUT);
    assert_int_equal(att_allocator_set(NULL, NULL), ATT_BAD_INPUT);
    assert_string_equal(err.place, "att_allocator_set");
    assert_string_equal(err.message, "expected an att_allocator with its size and both functions");
}

static void every_block_comes_from_the_allocator(void **state)
{
    (void)state;
    assert_int_equal(att_allocator_set(&counting_allocator, NULL), ATT_OK);
    att_tensor small, large;
    assert_int_equal(att_tensor_new(&small, ATT_F32, 1, (int64_t[]){ 3 }, NULL), ATT_OK);
    assert_int_equal(att_tensor_new(&large, ATT_F32, 1, (int64_t[]){ 3000000 }, NULL), ATT_OK);
    assert_int_equal(counts.allocated, 2);
    assert_int_equal(counts.released, 0);
    att_tensor_free(&small);
    att_tensor_free(&large);
    assert_int_equal(counts.released, 2);
    assert_int_equal(counts.misaligned, 0);
}

static void an_exhausted_allocator_is_out_of_memory(void **state)
{
    (void)state;
    att_tensor tensor;
    atomic_store(&counts.exhausted, true);
    assert_int_equal(att_tensor_new(&tensor, ATT_F32, 1, (int64_t[]){ 3 }, NULL), ATT_NO_MEMORY);
    atomic_store(&counts.exhausted, false);
}

static void a_second_allocator_is_refused(void **state)
{
    (void)state;
    att_error err;
    att_allocator other = counting_allocator;
    other.user_data = NULL;
    assert_int_equal(att_allocator_set(&other, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "expected a call before the first allocation, and only one");
    void *block = att_alloc(1, 1); /* still served by the first */
    assert_non_null(block);
    att_free(block);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_incomplete_allocator_is_refused),
        cmocka_unit_test(every_block_comes_from_the_allocator),
        cmocka_unit_test(an_exhausted_allocator_is_out_of_memory),
        cmocka_unit_test(a_second_allocator_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
