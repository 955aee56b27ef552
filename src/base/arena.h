/* An arena: many small things that live and die together. Blocks grow as needed; what was given out
 * never moves. */
#ifndef ATT_BASE_ARENA_H
#define ATT_BASE_ARENA_H

#include <stddef.h>

typedef struct att_arena {
    struct att_arena_block *last; /* the block in use, linked to the ones before it */
} att_arena;

/* `count` zeroed items of `size` bytes, 16-byte aligned, or NULL when memory is out. */
void *att_arena_take(att_arena *arena, size_t count, size_t size);

/* A terminated copy of `length` bytes. */
char *att_arena_copy(att_arena *arena, const char *text, size_t length);

/* A formatted string. */
char *att_arena_print(att_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Releases everything; the arena can be used again. */
void att_arena_free(att_arena *arena);

#endif
