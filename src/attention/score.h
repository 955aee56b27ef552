/* Scores: how alike a query and a key are. Each is a row of one table.
 *
 * Several scores transform the query or the key before the two meet (W q, U k, unit vectors). That
 * is done once per query and once per key, never once per pair: `query` and `key` of a row write
 * it into of_query and of_keys. The backward pass mirrors it: `pair_back` adds to the gradients of
 * of_query and of_keys, `query_back` and `key_back` carry those on to q, k and the parameters. */
#ifndef ATT_ATTENTION_SCORE_H
#define ATT_ATTENTION_SCORE_H

#include "attention/problem.h"

/* What one head's score depends on, or the gradients of the same, in double and row-major. */
typedef struct att_score_vars {
    double *w;
    double *u;
    double *b; /* NULL where an optional one is not given */
    double *v;
    double *q;               /* [Kq] the query at hand */
    double *k;               /* [S,Kk] */
    double *projected_query; /* [query_room] */
    double *projected_keys;  /* [S,key_room] */
} att_score_vars;

/* One parameter: where it comes in and its shape rule (shape.h). */
typedef struct att_score_parameter {
    att_slot slot;
    const char *shape;
    bool optional;
    bool projects; /* where it is not given, `input` is its product already and so A wide */
    att_slot input;
} att_score_parameter;

typedef struct att_score_impl {
    const char *name;
    bool same_width;                   /* needs Kq = Kk */
    att_score_parameter parameters[5]; /* ends with a NULL shape */

    /* Numbers kept per query and per key; NULL: none. */
    int64_t (*projected_query_size)(const att_problem *p);
    int64_t (*projected_key_size)(const att_problem *p);

    /* Transform the query at hand, or key j; NULL: nothing to do. */
    void (*project_query)(const att_problem *p, const att_score_vars *x);
    void (*project_key)(const att_problem *p, const att_score_vars *x, int64_t j);

    /* The score of the query at hand and key j, which stands at `position` in its sequence. */
    double (*score)(const att_problem *p, const att_score_vars *x, int64_t j, int64_t position);

    /* Adds `grad` times the derivatives of the score to the gradients `g`. */
    void (*score_backward)(const att_problem *p, const att_score_vars *x, const att_score_vars *g,
                           int64_t j, int64_t position, double grad);
    void (*project_query_backward)(const att_problem *p, const att_score_vars *x,
                                   const att_score_vars *g);
    void (*project_key_backward)(const att_problem *p, const att_score_vars *x,
                                 const att_score_vars *g, int64_t j);
} att_score_impl;

/* The row of a score, or NULL where there is none. */
const att_score_impl *att_score_get(att_score score);

/* Numbers that a problem's score keeps per query and per key; 0 where none. */
int64_t att_score_projected_query_size(const att_problem *problem);
int64_t att_score_projected_key_size(const att_problem *problem);

#endif
