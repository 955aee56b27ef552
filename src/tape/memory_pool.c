/* The memory of a tape; see pool.h. */
#include "tape/memory_pool.h"

#include "base/alloc.h"

#include <stdint.h>

enum { ALIGNMENT = 64, MIN_BLOCK_SIZE = 1 << 16 };

typedef struct att_memory_pool_block {
    struct att_memory_pool_block *prev;
    size_t size; /* bytes after the header, which takes ALIGNMENT */
    size_t used;
} att_memory_pool_block;

_Static_assert(sizeof(att_memory_pool_block) <= ALIGNMENT,
               "the header must leave what follows aligned");

static size_t max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* The first block is as large as all there ever was; later ones grow with what is in use. */
static att_memory_pool_block *add_block(att_memory_pool *pool, size_t bytes)
{
    size_t size = max_size(bytes, MIN_BLOCK_SIZE);
    size = max_size(size, pool->last ? pool->allocated / 2 / ALIGNMENT * ALIGNMENT : pool->peak);
    if (size > SIZE_MAX - ALIGNMENT)
        return NULL;
    att_memory_pool_block *block = att_alloc(1, size + ALIGNMENT);
    if (!block)
        return NULL;
    *block = (att_memory_pool_block){ .prev = pool->last, .size = size };
    pool->last = block;
    return block;
}

void *att_memory_pool_alloc(att_memory_pool *pool, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
        return NULL;
    bytes = (max_size(bytes, 1) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    att_memory_pool_block *block = pool->last;
    if (!block || block->size - block->used < bytes) {
        block = add_block(pool, bytes);
        if (!block)
            return NULL;
    }
    void *out = (char *)block + ALIGNMENT + block->used;
    block->used += bytes;
    pool->allocated += bytes;
    pool->peak = max_size(pool->peak, pool->allocated);
    return out;
}

att_memory_pool_mark att_memory_pool_get_mark(const att_memory_pool *pool)
{
    return (att_memory_pool_mark){ pool->last, pool->last ? pool->last->used : 0, pool->allocated };
}

static void free_last_block(att_memory_pool *pool)
{
    att_memory_pool_block *block = pool->last;
    pool->last = block->prev;
    att_free(block);
}

void att_memory_pool_release_to(att_memory_pool *pool, att_memory_pool_mark mark)
{
    while (pool->last && pool->last != mark.block) {
        if (!pool->last->prev && !mark.block)
            break; /* nothing had been taken: the first block stays for the next */
        free_last_block(pool);
    }
    if (pool->last)
        pool->last->used = mark.used;
    pool->allocated = mark.allocated;
}

void att_memory_pool_reset(att_memory_pool *pool)
{
    while (pool->last && (pool->last->prev || pool->last->size < pool->peak))
        free_last_block(pool);
    if (pool->last)
        pool->last->used = 0;
    pool->allocated = 0;
}

void att_memory_pool_free(att_memory_pool *pool)
{
    while (pool->last)
        free_last_block(pool);
    *pool = (att_memory_pool){ 0 };
}
