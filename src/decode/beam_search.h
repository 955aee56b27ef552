/* Beam search, greedy decoding (a beam of one) and sampling: one search for every architecture, on
 * the steps of a session.
 *
 * The result for a source depends on the source, its stream id and the options, and on nothing
 * else: not on the batch, its order or the number of threads. */
#ifndef ATT_DECODE_BEAM_SEARCH_H
#define ATT_DECODE_BEAM_SEARCH_H

#include "decode/hypothesis_tree.h"
#include "decode/session.h"

/* Tokens that the output must start with (forced decoding). */
typedef struct att_forced_tokens {
    const int32_t *ids; /* [count] */
    size_t count;
    bool ends_after; /* the end token follows (teacher forcing); else the search continues */
} att_forced_tokens;

/* Called for a token that all live hypotheses agree on; false ends the search. */
typedef bool att_search_token_callback(void *context, int32_t token, float log_prob);

/* A candidate of a step: a hypothesis of the beam and a next token. Inspection observes them. */
typedef struct att_beam_event {
    int64_t position;     /* of the token in the output, from 0 */
    int64_t parent, node; /* in the hypothesis tree; node -1: it was dropped */
    int32_t token;
    float log_prob;
    double score; /* sum of the log-probabilities */
    bool finished;
    double normalized_score; /* where finished */
} att_beam_event;
typedef void att_beam_observer(void *context, const att_beam_event *event);

typedef struct att_search_batch {
    const att_sources *sources;
    const uint64_t *stream_ids;      /* [rows] random streams of sampling; NULL: 0, 1, … */
    const att_forced_tokens *forced; /* [rows], or NULL */
    att_keep_attention keep_attention;

    int32_t first_token;                 /* fed first; 0: ATT_ID_BOS */
    bool forbid_unknown;                 /* the unknown token is never chosen */
    bool ends_at_bos;                    /* the end token is ATT_ID_BOS, as between texts */
    att_search_token_callback *on_token; /* for the tokens of the first row; or NULL */
    void *context;                       /* of on_token */
    att_beam_observer *observer;         /* of the candidates of all rows; or NULL */
    void *observer_context;
    int64_t progress, progress_per_step; /* units of the current scope (base/progress.h) before the
                                            first step, and for each; 0: they are not counted */
} att_search_batch;

typedef struct att_beam_search att_beam_search;

/* The models and `options` must outlive the search. Release with att_beam_search_free(). */
att_status att_beam_search_new(att_beam_search **out, const att_model *model,
                               const att_decoding_options *options, att_error *err);
void att_beam_search_free(att_beam_search *search);

/* Between two steps the callback of the current progress scope may cancel (base/progress.h). */
att_status att_beam_search_run(att_beam_search *search, const att_search_batch *batch,
                               att_error *err);

/* The hypotheses found for row `row`: *count of them, at least one and at most options->n_best, the
 * best first; borrowed until the next run. */
const att_hypothesis *att_beam_search_hypotheses(const att_beam_search *search, int64_t row,
                                                 int64_t *count);

/* Layers times heads of the attention weights, and heads of a layer. */
int64_t att_beam_search_attention_maps(const att_beam_search *search);
int64_t att_beam_search_heads(const att_beam_search *search);

#endif
