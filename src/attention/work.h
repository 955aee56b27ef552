/* The reference's working area: one head's keys, values and parameters in double, and one query's
 * row as it is worked out. Forward and backward both go through it, head by head, row by row.
 * Room grows with S, never with T·S. */
#ifndef ATT_ATTENTION_WORK_H
#define ATT_ATTENTION_WORK_H

#include "attention/bias.h"
#include "attention/dropout.h"
#include "attention/score.h"
#include "base/arena.h"

/* One query's row, over the `count` keys it may attend; arrays have room for S. */
typedef struct att_row {
    int64_t count;
    int64_t *keys;
    double *plain;   /* scores with the scale */
    double *scores;  /* then soft cap and biases added */
    double *weights; /* normalised */
    double *factors; /* of dropout */
    double *scratch;
} att_row;

typedef struct att_work {
    const att_problem *problem;
    att_arena arena;
    att_mask mask;
    att_drop_mask drop;
    att_score_vars x;
    double *values; /* [S,M] */
    att_row row;
    att_span span; /* of the query at hand */
    int64_t b, g, h, i;
} att_work;

/* Release with att_work_free(), also after a failure. */
att_status att_work_new(att_work *work, const att_problem *problem, att_error *err);
void att_work_free(att_work *work);

/* a * b zeros from an arena; NULL when the product overflows or memory is out. */
double *att_take_numbers(att_arena *arena, int64_t a, int64_t b);

/* Turn to keys and values of group (b, g); then to head h of that group; then to query i, whose
 * row is worked out up to its weights. A row of count 0 has nothing else in it. */
void att_work_group(att_work *work, int64_t b, int64_t g);
void att_work_head(att_work *work, int64_t h);
void att_work_query(att_work *work, int64_t i);

/* The pair of the query at hand and the n-th key of its row. */
att_pair att_work_pair(const att_work *work, int64_t n);

#endif
