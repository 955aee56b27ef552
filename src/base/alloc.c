/* Allocation; see alloc.h. The counters are atomic because kernels' callers may be threads. */
#include "base/alloc.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

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

void *att_alloc(size_t count, size_t size)
{
    if (must_fail())
        return NULL;
    if (size != 0 && count > (SIZE_MAX - ALIGNMENT) / size)
        return NULL;
    size_t bytes = (count * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    void *block = aligned_alloc(ALIGNMENT, bytes ? bytes : ALIGNMENT);
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
