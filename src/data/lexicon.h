/* A lexicon: for each source token the target tokens that it becomes, with their probabilities.
 * Learned from pairs by IBM model 1 (Brown et al., "The mathematics of statistical machine
 * translation", 1993), or from alignments that are counted elsewhere. */
#ifndef ATT_DATA_LEXICON_H
#define ATT_DATA_LEXICON_H

#include "data/corpus.h"

typedef struct att_lexicon_entry {
    int32_t source, target;
    double prob; /* of the target token, given the source token */
} att_lexicon_entry;

/* Start from {0}; release with att_lexicon_free(). */
typedef struct att_lexicon {
    int64_t sources;            /* tokens of the source vocabulary */
    int64_t *offsets;           /* [sources + 1] */
    att_lexicon_entry *entries; /* by source, the most probable first; equal ones by target */
} att_lexicon;

/* How often target tokens were aligned with source tokens; start from {0}. */
typedef struct att_alignment_counts {
    struct att_alignment_cell {
        int32_t source, target; /* source -1: the cell is free */
        double count, prob;
    } * cells;       /* [capacity] a hash table */
    size_t capacity; /* a power of two, or 0 */
    size_t used;
} att_alignment_counts;

/* Counts `times` more for a pair of tokens, which are 0 or above. */
att_status att_alignment_counts_add(att_alignment_counts *counts, int32_t source, int32_t target,
                                    double times, att_error *err);
void att_alignment_counts_free(att_alignment_counts *counts);

/* The lexicon of `sources` source tokens from counts: for each the `best` most probable. Tokens at
 * `sources` and above (IBM model 1 has one that stands for no source token) are left out. */
att_status att_lexicon_from_counts(att_lexicon *out, const att_alignment_counts *counts,
                                   int64_t sources, int64_t best, att_error *err);

/* A lexicon from entries in any order, which it copies; probabilities of the same pair add up. */
att_status att_lexicon_from_entries(att_lexicon *out, const att_lexicon_entry *entries,
                                    size_t count, int64_t sources, int64_t best, att_error *err);

/* The expected counts of `iterations` of IBM model 1 over at most `max_pairs` pairs, evenly spaced
 * in the corpus. Unknown tokens do not take part. Memory grows with the number of different pairs
 * of tokens that occur together. Its units in the current progress scope: `iterations`
 * times the pairs used. */
att_status att_lexicon_align(att_alignment_counts *out, const att_corpus *corpus, int64_t sources,
                             int64_t max_pairs, int iterations, att_error *err);

/* The pairs of a corpus that are used, and the number of the i-th. */
int64_t att_lexicon_pairs(const att_corpus *corpus, int64_t max_pairs);
int64_t att_lexicon_pair(const att_corpus *corpus, int64_t max_pairs, int64_t index);

void att_lexicon_free(att_lexicon *lexicon);

#endif
