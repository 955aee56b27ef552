/* How sheets show score functions: formula, parameters with their shapes, and the calculation of
 * one score. The scores themselves are computed by the reference (src/attention). */
#include "sheet/blocks.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---------------------------------------------------------------- calculations */

static const double *row_of(const att_matrix *matrix, int64_t row)
{
    return matrix->data + row * matrix->cols;
}

static double dot(int64_t count, const double *a, const double *b)
{
    double sum = 0.0;
    for (int64_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

static att_expr *write_dot(att_arena *arena, const att_sheet_head *head, int64_t i, int64_t j)
{
    return att_make_dot_product(arena, head->query->cols, row_of(head->query, i), 1,
                                row_of(head->key, j), 1);
}

/* q · (W k), where W k is the part `projected`. */
static att_expr *write_general(att_arena *arena, const att_sheet_head *head, int64_t i, int64_t j)
{
    return att_make_dot_product(arena, head->query->cols, row_of(head->query, i), 1,
                                row_of(head->projected_keys, j), 1);
}

/* v_1·tanh(x_1) + …, where x = W q + U k + b: W q and U k are worked out before. */
static att_expr *write_additive(att_arena *arena, const att_sheet_head *head, int64_t i, int64_t j)
{
    const att_matrix *w = head->param[ATT_PARAM_W];
    const att_matrix *u = head->param[ATT_PARAM_U];
    const att_matrix *b = head->param[ATT_PARAM_B];
    att_expr_sum sum = { .arena = arena };
    for (int64_t a = 0; a < w->rows; a++) {
        att_expr_sum x = { .arena = arena };
        att_expr_sum_add(
            &x, att_make_number(arena, dot(w->cols, row_of(w, a), row_of(head->query, i))));
        att_expr_sum_add(&x,
                         att_make_number(arena, dot(u->cols, row_of(u, a), row_of(head->key, j))));
        if (b)
            att_expr_sum_add(&x, att_make_number(arena, b->data[a]));
        att_expr *factor = att_make_number(arena, head->param[ATT_PARAM_V]->data[a]);
        att_expr_sum_add(&sum, att_make_binary(arena, ATT_OP_MULTIPLY, factor,
                                               att_make_call(arena, "tanh", x.expr)));
    }
    return sum.expr;
}

static att_expr *write_concat(att_arena *arena, const att_sheet_head *head, int64_t i, int64_t j)
{
    const double *v = head->param[ATT_PARAM_V]->data;
    int64_t width = head->query->cols;
    att_expr_sum sum = { .arena = arena };
    att_expr_sum_add_dot_product(&sum, width, v, 1, row_of(head->query, i), 1);
    att_expr_sum_add_dot_product(&sum, head->key->cols, v + width, 1, row_of(head->key, j), 1);
    return att_make_call(arena, "relu", sum.expr);
}

static att_expr *write_gaussian(att_arena *arena, const att_sheet_head *head, int64_t i, int64_t j)
{
    return att_make_call(arena, "exp", write_dot(arena, head, i, j));
}

static att_expr *write_cosine(att_arena *arena, const att_sheet_head *head, int64_t i, int64_t j)
{
    const double *q = row_of(head->query, i);
    const double *k = row_of(head->key, j);
    double q_norm = sqrt(dot(head->query->cols, q, q));
    double k_norm = sqrt(dot(head->key->cols, k, k));
    if (q_norm == 0.0 || k_norm == 0.0)
        return att_make_number(arena, 0.0);
    att_expr *norms = att_make_binary(arena, ATT_OP_MULTIPLY, att_make_number(arena, q_norm),
                                      att_make_number(arena, k_norm));
    return att_make_binary(arena, ATT_OP_DIVIDE, write_dot(arena, head, i, j), norms);
}

static att_expr *write_location(att_arena *arena, const att_sheet_head *head, int64_t i, int64_t j)
{
    const att_matrix *w = head->param[ATT_PARAM_W];
    const att_matrix *b = head->param[ATT_PARAM_B];
    att_expr *sum =
        att_make_dot_product(arena, w->cols, row_of(head->query, i), 1, row_of(w, j), 1);
    if (!b)
        return sum;
    return att_make_binary(arena, ATT_OP_ADD, sum, att_make_number(arena, b->data[j]));
}

/* ---------------------------------------------------------------- the table */

/* Shapes are for vectors as rows, where a parameter is to the right of the vector: q is d_q, k is
 * d_k, a the attention size, s the number of keys, c is d_q + d_k, 1 is one. The W of the general
 * score is between query and key and has the same layout in both orientations. The parameter v is
 * called v_a in formulas, because v denotes the values there. */
const att_score_spec att_score_specs[ATT_SCORE_COUNT] = {
    [ATT_SCORE_DOT] = { ATT_SCORE_DOT,
                        true,
                        "q * k'",
                        "q' * k",
                        "the dot product of each query and each key: one score per pair",
                        { NULL },
                        "",
                        write_dot },
    [ATT_SCORE_SCALED] = { ATT_SCORE_SCALED,
                           true,
                           "q * k'",
                           "q' * k",
                           "the dot product of each query and each key: one product per pair",
                           { NULL },
                           "",
                           write_dot },
    [ATT_SCORE_GENERAL] = { ATT_SCORE_GENERAL,
                            false,
                            "q * projected'",
                            "q' * projected",
                            "the dot product of each query and each projected key: one score per "
                            "pair",
                            { [ATT_PARAM_W] = "qk" },
                            "",
                            write_general },
    [ATT_SCORE_ADDITIVE] = { ATT_SCORE_ADDITIVE,
                             false,
                             "tanh(q_i * W + k_j * U< + b>) * v_a'",
                             "v_a' * tanh(W * q_i + U * k_j< + b>)",
                             "a feed-forward network with one hidden layer scores query i and key "
                             "j",
                             { [ATT_PARAM_W] = "qa",
                               [ATT_PARAM_U] = "ka",
                               [ATT_PARAM_B] = "1a",
                               [ATT_PARAM_V] = "1a" },
                             "b",
                             write_additive },
    [ATT_SCORE_CONCAT] = { ATT_SCORE_CONCAT,
                           false,
                           "relu([q_i, k_j] * v_a')",
                           "relu(v_a' * [q_i; k_j])",
                           "query i and key j concatenated, times v_a; a negative result becomes "
                           "0",
                           { [ATT_PARAM_V] = "1c" },
                           "",
                           write_concat },
    [ATT_SCORE_GAUSSIAN] = { ATT_SCORE_GAUSSIAN,
                             true,
                             "exp(q * k')",
                             "exp(q' * k)",
                             "the exponential of the dot product of each query and each key",
                             { NULL },
                             "",
                             write_gaussian },
    [ATT_SCORE_COSINE] = { ATT_SCORE_COSINE,
                           true,
                           "q_i * k_j' / (norm(q_i) * norm(k_j))",
                           "q_i' * k_j / (norm(q_i) * norm(k_j))",
                           "the cosine of the angle between query i and key j",
                           { NULL },
                           "",
                           write_cosine },
    [ATT_SCORE_LOCATION] = { ATT_SCORE_LOCATION,
                             false,
                             "q * W< + b>",
                             "(W * q< + b>)'",
                             "the query alone determines the scores: one score per position",
                             { [ATT_PARAM_W] = "qs", [ATT_PARAM_B] = "1s" },
                             "b",
                             write_location },
};

/* ---------------------------------------------------------------- parameters */

static const char *const param_names[ATT_PARAMS] = { "W", "U", "b", "v" };

/* The symbols of a shape, their names in errors, and the sizes they have in a head. The attention
 * size is unknown, -1, until the first parameter determines it. */
enum { SIZE_QUERY, SIZE_KEY, SIZE_KEYS, SIZE_BOTH, SIZE_HIDDEN, SIZE_ONE, SIZES };
static const char size_letters[] = "qksca1";
static const char *const size_names[SIZES] = { "d_q", "d_k", "n_k", "(d_q + d_k)", "A", "1" };

struct sizes {
    int64_t of[SIZES];
};

static size_t size_index(char symbol)
{
    return (size_t)(strchr(size_letters, symbol) - size_letters);
}

/* "4", or "A" where it is unknown. */
static const char *size_text(att_arena *arena, const struct sizes *sizes, size_t index)
{
    int64_t size = sizes->of[index];
    return size < 0 ? size_names[index] : att_arena_printf(arena, "%" PRId64, size);
}

static att_status fail_shape(const att_sheet_layer *layer, const char *score, const char *name,
                             const att_matrix *found, const char shape[2], bool turned,
                             const struct sizes *sizes)
{
    size_t first = size_index(shape[turned ? 1 : 0]);
    size_t second = size_index(shape[turned ? 0 : 1]);
    const char *rows = size_text(layer->call->arena, sizes, first);
    const char *cols = size_text(layer->call->arena, sizes, second);
    if (!rows || !cols)
        return att_fail_memory(layer->call->err);
    return att_call_fail(layer->call, att_option_node(layer->call, name),
                         "%s: %s is %" PRId64 " × %" PRId64
                         ", but the %s score needs %s × %s, here %s × %s",
                         layer->call->function->name, name, found->rows, found->cols, score,
                         size_names[first], size_names[second], rows, cols);
}

/* Converts a parameter to the layout of attend.h: vectors as one row, matrices [A,Kq]. */
static const att_matrix *to_row_layout(const att_sheet_layer *layer, const att_matrix *matrix,
                                       bool vector, bool general)
{
    att_sheet_layer turning = *layer;
    turning.columns = vector ? matrix->rows != 1 : !layer->columns && !general;
    return att_sheet_layer_orient(&turning, matrix);
}

/* Whether a size is as expected. An unknown size is set by the first parameter that has it; the
 * location score may have more positions than there are keys. */
static bool size_fits(int64_t size, char symbol, struct sizes *sizes)
{
    size_t index = size_index(symbol);
    if (size == 0)
        return false;
    if (sizes->of[index] < 0)
        sizes->of[index] = size;
    return index == SIZE_KEYS ? size >= sizes->of[index] : size == sizes->of[index];
}

static att_status read_param(const att_sheet_layer *layer, const att_sheet_attention *attention,
                             att_sheet_head *head, size_t param, struct sizes *sizes)
{
    const att_score_spec *score = &att_score_specs[attention->options.score];
    const char *score_name = att_score_name(attention->options.score);
    const char *name = param_names[param];
    const char *shape = score->shapes[param];
    const att_matrix *given;
    ATT_TRY(att_sheet_attention_option(layer, attention, name, head->number, &given));
    if (!given) {
        if (!shape || strstr(score->optional, name))
            return ATT_OK;
        return att_call_fail(layer->call, NULL, "%s: the %s score needs the parameter %s",
                             layer->call->function->name, score_name, name);
    }
    if (!shape)
        return att_call_fail(layer->call, att_option_node(layer->call, name),
                             "%s: the %s score has no parameter %s", layer->call->function->name,
                             score_name, name);
    bool vector = shape[0] == '1';
    bool general = score->score == ATT_SCORE_GENERAL;
    bool turned = layer->columns && !general && !vector;
    bool upright = vector && given->cols == 1;
    int64_t rows = turned || upright ? given->cols : given->rows;
    int64_t cols = turned || upright ? given->rows : given->cols;
    struct sizes before = *sizes;
    if (!size_fits(rows, shape[0], sizes) || !size_fits(cols, shape[1], sizes))
        return fail_shape(layer, score_name, name, given, shape, turned, &before);
    head->param[param] = to_row_layout(layer, given, vector, general);
    return head->param[param] ? ATT_OK : att_fail_memory(layer->call->err);
}

att_status att_sheet_head_read_params(const att_sheet_layer *layer,
                                      const att_sheet_attention *attention, att_sheet_head *head)
{
    struct sizes sizes = { .of = { [SIZE_QUERY] = head->query->cols,
                                   [SIZE_KEY] = head->key->cols,
                                   [SIZE_KEYS] = head->key->rows,
                                   [SIZE_BOTH] = head->query->cols + head->key->cols,
                                   [SIZE_HIDDEN] = -1,
                                   [SIZE_ONE] = 1 } };
    for (size_t param = 0; param < ATT_PARAMS; param++)
        ATT_TRY(read_param(layer, attention, head, param, &sizes));
    return ATT_OK;
}
