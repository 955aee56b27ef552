/* How well answers agree with references, added up over lines. */
#ifndef ATT_METRICS_TALLY_H
#define ATT_METRICS_TALLY_H

#include "attend.h"
#include "text/vocab.h"

/* Start from {0}. An unknown token in a reference is never right. */
typedef struct att_tally {
    int64_t lines;
    int64_t exact;      /* lines that agree in every token */
    int64_t tokens;     /* of the references */
    int64_t edits;      /* insertions, deletions and replacements between answer and reference */
    int64_t words;      /* of the references: tokens, or what stands between spaces in characters */
    int64_t word_edits; /* between words */
    int64_t steps;      /* tokens predicted given the reference before them, ends included */
    int64_t right_steps; /* of which the most probable was right */
    double loss;         /* -log probability of those steps, in nats */
} att_tally;

/* Adds one answer. `vocab` tells what a word is. */
att_status att_tally_add(att_tally *tally, const att_vocab *vocab, const int32_t *answer,
                         size_t answer_count, const int32_t *reference, size_t reference_count);

/* Adds `more` to the tally. */
void att_tally_join(att_tally *tally, const att_tally *more);

/* Rates between 0 and 1 (error rates may exceed 1); NaN where nothing was counted. */
double att_tally_exact(const att_tally *tally);
double att_tally_token_accuracy(const att_tally *tally); /* of the steps */
double att_tally_token_error_rate(const att_tally *tally);
double att_tally_word_error_rate(const att_tally *tally);
double att_tally_perplexity(const att_tally *tally);

/* The least number of insertions, deletions and replacements that turn a into b; -1 when memory is
 * out. */
int64_t att_edit_distance(const int32_t *a, size_t a_count, const int32_t *b, size_t b_count);

#endif
