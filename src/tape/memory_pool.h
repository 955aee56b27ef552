/* The memory of a tape: allocated piece by piece, freed all at once or down to a mark. After the
 * first round everything fits into one block, so that a training step calls malloc not at all. */
#ifndef ATT_TAPE_MEMORY_POOL_H
#define ATT_TAPE_MEMORY_POOL_H

#include <stddef.h>

typedef struct att_memory_pool {
    struct att_memory_pool_block *last; /* the block in use, linked to the blocks before it */
    size_t allocated;                   /* bytes in use */
    size_t peak;                        /* the largest `allocated` so far */
} att_memory_pool;

typedef struct att_memory_pool_mark {
    struct att_memory_pool_block *block;
    size_t used;
    size_t allocated;
} att_memory_pool_mark;

/* `count` items of `size` bytes, 64-byte aligned, uninitialized; NULL when memory is out. */
void *att_memory_pool_alloc(att_memory_pool *pool, size_t count, size_t size);

/* Frees everything allocated since the mark. */
att_memory_pool_mark att_memory_pool_get_mark(const att_memory_pool *pool);
void att_memory_pool_release_to(att_memory_pool *pool, att_memory_pool_mark mark);

/* Frees everything but keeps capacity for the peak. */
void att_memory_pool_reset(att_memory_pool *pool);

void att_memory_pool_free(att_memory_pool *pool);

#endif
