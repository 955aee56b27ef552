/* The search for answers: one for every family and every way to choose, on the two calls of a
 * decoder. Taking the most probable token is a beam of one; a beam follows several hypotheses of
 * each source at a time; sampling draws.
 *
 * What comes out of a source depends on the source, its number and how the search is made, and on
 * nothing else: not on the batch, its order, or the number of threads. */
#ifndef ATT_DECODE_SEARCH_H
#define ATT_DECODE_SEARCH_H

#include "decode/ensemble.h"
#include "decode/trail.h"

/* Tokens to follow instead of choosing. */
typedef struct att_forced {
    const int32_t *ids; /* [count] */
    size_t count;
    bool whole; /* the end follows; else the search goes on from there */
} att_forced;

/* Told of a token on which all hypotheses agree that go on; false ends the search. */
typedef bool att_search_told(void *context, int32_t token, float log_prob);

/* A batch to be searched. */
typedef struct att_search_task {
    const att_sources *sources;
    const uint64_t *numbers;  /* [rows] under which draws are made; NULL: from 0 on */
    const att_forced *forced; /* [rows], or NULL */
    att_keep keep;

    int32_t after;         /* the token that all begin after; 0: ATT_ID_START */
    bool known;            /* an unknown token never follows */
    bool delimited;        /* texts end where the next begins: in ATT_ID_START */
    att_search_told *told; /* of the first row's tokens, as they come; or NULL */
    void *context;         /* of `told` */
} att_search_task;

typedef struct att_search att_search;

/* The model, those of how->with and `how` are lent. Release with att_search_free(). */
att_status att_search_new(att_search **out, att_model *model, const att_decoding *how,
                          att_error *err);
void att_search_free(att_search *search);

att_status att_search_run(att_search *search, const att_search_task *task, att_error *err);

/* What was found for row `row`: *count hypotheses, at least one and at most how->best, the best
 * first; lent until the next run. */
const att_hypothesis *att_search_found(const att_search *search, int64_t row, int64_t *count);

/* Layers times heads of the weights in them, and heads of a layer. */
int64_t att_search_maps(const att_search *search);
int64_t att_search_heads(const att_search *search);

#endif
