/* The paths of attention: implementations of one definition, each with the same entry points. The
 * table in attention.c lists them; the first row that supports a problem computes it. The entry
 * points trust their arguments: attention.c has checked them.
 *
 * Include order of the folder: problem → mask, bias, dropout, score, normalize → sequence,
 * workspace, head_rows → score_transform → fused, rowwise, reference → paths → attention.c. */
#ifndef ATT_ATTENTION_PATHS_H
#define ATT_ATTENTION_PATHS_H

#include "attention/problem.h"

/* The workspace has as many bytes as the path's `workspace` says, or is NULL: then the path
 * allocates. */
typedef att_status att_path_forward(const att_problem *problem, const att_attention_outputs *out,
                                    void *workspace, att_error *err);

/* `forward` may be NULL. Its output and log_sum_exp are used where both are given in float32. */
typedef att_status att_path_backward(const att_problem *problem,
                                     const att_attention_outputs *forward,
                                     const att_tensor *output_grad,
                                     const att_attention_grads *grads, void *workspace,
                                     att_error *err);

typedef struct att_attention_path {
    const char *name;
    bool float32; /* computes in float32: results and gradients are float32, no input is float64 */
    bool (*supports)(const att_problem *problem);
    size_t (*workspace)(const att_problem *problem, bool backward); /* bytes; 0: none */
    att_path_forward *forward;
    att_path_backward *backward;
} att_attention_path;

/* ---- attention.c */

/* The path of that name ("fused", "projected-fused", "rowwise", "reference"), or NULL. */
const att_attention_path *att_attention_path_get(const char *name);

/* att_attention_forward() and att_attention_backward() on a given path, for tests; a path that does
 * not support the problem fails with ATT_BAD_INPUT. */
att_status att_attention_forward_on(const att_attention_path *path,
                                    const att_attention_options *options,
                                    const att_attention_inputs *in,
                                    const att_attention_outputs *out, att_error *err);
att_status att_attention_backward_on(const att_attention_path *path,
                                     const att_attention_options *options,
                                     const att_attention_inputs *in, const att_tensor *output_grad,
                                     const att_attention_grads *grads, att_error *err);

/* ---- fused_forward.c, fused_backward.c: dot products under softmax, on tiles of queries */
bool att_fused_supports(const att_problem *problem);
size_t att_fused_workspace(const att_problem *problem, bool backward);
att_path_forward att_fused_forward;
att_path_backward att_fused_backward;

/* ---- projected_fused.c: general and cosine scores under softmax */
bool att_projected_fused_supports(const att_problem *problem);
size_t att_projected_fused_workspace(const att_problem *problem, bool backward);
att_path_forward att_projected_fused_forward;
att_path_backward att_projected_fused_backward;

/* ---- rowwise_forward.c, rowwise_backward.c: every score and normalizer that has a row in
 * rowwise_score.c or rowwise_normalize.c, on whole rows of scores */
bool att_rowwise_supports(const att_problem *problem);
size_t att_rowwise_workspace(const att_problem *problem, bool backward);
att_path_forward att_rowwise_forward;
att_path_backward att_rowwise_backward;

/* ---- reference.c, reference_backward.c: everything, in double precision */
bool att_reference_supports(const att_problem *problem);
size_t att_reference_workspace(const att_problem *problem, bool backward);
att_path_forward att_reference_forward;
att_path_backward att_reference_backward;

/* Gradients of weights and scores, which the public backward does not return: [B,H,T,S] each, in
 * double. `weights` and `scores` are added to what the output sends back, because a loss may also
 * use weights and scores themselves; NULL: nothing. The totals are written for pairs that may
 * attend, the rest is left as it was; NULL: not wanted. */
typedef struct att_pair_grads {
    const double *weights;
    const double *scores;
    double *weights_total;
    double *scores_total;
    double *products_total; /* of the scores before scale, soft cap and bias */
} att_pair_grads;

att_status att_reference_backward_pairs(const att_problem *problem, const att_tensor *output_grad,
                                        const att_attention_grads *grads,
                                        const att_pair_grads *pairs, att_error *err);

/* att_attention_backward_reference() with the gradients of pairs (attention.c). */
att_status att_attention_backward_pairs(const att_attention_options *options,
                                        const att_attention_inputs *in,
                                        const att_tensor *output_grad,
                                        const att_attention_grads *grads,
                                        const att_pair_grads *pairs, att_error *err);

/* ---- matrix.c: the textbook form; never chosen, only called by name */
bool att_matrix_supports(const att_problem *problem);
att_path_forward att_matrix_forward;

/* The same result as matrix products, softmax(Q Kᵀ) V: the dot, scaled and general scores. It needs
 * memory for T·S; a masked value is multiplied by 0, so NaN there propagates. */
att_status att_attention_forward_matrix(const att_attention_options *options,
                                        const att_attention_inputs *in,
                                        const att_attention_outputs *out, att_error *err);

#endif
