/* The promise of everything that allocates: whichever allocation fails, it says so and leaks
 * nothing. */
#ifndef TESTS_FAILING_MEMORY_H
#define TESTS_FAILING_MEMORY_H

#include "attend.h"
#include "base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Does the work with its first allocation failing, then its second, and so on until it succeeds,
 * which takes fewer than `most` rounds; gives how many it took. `work` releases what it made, on
 * failure too, and makes nothing that stays: a model that packs its weights when it is first used
 * is to be used before. */
static inline size_t every_allocation_fails(att_status (*work)(void *context), void *context,
                                            size_t most)
{
    size_t live = att_alloc_live();
    for (size_t n = 1;; n++) {
        att_alloc_fail_at(n);
        att_status status = work(context);
        att_alloc_fail_at(0);
        assert_int_equal(att_alloc_live(), live);
        if (status == ATT_OK) {
            assert_true(n > 1); /* else nothing was there to fail */
            return n;
        }
        assert_int_equal(status, ATT_NO_MEMORY);
        assert_true(n < most);
    }
}

#endif
