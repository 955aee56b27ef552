/* The inside of subwords, shared by the files that make and apply them. */
#ifndef ATT_TEXT_SUBWORDS_TABLE_H
#define ATT_TEXT_SUBWORDS_TABLE_H

#include "base/arena.h"
#include "text/heap.h"
#include "text/subwords.h"

typedef struct att_spelling {
    const char *bytes;
    uint32_t length;
} att_spelling;

/* A letter or token on its way through the merges, linked to its neighbours. */
typedef struct att_merge_cell {
    int32_t token;         /* -1: it was merged into the one before it */
    int32_t before, after; /* places; -1: none */
} att_merge_cell;

/* A piece met before, and its tokens. */
typedef struct att_known_piece {
    const char *text;
    const int32_t *tokens;
    uint32_t length, count;
} att_known_piece;

struct att_subwords {
    const uint32_t *letters;
    size_t letter_count;
    const att_merge *merges;
    size_t merge_count;
    const att_spelling *spellings; /* [256 + letter_count + merge_count] */

    uint32_t *slots; /* [slot_count] one more than a merge's place, found by its two tokens, or 0 */
    size_t slot_count; /* a power of two, at least twice merge_count */

    /* The memory of pieces; both blocks are made with the first piece. */
    att_known_piece *known;
    uint32_t *known_slots;
    size_t known_count;

    /* Room for the piece being worked on. */
    att_merge_cell *cells;
    size_t cell_capacity;
    att_heap queue;

    att_arena arena; /* holds letters, merges, spellings and known pieces */
};

/* Where a pair of tokens belongs in a table of `count` slots, a power of two. */
static inline size_t att_merge_hash(int32_t left, int32_t right, size_t count)
{
    uint64_t h = ((uint64_t)(uint32_t)left << 32 | (uint32_t)right) * UINT64_C(0x9E3779B97F4A7C15);
    return (size_t)(h >> 32) & (count - 1);
}

#endif
