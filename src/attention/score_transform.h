/* What a score does to each query and key before they meet, done once for each by matrix products:
 * general q W; additive W q + b and U k; concatenation v_q·q and v_k·k; cosine's unit vectors. What
 * is left is a dot product, a sum, or the additive score's tanh, between folded rows.
 *
 * The backward carries the gradients of folded rows on to queries, keys and parameters. */
#ifndef ATT_ATTENTION_SCORE_TRANSFORM_H
#define ATT_ATTENTION_SCORE_TRANSFORM_H

#include "attention/rowwise.h"

typedef struct att_score_transform {
    const att_problem *problem;
    att_rowwise_operands operands; /* what scores are worked out from */
    att_tensor query, key;         /* folded; no data where these stay as they are */
    att_tensor query_grad, key_grad;
    float *v;               /* additive: the parameter, without gaps */
    float *row_buffer;      /* of one head of queries or keys, brought together */
    float *row_grad_buffer; /* their gradient */
    float *param_grad;      /* gradient of one parameter of one head */
    double *column_sums;    /* [X] sums of columns */
    size_t v_sums_size;     /* bytes of x.v_sums */
} att_score_transform;

/* Width of a folded query or key. */
int64_t att_score_transform_width(const att_problem *problem);

/* Whether folding leaves a dot product of other queries and keys. */
bool att_score_transform_is_dot(const att_problem *problem);

/* Lays out the memory of a fold, or only counts it; `grads` may be NULL in the forward. */
void att_score_transform_layout(att_score_transform *transform, att_workspace *carver,
                                const att_problem *problem, bool backward,
                                const att_attention_grads *grads);

/* Folds the queries and keys, and clears the gradients of what is folded. */
att_status att_score_transform_forward(att_score_transform *transform, att_error *err);

/* The gradients of folded queries and keys, carried on to `grads`. */
att_status att_score_transform_backward(att_score_transform *transform,
                                        const att_attention_grads *grads, att_error *err);

/* ---- folded.c: attention by way of a fold, and then fused or by rows */

/* Bytes of workspace; 0 where sizes are beyond all memory. */
size_t att_transformed_attention_workspace(const att_problem *problem, bool backward);

att_status att_transformed_attention_forward(const att_problem *problem,
                                             const att_attention_outputs *out, void *workspace,
                                             att_error *err);

att_status att_transformed_attention_backward(const att_problem *problem,
                                              const att_attention_outputs *forward,
                                              const att_tensor *output_grad,
                                              const att_attention_grads *grads, void *workspace,
                                              att_error *err);

#endif
