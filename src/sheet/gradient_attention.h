/* One head of attention during its backward pass (gradient_attention.c, gradient_scores.c). */
#ifndef ATT_SHEET_GRADIENT_ATTENTION_H
#define ATT_SHEET_GRADIENT_ATTENTION_H

#include "sheet/blocks.h"
#include "sheet/gradient_rules.h"

/* The parts of a head. Vectors are in the sheet's orientation; pairs are [queries, keys]. */
typedef struct att_head_back {
    att_backward *walk;
    const att_computation *c;
    att_sheet_layer layer;
    att_sheet_attention attention;
    att_sheet_head head; /* with vectors as rows, and the parameters as the reference has them */
    const att_matrix *q, *k, *v, *projected, *products, *scores, *weights, *output;
    const att_matrix *dweights, *dscores;
    const att_matrix *dproducts; /* of the scores before scale, soft cap and bias */
    att_expr *dproducts_name;
} att_head_back;

/* Whether the pair of query i and key j takes part. */
static inline bool att_head_allows(const att_head_back *back, int64_t i, int64_t j)
{
    const uint8_t *allowed = back->weights->allowed;
    return !allowed || allowed[i * back->weights->cols + j];
}

/* The part of that name of a head (0: not of a head), or NULL. */
const att_matrix *att_head_find_part(const att_computation *c, const char *name, int64_t head);

/* Starts head `number` (0: the only one) of `heads`; then from its output, or whatever of its parts
 * has a gradient, to queries, keys, values and parameters. */
att_status att_head_start(att_backward *walk, const att_computation *c, int64_t number,
                          int64_t heads, att_head_back *back);
att_status att_head_backward(att_head_back *back);

/* The sums of `terms`, whose factors are both given. NULL when memory is out. */
att_matrix *att_terms_sum(att_arena *arena, const att_terms *terms, int64_t rows, int64_t cols);

/* Sends the gradient of queries or keys to the part `q` or `k`. Its value and terms are [n, d] with
 * vectors as rows; without a value, the terms are added up. */
att_status att_head_send_vectors(att_head_back *back, const char *part, att_contribution rows);

/* Sends the gradients of the scores to queries, keys and the parameters of the score. */
att_status att_scores_backward(att_head_back *back);

#endif
