/* The memory of a tape; see pool.h. */
#include "tape/pool.h"

#include "base/alloc.h"

#include <stdint.h>

enum { ALIGNMENT = 64, LEAST_BLOCK = 1 << 16 };

typedef struct att_pool_block {
    struct att_pool_block *before;
    size_t size; /* bytes after the header, which takes ALIGNMENT */
    size_t used;
} att_pool_block;

_Static_assert(sizeof(att_pool_block) <= ALIGNMENT, "the header must leave what follows aligned");

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* The first block is as large as all there ever was; later ones grow with what is in use. */
static att_pool_block *add_block(att_pool *pool, size_t bytes)
{
    size_t size = larger(bytes, LEAST_BLOCK);
    size = larger(size, pool->last ? pool->taken / 2 / ALIGNMENT * ALIGNMENT : pool->peak);
    if (size > SIZE_MAX - ALIGNMENT)
        return NULL;
    att_pool_block *block = att_alloc(1, size + ALIGNMENT);
    if (!block)
        return NULL;
    *block = (att_pool_block){ .before = pool->last, .size = size };
    pool->last = block;
    return block;
}

void *att_pool_take(att_pool *pool, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
        return NULL;
    bytes = (larger(bytes, 1) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    att_pool_block *block = pool->last;
    if (!block || block->size - block->used < bytes) {
        block = add_block(pool, bytes);
        if (!block)
            return NULL;
    }
    void *out = (char *)block + ALIGNMENT + block->used;
    block->used += bytes;
    pool->taken += bytes;
    pool->peak = larger(pool->peak, pool->taken);
    return out;
}

att_pool_mark att_pool_here(const att_pool *pool)
{
    return (att_pool_mark){ pool->last, pool->last ? pool->last->used : 0, pool->taken };
}

static void drop_last(att_pool *pool)
{
    att_pool_block *block = pool->last;
    pool->last = block->before;
    att_free(block);
}

void att_pool_back_to(att_pool *pool, att_pool_mark mark)
{
    while (pool->last && pool->last != mark.block) {
        if (!pool->last->before && !mark.block)
            break; /* nothing had been taken: the first block stays for the next */
        drop_last(pool);
    }
    if (pool->last)
        pool->last->used = mark.used;
    pool->taken = mark.taken;
}

void att_pool_reset(att_pool *pool)
{
    while (pool->last && (pool->last->before || pool->last->size < pool->peak))
        drop_last(pool);
    if (pool->last)
        pool->last->used = 0;
    pool->taken = 0;
}

void att_pool_free(att_pool *pool)
{
    while (pool->last)
        drop_last(pool);
    *pool = (att_pool){ 0 };
}
