/* N-grams of references, and how many of a hypothesis they match, for BLEU and chrF; and document
 * frequencies, for CIDEr. */
#ifndef ATT_METRICS_NGRAMS_H
#define ATT_METRICS_NGRAMS_H

#include "attend.h"

/* An n-gram is a node: its last symbol, and the node of the symbols before it. */
typedef struct att_ngram {
    uint32_t prefix; /* index + 1 of that node; 0: none */
    int32_t symbol;
    uint32_t slot;
    int32_t max_count; /* the largest count in any reference; or document frequency */
    int32_t count;     /* count in the current sequence; or the last document */
} att_ngram;

/* Start from {0}. */
typedef struct att_ngrams {
    att_ngram *nodes;
    size_t count, capacity;
    uint32_t *slots; /* [2 * capacity] index + 1 of a node, or 0 */
} att_ngrams;

void att_ngrams_clear(att_ngrams *ngrams);
void att_ngrams_free(att_ngrams *ngrams);

/* Replaces *prefix (index + 1 of a node, or 0) by the n-gram that continues it with a symbol, which
 * is added if it is new. */
att_status att_ngrams_extend(att_ngrams *ngrams, uint32_t *prefix, int32_t symbol);

/* The same without adding: 0 if the n-gram is not in the table. */
uint32_t att_ngrams_find(const att_ngrams *ngrams, uint32_t prefix, int32_t symbol);

/* Adds a reference: of each n-gram, the largest count in any reference is kept. */
att_status att_ngrams_add(att_ngrams *ngrams, const int32_t *symbols, size_t count, int order);

/* matched[n - 1] receives the number of n-grams that the references have too, each counted at most
 * as often as there (clipped counts). */
void att_ngrams_match(att_ngrams *ngrams, const int32_t *symbols, size_t count, int order,
                      double *matched);

/* Adds a text of document number `document`; documents are added in order, from 1. max_count is
 * then the document frequency of an n-gram. A table is used either for this or for matching. */
att_status att_ngrams_add_document(att_ngrams *ngrams, const int32_t *symbols, size_t count,
                                   int order, int32_t document);

/* The number of n-grams of order n in a sequence of `count` symbols. */
double att_ngrams_total(size_t count, int n);

#endif
