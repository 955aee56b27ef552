/* The arena: a chain of blocks, each filled from its start. */
#include "base/arena.h"

#include "base/alloc.h"
#include "base/minmax.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { ALIGNMENT = 16, INITIAL_BLOCK_SIZE = 16 * 1024, MAX_BLOCK_SIZE = 4 * 1024 * 1024 };

struct att_arena_block {
    struct att_arena_block *prev;
    size_t size;
    size_t used;
    _Alignas(ALIGNMENT) unsigned char bytes[];
};

static bool single_blocks;

void att_arena_single_blocks(bool on)
{
    single_blocks = on;
}

/* Adds a block with room for `bytes`; blocks double in size up to a limit. */
static struct att_arena_block *grow(att_arena *arena, size_t bytes)
{
    size_t size = arena->last ? arena->last->size * 2 : INITIAL_BLOCK_SIZE;
    size = single_blocks ? bytes : att_max_size(att_min_size(size, MAX_BLOCK_SIZE), bytes);
    if (size > SIZE_MAX - sizeof(struct att_arena_block))
        return NULL;
    struct att_arena_block *block = att_alloc(1, sizeof *block + size);
    if (!block)
        return NULL;
    *block = (struct att_arena_block){ .prev = arena->last, .size = size };
    arena->last = block;
    return block;
}

void *att_arena_alloc(att_arena *arena, size_t count, size_t size)
{
    size_t max = (arena->limit ? arena->limit : SIZE_MAX - ALIGNMENT) - arena->allocated;
    if (size != 0 && count > max / size) {
        arena->limit_reached = true;
        return NULL;
    }
    size_t bytes = att_round_up(count * size, ALIGNMENT);
    struct att_arena_block *block = arena->last;
    if (!block || block->size - block->used < bytes)
        block = grow(arena, bytes);
    if (!block)
        return NULL;
    void *taken = block->bytes + block->used;
    block->used += bytes;
    arena->allocated += count * size;
    return att_memory_zero(taken, bytes) ? taken : NULL;
}

bool att_arena_array_grow(att_arena *arena, void **items, size_t *capacity, size_t count,
                          size_t size)
{
    if (count < *capacity)
        return true;
    size_t bigger = *capacity ? *capacity * 2 : 8;
    void *moved = att_arena_alloc(arena, bigger, size);
    if (!moved)
        return false;
    if (count > 0)
        memcpy(moved, *items, count * size);
    *items = moved;
    *capacity = bigger;
    return true;
}

char *att_arena_strndup(att_arena *arena, const char *text, size_t length)
{
    if (length == SIZE_MAX) {
        arena->limit_reached = true;
        return NULL;
    }
    char *copy = att_arena_alloc(arena, length + 1, 1);
    if (copy && length > 0)
        memcpy(copy, text, length);
    return copy;
}

char *att_arena_printf(att_arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0)
        return NULL;
    char *text = att_arena_alloc(arena, (size_t)length + 1, 1);
    if (!text)
        return NULL;
    va_start(args, format);
    vsnprintf(text, (size_t)length + 1, format, args);
    va_end(args);
    return text;
}

void att_arena_free(att_arena *arena)
{
    struct att_arena_block *block = arena->last;
    while (block) {
        struct att_arena_block *before = block->prev;
        att_free(block);
        block = before;
    }
    arena->last = NULL;
    arena->allocated = 0;
    arena->limit_reached = false;
}
