/* Gradients of the scores: from the gradient of every pair to queries, keys and parameters. The
 * numbers are those of the reference (src/attention); the formulas and sums are written here. */
#include "sheet/gradient_scores.h"

#include "attention/paths.h"
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

static bool allocate(const att_head_back *back, struct att_score_grads *out)
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
static att_status run_reference(const att_head_back *back, struct att_score_grads *out)
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

att_status att_score_send_param(att_head_back *back, size_t param,
                                const struct att_score_grads *grads, att_contribution part)
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

static att_status name_all(att_head_back *back, struct att_score_names *out)
{
    *out = (struct att_score_names){ .p = back->dproducts_name,
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

att_expr *att_score_formula(const att_head_back *back, const struct att_score_names *n,
                            const char *rows, const char *columns)
{
    return att_backward_formula(back->walk, back->layer.columns ? columns : rows, "PqkWUbv", n->p,
                                n->q, n->k, n->param[ATT_PARAM_W], n->param[ATT_PARAM_U],
                                n->param[ATT_PARAM_B], n->param[ATT_PARAM_V]);
}

/* The calculations of every element; `terms` are in the sum of each. */
static att_status write_all(const att_head_back *back, const char *name, const att_matrix *value,
                            att_write_element *element, int64_t terms, att_calculations *out)
{
    att_arena *arena = arena_of(back);
    att_error *err = att_backward_error(back->walk);
    if (!element || !att_calculation_fits(value->rows, value->cols, terms))
        return ATT_OK;
    ATT_TRY(att_calculations_start(out, arena, (size_t)(value->rows * value->cols), err));
    for (int64_t i = 0; i < value->rows; i++)
        for (int64_t j = 0; j < value->cols; j++)
            ATT_TRY(att_calculations_add_number(
                out, arena, i + 1, att_make_indexed(arena, name, i + 1, j + 1),
                element(arena, back, i, j), value->data[i * value->cols + j], err));
    return ATT_OK;
}

att_status att_score_show(const att_head_back *back, const char *name, const char *description,
                          att_expr *formula, const att_matrix *value, att_write_element *element,
                          int64_t terms)
{
    att_calculations calculations = { 0 };
    if (!formula)
        return out_of_memory(back);
    ATT_TRY(write_all(back, name, value, element, terms, &calculations));
    return att_backward_show(back->walk,
                             &(att_trace_part){ .name = name,
                                                .description = description,
                                                .formula = formula,
                                                .value = value,
                                                .calculations = calculations.items,
                                                .calculation_count = calculations.count });
}

/* ---------------------------------------------------------------- dot, scaled, gaussian */

/* The numbers are the reference's, which skips masked pairs. */
static att_status send_products(att_head_back *back, const struct att_score_names *n,
                                const struct att_score_grads *grads, const att_matrix *pairs)
{
    ATT_TRY(att_head_send_vectors(
        back, "q",
        (att_contribution){ .reason = "each query gets the keys, weighted by the gradients of "
                                      "their products",
                            .formula = att_score_formula(back, n, "P * k", "k * P'"),
                            .value = grads->q,
                            .terms = att_terms_product(pairs, back->head.key) }));
    return att_head_send_vectors(
        back, "k",
        (att_contribution){ .reason = "each key gets the queries, weighted by the gradients of "
                                      "their products",
                            .formula = att_score_formula(back, n, "P' * q", "q * P"),
                            .value = grads->k,
                            .terms = att_terms_product_at(pairs, back->head.query) });
}

static att_status dot_back(att_head_back *back, const struct att_score_names *n,
                           const struct att_score_grads *grads)
{
    return send_products(back, n, grads, back->dproducts);
}

static att_expr *write_exponent(att_arena *arena, const void *of, int64_t i, int64_t j)
{
    const att_head_back *back = of;
    const att_matrix *scores = back->products ? back->products : back->scores;
    if (att_score_pair_grad(back, i, j) == 0) /* masked */
        return att_make_number(arena, 0);
    return att_make_binary(arena, ATT_OP_MULTIPLY,
                           att_make_number(arena, att_score_pair_grad(back, i, j)),
                           att_make_number(arena, scores->data[i * scores->cols + j]));
}

static att_status gaussian_back(att_head_back *back, const struct att_score_names *n,
                                const struct att_score_grads *grads)
{
    const att_matrix *scores = back->products ? back->products : back->scores;
    att_matrix *inner = att_matrix_like(arena_of(back), back->dproducts);
    struct att_score_names named = *n;
    named.p = (att_expr *)att_formula(arena_of(back), "dexponent");
    att_expr *score = att_backward_name(back->walk, scores);
    if (!inner || !named.p || !score)
        return out_of_memory(back);
    for (int64_t at = 0; at < inner->rows * inner->cols; at++)
        inner->data[at] =
            back->dproducts->data[at] == 0 ? 0 : back->dproducts->data[at] * scores->data[at];
    ATT_TRY(att_score_show(back, "dexponent", "exp is its own derivative",
                           att_backward_formula(back->walk, "P .* S", "PS", n->p, score), inner,
                           write_exponent, 1));
    return send_products(back, &named, grads, inner);
}

/* ---------------------------------------------------------------- general */

/* The keys projected by W are a part, which the loss may use too. */
static att_status general_back(att_head_back *back, const struct att_score_names *n,
                               const struct att_score_grads *grads)
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
                            .formula = att_score_formula(back, n, "P' * q", "q * P"),
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

/* ---------------------------------------------------------------- location */

static att_status location_back(att_head_back *back, const struct att_score_names *n,
                                const struct att_score_grads *grads)
{
    ATT_TRY(att_head_send_vectors(
        back, "q",
        (att_contribution){
            .reason = "through W: the score of a position is a linear map of the "
                      "query",
            .formula = att_score_formula(back, n, "P * W'", "W' * P'"),
            .value = grads->q,
            .terms = att_terms_product(back->dproducts, back->head.param[ATT_PARAM_W]) }));
    ATT_TRY(att_head_send_vectors(
        back, "k",
        (att_contribution){ .reason = "the keys are not in the scores",
                            .formula = att_score_formula(back, n, "0 * k", "0 * k"),
                            .value = grads->k }));
    bool whole = back->head.param[ATT_PARAM_W]->rows == back->dproducts->cols;
    ATT_TRY(att_score_send_param(
        back, ATT_PARAM_W, grads,
        (att_contribution){ .reason = "each query times the gradients of its scores, added up",
                            .formula = att_score_formula(back, n, "q' * P", "P' * q'"),
                            .terms = whole ? att_terms_product_at(back->dproducts, back->head.query)
                                           : (att_terms){ 0 } }));
    return att_score_send_param(
        back, ATT_PARAM_B, grads,
        (att_contribution){ .reason = "the bias is in every query's score",
                            .formula = att_score_formula(back, n, "sum(P, cols)", "sum(P, cols)"),
                            .terms = whole ? att_terms_column_sums(back->dproducts, false)
                                           : (att_terms){ 0 } });
}

/* ---------------------------------------------------------------- the table */

static att_score_rule *const rules[ATT_SCORE_COUNT] = {
    [ATT_SCORE_DOT] = dot_back,
    [ATT_SCORE_SCALED] = dot_back,
    [ATT_SCORE_GENERAL] = general_back,
    [ATT_SCORE_ADDITIVE] = att_score_additive_back,
    [ATT_SCORE_CONCAT] = att_score_concat_back,
    [ATT_SCORE_GAUSSIAN] = gaussian_back,
    [ATT_SCORE_COSINE] = att_score_cosine_back,
    [ATT_SCORE_LOCATION] = location_back,
};

att_status att_scores_backward(att_head_back *back)
{
    struct att_score_grads grads = { 0 };
    struct att_score_names names;
    ATT_TRY(run_reference(back, &grads));
    ATT_TRY(name_all(back, &names));
    return rules[back->attention.options.score](back, &names, &grads);
}
