/* The parts of a head: the products if the scores differ from them, the scores, the weights and the
 * output, each with formula, description and calculations. */
#include "sheet/blocks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int64_t queries_of(const att_sheet_head *head)
{
    return head->query->rows;
}

static int64_t keys_of(const att_sheet_head *head)
{
    return head->key->rows;
}

/* The calculation of a score from its product: scale, soft cap, bias, ALiBi. */
static att_expr *write_scaled_score(att_arena *arena, const att_attention_options *options,
                                    const att_sheet_head *head, int64_t i, int64_t j)
{
    att_expr *x = att_make_number(arena, head->raw_scores->data[i * keys_of(head) + j]);
    if (options->scale != 0.0) {
        x = att_make_binary(arena, ATT_OP_MULTIPLY, att_make_number(arena, options->scale), x);
    } else if (options->score == ATT_SCORE_SCALED) {
        att_expr *width = att_make_number(arena, (double)head->key->cols);
        x = att_make_binary(arena, ATT_OP_DIVIDE, x, att_make_call(arena, "sqrt", width));
    }
    if (options->soft_cap != 0.0) {
        x = att_make_binary(arena, ATT_OP_DIVIDE, x, att_make_number(arena, options->soft_cap));
        x = att_make_binary(arena, ATT_OP_MULTIPLY, att_make_number(arena, options->soft_cap),
                            att_make_call(arena, "tanh", x));
    }
    if (head->bias)
        x = att_make_binary(arena, ATT_OP_ADD, x,
                            att_make_number(arena, att_broadcast_at(head->bias, i, j)));
    if (head->alibi_slope != 0.0) {
        double distance = (double)llabs(i + options->offset - j);
        x = att_make_binary(arena, ATT_OP_SUBTRACT, x,
                            att_make_binary(arena, ATT_OP_MULTIPLY,
                                            att_make_number(arena, head->alibi_slope),
                                            att_make_number(arena, distance)));
    }
    return x;
}

enum sum { SUM_RAW_SCORE, SUM_SCORE, SUM_SCALED_SCORE, SUM_WEIGHT };

/* The calculation of one pair. */
static att_expr *write_pair(att_arena *arena, const att_sheet_attention *attention,
                            const att_sheet_head *head, enum sum kind, int64_t i, int64_t j)
{
    if (kind == SUM_SCALED_SCORE)
        return write_scaled_score(arena, &attention->options, head, i, j);
    if (kind == SUM_WEIGHT)
        return att_normalizer_specs[attention->options.normalizer].write_sum(arena, head, i, j);
    return att_score_specs[attention->options.score].write_sum(arena, head, i, j);
}

/* Adds the calculations of all pairs that are not masked (for products: of all pairs). */
static att_status write_pairs(const att_sheet_layer *layer, const att_sheet_attention *attention,
                              const att_sheet_head *head, enum sum kind, const att_matrix *values,
                              att_calculations *out)
{
    static const char *const names[] = {
        [SUM_RAW_SCORE] = "p", [SUM_SCORE] = "e", [SUM_SCALED_SCORE] = "e", [SUM_WEIGHT] = "a"
    };
    att_arena *arena = layer->call->arena;
    if (!att_calculation_fits(values->rows, values->cols, head->query->cols))
        return ATT_OK;
    ATT_TRY(att_calculations_start(out, arena, (size_t)(values->rows * values->cols),
                                   layer->call->err));
    for (int64_t i = 0; i < values->rows; i++) {
        for (int64_t j = 0; j < values->cols; j++) {
            if (kind != SUM_RAW_SCORE && head->allowed && !head->allowed[i * values->cols + j])
                continue;
            ATT_TRY(att_calculations_add_number(
                out, arena, i + 1, att_make_indexed(arena, names[kind], i + 1, j + 1),
                write_pair(arena, attention, head, kind, i, j), values->data[i * values->cols + j],
                layer->call->err));
        }
    }
    return ATT_OK;
}

/* Adds a part with one number per pair of query and key. */
static att_status add_pairs(att_sheet_layer *layer, const att_sheet_attention *attention,
                            const att_sheet_head *head, enum sum kind, att_trace_part part,
                            const char *formula)
{
    att_calculations calculations = { 0 };
    bool plain =
        kind == SUM_WEIGHT && !att_normalizer_specs[attention->options.normalizer].write_sum;
    if (!plain)
        ATT_TRY(write_pairs(layer, attention, head, kind, part.value, &calculations));
    part.head = head->number;
    part.formula = formula ? att_formula(layer->call->arena, formula) : NULL;
    part.calculations = calculations.items;
    part.calculation_count = calculations.count;
    if (!part.formula || !part.description)
        return att_fail_memory(layer->call->err);
    return att_sheet_layer_add(layer, &part);
}

/* The general score: the keys projected by W, as a separate part. */
static att_status add_projected_keys(att_sheet_layer *layer, att_sheet_head *head)
{
    att_calculations calculations = { 0 };
    att_sheet_layer turning = *layer;
    turning.columns = !layer->columns;
    const att_matrix *w = att_sheet_layer_orient(&turning, head->param[ATT_PARAM_W]);
    const att_matrix *key = att_sheet_layer_orient(layer, head->key);
    const att_matrix *projected =
        w && key ? att_sheet_layer_linear(layer, key, w, "m", &calculations) : NULL;
    head->projected_keys = att_sheet_layer_orient(layer, projected);
    const att_expr *formula = att_formula(layer->call->arena, layer->columns ? "W * k" : "k * W'");
    if (!head->projected_keys || !formula)
        return att_fail_memory(layer->call->err);
    return att_sheet_layer_add(layer, &(att_trace_part){ .name = "projected",
                                                         .head = head->number,
                                                         .description = "each key projected by W",
                                                         .formula = formula,
                                                         .value = projected,
                                                         .calculations = calculations.items,
                                                         .calculation_count = calculations.count });
}

/* The additive score, from the inside out: the queries projected by W, the keys by U. */
static att_status add_projection(att_sheet_layer *layer, const att_sheet_head *head,
                                 const att_matrix *vectors, size_t param, const char *name,
                                 const char *formula, const char *description)
{
    att_calculations calculations = { 0 };
    att_arena *arena = layer->call->arena;
    const att_matrix *w = head->param[param]; /* [A,d] */
    if (!layer->columns)
        w = att_matrix_transpose(arena, w);
    const att_matrix *x = att_sheet_layer_orient(layer, vectors);
    const att_matrix *projected =
        w && x ? att_sheet_layer_linear(layer, x, w, name, &calculations) : NULL;
    const att_expr *expression = att_formula(arena, formula);
    if (!projected || !expression)
        return att_fail_memory(layer->call->err);
    return att_sheet_layer_add(layer, &(att_trace_part){ .name = name,
                                                         .inner = true,
                                                         .head = head->number,
                                                         .description = description,
                                                         .formula = expression,
                                                         .value = projected,
                                                         .calculations = calculations.items,
                                                         .calculation_count = calculations.count });
}

static att_status add_projections(att_sheet_layer *layer, const att_sheet_head *head)
{
    bool columns = layer->columns;
    ATT_TRY(add_projection(layer, head, head->query, ATT_PARAM_W, columns ? "Wq" : "qW",
                           columns ? "W * q" : "q * W", "each query projected by W"));
    return add_projection(layer, head, head->key, ATT_PARAM_U, columns ? "Uk" : "kU",
                          columns ? "U * k" : "k * U", "each key projected by U");
}

/* The formula of the scores from the options, such as "products / sqrt(d_k) + bias". */
static const char *scaled_score_formula(att_arena *arena, const att_attention_options *options,
                                        const att_sheet_head *head)
{
    const char *text = options->scale != 0.0                ? "scale * products"
                       : options->score == ATT_SCORE_SCALED ? "products / sqrt(d_k)"
                                                            : "products";
    if (options->soft_cap != 0.0)
        text = att_arena_printf(arena, "softcap * tanh(%s / softcap)", text);
    if (text && head->bias)
        text = att_arena_printf(arena, "%s + bias", text);
    if (text && head->alibi_slope != 0.0)
        text = att_arena_printf(arena, "%s - alibi * distance", text);
    return text;
}

/* The description of the scores. */
static const char *scaled_score_description(att_arena *arena, const att_attention_options *options,
                                            const att_sheet_head *head)
{
    const char *text =
        options->scale != 0.0 ? att_arena_printf(arena, "multiplied by %g", options->scale)
        : options->score == ATT_SCORE_SCALED
            ? att_arena_printf(arena, "divided by sqrt(d_k) with d_k = %" PRId64, head->key->cols)
            : "the products";
    if (text && options->soft_cap != 0.0)
        text = att_arena_printf(arena, "%s, soft-capped at %g", text, options->soft_cap);
    if (text && head->bias)
        text = att_arena_printf(arena, "%s, bias added", text);
    if (text && head->alibi_slope != 0.0)
        text = att_arena_printf(arena, "%s, minus %g per position of distance", text,
                                head->alibi_slope);
    return text;
}

static const char *describe_masked(att_arena *arena, const char *description,
                                   const att_sheet_head *head)
{
    size_t pairs = (size_t)(head->query->rows * head->key->rows);
    if (!description || !head->allowed || !memchr(head->allowed, 0, pairs))
        return description;
    return att_arena_printf(arena, "%s; masked pairs are excluded", description);
}

static att_status add_scores(att_sheet_layer *layer, const att_sheet_attention *attention,
                             att_sheet_head *head)
{
    att_arena *arena = layer->call->arena;
    const att_score_spec *row = &att_score_specs[attention->options.score];
    const char *formula =
        att_formula_drop_absent(arena, layer->columns ? row->column_formula : row->row_formula,
                                head->param[ATT_PARAM_B] != NULL, false);
    if (attention->options.score == ATT_SCORE_GENERAL)
        ATT_TRY(add_projected_keys(layer, head));
    if (attention->options.score == ATT_SCORE_ADDITIVE)
        ATT_TRY(add_projections(layer, head));
    if (!head->raw_scores)
        return add_pairs(
            layer, attention, head, SUM_SCORE,
            (att_trace_part){ .name = "scores",
                              .description = describe_masked(arena, row->description, head),
                              .value = head->scores },
            formula);
    ATT_TRY(add_pairs(layer, attention, head, SUM_RAW_SCORE,
                      (att_trace_part){ .name = "products",
                                        .description = row->description,
                                        .value = head->raw_scores },
                      formula));
    const char *words = scaled_score_description(arena, &attention->options, head);
    return add_pairs(layer, attention, head, SUM_SCALED_SCORE,
                     (att_trace_part){ .name = "scores",
                                       .description = describe_masked(arena, words, head),
                                       .value = head->scores },
                     scaled_score_formula(arena, &attention->options, head));
}

static att_status add_weights(att_sheet_layer *layer, const att_sheet_attention *attention,
                              att_sheet_head *head)
{
    const att_normalizer_spec *row = &att_normalizer_specs[attention->options.normalizer];
    return add_pairs(layer, attention, head, SUM_WEIGHT,
                     (att_trace_part){ .name = "weights",
                                       .description = row->description,
                                       .value = head->weights },
                     row->formula);
}

/* Row `row` of a matrix in the orientation of the sheet. */
static const att_matrix *vector_of(const att_sheet_layer *layer, const att_matrix *matrix,
                                   int64_t row)
{
    att_matrix *vector = att_matrix_new(layer->call->arena, 1, matrix->cols);
    if (!vector)
        return NULL;
    for (int64_t i = 0; i < matrix->cols; i++)
        vector->data[i] = matrix->data[row * matrix->cols + i];
    return att_sheet_layer_orient(layer, vector);
}

/* 0.26·[…] + 0.33·[…] + …, one calculation per query; none for a query that may attend no key. */
static att_status write_output(const att_sheet_layer *layer, const att_sheet_head *head,
                               att_calculations *out)
{
    att_arena *arena = layer->call->arena;
    if (!att_calculation_fits(queries_of(head), head->value->cols, keys_of(head)))
        return ATT_OK;
    ATT_TRY(att_calculations_start(out, arena, (size_t)queries_of(head), layer->call->err));
    for (int64_t i = 0; i < queries_of(head); i++) {
        att_expr_sum sum = { .arena = arena };
        for (int64_t j = 0; j < keys_of(head); j++) {
            if (head->allowed && !head->allowed[i * keys_of(head) + j])
                continue;
            double weight = head->weights->data[i * keys_of(head) + j];
            att_expr_sum_add(
                &sum, att_make_binary(arena, ATT_OP_MULTIPLY, att_make_number(arena, weight),
                                      att_make_constant(arena, vector_of(layer, head->value, j))));
        }
        if (sum.terms > 0)
            ATT_TRY(att_calculations_add(out, i + 1, att_make_indexed(arena, "y", i + 1, -1),
                                         sum.expr, vector_of(layer, head->output, i),
                                         layer->call->err));
    }
    return ATT_OK;
}

static att_status add_output(att_sheet_layer *layer, att_sheet_head *head)
{
    att_calculations calculations = { 0 };
    ATT_TRY(write_output(layer, head, &calculations));
    const att_expr *formula =
        att_formula(layer->call->arena, layer->columns ? "v * weights'" : "weights * v");
    if (!formula)
        return att_fail_memory(layer->call->err);
    return att_sheet_layer_add(
        layer, &(att_trace_part){ .name = "output",
                                  .head = head->number,
                                  .description = "the sum of the values, weighted",
                                  .formula = formula,
                                  .value = att_sheet_layer_orient(layer, head->output),
                                  .calculations = calculations.items,
                                  .calculation_count = calculations.count });
}

att_status att_sheet_head_add_parts(att_sheet_layer *layer, const att_sheet_attention *attention,
                                    att_sheet_head *head)
{
    ATT_TRY(add_scores(layer, attention, head));
    ATT_TRY(add_weights(layer, attention, head));
    return add_output(layer, head);
}
