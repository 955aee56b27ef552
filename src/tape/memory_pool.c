/* The memory of a tape: blocks from which pieces are cut. */
#include "tape/memory_pool.h"

#include "base/alloc.h"
#include "base/minmax.h"

#include <stdint.h>

enum { ALIGNMENT = 64, MIN_BLOCK_SIZE = 1 << 16 };

typedef struct att_memory_pool_block {
    struct att_memory_pool_block *prev;
    size_t size; /* bytes after the header, which takes ALIGNMENT */
    size_t used;
} att_memory_pool_block;

_Static_assert(sizeof(att_memory_pool_block) <= ALIGNMENT,
               "the header must keep the data after it aligned");

/* The first block has the size of the peak so far; later blocks grow with the memory in use. */
static att_memory_pool_block *add_block(att_memory_pool *pool, size_t bytes)
{
    size_t size = att_max_size(bytes, MIN_BLOCK_SIZE);
    size =
        att_max_size(size, pool->last ? pool->allocated / 2 / ALIGNMENT * ALIGNMENT : pool->peak);
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
    bytes = att_round_up(att_max_size(bytes, 1), ALIGNMENT);
    att_memory_pool_block *block = pool->last;
    if (!block || block->size - block->used < bytes) {
        block = add_block(pool, bytes);
        if (!block)
            return NULL;
    }
    void *out = (char *)block + ALIGNMENT + block->used;
    block->used += bytes;
    pool->allocated += bytes;
    pool->peak = att_max_size(pool->peak, pool->allocated);
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
            break; /* a mark of the empty pool: keep the first block for reuse */
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
