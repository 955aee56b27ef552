/* The hypotheses of one source: those that go on, those that have ended, and how one step turns the
 * former into the latter. */
#ifndef ATT_DECODE_BEAM_H
#define ATT_DECODE_BEAM_H

#include "decode/hypothesis_score.h"
#include "decode/beam_search.h"
#include "decode/topk.h"

/* One that goes on. */
typedef struct att_live_hypothesis {
    int64_t node; /* its last */
    int64_t row;  /* of the step before (of the start: the source) that it goes on from */
    int32_t token;
    int32_t sample; /* which of several draws it is */
    double log_prob_sum;
} att_live_hypothesis;

/* One that has ended; it never changes. */
typedef struct att_finished_hypothesis {
    int64_t node;
    double log_prob_sum, normalized_score;
    bool truncated;
} att_finished_hypothesis;

typedef struct att_beam {
    int64_t source;        /* row of the batch */
    int64_t source_length; /* its tokens */
    uint64_t stream_id;    /* under which draws are made */
    att_forced_tokens forced;
    int32_t first_token;            /* the token that it begins after */
    int64_t min_tokens, max_tokens; /* tokens before the end, and with it */
    int64_t first_row;              /* row of its first hypothesis in the step */

    int64_t live_count;                /* hypotheses that go on */
    att_live_hypothesis *live;         /* [width] */
    att_live_hypothesis *next;         /* [width] those of the step after */
    int64_t finished_count;            /* the best of all that ended, in order */
    att_finished_hypothesis *finished; /* [best] */
    int64_t finished_total;            /* all that ended */
    att_topk topk;                     /* the memory to look for candidates in */
    att_candidate *sampled;            /* [width] where tokens are drawn */
    att_candidate *candidates; /* [chosen_count] candidates for the next tokens, the best first */
    int64_t candidate_count;
    int32_t *history; /* tokens of one hypothesis, and then of what it may not repeat */
} att_beam;

/* What all groups of a search share during a step. */
typedef struct att_search_step {
    const att_decoding_options *options;
    att_hypothesis_tree *tree;
    int64_t beam_size; /* hypotheses of a source at a time */
    int64_t nbest;     /* kept of those that end */
    int64_t position;
    const float *log_probs; /* [rows,V] */
    int64_t vocabulary;
    int64_t attention_row; /* the trail's number of row 0 */
    int32_t end_token;     /* the token that ends a hypothesis */
    bool forbid_unknown;   /* an unknown token never follows */
    float *probabilities;  /* [rows,V] scratch, where tokens are drawn */
} att_search_step;

/* Sets limits and the hypotheses to begin with; memory and `source`, `length`, `number` and
 * `forced` are set. */
void att_beam_start(att_beam *group, const att_search_step *stage);

/* Finds the candidates for the next tokens: reads what groups share, writes what is the group's. */
void att_beam_expand(att_beam *group, const att_search_step *stage);

/* Lets the best of them go on or end. */
att_status att_beam_advance(att_beam *group, const att_search_step *stage, att_error *err);

#endif
