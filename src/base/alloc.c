/* Allocation through one replaceable allocator, with counters for tests. The counters are atomic
 * because any thread may allocate. */
#include "base/alloc.h"

#include "attend.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/progress.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGNMENT = 64, HUGE_PAGE = 2 << 20, ZEROED_PIECE = 4 << 20 };

static atomic_size_t calls;
static atomic_size_t live;
static atomic_size_t fail_at;
static atomic_bool fail_only_one;

/* ---- the allocator */

/* Large blocks (alignment HUGE_PAGE) may get huge pages: one page fault per 2 MB instead of 4 KB,
 * and fewer TLB misses. Only whole huge pages inside the block, so that no memory beyond it is
 * used. */
static void *default_allocate(void *user_data, size_t bytes, size_t alignment)
{
    (void)user_data;
    void *block;
    if (posix_memalign(&block, alignment, bytes) != 0)
        return NULL;
#ifdef MADV_HUGEPAGE
    if (alignment >= HUGE_PAGE)
        madvise(block, bytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
#endif
    return block;
}

static void default_release(void *user_data, void *block)
{
    (void)user_data;
    free(block);
}

static att_allocator current = { .size = sizeof(att_allocator),
                                 .allocate = default_allocate,
                                 .release = default_release };

/* Set by the first allocation and by att_allocator_set(): from then on `current` never changes, so
 * threads read it without a lock and every block is released by the allocator that made it. */
static atomic_bool frozen;

att_status att_allocator_set(const att_allocator *allocator, att_error *err)
{
    if (!allocator || allocator->size < sizeof *allocator || !allocator->allocate ||
        !allocator->release)
        return att_fail(err, ATT_BAD_INPUT, "att_allocator_set",
                        "expected an att_allocator with its size and both functions");
    if (atomic_exchange(&frozen, true))
        return att_fail(err, ATT_BAD_INPUT, "att_allocator_set",
                        "expected a call before the first allocation, and only one");
    current = *allocator;
    return ATT_OK;
}

static void *allocate_block(size_t bytes)
{
    if (!atomic_load_explicit(&frozen, memory_order_relaxed))
        atomic_store(&frozen, true);
    return current.allocate(current.user_data, bytes, bytes >= HUGE_PAGE ? HUGE_PAGE : ALIGNMENT);
}

/* ---- blocks */

/* Whether att_alloc_fail_at() or att_alloc_fail_once() makes this call fail. */
static bool must_fail(void)
{
    size_t limit = atomic_load_explicit(&fail_at, memory_order_relaxed);
    size_t call = atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed) + 1;
    if (limit == 0 || call < limit)
        return false;
    return call == limit || !atomic_load_explicit(&fail_only_one, memory_order_relaxed);
}

void *att_alloc(size_t count, size_t size)
{
    if (must_fail())
        return NULL;
    if (size != 0 && count > (SIZE_MAX - ALIGNMENT) / size)
        return NULL;
    size_t bytes = att_round_up(count * size, ALIGNMENT);
    void *block = allocate_block(bytes ? bytes : ALIGNMENT);
    if (block)
        atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
    return block;
}

void *att_alloc_zero(size_t count, size_t size)
{
    void *block = att_alloc(count, size);
    if (block && att_memory_zero(block, count * size))
        return block;
    att_free(block);
    return NULL;
}

bool att_memory_zero(void *memory, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += ZEROED_PIECE) {
        memset((char *)memory + at, 0, att_min_size(bytes - at, ZEROED_PIECE));
        if (bytes - at <= ZEROED_PIECE)
            return true;
        att_progress_poll();
        if (att_progress_abandoned())
            return false;
    }
    return true;
}

void *att_realloc(void *block, size_t used, size_t count, size_t size)
{
    void *bigger = att_alloc(count, size);
    if (!bigger)
        return NULL;
    if (used > 0)
        memcpy(bigger, block, att_min_size(used, count * size));
    att_free(block);
    return bigger;
}

bool att_array_grow(void **items, size_t *capacity, size_t count, size_t size)
{
    if (count < *capacity)
        return true;
    size_t bigger = *capacity ? *capacity * 2 : 8;
    void *moved = att_realloc(*items, count * size, bigger, size);
    if (!moved)
        return false;
    *items = moved;
    *capacity = bigger;
    return true;
}

void att_free(void *block)
{
    if (!block)
        return;
    atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
    current.release(current.user_data, block);
}

/* ---- for tests */

static void fail_from(size_t n, bool only_one)
{
    atomic_store(&calls, 0);
    atomic_store(&fail_only_one, only_one);
    atomic_store(&fail_at, n);
}

void att_alloc_fail_at(size_t n)
{
    fail_from(n, false);
}

void att_alloc_fail_once(size_t n)
{
    fail_from(n, true);
}

size_t att_alloc_calls(void)
{
    return atomic_load(&calls);
}

size_t att_alloc_live(void)
{
    return atomic_load(&live);
}
