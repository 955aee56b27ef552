/* An arena: many small things that live and die together. Blocks grow as needed; what was given out
 * never moves. */
#ifndef ATT_BASE_ARENA_H
#define ATT_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

typedef struct att_arena {
    struct att_arena_block *last; /* the block in use, linked to the ones before it */
    size_t limit;                 /* bytes it may give out; 0: as many as there are */
    size_t allocated;             /* bytes given out */
    bool limit_reached;           /* something was asked for beyond the limit */
} att_arena;

/* `count` zeroed items of `size` bytes, 16-byte aligned, or NULL when memory is out or the limit
 * reached (`refused` tells which). */
void *att_arena_alloc(att_arena *arena, size_t count, size_t size);

/* A terminated copy of `length` bytes. */
char *att_arena_strndup(att_arena *arena, const char *text, size_t length);

/* A formatted string. */
char *att_arena_printf(att_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Releases everything; the arena can be used again, with the same limit. */
void att_arena_free(att_arena *arena);

#endif
