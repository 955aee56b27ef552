/* The reference's working area: one head's keys, values and parameters in double, and one query's
 * row as it is worked out. Forward and backward both go through it, head by head, row by row.
 * Room grows with S, never with T·S. */
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
    double *scaled;          /* scores with the scale */
    double *scores;          /* then soft cap and biases added */
    double *weights;         /* normalised */
    double *dropout_factors; /* of dropout */
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
    att_key_range key_range; /* of the query at hand */
    int64_t b, g, h, i;
} att_reference_state;

/* Release with att_reference_state_free(), also after a failure. */
att_status att_reference_state_new(att_reference_state *work, const att_problem *problem,
                                   att_error *err);
void att_reference_state_free(att_reference_state *work);

/* a * b zeros from an arena; NULL when the product overflows or memory is out. */
double *att_arena_alloc_doubles(att_arena *arena, int64_t a, int64_t b);

/* Turn to keys and values of group (b, g); then to head h of that group; then to query i, whose
 * row is worked out up to its weights. A row of count 0 has nothing else in it. */
void att_reference_load_group(att_reference_state *work, int64_t b, int64_t g);
void att_reference_load_head(att_reference_state *work, int64_t h);
void att_reference_compute_row(att_reference_state *work, int64_t i);

/* The pair of the query at hand and the n-th key of its row. */
att_qk_pair att_reference_qk_pair(const att_reference_state *work, int64_t n);

#endif
