/* The merging of byte-pair encoding, shared by our own BPE (bpe.h) and by piece lists as
 * SentencePiece has them (sentencepiece.h). A text starts as symbols, one per character. Of all
 * neighbors that form a token, the pair with the lowest token id is merged first, the leftmost of
 * equals; then again, until no neighbors form a token. */
#ifndef ATT_TEXT_MERGER_H
#define ATT_TEXT_MERGER_H

#include "text/heap.h"
#include "text/ids.h"

/* A token in the text, linked to its neighbors. */
typedef struct att_merge_symbol {
    int32_t token;          /* -1: it was merged into the symbol before it */
    int32_t prev, next;     /* indices of the neighbors; -1: none */
    uint32_t start, length; /* bytes of the text */
} att_merge_symbol;

/* Working memory; start from {0}. For one thread at a time. */
typedef struct att_merger {
    att_merge_symbol *symbols;
    size_t count, capacity;
    att_heap queue;
} att_merger;

/* The token that two neighbors merge into, or -1. Tokens to be merged first have lower ids. */
typedef int32_t (*att_merge_lookup)(const void *table, const char *text,
                                    const att_merge_symbol *left, const att_merge_symbol *right);

/* Clears the symbols and reserves memory for a text of `length` bytes, at most INT32_MAX. */
att_status att_merger_start(att_merger *merger, size_t length);

/* Appends a symbol: `length` bytes of the text from `start` on. There may be no more symbols than
 * bytes. */
void att_merger_add(att_merger *merger, int32_t token, size_t start, size_t length);

/* Merges the symbols and appends their tokens to *ids. O(n log n) for n symbols, which matters for
 * scripts without spaces. */
att_status att_merger_run(att_merger *merger, att_merge_lookup lookup, const void *table,
                          const char *text, att_ids *ids);

void att_merger_free(att_merger *merger);

#endif
