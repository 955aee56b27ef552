/* The tables of BPE, shared by the files that build, train and apply them. */
#ifndef ATT_TEXT_BPE_INTERNAL_H
#define ATT_TEXT_BPE_INTERNAL_H

#include "base/arena.h"
#include "text/bpe.h"

typedef struct att_bpe_token {
    const char *bytes;
    uint32_t length;
} att_bpe_token;

struct att_bpe {
    const uint32_t *characters; /* [character_count] code points beyond ASCII, in rising order */
    size_t character_count;
    const att_bpe_merge *merges; /* [merge_count] */
    size_t merge_count;
    const att_bpe_token *tokens; /* [256 + character_count + merge_count] */

    uint32_t *slots;   /* [slot_count] hash table by pair of tokens: index + 1 of a merge, or 0 */
    size_t slot_count; /* a power of two, at least twice merge_count */

    att_arena arena; /* holds characters, merges and the bytes of tokens */
};

/* The hash of a pair of tokens in a table of `count` slots, a power of two. */
static inline size_t att_bpe_pair_hash(int32_t left, int32_t right, size_t count)
{
    uint64_t h = ((uint64_t)(uint32_t)left << 32 | (uint32_t)right) * UINT64_C(0x9E3779B97F4A7C15);
    return (size_t)(h >> 32) & (count - 1);
}

#endif
