/* Token and word error rates, exact match and perplexity of a model, added up over lines. */
#ifndef ATT_METRICS_TOKEN_METRICS_H
#define ATT_METRICS_TOKEN_METRICS_H

#include "attend.h"
#include "text/vocab.h"

/* Start from {0}. An unknown token of a reference is never matched. */
typedef struct att_token_metrics {
    int64_t lines;
    int64_t exact_matches; /* lines whose tokens are all equal to those of a reference */
    int64_t tokens;        /* of the references */
    int64_t edits;      /* insertions, deletions and substitutions from hypothesis to reference */
    int64_t words;      /* of the references; whitespace-separated for characters and subwords */
    int64_t word_edits; /* between words */
    int64_t steps;      /* teacher-forced predictions, end tokens included */
    int64_t correct_steps;  /* steps whose most probable token is correct */
    int64_t unscored_steps; /* of them, labels that the model lacks: they have no loss */
    double loss;            /* negative log-likelihood of the steps, in nats */
    int64_t truncated;      /* lines whose output reached its length limit */
} att_token_metrics;

/* Adds one hypothesis. The vocabulary determines what a word is. */
att_status att_token_metrics_add(att_token_metrics *metrics, const att_vocab *vocab,
                                 const int32_t *hypothesis, size_t hypothesis_count,
                                 const int32_t *reference, size_t reference_count);

/* Adds the sums of *more. */
void att_token_metrics_merge(att_token_metrics *metrics, const att_token_metrics *more);

/* From 0 to 1, error rates also above 1; NaN if nothing was counted. */
double att_token_metrics_exact_match(const att_token_metrics *metrics);
double att_token_metrics_token_accuracy(const att_token_metrics *metrics); /* of the steps */
double att_token_metrics_token_error_rate(const att_token_metrics *metrics);
double att_token_metrics_word_error_rate(const att_token_metrics *metrics);
double att_token_metrics_perplexity(const att_token_metrics *metrics);

/* Whether two sequences are equal; the unknown token equals nothing. */
bool att_tokens_equal(const int32_t *a, size_t a_count, const int32_t *b, size_t b_count);

/* The minimum number of insertions, deletions and substitutions that turn a into b; -1 when memory
 * is out. */
int64_t att_edit_distance(const int32_t *a, size_t a_count, const int32_t *b, size_t b_count);

#endif
