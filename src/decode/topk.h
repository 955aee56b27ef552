/* The best of many candidates: a heap that holds as many as it may, the worst of them on top, so
 * that the scores of a whole vocabulary are passed over with one comparison each.
 *
 * Candidates are ordered by score, then by row, then by token: no two are equal, and what is held
 * does not depend on the order in which they came. */
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
    att_candidate *items; /* [capacity], the caller's */
    int64_t capacity;     /* at least 1 */
    int64_t count;
} att_topk;

/* Tokens that may not follow. */
typedef struct att_banned_tokens {
    const int32_t *tokens;
    int64_t count;
} att_banned_tokens;

bool att_is_banned(const att_banned_tokens *bans, int32_t token);

/* Offers one. A score that is not a number is not taken. */
void att_topk_push(att_topk *top, att_candidate candidate);

/* Offers every token of a row that is not banned, its score `base` and its log-probability. */
void att_topk_push_row(att_topk *top, int32_t row, double base,
                       const float *log_probs /* [count] */, int64_t count,
                       const att_banned_tokens *bans);

/* Puts what is held in order, the best first. Nothing can be offered after that. */
void att_topk_sort(att_topk *top);

#endif
