/* A check for functions that allocate: whichever allocation fails, the function returns
 * ATT_NO_MEMORY and leaks nothing. */
#ifndef TESTS_FAILING_MEMORY_H
#define TESTS_FAILING_MEMORY_H

#include "attend.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "thin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The allocation that fails after the n-th: the next one; where tests are thin, not each of those
 * after the first 10. */
static inline size_t next_failing(size_t n)
{
    return n + (n < 10 ? 1 : 1 + n / 5 * (THIN - 1));
}

/* Calls `work` with allocation n alone failing, for every n: a failure that is overlooked would end
 * in success, since all that follow succeed. */
static inline void every_single_failure_is_reported(att_status (*work)(void *context),
                                                    void *context)
{
    size_t live = att_alloc_live();
    for (size_t n = 1;; n = next_failing(n)) {
        att_alloc_fail_once(n);
        att_status status = work(context);
        bool reached = att_alloc_calls() >= n;
        att_alloc_fail_at(0);
        assert_int_equal(att_alloc_live(), live);
        if (!reached) {
            assert_int_equal(status, ATT_OK);
            return;
        }
        if (status != ATT_NO_MEMORY)
            fail_msg("allocation %zu alone fails: status %d", n, (int)status);
    }
}

/* Calls `work` with its first allocation and all after it failing, then from its second on, and so
 * on until it succeeds, which must take fewer than `max` rounds; then with each one alone failing.
 * Returns the number of rounds. `work` releases everything it allocates, on failure too: a model
 * that packs its weights on first use must be used before. */
static inline size_t every_allocation_fails(att_status (*work)(void *context), void *context,
                                            size_t max)
{
    size_t live = att_alloc_live();
    for (size_t n = 1;; n = next_failing(n)) {
        att_alloc_fail_at(n);
        att_status status = work(context);
        att_alloc_fail_at(0);
        assert_int_equal(att_alloc_live(), live);
        if (status == ATT_OK) {
            assert_true(n > 1); /* otherwise `work` allocates nothing */
            every_single_failure_is_reported(work, context);
            return n;
        }
        assert_int_equal(status, ATT_NO_MEMORY);
        assert_true(n < max);
    }
}

/* The same where each allocation in an arena has a block of its own and fails too. */
static inline size_t every_arena_allocation_fails(att_status (*work)(void *context), void *context,
                                                  size_t max)
{
    att_arena_single_blocks(true);
    size_t rounds = every_allocation_fails(work, context, max);
    att_arena_single_blocks(false);
    return rounds;
}

#endif
