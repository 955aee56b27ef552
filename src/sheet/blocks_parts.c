/* A head laid open as parts: the raw products where something follows them, the scores, the
 * weights, the output, each with its formula, its words and its sums written out. */
#include "sheet/blocks.h"

#include <inttypes.h>
#include <stdlib.h>

static int64_t queries_of(const att_head *head)
{
    return head->query->rows;
}

static int64_t keys_of(const att_head *head)
{
    return head->key->rows;
}

/* The sum that makes a score out of its product. */
static att_expr *write_finish(att_arena *arena, const att_attention *how, const att_head *head,
                              int64_t i, int64_t j)
{
    att_expr *x = att_make_number(arena, head->products->data[i * keys_of(head) + j]);
    if (how->scale != 0.0) {
        x = att_make_binary(arena, ATT_OP_MULTIPLY, att_make_number(arena, how->scale), x);
    } else if (how->score == ATT_SCORE_SCALED) {
        att_expr *width = att_make_number(arena, (double)head->key->cols);
        x = att_make_binary(arena, ATT_OP_DIVIDE, x, att_make_call(arena, "sqrt", width));
    }
    if (how->soft_cap != 0.0) {
        x = att_make_binary(arena, ATT_OP_DIVIDE, x, att_make_number(arena, how->soft_cap));
        x = att_make_binary(arena, ATT_OP_MULTIPLY, att_make_number(arena, how->soft_cap),
                            att_make_call(arena, "tanh", x));
    }
    if (head->bias)
        x = att_make_binary(arena, ATT_OP_ADD, x,
                            att_make_number(arena, att_pair_at(head->bias, i, j)));
    if (head->slope != 0.0) {
        double distance = (double)llabs(i + how->offset - j);
        x = att_make_binary(arena, ATT_OP_SUBTRACT, x,
                            att_make_binary(arena, ATT_OP_MULTIPLY,
                                            att_make_number(arena, head->slope),
                                            att_make_number(arena, distance)));
    }
    return x;
}

enum sum { SUM_PRODUCT, SUM_SCORE, SUM_FINISH, SUM_WEIGHT };

/* The sum of one pair, as `kind` asks. */
static att_expr *write_pair(att_arena *arena, const att_choices *choices, const att_head *head,
                            enum sum kind, int64_t i, int64_t j)
{
    if (kind == SUM_FINISH)
        return write_finish(arena, &choices->how, head, i, j);
    if (kind == SUM_WEIGHT)
        return att_weight_rows[choices->how.normaliser].write(arena, head, i, j);
    return att_score_rows[choices->how.score].write(arena, head, i, j);
}

/* Sums for every pair that may be attended (for products: every pair). */
static att_status write_pairs(const att_layer *layer, const att_choices *choices,
                              const att_head *head, enum sum kind, const att_matrix *values,
                              att_workings *out)
{
    static const char *const names[] = {
        [SUM_PRODUCT] = "p", [SUM_SCORE] = "e", [SUM_FINISH] = "e", [SUM_WEIGHT] = "a"
    };
    att_arena *arena = layer->call->arena;
    if (!att_working_fits(values->rows, values->cols, head->query->cols))
        return ATT_OK;
    ATT_TRY(
        att_workings_start(out, arena, (size_t)(values->rows * values->cols), layer->call->err));
    for (int64_t i = 0; i < values->rows; i++) {
        for (int64_t j = 0; j < values->cols; j++) {
            if (kind != SUM_PRODUCT && head->allowed && !head->allowed[i * values->cols + j])
                continue;
            ATT_TRY(att_workings_add_number(out, arena, i + 1,
                                            att_make_indexed(arena, names[kind], i + 1, j + 1),
                                            write_pair(arena, choices, head, kind, i, j),
                                            values->data[i * values->cols + j], layer->call->err));
        }
    }
    return ATT_OK;
}

/* Adds a part whose value is one number per pair. */
static att_status add_pairs(att_layer *layer, const att_choices *choices, const att_head *head,
                            enum sum kind, att_part part, const char *formula)
{
    att_workings workings = { 0 };
    bool plain = kind == SUM_WEIGHT && !att_weight_rows[choices->how.normaliser].write;
    if (!plain)
        ATT_TRY(write_pairs(layer, choices, head, kind, part.value, &workings));
    part.head = head->number;
    part.formula = formula ? att_formula(layer->call->arena, formula) : NULL;
    part.workings = workings.items;
    part.working_count = workings.count;
    if (!part.formula || !part.says)
        return att_fail_memory(layer->call->err);
    return att_layer_add(layer, &part);
}

/* The general score maps the keys first, as one does by hand. */
static att_status add_mapped(att_layer *layer, att_head *head)
{
    att_workings workings = { 0 };
    att_layer turning = *layer;
    turning.columns = !layer->columns;
    const att_matrix *w = att_layer_turn(&turning, head->param[ATT_PARAM_W]);
    const att_matrix *key = att_layer_turn(layer, head->key);
    const att_matrix *mapped = w && key ? att_layer_map(layer, key, w, "m", &workings) : NULL;
    head->mapped = att_layer_turn(layer, mapped);
    const att_expr *formula = att_formula(layer->call->arena, layer->columns ? "W * k" : "k * W'");
    if (!head->mapped || !formula)
        return att_fail_memory(layer->call->err);
    return att_layer_add(layer, &(att_part){ .name = "mapped",
                                             .head = head->number,
                                             .says = "each key mapped by W",
                                             .formula = formula,
                                             .value = mapped,
                                             .workings = workings.items,
                                             .working_count = workings.count });
}

/* "products / sqrt(d_k) + bias", as far as the options go. */
static const char *finish_formula(att_arena *arena, const att_attention *how, const att_head *head)
{
    const char *text = how->scale != 0.0                ? "scale * products"
                       : how->score == ATT_SCORE_SCALED ? "products / sqrt(d_k)"
                                                        : "products";
    if (how->soft_cap != 0.0)
        text = att_arena_print(arena, "softcap * tanh(%s / softcap)", text);
    if (text && head->bias)
        text = att_arena_print(arena, "%s + bias", text);
    if (text && head->slope != 0.0)
        text = att_arena_print(arena, "%s - alibi * distance", text);
    return text;
}

/* The same in words. */
static const char *finish_words(att_arena *arena, const att_attention *how, const att_head *head)
{
    const char *text =
        how->scale != 0.0 ? att_arena_print(arena, "multiplied by %g", how->scale)
        : how->score == ATT_SCORE_SCALED
            ? att_arena_print(arena, "divided by sqrt(d_k) with d_k = %" PRId64, head->key->cols)
            : "the products";
    if (text && how->soft_cap != 0.0)
        text = att_arena_print(arena, "%s, softly capped at %g", text, how->soft_cap);
    if (text && head->bias)
        text = att_arena_print(arena, "%s, bias added", text);
    if (text && head->slope != 0.0)
        text = att_arena_print(arena, "%s, less %g for each step of distance", text, head->slope);
    return text;
}

static const char *say_masked(att_arena *arena, const char *says, const att_head *head)
{
    if (!says || !head->allowed)
        return says;
    return att_arena_print(arena, "%s; masked pairs do not take part", says);
}

static att_status add_scores(att_layer *layer, const att_choices *choices, att_head *head)
{
    att_arena *arena = layer->call->arena;
    const att_score_row *row = &att_score_rows[choices->how.score];
    const char *formula = att_given_formula(arena, layer->columns ? row->columns : row->rows,
                                            head->param[ATT_PARAM_B] != NULL, false);
    if (choices->how.score == ATT_SCORE_GENERAL)
        ATT_TRY(add_mapped(layer, head));
    if (!head->products)
        return add_pairs(layer, choices, head, SUM_SCORE,
                         (att_part){ .name = "scores",
                                     .says = say_masked(arena, row->says, head),
                                     .value = head->scores },
                         formula);
    ATT_TRY(add_pairs(layer, choices, head, SUM_PRODUCT,
                      (att_part){ .name = "products", .says = row->says, .value = head->products },
                      formula));
    const char *words = finish_words(arena, &choices->how, head);
    return add_pairs(layer, choices, head, SUM_FINISH,
                     (att_part){ .name = "scores",
                                 .says = say_masked(arena, words, head),
                                 .value = head->scores },
                     finish_formula(arena, &choices->how, head));
}

static att_status add_weights(att_layer *layer, const att_choices *choices, att_head *head)
{
    const att_weight_row *row = &att_weight_rows[choices->how.normaliser];
    return add_pairs(layer, choices, head, SUM_WEIGHT,
                     (att_part){ .name = "weights", .says = row->says, .value = head->weights },
                     row->formula);
}

/* Row `row` of a matrix as the sheet writes vectors. */
static const att_matrix *vector_of(const att_layer *layer, const att_matrix *matrix, int64_t row)
{
    att_matrix *vector = att_matrix_new(layer->call->arena, 1, matrix->cols);
    if (!vector)
        return NULL;
    for (int64_t i = 0; i < matrix->cols; i++)
        vector->data[i] = matrix->data[row * matrix->cols + i];
    return att_layer_turn(layer, vector);
}

/* 0.26·[…] + 0.33·[…] + …, one line per query; a query that may attend nothing has no line. */
static att_status write_output(const att_layer *layer, const att_head *head, att_workings *out)
{
    att_arena *arena = layer->call->arena;
    if (!att_working_fits(queries_of(head), head->value->cols, keys_of(head)))
        return ATT_OK;
    ATT_TRY(att_workings_start(out, arena, (size_t)queries_of(head), layer->call->err));
    for (int64_t i = 0; i < queries_of(head); i++) {
        att_sum sum = { .arena = arena };
        for (int64_t j = 0; j < keys_of(head); j++) {
            if (head->allowed && !head->allowed[i * keys_of(head) + j])
                continue;
            double weight = head->weights->data[i * keys_of(head) + j];
            att_sum_add(
                &sum, att_make_binary(arena, ATT_OP_MULTIPLY, att_make_number(arena, weight),
                                      att_make_constant(arena, vector_of(layer, head->value, j))));
        }
        if (sum.terms > 0)
            ATT_TRY(att_workings_add(out, i + 1, att_make_indexed(arena, "y", i + 1, -1), sum.expr,
                                     vector_of(layer, head->output, i), layer->call->err));
    }
    return ATT_OK;
}

static att_status add_output(att_layer *layer, att_head *head)
{
    att_workings workings = { 0 };
    ATT_TRY(write_output(layer, head, &workings));
    const att_expr *formula =
        att_formula(layer->call->arena, layer->columns ? "v * weights'" : "weights * v");
    if (!formula)
        return att_fail_memory(layer->call->err);
    return att_layer_add(layer, &(att_part){ .name = "output",
                                             .head = head->number,
                                             .says = "the values, added up by weight",
                                             .formula = formula,
                                             .value = att_layer_turn(layer, head->output),
                                             .workings = workings.items,
                                             .working_count = workings.count });
}

att_status att_head_show(att_layer *layer, const att_choices *choices, att_head *head)
{
    ATT_TRY(add_scores(layer, choices, head));
    ATT_TRY(add_weights(layer, choices, head));
    return add_output(layer, head);
}
