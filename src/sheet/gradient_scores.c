/* Gradients of the scores: from the gradient of every pair to queries, keys and parameters. The
 * numbers are those of the reference (src/attention); the formulas and sums are written here. */
#include "sheet/gradient_attention.h"

#include "attention/paths.h"
#include "base/math.h"
#include "sheet/matrix.h"

#include <string.h>

static att_status out_of_memory(const att_head_back *back)
{
    return att_fail_memory(att_backward_error(back->walk));
}

static att_arena *arena_of(const att_head_back *back)
{
    return att_backward_arena(back->walk);
}

/* ---------------------------------------------------------------- the reference */

/* Gradients with vectors as rows; parameters in the layout of attend.h, NULL where not given. */
struct grads {
    att_matrix *q, *k;
    att_matrix *param[ATT_PARAMS];
};

static att_tensor view3(const att_matrix *m)
{
    return att_tensor_view(m->data, ATT_F64, 3, (int64_t[]){ 1, m->rows, m->cols });
}

static att_tensor view4(const att_matrix *m)
{
    return att_tensor_view(m->data, ATT_F64, 4, (int64_t[]){ 1, m->rows, 1, m->cols });
}

static att_tensor view_param(const att_matrix *m, size_t param)
{
    if (param == ATT_PARAM_B || param == ATT_PARAM_V)
        return att_tensor_view(m->data, ATT_F64, 2, (int64_t[]){ 1, m->cols });
    return view3(m);
}

static bool allocate(const att_head_back *back, struct grads *out)
{
    att_arena *arena = arena_of(back);
    out->q = att_matrix_new(arena, back->head.query->rows, back->head.query->cols);
    out->k = att_matrix_new(arena, back->head.key->rows, back->head.key->cols);
    for (size_t i = 0; i < ATT_PARAMS; i++) {
        const att_matrix *m = back->head.param[i];
        out->param[i] = m ? att_matrix_new(arena, m->rows, m->cols) : NULL;
        if (m && !out->param[i])
            return false;
    }
    return out->q && out->k;
}

/* The pairs that take part: those that may attend, and those whose product the loss uses itself. */
static uint8_t *pairs_in_use(const att_head_back *back)
{
    int64_t count = back->dproducts->rows * back->dproducts->cols;
    uint8_t *mask = att_arena_alloc(arena_of(back), (size_t)count, 1);
    for (int64_t at = 0; mask && at < count; at++)
        mask[at] =
            !back->weights->allowed || back->weights->allowed[at] || back->dproducts->data[at] != 0;
    return mask;
}

/* Attention without normalizing and with values of zero: only the scores' gradient comes back. */
static att_status run_reference(const att_head_back *back, struct grads *out)
{
    att_arena *arena = arena_of(back);
    att_matrix *values = att_matrix_new(arena, back->head.key->rows, 1);
    att_matrix *zeros = att_matrix_new(arena, back->head.query->rows, 1);
    uint8_t *mask = pairs_in_use(back);
    if (!allocate(back, out) || !values || !zeros || !mask)
        return out_of_memory(back);
    att_score score = back->attention.options.score;
    const att_attention_options options = {
        .size = sizeof options,
        .score = score == ATT_SCORE_SCALED ? ATT_SCORE_DOT : score,
        .normalizer = ATT_NORMALIZE_NONE,
        .mask = mask,
        .mask_stride = { 0, 0, back->dproducts->cols, 1 },
    };
    att_tensor query = view4(back->head.query), key = view4(back->head.key), value = view4(values);
    att_tensor output_grad = view4(zeros), dq = view4(out->q), dk = view4(out->k);
    att_tensor param[ATT_PARAMS], dparam[ATT_PARAMS];
    att_tensor *in_use[ATT_PARAMS] = { NULL }, *wanted[ATT_PARAMS] = { NULL };
    for (size_t i = 0; i < ATT_PARAMS; i++) {
        if (!back->head.param[i])
            continue;
        param[i] = view_param(back->head.param[i], i);
        dparam[i] = view_param(out->param[i], i);
        in_use[i] = &param[i];
        wanted[i] = &dparam[i];
    }
    const att_attention_inputs in = { .query = &query,
                                      .key = &key,
                                      .value = &value,
                                      .score_w = in_use[ATT_PARAM_W],
                                      .score_u = in_use[ATT_PARAM_U],
                                      .score_b = in_use[ATT_PARAM_B],
                                      .score_v = in_use[ATT_PARAM_V] };
    const att_attention_grads grads = { .query = &dq,
                                        .key = &dk,
                                        .score_w = wanted[ATT_PARAM_W],
                                        .score_u = wanted[ATT_PARAM_U],
                                        .score_b = wanted[ATT_PARAM_B],
                                        .score_v = wanted[ATT_PARAM_V] };
    const att_pair_grads pairs = { .scores = back->dproducts->data };
    return att_attention_backward_pairs(&options, &in, &output_grad, &grads, &pairs,
                                        att_backward_error(back->walk));
}

/* ---------------------------------------------------------------- sending */

static const char *const param_names[ATT_PARAMS] = { "W", "U", "b", "v" };

/* The parameter as the sheet has it, or NULL. */
static att_status find_param(att_head_back *back, size_t param, const att_matrix **out)
{
    return att_sheet_attention_option(&back->layer, &back->attention, param_names[param],
                                      back->head.number, out);
}

/* A parameter's gradient in the sheet's layout: vectors as they are, matrices turned where vectors
 * are rows, except for the general score's. */
static att_status send_param(att_head_back *back, size_t param, const struct grads *grads,
                             att_contribution part)
{
    const att_matrix *to;
    ATT_TRY(find_param(back, param, &to));
    if (!to)
        return ATT_OK;
    bool vector = param == ATT_PARAM_B || param == ATT_PARAM_V;
    bool turned = !vector && !back->layer.columns;
    const att_matrix *found = grads->param[param];
    att_matrix *value = turned ? att_matrix_transpose(arena_of(back), found)
                               : att_matrix_new(arena_of(back), to->rows, to->cols);
    if (!value)
        return out_of_memory(back);
    if (!turned)
        memcpy(value->data, found->data, (size_t)(to->rows * to->cols) * sizeof *value->data);
    if ((turned || (vector && to->cols == 1)) && part.terms.count > 0)
        part.terms = att_terms_transpose(part.terms);
    part.value = value;
    return att_backward_send(back->walk, to, part);
}

/* The names that formulas use: P is the gradient of the products. */
struct names {
    att_expr *p, *q, *k, *param[ATT_PARAMS];
};

static att_status name_all(att_head_back *back, struct names *out)
{
    *out = (struct names){ .p = back->dproducts_name,
                           .q = att_backward_name(back->walk, back->q),
                           .k = att_backward_name(back->walk, back->k) };
    for (size_t i = 0; i < ATT_PARAMS; i++) {
        const att_matrix *given;
        ATT_TRY(find_param(back, i, &given));
        out->param[i] = given ? att_backward_name(back->walk, given) : out->q;
        if (!out->param[i])
            return out_of_memory(back);
    }
    return out->p && out->q && out->k ? ATT_OK : out_of_memory(back);
}

static att_expr *write(const att_head_back *back, const struct names *n, const char *rows,
                       const char *columns)
{
    return att_backward_formula(back->walk, back->layer.columns ? columns : rows, "PqkWUbv", n->p,
                                n->q, n->k, n->param[ATT_PARAM_W], n->param[ATT_PARAM_U],
                                n->param[ATT_PARAM_B], n->param[ATT_PARAM_V]);
}

/* A step for pairs or vectors that have no name in the sheet. */
static att_status show(const att_head_back *back, const char *name, const char *description,
                       att_expr *formula, const att_matrix *value)
{
    if (!formula)
        return out_of_memory(back);
    return att_backward_show(back->walk, &(att_trace_part){ .name = name,
                                                            .head = back->head.number,
                                                            .description = description,
                                                            .formula = formula,
                                                            .value = value });
}

/* ---------------------------------------------------------------- dot, scaled, gaussian */

/* The numbers are the reference's, which skips masked pairs. */
static att_status send_products(att_head_back *back, const struct names *n,
                                const struct grads *grads, const att_matrix *pairs)
{
    ATT_TRY(att_head_send_vectors(
        back, "q",
        (att_contribution){ .reason = "each query gets the keys, weighted by the gradients of "
                                      "their products",
                            .formula = write(back, n, "P * k", "k * P'"),
                            .value = grads->q,
                            .terms = att_terms_product(pairs, back->head.key) }));
    return att_head_send_vectors(
        back, "k",
        (att_contribution){ .reason = "each key gets the queries, weighted by the gradients of "
                                      "their products",
                            .formula = write(back, n, "P' * q", "q * P"),
                            .value = grads->k,
                            .terms = att_terms_product_at(pairs, back->head.query) });
}

static att_status dot_back(att_head_back *back, const struct names *n, const struct grads *grads)
{
    return send_products(back, n, grads, back->dproducts);
}

static att_status gaussian_back(att_head_back *back, const struct names *n,
                                const struct grads *grads)
{
    const att_matrix *scores = back->products ? back->products : back->scores;
    att_matrix *inner = att_matrix_like(arena_of(back), back->dproducts);
    struct names named = *n;
    named.p = (att_expr *)att_formula(arena_of(back), "dexponent");
    att_expr *score = att_backward_name(back->walk, scores);
    if (!inner || !named.p || !score)
        return out_of_memory(back);
    for (int64_t at = 0; at < inner->rows * inner->cols; at++)
        inner->data[at] =
            back->dproducts->data[at] == 0 ? 0 : back->dproducts->data[at] * scores->data[at];
    ATT_TRY(show(back, "dexponent", "exp is its own derivative",
                 att_backward_formula(back->walk, "P .* S", "PS", n->p, score), inner));
    return send_products(back, &named, grads, inner);
}

/* ---------------------------------------------------------------- general */

/* The keys projected by W are a part, which the loss may use too. */
static att_status general_back(att_head_back *back, const struct names *n,
                               const struct grads *grads)
{
    (void)grads;
    bool columns = back->layer.columns;
    const att_matrix *dm, *w;
    const att_matrix *rows = att_sheet_layer_orient(&back->layer, back->projected);
    att_expr *m = att_backward_name(back->walk, back->projected);
    if (!rows || !m)
        return out_of_memory(back);
    ATT_TRY(att_head_send_vectors(
        back, "q",
        (att_contribution){ .reason = "each query gets the projected keys, weighted by the "
                                      "gradients of their products",
                            .formula = att_backward_formula(
                                back->walk, columns ? "M * P'" : "P * M", "PM", n->p, m),
                            .terms = att_terms_product(back->dproducts, rows) }));
    att_terms to_m = att_terms_product_at(back->dproducts, back->head.query);
    ATT_TRY(att_backward_send(
        back->walk, back->projected,
        (att_contribution){ .reason = "each projected key gets the queries, weighted by the "
                                      "gradients of their products",
                            .formula = write(back, n, "P' * q", "q * P"),
                            .terms = columns ? att_terms_transpose(to_m) : to_m }));
    ATT_TRY(att_backward_finish(back->walk, back->projected, &dm));
    ATT_TRY(find_param(back, ATT_PARAM_W, &w));
    att_expr *g = att_backward_d(back->walk, back->projected);
    const att_matrix *dm_rows = att_sheet_layer_orient(&back->layer, dm);
    if (!g || !dm_rows)
        return out_of_memory(back);
    ATT_TRY(att_head_send_vectors(back, "k",
                                  (att_contribution){ .reason = "through the projection by W",
                                                      .formula = att_backward_formula(
                                                          back->walk, columns ? "W' * G" : "G * W",
                                                          "GW", g, n->param[ATT_PARAM_W]),
                                                      .terms = att_terms_product(dm_rows, w) }));
    return att_backward_send(
        back->walk, w,
        (att_contribution){ .reason = "each key times the gradient of its projection, added up",
                            .formula = att_backward_formula(
                                back->walk, columns ? "G * k'" : "G' * k", "Gk", g, n->k),
                            .terms = att_terms_product_at(dm_rows, back->head.key) });
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
    for (int64_t i = 0; i < of_q->rows; i++)
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

static att_status show_hidden(att_head_back *back, const struct names *n, const att_matrix *of_q,
                              const att_matrix *of_k)
{
    ATT_TRY(show(back, "dhidden_q",
                 "before the tanh, of the part that comes from query i: added up over the keys j",
                 write(back, n, "sum(P[i, j] * v .* (1 - tanh(x[i, j])^2))",
                       "sum(P[i, j] * v .* (1 - tanh(x[i, j])^2))"),
                 of_q));
    return show(back, "dhidden_k",
                "before the tanh, of the part that comes from key j: added up over the queries i",
                write(back, n, "sum(P[i, j] * v .* (1 - tanh(x[i, j])^2))",
                      "sum(P[i, j] * v .* (1 - tanh(x[i, j])^2))"),
                of_k);
}

static att_status send_hidden(att_head_back *back, const struct names *n, const struct grads *grads,
                              const att_matrix *of_q, const att_matrix *of_k)
{
    const att_matrix *w = back->head.param[ATT_PARAM_W], *u = back->head.param[ATT_PARAM_U];
    ATT_TRY(att_head_send_vectors(
        back, "q",
        (att_contribution){ .reason = "through W",
                            .formula = write(back, n, "dhidden_q * W'", "W' * dhidden_q'"),
                            .value = grads->q,
                            .terms = att_terms_product(of_q, w) }));
    ATT_TRY(att_head_send_vectors(
        back, "k",
        (att_contribution){ .reason = "through U",
                            .formula = write(back, n, "dhidden_k * U'", "U' * dhidden_k'"),
                            .value = grads->k,
                            .terms = att_terms_product(of_k, u) }));
    ATT_TRY(send_param(
        back, ATT_PARAM_W, grads,
        (att_contribution){ .reason = "each query times the gradient before the tanh, added up",
                            .formula = write(back, n, "q' * dhidden_q", "dhidden_q' * q'"),
                            .terms = att_terms_product_at(of_q, back->head.query) }));
    ATT_TRY(send_param(
        back, ATT_PARAM_U, grads,
        (att_contribution){ .reason = "each key times the gradient before the tanh, added up",
                            .formula = write(back, n, "k' * dhidden_k", "dhidden_k' * k'"),
                            .terms = att_terms_product_at(of_k, back->head.key) }));
    ATT_TRY(send_param(back, ATT_PARAM_B, grads,
                       (att_contribution){ .reason = "the bias is in every pair",
                                           .formula = write(back, n, "sum(dhidden_q, cols)",
                                                            "sum(dhidden_q, cols)"),
                                           .terms = att_terms_column_sums(of_q, false) }));
    return send_param(back, ATT_PARAM_V, grads,
                      (att_contribution){ .reason = "each pair's gradient times its tanh, added up",
                                          .formula = write(back, n, "sum(P[i, j] * tanh(x[i, j]))",
                                                           "sum(P[i, j] * tanh(x[i, j]))") });
}

static att_status additive_back(att_head_back *back, const struct names *n,
                                const struct grads *grads)
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
static att_status concat_back(att_head_back *back, const struct names *n, const struct grads *grads)
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
    ATT_TRY(show(back, "dinner",
                 "relu passes the gradient on where its input is above 0, and 0 elsewhere",
                 att_backward_formula(back->walk, "P .* step(S)", "PS", n->p, score), inner));
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
        (att_contribution){
            .reason = "v_q is the part of v for the query",
            .formula = write(back, n, "sum(dinner, rows) * v_q", "v_q' * sum(dinner, rows)'"),
            .value = grads->q,
            .terms = to_q }));
    ATT_TRY(att_head_send_vectors(
        back, "k",
        (att_contribution){
            .reason = "v_k is the part of v for the key",
            .formula = write(back, n, "sum(dinner, cols)' * v_k", "v_k' * sum(dinner, cols)"),
            .value = grads->k,
            .terms = to_k }));
    return send_param(
        back, ATT_PARAM_V, grads,
        (att_contribution){ .reason = "queries and keys, weighted by the gradients before relu",
                            .formula =
                                write(back, n, "[sum(dinner, rows)' * q, sum(dinner, cols) * k]",
                                      "[q * sum(dinner, rows); k * sum(dinner, cols)']") });
}

/* ---------------------------------------------------------------- cosine, location */

static att_status cosine_back(att_head_back *back, const struct names *n, const struct grads *grads)
{
    ATT_TRY(att_head_send_vectors(
        back, "q",
        (att_contribution){
            .reason = "the keys' unit vectors, weighted, without their part along the query; "
                      "divided by the length of the query",
            .formula = write(back, n,
                             "sum(P[i, j] * (k[j] / norm(k[j]) - s[i, j] * q[i] / norm(q[i]))) / "
                             "norm(q[i])",
                             "sum(P[i, j] * (k[j] / norm(k[j]) - s[i, j] * q[i] / norm(q[i]))) / "
                             "norm(q[i])"),
            .value = grads->q }));
    return att_head_send_vectors(
        back, "k",
        (att_contribution){
            .reason = "the queries' unit vectors, weighted, without their part along the key; "
                      "divided by the length of the key",
            .formula = write(back, n,
                             "sum(P[i, j] * (q[i] / norm(q[i]) - s[i, j] * k[j] / norm(k[j]))) / "
                             "norm(k[j])",
                             "sum(P[i, j] * (q[i] / norm(q[i]) - s[i, j] * k[j] / norm(k[j]))) / "
                             "norm(k[j])"),
            .value = grads->k });
}

static att_status location_back(att_head_back *back, const struct names *n,
                                const struct grads *grads)
{
    ATT_TRY(att_head_send_vectors(
        back, "q",
        (att_contribution){
            .reason = "through W: the score of a position is a linear map of the "
                      "query",
            .formula = write(back, n, "P * W'", "W' * P'"),
            .value = grads->q,
            .terms = att_terms_product(back->dproducts, back->head.param[ATT_PARAM_W]) }));
    ATT_TRY(att_head_send_vectors(back, "k",
                                  (att_contribution){ .reason = "the keys are not in the scores",
                                                      .formula = write(back, n, "0 * k", "0 * k"),
                                                      .value = grads->k }));
    bool whole = back->head.param[ATT_PARAM_W]->rows == back->dproducts->cols;
    ATT_TRY(send_param(
        back, ATT_PARAM_W, grads,
        (att_contribution){ .reason = "each query times the gradients of its scores, added up",
                            .formula = write(back, n, "q' * P", "P' * q'"),
                            .terms = whole ? att_terms_product_at(back->dproducts, back->head.query)
                                           : (att_terms){ 0 } }));
    return send_param(
        back, ATT_PARAM_B, grads,
        (att_contribution){ .reason = "the bias is in every query's score",
                            .formula = write(back, n, "sum(P, cols)", "sum(P, cols)"),
                            .terms = whole ? att_terms_column_sums(back->dproducts, false)
                                           : (att_terms){ 0 } });
}

/* ---------------------------------------------------------------- the table */

typedef att_status score_rule(att_head_back *back, const struct names *n,
                              const struct grads *grads);

static score_rule *const rules[ATT_SCORE_COUNT] = {
    [ATT_SCORE_DOT] = dot_back,         [ATT_SCORE_SCALED] = dot_back,
    [ATT_SCORE_GENERAL] = general_back, [ATT_SCORE_ADDITIVE] = additive_back,
    [ATT_SCORE_CONCAT] = concat_back,   [ATT_SCORE_GAUSSIAN] = gaussian_back,
    [ATT_SCORE_COSINE] = cosine_back,   [ATT_SCORE_LOCATION] = location_back,
};

att_status att_scores_backward(att_head_back *back)
{
    struct grads grads = { 0 };
    struct names names;
    ATT_TRY(run_reference(back, &grads));
    ATT_TRY(name_all(back, &names));
    return rules[back->attention.options.score](back, &names, &grads);
}
