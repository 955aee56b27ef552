/* The score transform: the part of a score that is computed once per query and once per key, by
 * matrix products, instead of once per pair. General: q W; additive: W q + b and U k; concat: v_q·q
 * and v_k·k; cosine: unit vectors. What is left per pair is a dot product, a sum, or the tanh of
 * the additive score, between transformed rows of width X.
 *
 * The backward propagates gradients of transformed rows to queries, keys and parameters. */
#ifndef ATT_ATTENTION_SCORE_TRANSFORM_H
#define ATT_ATTENTION_SCORE_TRANSFORM_H

#include "attention/bias.h"
#include "attention/head_rows.h"
#include "attention/score.h"
#include "attention/sequence.h"
#include "attention/workspace.h"

/* What the scores of pairs are computed from, and where their gradients go. */
typedef struct att_score_operands {
    att_tensor query;      /* [B,T,H,X] */
    att_tensor key;        /* [B,S,N,X], N = G or H; location score: [B,P,H,X], by position */
    att_tensor shift;      /* location score: [H|1,P], added to the scores; else no data */
    const float *v;        /* additive: [H|1][X] */
    int64_t v_stride;      /* 0 where heads share it */
    att_tensor query_grad; /* of the same shapes; no data where not requested */
    att_tensor key_grad;
    att_tensor shift_grad;
    float *v_sums; /* [sequences][H][X], one part for each; NULL where not requested */
} att_score_operands;

typedef struct att_score_transform {
    const att_problem *problem;
    att_score_operands operands;
    att_tensor query, key; /* transformed; no data where an input is used as it is */
    att_tensor query_grad, key_grad;
    float *v;               /* additive: score_v, contiguous */
    float *row_buffer;      /* the rows of one head of queries or keys, contiguous */
    float *row_grad_buffer; /* their gradient */
    float *param_grad;      /* gradient of one parameter of one head */
    double *column_sums;    /* [X] */
    size_t v_sums_size;     /* bytes of operands.v_sums */
} att_score_transform;

/* The width X of a transformed query or key. */
int64_t att_score_transform_width(const att_problem *problem);

/* Whether the transform leaves a dot product of transformed queries and keys. */
bool att_score_transform_is_dot(const att_problem *problem);

/* Whether sizes are so large that products of them overflow. A broadcast view may have any shape
 * without needing memory; such a problem fails as out of memory. */
bool att_score_transform_overflows(const att_problem *problem);

/* Lays out the memory of a transform, or counts it; `grads` may be NULL in the forward. */
void att_score_transform_layout(att_score_transform *transform, att_workspace *workspace,
                                const att_problem *problem, bool backward,
                                const att_attention_grads *grads);

/* Transforms queries and keys, and clears the gradients of transformed rows. */
att_status att_score_transform_forward(att_score_transform *transform, att_error *err);

/* Adds the gradients of transformed queries and keys, propagated to the inputs, to `grads`. */
att_status att_score_transform_backward(att_score_transform *transform,
                                        const att_attention_grads *grads, att_error *err);

#endif
