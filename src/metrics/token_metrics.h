/* How well answers agree with references, added up over lines. */
#ifndef ATT_METRICS_TOKEN_METRICS_H
#define ATT_METRICS_TOKEN_METRICS_H

#include "attend.h"
#include "text/vocab.h"

/* Start from {0}. An unknown token in a reference is never right. */
typedef struct att_token_metrics {
    int64_t lines;
    int64_t exact_matches; /* lines that agree in every token */
    int64_t tokens;        /* of the references */
    int64_t edits;         /* insertions, deletions and replacements between answer and reference */
    int64_t words;      /* of the references: tokens, or what stands between spaces in characters */
    int64_t word_edits; /* between words */
    int64_t steps;      /* tokens predicted given the reference before them, ends included */
    int64_t correct_steps; /* of which the most probable was right */
    double loss;           /* -log probability of those steps, in nats */
} att_token_metrics;

/* Adds one answer. `vocab` tells what a word is. */
att_status att_token_metrics_add(att_token_metrics *tally, const att_vocab *vocab,
                                 const int32_t *answer, size_t answer_count,
                                 const int32_t *reference, size_t reference_count);

/* Adds `more` to the tally. */
void att_token_metrics_merge(att_token_metrics *tally, const att_token_metrics *more);

/* Rates between 0 and 1 (error rates may exceed 1); NaN where nothing was counted. */
double att_token_metrics_exact_match(const att_token_metrics *tally);
double att_token_metrics_token_accuracy(const att_token_metrics *tally); /* of the steps */
double att_token_metrics_token_error_rate(const att_token_metrics *tally);
double att_token_metrics_word_error_rate(const att_token_metrics *tally);
double att_token_metrics_perplexity(const att_token_metrics *tally);

/* The least number of insertions, deletions and replacements that turn a into b; -1 when memory is
 * out. */
int64_t att_edit_distance(const int32_t *a, size_t a_count, const int32_t *b, size_t b_count);

#endif
