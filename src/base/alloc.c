/* Allocation; see alloc.h. The counters are atomic because kernels' callers may be threads. */
#include "base/alloc.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGNMENT = 64, HUGE_PAGE = 2 << 20 };

static atomic_size_t calls;
static atomic_size_t live;
static atomic_size_t fail_at;

/* True when this call is one that the test wants to see fail. */
static int must_fail(void)
{
    size_t limit = atomic_load_explicit(&fail_at, memory_order_relaxed);
    size_t call = atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed) + 1;
    return limit != 0 && call >= limit;
}

/* A large block begins where a huge page does, and the system may give it huge ones: a fault for
 * each 2 MB that are written first instead of each 4 KB, and fewer addresses to look up. */
static void *alloc_aligned(size_t bytes)
{
    void *block;
    size_t huge = bytes / HUGE_PAGE * HUGE_PAGE;
    if (posix_memalign(&block, huge > 0 ? HUGE_PAGE : ALIGNMENT, bytes) != 0)
        return NULL;
#ifdef MADV_HUGEPAGE
    if (huge > 0)
        madvise(block, huge, MADV_HUGEPAGE); /* not a whole page more than asked for */
#endif
    return block;
}

void *att_alloc(size_t count, size_t size)
{
    if (must_fail())
        return NULL;
    if (size != 0 && count > (SIZE_MAX - ALIGNMENT) / size)
        return NULL;
    size_t bytes = (count * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    void *block = alloc_aligned(bytes ? bytes : ALIGNMENT);
    if (block)
        atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
    return block;
}

void *att_alloc_zero(size_t count, size_t size)
{
    void *block = att_alloc(count, size);
    if (block)
        memset(block, 0, count * size);
    return block;
}

void *att_realloc(void *block, size_t used, size_t count, size_t size)
{
    void *bigger = att_alloc(count, size);
    if (!bigger)
        return NULL;
    if (used > 0)
        memcpy(bigger, block, used < count * size ? used : count * size);
    att_free(block);
    return bigger;
}

void att_free(void *block)
{
    if (!block)
        return;
    atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
    free(block);
}

void att_alloc_fail_at(size_t n)
{
    atomic_store(&calls, 0);
    atomic_store(&fail_at, n);
}

size_t att_alloc_calls(void)
{
    return atomic_load(&calls);
}

size_t att_alloc_live(void)
{
    return atomic_load(&live);
}
