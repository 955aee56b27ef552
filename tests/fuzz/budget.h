/* A budget for targets that do more with their input than read it: a limit on the memory of the
 * library and on the time of an input, and what may then be refused. Include it in one
 * source of a target. */
#ifndef TESTS_FUZZ_BUDGET_H
#define TESTS_FUZZ_BUDGET_H

#include "fuzz/fuzz.h"

#include <malloc.h>
#include <stdatomic.h>

/* The callback is called every 0.02 to 0.1 s of a call. */
enum { BUDGET_BYTES = 64 << 20, BUDGET_CALLBACKS = 20 };

static atomic_size_t budget_used;
static int budget_callbacks;

static void *budget_allocate(void *user_data, size_t bytes, size_t alignment)
{
    (void)user_data;
    void *block;
    if (bytes > BUDGET_BYTES || budget_used > BUDGET_BYTES - bytes)
        return NULL;
    if (posix_memalign(&block, alignment < 64 ? 64 : alignment, bytes) != 0)
        return NULL;
    budget_used += malloc_usable_size(block);
    return block;
}

static void budget_release(void *user_data, void *block)
{
    (void)user_data;
    budget_used -= malloc_usable_size(block);
    free(block);
}

static bool budget_continue(void *context, const att_progress *progress)
{
    (void)context;
    (void)progress;
    return --budget_callbacks > 0;
}

/* Before main(): the allocator can be set only before anything is allocated. */
__attribute__((constructor)) static void budget_set(void)
{
    const att_allocator allocator = { .size = sizeof allocator,
                                      .allocate = budget_allocate,
                                      .release = budget_release };
    PROMISE(att_allocator_set(&allocator, NULL) == ATT_OK);
}

/* For each input. */
static inline void budget_start(void)
{
    budget_callbacks = BUDGET_CALLBACKS;
    att_callback_set(budget_continue, NULL);
}

/* Whether a call succeeded; if not, its refusal is a valid one. */
static inline bool succeeded(att_status status, const att_error *err)
{
    if (status == ATT_OK)
        return true;
    if (status != ATT_CANCELLED)
        check_refusal(status, err);
    return false;
}

#endif
