/* The search for answers: one for every family and every way to choose, on the two calls of a
 * decoder. Taking the most probable token is a beam of one; a beam follows several hypotheses of
 * each source at a time; sampling draws.
 *
 * What comes out of a source depends on the source, its number and how the search is made, and on
 * nothing else: not on the batch, its order, or the number of threads. */
#ifndef ATT_DECODE_BEAM_SEARCH_H
#define ATT_DECODE_BEAM_SEARCH_H

#include "decode/ensemble.h"
#include "decode/hypothesis_tree.h"

/* Tokens to follow instead of choosing. */
typedef struct att_forced_tokens {
    const int32_t *ids; /* [count] */
    size_t count;
    bool ends_after; /* the end follows; else the search goes on from there */
} att_forced_tokens;

/* Told of a token on which all hypotheses agree that go on; false ends the search. */
typedef bool att_search_token_callback(void *context, int32_t token, float log_prob);

/* A batch to be searched. */
typedef struct att_search_batch {
    const att_sources *sources;
    const uint64_t *stream_ids;      /* [rows] under which draws are made; NULL: from 0 on */
    const att_forced_tokens *forced; /* [rows], or NULL */
    att_keep_attention keep_attention;

    int32_t first_token;                 /* the token that all begin after; 0: ATT_ID_BOS */
    bool forbid_unknown;                 /* an unknown token never follows */
    bool ends_at_bos;                    /* texts end where the next begins: in ATT_ID_BOS */
    att_search_token_callback *on_token; /* of the first row's tokens, as they come; or NULL */
    void *context;                       /* of `told` */
} att_search_batch;

typedef struct att_beam_search att_beam_search;

/* The model, those of how->with and `how` are lent. Release with att_beam_search_free(). */
att_status att_beam_search_new(att_beam_search **out, const att_model *model,
                               const att_decoding_options *how, att_error *err);
void att_beam_search_free(att_beam_search *search);

att_status att_beam_search_run(att_beam_search *search, const att_search_batch *task,
                               att_error *err);

/* What was found for row `row`: *count hypotheses, at least one and at most how->best, the best
 * first; lent until the next run. */
const att_hypothesis *att_beam_search_hypotheses(const att_beam_search *search, int64_t row,
                                                 int64_t *count);

/* Layers times heads of the weights in them, and heads of a layer. */
int64_t att_beam_search_attention_maps(const att_beam_search *search);
int64_t att_beam_search_heads(const att_beam_search *search);

#endif
