/* The beam of one source in beam search: its live and finished hypotheses, and how a step extends
 * and finishes them. */
#ifndef ATT_DECODE_BEAM_H
#define ATT_DECODE_BEAM_H

#include "decode/beam_search.h"
#include "decode/hypothesis_score.h"
#include "decode/topk.h"

typedef struct att_live_hypothesis {
    int64_t node; /* its last node in the tree */
    int64_t row;  /* of the step before (at the start: the source) that it continues */
    int32_t token;
    int32_t sample; /* index among the samples of the source */
    double log_prob_sum;
} att_live_hypothesis;

/* Positions of the greedy hypothesis that are not an index of the live ones. */
enum { ATT_GREEDY_FINISHED = -1 };

/* A hypothesis that reached the end token or the length limit. */
typedef struct att_finished_hypothesis {
    int64_t node;
    double log_prob_sum, normalized_score;
    bool truncated;
} att_finished_hypothesis;

typedef struct att_beam {
    int64_t source;        /* row of the batch */
    int64_t source_length; /* tokens */
    int64_t vocabulary;    /* tokens that may follow: fewer than those of a step where models copy
                              and another source has more tokens of its own */
    uint64_t stream_id;    /* random stream of sampling */
    att_forced_tokens forced;
    int32_t first_token;            /* fed at the first step */
    int64_t min_tokens, max_tokens; /* without and with the end token */
    int64_t first_row;              /* row of its first hypothesis in the step */

    int64_t live_count;
    att_live_hypothesis *live; /* [beam_size + 1] */
    att_live_hypothesis *next; /* [beam_size + 1] for the next step */
    /* The hypothesis of greedy search is followed to its end, so that the result never scores
     * lower: in the beam, or beside it as the last live one. Not in sampling or greedy search
     * itself. */
    int64_t greedy;            /* its index among the live ones, or ATT_GREEDY_FINISHED */
    int64_t in_beam;           /* live ones without a greedy one beside the beam */
    att_candidate greedy_next; /* its most probable continuation; token -1: no token may follow */
    int64_t finished_count;    /* kept: the best first */
    att_finished_hypothesis *finished; /* [nbest] */
    int64_t finished_total;            /* finished in the beam so far, kept or not */
    att_topk topk;                     /* heap of candidates */
    att_candidate *sampled;            /* [beam_size] for sampling */
    att_candidate *candidates;         /* [candidate_count] next tokens, the best first */
    int64_t candidate_count;
    int32_t *history; /* tokens of one hypothesis, followed by banned tokens */
} att_beam;

/* The data that all beams share during a step. */
typedef struct att_search_step {
    const att_decoding_options *options;
    att_hypothesis_tree *tree;
    int64_t beam_size;               /* live hypotheses per source */
    int64_t nbest;                   /* finished hypotheses kept per source */
    att_output_length output_length; /* of the model's training data */
    bool follow_greedy; /* the greedy hypothesis is followed, beside the beam if it must be */
    int64_t position;
    const float *log_probs; /* [rows,vocabulary] */
    int64_t vocabulary;
    const att_session *session;
    const att_decoder_output *decoded; /* of the step */
    int64_t attention_row;             /* index of row 0 among all rows of the tree */
    int32_t end_token;
    bool forbid_unknown;         /* the unknown token is banned */
    float *probabilities;        /* [rows,V] scratch of sampling */
    att_beam_observer *observer; /* or NULL */
    void *observer_context;
} att_search_step;

/* The most tokens of an output for a source of `length` tokens: the smaller of max_output_length
 * and max_length_ratio times the source, where set; else by the training data. */
int64_t att_beam_max_tokens(const att_decoding_options *options, const att_output_length *known,
                            int64_t length);

/* Sets the length limits and the initial hypotheses of a beam whose arrays, source, stream id and
 * forced tokens are set. */
void att_beam_start(att_beam *beam, const att_search_step *step);

/* Finds the candidates for the next tokens. Beams may be expanded in parallel. */
void att_beam_expand(att_beam *beam, const att_search_step *step);

/* Extends or finishes hypotheses by the best candidates. */
att_status att_beam_advance(att_beam *beam, const att_search_step *step, att_error *err);

/* ATT_BAD_INPUT where the log-probability of an output, or of a forced token, is not finite; `line`
 * is the source, from 1. */
att_status att_beam_check_score(const att_beam *beam, double log_prob, att_error *err);

#endif
