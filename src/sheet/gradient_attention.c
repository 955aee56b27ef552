/* Gradients of attention, from the output of each head back to its inputs:
 *
 *   dv = weightsᵀ doutput        dweights = doutput vᵀ
 *   dscores: the normalizer's rule, row by row
 *   dproducts: scale and soft cap; bias and ALiBi get dscores
 *   dq, dk and the parameters: the rule of the score (gradient_scores.c)
 *
 * then the projections to queries, keys and values. Masked pairs get zeros. */
#include "sheet/gradient_attention.h"

#include "base/math.h"
#include "base/progress.h"
#include "sheet/matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static att_status out_of_memory(const att_head_back *back)
{
    return att_fail_memory(att_backward_error(back->walk));
}

static att_arena *arena_of(const att_head_back *back)
{
    return att_backward_arena(back->walk);
}

/* ---------------------------------------------------------------- parts */

static const att_trace_part *find_part(const att_computation *c, const char *name, int64_t head)
{
    for (size_t i = 0; i < c->output.part_count; i++) {
        const att_trace_part *part = &c->output.parts[i];
        if (part->head == head && strcmp(part->name, name) == 0)
            return part;
    }
    return NULL;
}

const att_matrix *att_head_find_part(const att_computation *c, const char *name, int64_t head)
{
    const att_trace_part *part = find_part(c, name, head);
    return part ? part->value : NULL;
}

/* Whether the part has numbers of its own, not those of an input. */
static bool is_made_here(const att_computation *c, const att_matrix *part)
{
    for (size_t i = 0; i < c->input_count; i++)
        if (c->inputs[i]->data == part->data)
            return false;
    return true;
}

/* Sends to a part. The gradient of a part that is an input is also kept under the part's name. */
static att_status send_part(att_head_back *back, const char *name, att_contribution part)
{
    const att_trace_part *to = find_part(back->c, name, back->head.number);
    if (is_made_here(back->c, to->value))
        return att_backward_send(back->walk, to->value, part);
    if (!part.value)
        return out_of_memory(back);
    ATT_TRY(att_backward_keep(back->walk, to, part.value));
    return att_backward_send(back->walk, to->value, part);
}

att_matrix *att_terms_sum(att_arena *arena, const att_terms *t, int64_t rows, int64_t cols)
{
    att_matrix *to = att_matrix_new(arena, rows, cols);
    for (int64_t i = 0; to && i < rows; i++, att_progress_poll())
        for (int64_t j = 0; j < cols; j++) {
            double sum = 0;
            for (int64_t l = 0; l < t->count; l++)
                sum += t->a[i * t->a_row + j * t->a_col + l * t->a_term] *
                       t->b[i * t->b_row + j * t->b_col + l * t->b_term];
            to->data[i * cols + j] = sum;
        }
    return to;
}

att_status att_head_send_vectors(att_head_back *back, const char *part, att_contribution rows)
{
    if (!rows.value && rows.terms.count > 0) {
        const att_matrix *like = strcmp(part, "q") == 0 ? back->head.query : back->head.key;
        rows.value = att_terms_sum(arena_of(back), &rows.terms, like->rows, like->cols);
    }
    if (back->layer.columns) {
        rows.value = att_sheet_layer_orient(&back->layer, rows.value);
        rows.terms = att_terms_transpose(rows.terms);
    }
    if (!rows.value)
        return out_of_memory(back);
    return send_part(back, part, rows);
}

/* ---------------------------------------------------------------- output */

/* Zeros where the pair does not take part. */
static void clear_masked(const att_head_back *back, att_matrix *pairs)
{
    for (int64_t i = 0; i < pairs->rows; i++)
        for (int64_t j = 0; j < pairs->cols; j++)
            if (!att_head_allows(back, i, j))
                pairs->data[i * pairs->cols + j] = 0;
}

static att_status output_backward(att_head_back *back)
{
    const att_matrix *dy;
    bool columns = back->layer.columns;
    ATT_TRY(att_backward_finish(back->walk, back->output, &dy));
    if (!dy)
        return ATT_OK;
    att_expr *g = att_backward_d(back->walk, back->output);
    att_expr *v = att_backward_name(back->walk, back->v);
    att_expr *a = att_backward_name(back->walk, back->weights);
    if (!g || !v || !a)
        return out_of_memory(back);
    att_terms to_v =
        columns ? att_terms_product(dy, back->weights) : att_terms_product_at(back->weights, dy);
    att_terms to_weights =
        columns ? att_terms_product_at(dy, back->v) : att_terms_product_bt(dy, back->v);
    att_matrix *dweights =
        att_terms_sum(arena_of(back), &to_weights, back->weights->rows, back->weights->cols);
    att_matrix *dv = att_terms_sum(arena_of(back), &to_v, back->v->rows, back->v->cols);
    if (!dweights || !dv)
        return out_of_memory(back);
    clear_masked(back, dweights);
    ATT_TRY(send_part(
        back, "v",
        (att_contribution){
            .reason = "each value gets the gradients of the outputs, weighted as it was in them",
            .formula = att_backward_formula(back->walk, columns ? "G * A" : "A' * G", "GA", g, a),
            .value = dv,
            .terms = to_v }));
    return att_backward_send(
        back->walk, back->weights,
        (att_contribution){
            .reason = "a weight matters as much as its value agrees with the gradient of the "
                      "output",
            .formula = att_backward_formula(back->walk, columns ? "G' * v" : "G * v'", "Gv", g, v),
            .value = dweights,
            .terms = to_weights });
}

/* ---------------------------------------------------------------- normalizers */

static double weight_at(const att_head_back *back, int64_t i, int64_t j)
{
    return back->weights->data[i * back->weights->cols + j];
}

static double grad_at(const att_head_back *back, int64_t i, int64_t j)
{
    return back->dweights->data[i * back->weights->cols + j];
}

static att_expr *num(att_arena *arena, double value)
{
    return att_make_number(arena, value);
}

static att_expr *op(att_arena *arena, att_expr_op which, att_expr *a, att_expr *b)
{
    return att_make_binary(arena, which, a, b);
}

static att_expr *write_softmax(att_arena *arena, const void *of, int64_t i, int64_t j)
{
    const att_head_back *back = of;
    const att_softmax_step step = { .y = back->weights, .g = back->dweights };
    return att_write_softmax_step(arena, &step, i, j);
}

static att_expr *write_mean(att_arena *arena, const void *of, int64_t i, int64_t j)
{
    const att_head_back *back = of;
    int64_t keys = 0;
    for (int64_t l = 0; l < back->weights->cols; l++)
        keys += att_head_allows(back, i, l);
    return op(arena, ATT_OP_DIVIDE, num(arena, grad_at(back, i, j)), num(arena, (double)keys));
}

/* The gradient minus the mean over the support, on which the weights are not 0. */
static att_expr *write_sparsemax(att_arena *arena, const void *of, int64_t i, int64_t j)
{
    const att_head_back *back = of;
    att_expr_sum sum = { .arena = arena };
    if (weight_at(back, i, j) == 0)
        return num(arena, 0);
    for (int64_t l = 0; l < back->weights->cols; l++)
        if (att_head_allows(back, i, l) && weight_at(back, i, l) != 0)
            att_expr_sum_add(&sum, num(arena, grad_at(back, i, l)));
    return op(arena, ATT_OP_SUBTRACT, num(arena, grad_at(back, i, j)),
              op(arena, ATT_OP_DIVIDE, sum.expr, num(arena, (double)sum.terms)));
}

/* r (g - Σ r g / Σ r) with the roots r of the weights. */
static att_expr *write_entmax(att_arena *arena, const void *of, int64_t i, int64_t j)
{
    const att_head_back *back = of;
    att_expr_sum top = { .arena = arena }, bottom = { .arena = arena };
    if (weight_at(back, i, j) == 0)
        return num(arena, 0);
    for (int64_t l = 0; l < back->weights->cols; l++) {
        if (!att_head_allows(back, i, l) || weight_at(back, i, l) == 0)
            continue;
        double root = sqrt(weight_at(back, i, l));
        att_expr_sum_add(
            &top, op(arena, ATT_OP_MULTIPLY, num(arena, root), num(arena, grad_at(back, i, l))));
        att_expr_sum_add(&bottom, num(arena, root));
    }
    att_expr *mean = op(arena, ATT_OP_DIVIDE, top.expr, bottom.expr);
    return op(arena, ATT_OP_MULTIPLY, num(arena, sqrt(weight_at(back, i, j))),
              op(arena, ATT_OP_SUBTRACT, num(arena, grad_at(back, i, j)), mean));
}

static att_expr *write_sigmoid(att_arena *arena, const void *of, int64_t i, int64_t j)
{
    const att_head_back *back = of;
    double a = weight_at(back, i, j);
    att_expr *product = op(arena, ATT_OP_MULTIPLY, num(arena, grad_at(back, i, j)), num(arena, a));
    return op(arena, ATT_OP_MULTIPLY, product,
              op(arena, ATT_OP_SUBTRACT, num(arena, 1), num(arena, a)));
}

/* (g - Σ g a) / Σ e */
static att_expr *write_sum(att_arena *arena, const void *of, int64_t i, int64_t j)
{
    const att_head_back *back = of;
    att_expr_sum mean = { .arena = arena }, scores = { .arena = arena };
    for (int64_t l = 0; l < back->weights->cols; l++) {
        if (!att_head_allows(back, i, l))
            continue;
        att_expr_sum_add(&mean, op(arena, ATT_OP_MULTIPLY, num(arena, grad_at(back, i, l)),
                                   num(arena, weight_at(back, i, l))));
        att_expr_sum_add(&scores, num(arena, back->scores->data[i * back->weights->cols + l]));
    }
    att_expr *top = op(arena, ATT_OP_SUBTRACT, num(arena, grad_at(back, i, j)), mean.expr);
    return op(arena, ATT_OP_DIVIDE, top, scores.expr);
}

/* A is the weights, G their gradient, S the scores. */
static const struct normalizer_rule {
    const char *formula;
    const char *reason;
    att_write_element *write;
} normalizer_rules[ATT_NORMALIZER_COUNT] = {
    [ATT_NORMALIZE_SOFTMAX] = { "A .* (G - sum(G .* A, rows))",
                                "the softmax, row by row: each weight times how much its gradient "
                                "exceeds the weighted mean of the row",
                                write_softmax },
    [ATT_NORMALIZE_MEAN] = { "G / n_k", "each score was divided by the number of keys",
                             write_mean },
    [ATT_NORMALIZE_SPARSEMAX] = { "step(A) .* (G - sum(step(A) .* G, rows) ./ sum(step(A), rows))",
                                  "on the keys with a weight: the gradient minus its mean; 0 "
                                  "elsewhere",
                                  write_sparsemax },
    [ATT_NORMALIZE_ENTMAX15] = { "sqrt(A) .* (G - sum(sqrt(A) .* G, rows) ./ sum(sqrt(A), rows))",
                                 "like softmax, with the roots of the weights", write_entmax },
    [ATT_NORMALIZE_SIGMOID] = { "G .* A .* (1 - A)", "the derivative of the sigmoid a is a (1 - a)",
                                write_sigmoid },
    [ATT_NORMALIZE_SUM] = { "(G - sum(G .* A, rows)) ./ sum(S, rows)",
                            "each score divided by their sum", write_sum },
    [ATT_NORMALIZE_NONE] = { "G", "the weights are the scores", NULL },
};

/* The normalizer's backward on the keys that query i may attend. */
static void normalize_row_back(const att_head_back *back, int64_t i, double *scratch, double *to)
{
    int64_t cols = back->weights->cols, count = 0;
    double *ds = scratch, *da = scratch + cols, *s = scratch + 2 * cols, *a = scratch + 3 * cols;
    for (int64_t j = 0; j < cols; j++) {
        if (!att_head_allows(back, i, j))
            continue;
        da[count] = grad_at(back, i, j);
        s[count] = back->scores->data[i * cols + j];
        a[count++] = weight_at(back, i, j);
    }
    if (count > 0)
        att_normalizer_get(back->attention.options.normalizer)->backward(ds, da, s, a, count);
    for (int64_t j = 0, n = 0; j < cols; j++)
        if (att_head_allows(back, i, j))
            to[i * cols + j] = ds[n++];
}

static att_status weights_backward(att_head_back *back)
{
    const struct normalizer_rule *rule = &normalizer_rules[back->attention.options.normalizer];
    ATT_TRY(att_backward_finish(back->walk, back->weights, &back->dweights));
    if (!back->dweights)
        return ATT_OK;
    att_arena *arena = arena_of(back);
    size_t cols = (size_t)back->weights->cols;
    double *scratch = att_arena_alloc(arena, 4 * cols, sizeof *scratch);
    att_matrix *value = att_matrix_new(arena, back->weights->rows, back->weights->cols);
    att_expr *a = att_backward_name(back->walk, back->weights);
    att_expr *s = att_backward_name(back->walk, back->scores);
    att_expr *g = att_backward_d(back->walk, back->weights);
    if (!scratch || !value || !a || !s || !g)
        return out_of_memory(back);
    for (int64_t i = 0; i < value->rows; i++)
        normalize_row_back(back, i, scratch, value->data);
    return att_backward_send(
        back->walk, back->scores,
        (att_contribution){
            .reason = rule->reason,
            .formula = att_backward_formula(back->walk, rule->formula, "AGS", a, g, s),
            .value = value,
            .terms = rule->write ? (att_terms){ 0 } : att_terms_elementwise(back->dweights, NULL),
            .write = rule->write,
            .of = back,
            .term_count = back->weights->cols + 1 });
}

/* ---------------------------------------------------------------- scale, soft cap, bias, ALiBi */

static double scale_of(const att_head_back *back)
{
    const att_attention_options *options = &back->attention.options;
    if (options->scale != 0)
        return options->scale;
    return options->score == ATT_SCORE_SCALED ? 1 / sqrt((double)back->head.key->cols) : 1;
}

static double product_at(const att_head_back *back, int64_t at)
{
    return back->products ? back->products->data[at] : back->scores->data[at];
}

/* d score / d (scale · product): 1, or 1 - tanh² of a soft cap. */
static double cap_slope(const att_head_back *back, int64_t at)
{
    double cap = back->attention.options.soft_cap;
    double cosine = cap != 0 ? att_cosh(scale_of(back) * product_at(back, at) / cap) : 1;
    return 1 / cosine / cosine;
}

static att_status send_option(att_head_back *back, const char *name, double grad,
                              const char *formula, const char *reason)
{
    const att_matrix *to;
    ATT_TRY(
        att_sheet_attention_option(&back->layer, &back->attention, name, back->head.number, &to));
    if (!to || !att_backward_wants(back->walk, to))
        return ATT_OK;
    att_matrix *value = att_matrix_new(arena_of(back), to->rows, to->cols);
    att_expr *g = att_backward_d(back->walk, back->scores);
    if (!value || !g)
        return out_of_memory(back);
    bool slopes = to->rows * to->cols > 1; /* ALiBi: one slope per head */
    value->data[slopes ? back->head.number - 1 : 0] = grad;
    return att_backward_send(
        back->walk, to,
        (att_contribution){ .reason = reason,
                            .formula = att_backward_formula(back->walk, formula, "G", g),
                            .value = value });
}

static att_status send_bias(att_head_back *back)
{
    const att_matrix *to, *g = back->dscores;
    ATT_TRY(
        att_sheet_attention_option(&back->layer, &back->attention, "bias", back->head.number, &to));
    if (!to)
        return ATT_OK;
    bool by_row = to->rows == 1 && g->rows > 1, by_col = to->cols == 1 && g->cols > 1;
    const char *text = by_row && by_col ? "sum(G)"
                       : by_row         ? "sum(G, cols)"
                       : by_col         ? "sum(G, rows)"
                                        : "G";
    att_expr *name = att_backward_d(back->walk, back->scores);
    if (!name)
        return out_of_memory(back);
    return att_backward_send(
        back->walk, to,
        (att_contribution){ .reason = "the bias was added to the scores",
                            .formula = att_backward_formula(back->walk, text, "G", name),
                            .terms = { .count = (by_row ? g->rows : 1) * (by_col ? g->cols : 1),
                                       .a = g->data,
                                       .a_row = by_row ? 0 : g->cols,
                                       .a_col = by_col ? 0 : 1,
                                       .a_term = by_col ? 1 : g->cols,
                                       .scale = 1 } });
}

/* The gradients of the numbers scale, softcap and alibi. */
static att_status send_numbers(att_head_back *back)
{
    const att_attention_options *options = &back->attention.options;
    double cap = options->soft_cap, of_scale = 0, of_cap = 0, of_alibi = 0;
    for (int64_t i = 0; i < back->scores->rows; i++)
        for (int64_t j = 0; j < back->scores->cols; j++) {
            int64_t at = i * back->scores->cols + j;
            if (!att_head_allows(back, i, j))
                continue;
            double g = back->dscores->data[at], z = scale_of(back) * product_at(back, at);
            of_scale += g * cap_slope(back, at) * product_at(back, at);
            of_alibi -= g * (double)llabs((long long)(i + options->offset - j));
            if (cap != 0)
                of_cap += g * (att_tanh(z / cap) - z / cap * cap_slope(back, at));
        }
    ATT_TRY(send_option(back, "scale", of_scale, "sum(G .* products)",
                        "every score was multiplied by it"));
    ATT_TRY(send_option(back, "softcap", of_cap, "sum(G .* (tanh(z) - z .* (1 - tanh(z)^2)))",
                        "z is the score before the soft cap, divided by it"));
    return send_option(back, "alibi", of_alibi, "-sum(G .* distance)",
                       "the distance times the slope was subtracted from every score");
}

/* 0.2·0.7071, and 1 - tanh² if there is a soft cap. */
static att_expr *write_product_grad(att_arena *arena, const void *of, int64_t i, int64_t j)
{
    const att_head_back *back = of;
    const att_attention_options *options = &back->attention.options;
    int64_t at = i * back->scores->cols + j;
    att_expr *x = num(arena, back->dscores->data[at]);
    if (options->soft_cap != 0)
        x = op(arena, ATT_OP_MULTIPLY, x, num(arena, cap_slope(back, at)));
    if (options->scale != 0)
        return op(arena, ATT_OP_MULTIPLY, x, num(arena, options->scale));
    if (options->score != ATT_SCORE_SCALED)
        return x;
    att_expr *width = num(arena, (double)back->head.key->cols);
    return op(arena, ATT_OP_DIVIDE, x, att_make_call(arena, "sqrt", width));
}

/* The formula of the products' gradient, such as "G / sqrt(d_k)". */
static const char *product_formula(const att_head_back *back)
{
    const att_attention_options *options = &back->attention.options;
    bool cap = options->soft_cap != 0;
    if (options->scale != 0)
        return cap ? "scale * G .* (1 - tanh(z)^2)" : "scale * G";
    if (options->score == ATT_SCORE_SCALED)
        return cap ? "G .* (1 - tanh(z)^2) / sqrt(d_k)" : "G / sqrt(d_k)";
    return cap ? "G .* (1 - tanh(z)^2)" : "G";
}

static att_status send_products(att_head_back *back)
{
    const att_attention_options *options = &back->attention.options;
    att_matrix *value = att_matrix_new(arena_of(back), back->scores->rows, back->scores->cols);
    att_expr *g = att_backward_d(back->walk, back->scores);
    if (!value || !g)
        return out_of_memory(back);
    for (int64_t at = 0; at < value->rows * value->cols; at++)
        if (!back->weights->allowed || back->weights->allowed[at])
            value->data[at] = back->dscores->data[at] * cap_slope(back, at) * scale_of(back);
    bool plain =
        options->soft_cap == 0 && options->scale == 0 && options->score != ATT_SCORE_SCALED;
    return att_backward_send(
        back->walk, back->products,
        (att_contribution){
            .reason = options->soft_cap != 0
                          ? "through the scale and the soft cap, whose derivative is 1 - tanh(z)^2"
                          : "through the scale",
            .formula = att_backward_formula(back->walk, product_formula(back), "G", g),
            .value = value,
            .terms = plain ? att_terms_elementwise(back->dscores, NULL) : (att_terms){ 0 },
            .write = plain ? NULL : write_product_grad,
            .of = back,
            .term_count = 2 });
}

static att_status scores_backward(att_head_back *back)
{
    ATT_TRY(att_backward_finish(back->walk, back->scores, &back->dscores));
    if (back->dscores) {
        ATT_TRY(send_bias(back));
        ATT_TRY(send_numbers(back));
        if (back->products)
            ATT_TRY(send_products(back));
    }
    const att_matrix *last = back->products ? back->products : back->scores;
    ATT_TRY(att_backward_finish(back->walk, last, &back->dproducts));
    if (!back->dproducts)
        return ATT_OK;
    back->dproducts_name = att_backward_d(back->walk, last);
    return back->dproducts_name ? att_scores_backward(back) : out_of_memory(back);
}

/* ---------------------------------------------------------------- one head */

att_status att_head_start(att_backward *walk, const att_computation *c, int64_t number,
                          int64_t heads, att_head_back *back)
{
    *back = (att_head_back){ .walk = walk,
                             .c = c,
                             .head = { .number = number },
                             .q = att_head_find_part(c, "q", number),
                             .k = att_head_find_part(c, "k", number),
                             .v = att_head_find_part(c, "v", number),
                             .projected = att_head_find_part(c, "projected", number),
                             .products = att_head_find_part(c, "products", number),
                             .scores = att_head_find_part(c, "scores", number),
                             .weights = att_head_find_part(c, "weights", number),
                             .output = att_head_find_part(c, "output", number) };
    ATT_TRY(att_sheet_layer_start(&back->layer, c->call, 1));
    ATT_TRY(att_sheet_attention_read(&back->layer, heads, &back->attention));
    back->head.query = att_sheet_layer_orient(&back->layer, back->q);
    back->head.key = att_sheet_layer_orient(&back->layer, back->k);
    back->head.value = att_sheet_layer_orient(&back->layer, back->v);
    if (!back->head.query || !back->head.key || !back->head.value)
        return out_of_memory(back);
    return att_sheet_head_read_params(&back->layer, &back->attention, &back->head);
}

att_status att_head_backward(att_head_back *back)
{
    ATT_TRY(output_backward(back));
    ATT_TRY(weights_backward(back));
    return scores_backward(back);
}
