/* The gradients of single functions, for the table in gradient_functions.c; and what they share. */
#ifndef ATT_SHEET_GRADIENT_RULES_H
#define ATT_SHEET_GRADIENT_RULES_H

#include "sheet/gradient.h"

typedef att_status att_backward_rule(att_backward *walk, const att_computation *computation);

/* gradient_choice.c */
att_backward_rule att_where_rule;
att_backward_rule att_diag_rule;
att_backward_rule att_sort_rule;
att_backward_rule att_topk_rule;
att_backward_rule att_cross_entropy_rule;
att_backward_rule att_dropout_rule;

/* gradient_layers.c */
att_backward_rule att_norm_rule;
att_backward_rule att_linear_rule;
att_backward_rule att_conv1d_rule;

/* gradient_rnn.c */
att_backward_rule att_rnn_rule;
att_backward_rule att_lstm_rule;
att_backward_rule att_gru_rule;

/* gradient_attention.c */
att_backward_rule att_attention_rule;
att_backward_rule att_self_attention_rule;
att_backward_rule att_cross_attention_rule;
att_backward_rule att_multihead_rule;

/* Terms of the product of matrices a b, aᵀ b and a bᵀ, with an optional factor. */
att_terms att_terms_product(const att_matrix *a, const att_matrix *b);
att_terms att_terms_product_at(const att_matrix *a, const att_matrix *b); /* aᵀ b */
att_terms att_terms_product_bt(const att_matrix *a, const att_matrix *b); /* a bᵀ */

/* Terms of a ∘ b for two matrices of one shape; b NULL: a itself. */
att_terms att_terms_elementwise(const att_matrix *a, const att_matrix *b);

/* Terms of the column sums of a, as a row, or as a column if `upright`. */
att_terms att_terms_column_sums(const att_matrix *a, bool upright);

/* Element (i, j) of the terms as terms of (j, i). */
att_terms att_terms_transpose(att_terms terms);

/* y * (g - (g_1 y_1 + g_2 y_2 + …)): one element of the gradient of softmax, along rows or
 * columns. */
typedef struct att_softmax_step {
    const att_matrix *y;
    const att_matrix *g;
    bool cols;
} att_softmax_step;

att_write_element att_write_softmax_step;

/* Sends the gradients of y = x w + b, or w x + b where vectors are columns. b may be NULL. `g` is
 * the gradient of y and `name` its name. */
typedef struct att_linear_inputs {
    const att_matrix *x;
    const att_matrix *w;
    const att_matrix *b;
    bool columns;
} att_linear_inputs;

att_status att_send_linear(att_backward *walk, const att_linear_inputs *in, const att_matrix *g,
                           att_expr *name);

#endif
