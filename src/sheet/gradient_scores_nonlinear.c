/* Gradients of the scores that are no product of matrices: additive, concat, cosine. */
#include "sheet/gradient_scores.h"

#include "base/math.h"
#include "base/progress.h"
#include "sheet/matrix.h"

#include <math.h>

static att_status out_of_memory(const att_head_back *back)
{
    return att_fail_memory(att_backward_error(back->walk));
}

static att_arena *arena_of(const att_head_back *back)
{
    return att_backward_arena(back->walk);
}

static att_expr *num(att_arena *arena, double value)
{
    return att_make_number(arena, value);
}

static att_expr *times(att_arena *arena, att_expr *a, att_expr *b)
{
    return att_make_binary(arena, ATT_OP_MULTIPLY, a, b);
}

/* ---------------------------------------------------------------- additive */

/* x_ija = (W q_i + U k_j + b)_a */
static double hidden_at(const att_head_back *back, int64_t i, int64_t j, int64_t a)
{
    const att_matrix *w = back->head.param[ATT_PARAM_W], *u = back->head.param[ATT_PARAM_U];
    const att_matrix *b = back->head.param[ATT_PARAM_B];
    double x = b ? b->data[a] : 0;
    for (int64_t c = 0; c < w->cols; c++)
        x += w->data[a * w->cols + c] * back->head.query->data[i * w->cols + c];
    for (int64_t c = 0; c < u->cols; c++)
        x += u->data[a * u->cols + c] * back->head.key->data[j * u->cols + c];
    return x;
}

/* The gradients of W q + b and of U k: over all keys of a query, over all queries of a key. */
static void sum_hidden(const att_head_back *back, att_matrix *of_q, att_matrix *of_k)
{
    const double *v = back->head.param[ATT_PARAM_V]->data;
    for (int64_t i = 0; i < of_q->rows; i++, att_progress_poll())
        for (int64_t j = 0; j < of_k->rows; j++) {
            double g = back->dproducts->data[i * of_k->rows + j];
            for (int64_t a = 0; g != 0 && a < of_q->cols; a++) {
                double cosine = att_cosh(hidden_at(back, i, j, a));
                double inner = g * v[a] / cosine / cosine;
                of_q->data[i * of_q->cols + a] += inner;
                of_k->data[j * of_k->cols + a] += inner;
            }
        }
}

/* dP_ij·v_a·(1 - tanh(x)^2) */
static att_expr *write_hidden(att_arena *arena, const att_head_back *back, int64_t i, int64_t j,
                              int64_t a)
{
    att_expr *squashed = att_make_call(arena, "tanh", num(arena, hidden_at(back, i, j, a)));
    att_expr *slope =
        att_make_binary(arena, ATT_OP_SUBTRACT, num(arena, 1),
                        att_make_binary(arena, ATT_OP_POWER, squashed, num(arena, 2)));
    att_expr *product = times(arena, num(arena, att_score_pair_grad(back, i, j)),
                              num(arena, back->head.param[ATT_PARAM_V]->data[a]));
    return times(arena, product, slope);
}

static att_expr *write_hidden_q(att_arena *arena, const void *of, int64_t i, int64_t a)
{
    const att_head_back *back = of;
    att_expr_sum sum = { .arena = arena };
    for (int64_t j = 0; j < back->dproducts->cols; j++)
        if (att_score_pair_grad(back, i, j) != 0)
            att_expr_sum_add(&sum, write_hidden(arena, back, i, j, a));
    return sum.terms > 0 ? sum.expr : num(arena, 0);
}

static att_expr *write_hidden_k(att_arena *arena, const void *of, int64_t j, int64_t a)
{
    const att_head_back *back = of;
    att_expr_sum sum = { .arena = arena };
    for (int64_t i = 0; i < back->dproducts->rows; i++)
        if (att_score_pair_grad(back, i, j) != 0)
            att_expr_sum_add(&sum, write_hidden(arena, back, i, j, a));
    return sum.terms > 0 ? sum.expr : num(arena, 0);
}

/* Σ dP_ij·tanh(x_ija), for element `a` of the vector v, which may be a row or a column. */
static att_expr *write_v(att_arena *arena, const void *of, int64_t row, int64_t col)
{
    const att_head_back *back = of;
    att_expr_sum sum = { .arena = arena };
    for (int64_t i = 0; i < back->dproducts->rows; i++)
        for (int64_t j = 0; j < back->dproducts->cols; j++)
            if (att_score_pair_grad(back, i, j) != 0)
                att_expr_sum_add(
                    &sum, times(arena, num(arena, att_score_pair_grad(back, i, j)),
                                att_make_call(arena, "tanh",
                                              num(arena, hidden_at(back, i, j, row + col)))));
    return sum.terms > 0 ? sum.expr : num(arena, 0);
}

static att_status show_hidden(att_head_back *back, const struct att_score_names *n,
                              const att_matrix *of_q, const att_matrix *of_k)
{
    ATT_TRY(att_score_show(
        back, "dhidden_q",
        "x[i, j] goes into the tanh; its part from query i gets the sum over the keys j",
        att_score_formula(back, n, "sum(P[i, j] * v .* (1 - tanh(x[i, j])^2))",
                          "sum(P[i, j] * v .* (1 - tanh(x[i, j])^2))"),
        of_q, write_hidden_q, of_k->rows));
    return att_score_show(
        back, "dhidden_k",
        "x[i, j] goes into the tanh; its part from key j gets the sum over the queries i",
        att_score_formula(back, n, "sum(P[i, j] * v .* (1 - tanh(x[i, j])^2))",
                          "sum(P[i, j] * v .* (1 - tanh(x[i, j])^2))"),
        of_k, write_hidden_k, of_q->rows);
}

static att_status send_hidden(att_head_back *back, const struct att_score_names *n,
                              const struct att_score_grads *grads, const att_matrix *of_q,
                              const att_matrix *of_k)
{
    const att_matrix *w = back->head.param[ATT_PARAM_W], *u = back->head.param[ATT_PARAM_U];
    ATT_TRY(att_head_send_vectors(
        back, "q",
        (att_contribution){ .reason = "through W",
                            .formula =
                                att_score_formula(back, n, "dhidden_q * W'", "W' * dhidden_q'"),
                            .value = grads->q,
                            .terms = att_terms_product(of_q, w) }));
    ATT_TRY(att_head_send_vectors(
        back, "k",
        (att_contribution){ .reason = "through U",
                            .formula =
                                att_score_formula(back, n, "dhidden_k * U'", "U' * dhidden_k'"),
                            .value = grads->k,
                            .terms = att_terms_product(of_k, u) }));
    ATT_TRY(att_score_send_param(
        back, ATT_PARAM_W, grads,
        (att_contribution){ .reason = "each query times the gradient before the tanh, added up",
                            .formula =
                                att_score_formula(back, n, "q' * dhidden_q", "dhidden_q' * q'"),
                            .terms = att_terms_product_at(of_q, back->head.query) }));
    ATT_TRY(att_score_send_param(
        back, ATT_PARAM_U, grads,
        (att_contribution){ .reason = "each key times the gradient before the tanh, added up",
                            .formula =
                                att_score_formula(back, n, "k' * dhidden_k", "dhidden_k' * k'"),
                            .terms = att_terms_product_at(of_k, back->head.key) }));
    ATT_TRY(att_score_send_param(
        back, ATT_PARAM_B, grads,
        (att_contribution){
            .reason = "the bias is in every pair",
            .formula = att_score_formula(back, n, "sum(dhidden_q, cols)", "sum(dhidden_q, cols)"),
            .terms = att_terms_column_sums(of_q, false) }));
    return att_score_send_param(
        back, ATT_PARAM_V, grads,
        (att_contribution){ .reason = "each pair's gradient times its tanh, added up",
                            .formula = att_score_formula(back, n, "sum(P[i, j] * tanh(x[i, j]))",
                                                         "sum(P[i, j] * tanh(x[i, j]))"),
                            .write = write_v,
                            .of = back,
                            .term_count = of_q->rows * of_k->rows });
}

att_status att_score_additive_back(att_head_back *back, const struct att_score_names *n,
                                   const struct att_score_grads *grads)
{
    int64_t width = back->head.param[ATT_PARAM_W]->rows;
    att_matrix *of_q = att_matrix_new(arena_of(back), back->head.query->rows, width);
    att_matrix *of_k = att_matrix_new(arena_of(back), back->head.key->rows, width);
    if (!of_q || !of_k)
        return out_of_memory(back);
    sum_hidden(back, of_q, of_k);
    ATT_TRY(show_hidden(back, n, of_q, of_k));
    return send_hidden(back, n, grads, of_q, of_k);
}

/* ---------------------------------------------------------------- concat */

/* The gradient before relu: that of the pairs with a score above 0. */
att_status att_score_concat_back(att_head_back *back, const struct att_score_names *n,
                                 const struct att_score_grads *grads)
{
    const att_matrix *scores = back->products ? back->products : back->scores;
    const double *v = back->head.param[ATT_PARAM_V]->data;
    int64_t queries = back->head.query->rows, keys = back->head.key->rows;
    att_matrix *inner = att_matrix_like(arena_of(back), back->dproducts);
    att_expr *score = att_backward_name(back->walk, scores);
    if (!inner || !score)
        return out_of_memory(back);
    for (int64_t at = 0; at < queries * keys; at++)
        inner->data[at] = scores->data[at] > 0 ? back->dproducts->data[at] : 0;
    ATT_TRY(att_score_show(
        back, "dinner", "relu passes the gradient on where its input is above 0, and 0 elsewhere",
        att_backward_formula(back->walk, "P .* step(S)", "PS", n->p, score), inner, NULL, 0));
    att_terms to_q = {
        .count = keys, .a = inner->data, .a_row = keys, .a_term = 1, .b = v, .b_col = 1, .scale = 1
    };
    att_terms to_k = { .count = queries,
                       .a = inner->data,
                       .a_row = 1,
                       .a_term = keys,
                       .b = v + back->head.query->cols,
                       .b_col = 1,
                       .scale = 1 };
    ATT_TRY(att_head_send_vectors(
        back, "q",
        (att_contribution){ .reason = "v_q is the part of v for the query",
                            .formula = att_score_formula(back, n, "sum(dinner, rows) * v_q",
                                                         "v_q' * sum(dinner, rows)'"),
                            .value = grads->q,
                            .terms = to_q }));
    ATT_TRY(att_head_send_vectors(
        back, "k",
        (att_contribution){ .reason = "v_k is the part of v for the key",
                            .formula = att_score_formula(back, n, "sum(dinner, cols)' * v_k",
                                                         "v_k' * sum(dinner, cols)"),
                            .value = grads->k,
                            .terms = to_k }));
    return att_score_send_param(
        back, ATT_PARAM_V, grads,
        (att_contribution){
            .reason = "queries and keys, weighted by the gradients before relu",
            .formula = att_score_formula(back, n, "[sum(dinner, rows)' * q, sum(dinner, cols) * k]",
                                         "[q * sum(dinner, rows); k * sum(dinner, cols)']") });
}

/* ---------------------------------------------------------------- cosine */

static double length_of(const att_matrix *m, int64_t row)
{
    double sum = 0;
    for (int64_t c = 0; c < m->cols; c++)
        sum += m->data[row * m->cols + c] * m->data[row * m->cols + c];
    return sqrt(sum);
}

/* Element c of the unit vector of a row; 0 of a zero vector. */
static double unit_at(const att_matrix *m, int64_t row, int64_t c)
{
    double length = length_of(m, row);
    return length == 0 ? 0 : m->data[row * m->cols + c] / length;
}

/* (Σ dP·other - (Σ dP·cosine)·own) / length: without its part along the vector itself. */
static att_expr *write_unit(att_arena *arena, const att_head_back *back, bool query, int64_t row,
                            int64_t c)
{
    const att_matrix *own = query ? back->head.query : back->head.key;
    const att_matrix *other = query ? back->head.key : back->head.query;
    const att_matrix *cosines = back->products ? back->products : back->scores;
    att_expr_sum sum = { .arena = arena };
    double along = 0;
    for (int64_t l = 0; l < other->rows; l++) {
        int64_t i = query ? row : l, j = query ? l : row;
        if (att_score_pair_grad(back, i, j) == 0)
            continue;
        att_expr_sum_add(&sum, times(arena, num(arena, att_score_pair_grad(back, i, j)),
                                     num(arena, unit_at(other, l, c))));
        along += att_score_pair_grad(back, i, j) * cosines->data[i * cosines->cols + j];
    }
    double length = length_of(own, row);
    if (sum.terms == 0 || length == 0)
        return num(arena, 0);
    att_expr *rest = times(arena, num(arena, along), num(arena, unit_at(own, row, c)));
    return att_make_binary(arena, ATT_OP_DIVIDE,
                           att_make_binary(arena, ATT_OP_SUBTRACT, sum.expr, rest),
                           num(arena, length));
}

/* Elements in the orientation of the sheet. */
static att_expr *write_cosine_q(att_arena *arena, const void *of, int64_t i, int64_t j)
{
    const att_head_back *back = of;
    bool columns = back->layer.columns;
    return write_unit(arena, back, true, columns ? j : i, columns ? i : j);
}

static att_expr *write_cosine_k(att_arena *arena, const void *of, int64_t i, int64_t j)
{
    const att_head_back *back = of;
    bool columns = back->layer.columns;
    return write_unit(arena, back, false, columns ? j : i, columns ? i : j);
}

att_status att_score_cosine_back(att_head_back *back, const struct att_score_names *n,
                                 const struct att_score_grads *grads)
{
    ATT_TRY(att_head_send_vectors(
        back, "q",
        (att_contribution){
            .reason = "the keys' unit vectors, weighted, without their part along the query; "
                      "divided by the length of the query",
            .formula = att_score_formula(
                back, n,
                "sum(P[i, j] * (k[j] / norm(k[j]) - s[i, j] * q[i] / norm(q[i]))) / "
                "norm(q[i])",
                "sum(P[i, j] * (k[j] / norm(k[j]) - s[i, j] * q[i] / norm(q[i]))) / "
                "norm(q[i])"),
            .value = grads->q,
            .write = write_cosine_q,
            .of = back,
            .term_count = back->head.key->rows + 1 }));
    return att_head_send_vectors(
        back, "k",
        (att_contribution){
            .reason = "the queries' unit vectors, weighted, without their part along the key; "
                      "divided by the length of the key",
            .formula = att_score_formula(
                back, n,
                "sum(P[i, j] * (q[i] / norm(q[i]) - s[i, j] * k[j] / norm(k[j]))) / "
                "norm(k[j])",
                "sum(P[i, j] * (q[i] / norm(q[i]) - s[i, j] * k[j] / norm(k[j]))) / "
                "norm(k[j])"),
            .value = grads->k,
            .write = write_cosine_k,
            .of = back,
            .term_count = back->head.query->rows + 1 });
}
