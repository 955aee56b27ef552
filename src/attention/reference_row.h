/* State of the reference: one head's keys, values and parameters in double, and the row of the
 * current query. Forward and backward both use it, head by head and row by row. Memory grows with
 * S, never with T·S. */
#ifndef ATT_ATTENTION_REFERENCE_ROW_H
#define ATT_ATTENTION_REFERENCE_ROW_H

#include "attention/bias.h"
#include "attention/dropout.h"
#include "attention/score.h"
#include "base/arena.h"

/* One query's row, over the `count` keys it may attend; arrays have room for S. */
typedef struct att_reference_row {
    int64_t count;
    int64_t *keys;
    double *scaled;          /* scores after the scale */
    double *scores;          /* after soft cap and biases */
    double *weights;         /* after the normalizer */
    double *dropout_factors; /* 0 or 1/(1-p) */
    double *scratch;
} att_reference_row;

typedef struct att_reference_state {
    const att_problem *problem;
    att_arena arena;
    att_mask mask;
    att_attention_dropout dropout;
    att_score_vars score_vars;
    double *values; /* [S,M] */
    att_reference_row row;
    att_key_range key_range; /* of the current query */
    int64_t b, g, h, i;
} att_reference_state;

/* Release with att_reference_state_free(), also after a failure. */
att_status att_reference_state_new(att_reference_state *state, const att_problem *problem,
                                   att_error *err);
void att_reference_state_free(att_reference_state *state);

/* a * b zeros from an arena; NULL when the product overflows or out of memory. */
double *att_arena_alloc_doubles(att_arena *arena, int64_t a, int64_t b);

/* Load keys and values of group (b, g); then head h of that group; then compute the row of query i
 * up to its weights. Only `count` is set in an empty row. */
void att_reference_load_group(att_reference_state *state, int64_t b, int64_t g);
void att_reference_load_head(att_reference_state *state, int64_t h);
void att_reference_compute_row(att_reference_state *state, int64_t i);

/* The pair of the current query and the n-th key of its row. */
att_qk_pair att_reference_qk_pair(const att_reference_state *state, int64_t n);

#endif
