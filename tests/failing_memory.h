/* A check for functions that allocate: whichever allocation fails, the function returns
 * ATT_NO_MEMORY and leaks nothing. */
#ifndef TESTS_FAILING_MEMORY_H
#define TESTS_FAILING_MEMORY_H

#include "attend.h"
#include "base/alloc.h"
#include "thin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Calls `work` with its first allocation failing, then its second, and so on until it succeeds,
 * which must take fewer than `max` rounds. Returns the number of rounds. Where tests are thin, not
 * every allocation after the first 40 fails in turn. `work` releases everything it allocates, on
 * failure too: a model that packs its weights on first use must be used before. */
static inline size_t every_allocation_fails(att_status (*work)(void *context), void *context,
                                            size_t max)
{
    size_t live = att_alloc_live();
    for (size_t n = 1;; n += n < 40 ? 1 : 1 + n / 40 * (THIN - 1)) {
        att_alloc_fail_at(n);
        att_status status = work(context);
        att_alloc_fail_at(0);
        assert_int_equal(att_alloc_live(), live);
        if (status == ATT_OK) {
            assert_true(n > 1); /* otherwise `work` allocates nothing */
            return n;
        }
        assert_int_equal(status, ATT_NO_MEMORY);
        assert_true(n < max);
    }
}

#endif
