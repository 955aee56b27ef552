/* The k best of many candidates: a bounded heap with the worst on top, so that most scores of a
 * vocabulary are rejected by one comparison. (text/heap.h is an unbounded heap.)
 *
 * Candidates are ordered by score, then row, then token: no two are equal, so the result does not
 * depend on the order of pushes. */
#ifndef ATT_DECODE_TOPK_H
#define ATT_DECODE_TOPK_H

#include <stdbool.h>
#include <stdint.h>

typedef struct att_candidate {
    double score;
    int32_t row;
    int32_t token;
    float log_prob; /* of the token alone */
} att_candidate;

typedef struct att_topk {
    att_candidate *items; /* [capacity], owned by the caller */
    int64_t capacity;     /* at least 1 */
    int64_t count;
} att_topk;

typedef struct att_banned_tokens {
    const int32_t *tokens;
    int64_t count;
} att_banned_tokens;

bool att_is_banned(const att_banned_tokens *bans, int32_t token);

/* Pushes one candidate; NaN scores are ignored. */
void att_topk_push(att_topk *top, att_candidate candidate);

/* Pushes every token of a row that is not banned, with the score `base` + its log-probability. */
void att_topk_push_row(att_topk *top, int32_t row, double base,
                       const float *log_probs /* [count] */, int64_t count,
                       const att_banned_tokens *bans);

/* Sorts the candidates, the best first. Nothing may be pushed afterwards. */
void att_topk_sort(att_topk *top);

#endif
