/* Shared by the gradients of scores: gradient_scores.c, where a score is a product of matrices, and
 * gradient_scores_nonlinear.c. */
#ifndef ATT_SHEET_GRADIENT_SCORES_H
#define ATT_SHEET_GRADIENT_SCORES_H

#include "sheet/gradient_attention.h"

/* Gradients with vectors as rows; parameters in the layout of attend.h, NULL where not given. */
struct att_score_grads {
    att_matrix *q, *k;
    att_matrix *param[ATT_PARAMS];
};

/* The names that formulas use: P is the gradient of the products. */
struct att_score_names {
    att_expr *p, *q, *k, *param[ATT_PARAMS];
};

/* A formula in which P, q, k, W, U, b and v are filled in, by the orientation of vectors. */
att_expr *att_score_formula(const att_head_back *back, const struct att_score_names *n,
                            const char *rows, const char *columns);

/* Sends a parameter's gradient in the sheet's layout: vectors as they are, matrices turned where
 * vectors are rows. */
att_status att_score_send_param(att_head_back *back, size_t param,
                                const struct att_score_grads *grads, att_contribution part);

/* A step for pairs or vectors that have no name in the sheet. `element`, which may be NULL, writes
 * one element, a sum of `terms`. */
att_status att_score_show(const att_head_back *back, const char *name, const char *description,
                          att_expr *formula, const att_matrix *value, att_write_element *element,
                          int64_t terms);

/* The gradient of the score of query i and key j, before scale, soft cap and bias. */
static inline double att_score_pair_grad(const att_head_back *back, int64_t i, int64_t j)
{
    return back->dproducts->data[i * back->dproducts->cols + j];
}

typedef att_status att_score_rule(att_head_back *back, const struct att_score_names *n,
                                  const struct att_score_grads *grads);

att_score_rule att_score_additive_back;
att_score_rule att_score_concat_back;
att_score_rule att_score_cosine_back;

#endif
