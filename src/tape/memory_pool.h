/* The memory of a tape: given out piece by piece and taken back all at once, or down to a mark.
 * After the first time round everything fits one block, so that a training step asks the heap for
 * nothing. */
#ifndef ATT_TAPE_MEMORY_POOL_H
#define ATT_TAPE_MEMORY_POOL_H

#include <stddef.h>

typedef struct att_memory_pool {
    struct att_memory_pool_block *last; /* the block in use, linked to the ones before it */
    size_t allocated;                   /* bytes given out now */
    size_t peak;                        /* and at most so far */
} att_memory_pool;

typedef struct att_memory_pool_mark {
    struct att_memory_pool_block *block;
    size_t used;
    size_t allocated;
} att_memory_pool_mark;

/* `count` items of `size` bytes, 64-byte aligned, not zeroed; NULL when memory is out. */
void *att_memory_pool_alloc(att_memory_pool *pool, size_t count, size_t size);

/* Takes back everything given out since the mark. */
att_memory_pool_mark att_memory_pool_get_mark(const att_memory_pool *pool);
void att_memory_pool_release_to(att_memory_pool *pool, att_memory_pool_mark mark);

/* Takes everything back and keeps room for as much as was ever in use at once. */
void att_memory_pool_reset(att_memory_pool *pool);

void att_memory_pool_free(att_memory_pool *pool);

#endif
