/* An arena: many small allocations that are released together. It grows in blocks; an allocation
 * never moves. */
#ifndef ATT_BASE_ARENA_H
#define ATT_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

typedef struct att_arena {
    struct att_arena_block *last; /* the block in use, linked to those before it */
    size_t limit;                 /* maximum of `allocated`; 0: unlimited */
    size_t allocated;             /* bytes allocated */
    bool limit_reached;           /* an allocation was refused because of the limit */
} att_arena;

/* `count` zeroed items of `size` bytes, 16-byte aligned, or NULL when memory is out or the limit is
 * reached (`limit_reached` distinguishes the two). */
void *att_arena_alloc(att_arena *arena, size_t count, size_t size);

/* att_array_grow() (base/alloc.h) in an arena: the old array stays in the arena, unused. */
bool att_arena_array_grow(att_arena *arena, void **items, size_t *capacity, size_t count,
                          size_t size);

/* A zero-terminated copy of `length` bytes. */
char *att_arena_strndup(att_arena *arena, const char *text, size_t length);

/* A formatted string. */
char *att_arena_printf(att_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Releases everything; the arena can be used again, with the same limit. */
void att_arena_free(att_arena *arena);

/* For tests. From now on each allocation has a block of its own, so that each can fail; false turns
 * it off. */
void att_arena_single_blocks(bool on);

#endif
