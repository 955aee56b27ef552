/* Scores in double: the similarity of a query and a key. Each is a row of one table.
 *
 * Several scores transform the query or the key first (W q, U k, unit vectors). That is done once
 * per query and once per key, never once per pair: `project_query` and `project_key` write it into
 * projected_query and projected_keys. The backward mirrors this: `score_backward` adds to the
 * gradients of both, `project_query_backward` and `project_key_backward` propagate these to q, k
 * and the parameters. */
#ifndef ATT_ATTENTION_SCORE_H
#define ATT_ATTENTION_SCORE_H

#include "attention/problem.h"

/* Every table of scores has this dimension, so that a row beyond it does not compile. */
enum { ATT_SCORE_COUNT = ATT_SCORE_LOCATION + 1 };

/* The variables of one head's score, or their gradients, in double and row-major. */
typedef struct att_score_vars {
    double *w;
    double *u;
    double *b; /* optional parameters that are not given are NULL */
    double *v;
    double *q;               /* [Kq] the current query */
    double *k;               /* [S,Kk] */
    double *projected_query; /* [projected_query_size] */
    double *projected_keys;  /* [S,projected_key_size] */
} att_score_vars;

/* One parameter: its slot and its shape rule (shape.h). */
typedef struct att_score_parameter {
    att_slot slot;
    const char *shape;
    bool optional;
    bool projects; /* optional: without it, `input` is projected already and has width A */
    att_slot input;
} att_score_parameter;

typedef struct att_score_impl {
    const char *name;
    bool same_width;                   /* requires Kq = Kk */
    att_score_parameter parameters[5]; /* ends with a NULL shape */

    /* Doubles stored per projected query and key; NULL: none. */
    int64_t (*projected_query_size)(const att_problem *p);
    int64_t (*projected_key_size)(const att_problem *p);

    /* Project the current query, or key j; NULL: not needed. */
    void (*project_query)(const att_problem *p, const att_score_vars *x);
    void (*project_key)(const att_problem *p, const att_score_vars *x, int64_t j);

    /* The score of the current query and key j, whose position in its sequence is `position`. */
    double (*score)(const att_problem *p, const att_score_vars *x, int64_t j, int64_t position);

    /* Adds `grad` times the derivatives of the score to the gradients `g`. */
    void (*score_backward)(const att_problem *p, const att_score_vars *x, const att_score_vars *g,
                           int64_t j, int64_t position, double grad);
    void (*project_query_backward)(const att_problem *p, const att_score_vars *x,
                                   const att_score_vars *g);
    void (*project_key_backward)(const att_problem *p, const att_score_vars *x,
                                 const att_score_vars *g, int64_t j);
} att_score_impl;

/* The table row of a score, or NULL for an invalid value. */
const att_score_impl *att_score_get(att_score score);

/* Doubles that the problem's score stores per projected query and key. */
int64_t att_score_projected_query_size(const att_problem *problem);
int64_t att_score_projected_key_size(const att_problem *problem);

#endif
