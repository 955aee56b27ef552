/* The inside of subwords, shared by the files that make and apply them. */
#ifndef ATT_TEXT_BPE_INTERNAL_H
#define ATT_TEXT_BPE_INTERNAL_H

#include "base/arena.h"
#include "text/heap.h"
#include "text/bpe.h"

typedef struct att_bpe_token {
    const char *bytes;
    uint32_t length;
} att_bpe_token;

/* A letter or token on its way through the merges, linked to its neighbours. */
typedef struct att_bpe_symbol {
    int32_t token;      /* -1: it was merged into the one before it */
    int32_t prev, next; /* places; -1: none */
} att_bpe_symbol;

/* A piece met before, and its tokens. */
typedef struct att_bpe_cached_piece {
    const char *text;
    const int32_t *tokens;
    uint32_t length, count;
} att_bpe_cached_piece;

struct att_bpe {
    const uint32_t *characters;
    size_t character_count;
    const att_bpe_merge *merges;
    size_t merge_count;
    const att_bpe_token *tokens; /* [256 + letter_count + merge_count] */

    uint32_t *slots; /* [slot_count] one more than a merge's place, found by its two tokens, or 0 */
    size_t slot_count; /* a power of two, at least twice merge_count */

    /* The memory of pieces; both blocks are made with the first piece. */
    att_bpe_cached_piece *cache;
    uint32_t *cache_slots;
    size_t cache_count;

    /* Room for the piece being worked on. */
    att_bpe_symbol *symbols;
    size_t symbol_capacity;
    att_heap queue;

    att_arena arena; /* holds letters, merges, spellings and known pieces */
};

/* Where a pair of tokens belongs in a table of `count` slots, a power of two. */
static inline size_t att_bpe_pair_hash(int32_t left, int32_t right, size_t count)
{
    uint64_t h = ((uint64_t)(uint32_t)left << 32 | (uint32_t)right) * UINT64_C(0x9E3779B97F4A7C15);
    return (size_t)(h >> 32) & (count - 1);
}

#endif
