/* Runs of up to n symbols, counted on one side and matched by the other: what BLEU and chrF share;
 * and in how many documents each is, which CIDEr weighs by. */
#ifndef ATT_METRICS_NGRAMS_H
#define ATT_METRICS_NGRAMS_H

#include "attend.h"

/* A run is a node: the symbol it ends with after the node of the run before it. */
typedef struct att_ngram {
    uint32_t prefix; /* one more than the place of that node, or 0 */
    int32_t symbol;
    uint32_t slot;
    int32_t max_count; /* times in the reference that has it most often */
    int32_t count;     /* times in the sequence at hand */
} att_ngram;

/* Start from {0}. */
typedef struct att_ngrams {
    att_ngram *nodes;
    size_t count, capacity;
    uint32_t *slots; /* [2 * capacity] one more than a node's place, or 0 */
} att_ngrams;

void att_ngrams_clear(att_ngrams *grams);
void att_ngrams_free(att_ngrams *grams);

/* The run that goes on from *prefix with a symbol, which becomes *prefix: one more than the place
 * of its node. It is made where it is new. */
att_status att_ngrams_extend(att_ngrams *grams, uint32_t *prefix, int32_t symbol);

/* The same without making it: 0 where it is not there. */
uint32_t att_ngrams_find(const att_ngrams *grams, uint32_t prefix, int32_t symbol);

/* Adds a reference: of each run the largest number in any of them counts. */
att_status att_ngrams_add(att_ngrams *grams, const int32_t *symbols, size_t count, int order);

/* matched[n - 1] receives how many runs of n symbols are in the references too, each as often at
 * most as there. */
void att_ngrams_match(att_ngrams *grams, const int32_t *symbols, size_t count, int order,
                      double *matched);

/* Adds a text of document `document`, counted from 1 and in order: `most` then tells in how many
 * documents a run is. Such a table serves for nothing else. */
att_status att_ngrams_add_document(att_ngrams *grams, const int32_t *symbols, size_t count,
                                   int order, int32_t document);

/* Runs of n symbols in a sequence of `count`. */
double att_ngrams_total(size_t count, int n);

#endif
