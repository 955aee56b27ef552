/* attention, self_attention, cross_attention and multihead: the projections to queries, keys and
 * values, and the concatenation of heads. The head itself is in blocks_head.c. */
#include "sheet/blocks.h"

#include "sheet/matrix.h"

#include <inttypes.h>

/* Parts of one head: q, k, v, projected (or qW and kU), products, scores, weights, output. */
enum { HEAD_PARTS = 9, SHARED_PARTS = 4, MAX_HEADS = 4096 };

/* Adds an argument as a part, under the name that formulas use: q = s. */
static att_status add_input(att_sheet_layer *layer, const char *name, const char *description,
                            const att_argument *input)
{
    return att_sheet_layer_add(layer, &(att_trace_part){ .name = name,
                                                         .description = description,
                                                         .formula = input->node,
                                                         .value = input->matrix });
}

att_status att_run_attention(const att_call *call, att_value *out)
{
    att_sheet_layer layer;
    att_sheet_attention attention;
    att_sheet_head head = { 0 };
    ATT_TRY(att_sheet_layer_start(&layer, call, HEAD_PARTS));
    ATT_TRY(att_sheet_attention_read(&layer, 1, &attention));
    ATT_TRY(att_argument_get(call, 0, "q", &head.q));
    ATT_TRY(att_argument_get(call, 1, "k", &head.k));
    ATT_TRY(att_argument_get(call, 2, "v", &head.v));
    ATT_TRY(add_input(&layer, "q", "the queries", &head.q));
    ATT_TRY(add_input(&layer, "k", "the keys", &head.k));
    ATT_TRY(add_input(&layer, "v", "the values", &head.v));
    head.query = att_sheet_layer_orient(&layer, head.q.matrix);
    head.key = att_sheet_layer_orient(&layer, head.k.matrix);
    head.value = att_sheet_layer_orient(&layer, head.v.matrix);
    if (!head.query || !head.key || !head.value)
        return att_fail_memory(call->err);
    ATT_TRY(att_sheet_head_compute(&layer, &attention, &head));
    att_sheet_layer_finish(&layer, out);
    return ATT_OK;
}

/* ---------------------------------------------------------------- projections */

/* The output of a projection. */
enum role { ROLE_QUERY, ROLE_KEY, ROLE_VALUE, ROLES };

static const struct {
    const char *part;
    const char *weight;
    const char *description;
} roles[ROLES] = {
    [ROLE_QUERY] = { "q", "W_q", "the queries: what each vector searches for" },
    [ROLE_KEY] = { "k", "W_k", "the keys: what each vector is matched by" },
    [ROLE_VALUE] = { "v", "W_v", "the values: what each vector contributes" },
};

/* Adds the part x w (x itself if w has no matrix) and returns its vectors as rows. */
static att_status project(att_sheet_layer *layer, enum role role, int64_t head,
                          const att_argument *x, const att_argument *w, const att_matrix **rows)
{
    att_calculations calculations = { 0 };
    const att_matrix *value = x->matrix;
    const att_expr *formula = x->node;
    if (w->matrix) {
        ATT_TRY(att_argument_check_linear(layer, x, w));
        value =
            att_sheet_layer_linear(layer, x->matrix, w->matrix, roles[role].part, &calculations);
        formula = att_sheet_layer_linear_formula(layer, x->node, w->node);
    }
    value = att_scenario_product(layer, roles[role].part, head, x, w, value);
    *rows = att_sheet_layer_orient(layer, value);
    if (!value || !formula || !*rows)
        return att_fail_memory(layer->call->err);
    return att_sheet_layer_add(layer, &(att_trace_part){ .name = roles[role].part,
                                                         .head = head,
                                                         .description = roles[role].description,
                                                         .formula = formula,
                                                         .value = value,
                                                         .calculations = calculations.items,
                                                         .calculation_count = calculations.count });
}

/* One head with projections: queries from x, keys and values from y. */
static att_status compute_projected(att_sheet_layer *layer, const att_sheet_attention *attention,
                                    int64_t number, const att_argument *x, const att_argument *y,
                                    const att_argument w[ROLES], att_sheet_head *head)
{
    *head = (att_sheet_head){ .number = number,
                              .q = w[ROLE_QUERY],
                              .k = w[ROLE_KEY],
                              .v = w[ROLE_VALUE].matrix ? w[ROLE_VALUE] : *y };
    ATT_TRY(project(layer, ROLE_QUERY, number, x, &w[ROLE_QUERY], &head->query));
    ATT_TRY(project(layer, ROLE_KEY, number, y, &w[ROLE_KEY], &head->key));
    ATT_TRY(project(layer, ROLE_VALUE, number, y, &w[ROLE_VALUE], &head->value));
    return att_sheet_head_compute(layer, attention, head);
}

/* Cross-attention has a separate argument for keys and values; self-attention does not. */
static att_status run_single(const att_call *call, bool cross, att_value *out)
{
    att_sheet_layer layer;
    att_sheet_attention attention;
    att_sheet_head head;
    att_argument x, y, w[ROLES] = { { 0 } };
    size_t next = 0;
    ATT_TRY(att_sheet_layer_start(&layer, call, HEAD_PARTS + SHARED_PARTS));
    ATT_TRY(att_sheet_attention_read(&layer, 1, &attention));
    ATT_TRY(att_argument_get(call, next++, "X", &x));
    ATT_TRY(add_input(&layer, "x", "the input vectors", &x));
    y = x;
    if (cross) {
        ATT_TRY(att_argument_get(call, next++, "Y", &y));
        ATT_TRY(add_input(&layer, "y", "the vectors attended to", &y));
    }
    for (int role = 0; role < ROLES && next < call->arg_count; role++)
        ATT_TRY(att_argument_get(call, next++, roles[role].weight, &w[role]));
    ATT_TRY(compute_projected(&layer, &attention, 0, &x, &y, w, &head));
    att_sheet_layer_finish(&layer, out);
    return ATT_OK;
}

att_status att_run_self_attention(const att_call *call, att_value *out)
{
    return run_single(call, false, out);
}

att_status att_run_cross_attention(const att_call *call, att_value *out)
{
    return run_single(call, true, out);
}

/* ---------------------------------------------------------------- several heads */

/* The matrices of one role: a list with one matrix per head, or one matrix of all heads side by
 * side. */
struct weights {
    const char *name;
    att_expr *node;
    const att_value *value;
    int64_t count;
};

static att_status read_weights(const att_call *call, enum role role, int64_t heads,
                               struct weights *out)
{
    size_t index = (size_t)role + 1;
    att_expr *node = call->node->child[index];
    const att_value *value = &call->args[index];
    *out = (struct weights){ .name = att_argument_name(call, node, roles[role].weight),
                             .node = node,
                             .value = value,
                             .count = heads };
    if (!out->name)
        return att_fail_memory(call->err);
    if (value->kind != ATT_VALUE_LIST) {
        const att_matrix *matrix;
        return att_call_matrix(call, index, &matrix);
    }
    out->count = (int64_t)value->item_count;
    return ATT_OK;
}

/* The slice of head `index` of a matrix with all heads side by side (one above the other where
 * vectors are columns). */
static att_status split(const att_sheet_layer *layer, const struct weights *weights, int64_t index,
                        const att_matrix **out)
{
    const att_matrix *whole = att_sheet_layer_orient(layer, weights->value->matrix);
    if (!whole)
        return att_fail_memory(layer->call->err);
    if (whole->cols % weights->count != 0)
        return att_call_fail(layer->call, weights->node,
                             "%s: the %" PRId64 " %s of %s cannot be shared by %" PRId64 " heads",
                             layer->call->function->name, whole->cols,
                             layer->columns ? "rows" : "columns", weights->name, weights->count);
    int64_t width = whole->cols / weights->count;
    int64_t *cols = att_arena_alloc(layer->call->arena, (size_t)width, sizeof *cols);
    if (!cols)
        return att_fail_memory(layer->call->err);
    for (int64_t j = 0; j < width; j++)
        cols[j] = index * width + j;
    *out = att_sheet_layer_orient(
        layer, att_matrix_select(layer->call->arena, whole, NULL, whole->rows, cols, width));
    return *out ? ATT_OK : att_fail_memory(layer->call->err);
}

/* The name of the slice of head `index`: as in the list, or the matrix's name with a subscript. */
static att_status name_weight(const att_sheet_layer *layer, const struct weights *weights,
                              int64_t index, att_argument *out)
{
    att_arena *arena = layer->call->arena;
    const char *usage_name = att_arena_printf(arena, "%s[%" PRId64 "]", weights->name, index + 1);
    if (!usage_name)
        return att_fail_memory(layer->call->err);
    if (weights->node->kind == ATT_EXPR_LIST) {
        out->node = weights->node->child[index];
        out->name = att_argument_name(layer->call, out->node, usage_name);
    } else {
        out->node = att_make_indexed(arena, weights->name, index + 1, -1);
        out->name = usage_name;
        if (out->node) { /* errors point at the whole matrix */
            out->node->line = weights->node->line;
            out->node->column = weights->node->column;
        }
    }
    return out->name && out->node ? ATT_OK : att_fail_memory(layer->call->err);
}

/* The matrix of head `index`, from 0. */
static att_status read_weight(const att_sheet_layer *layer, const struct weights *weights,
                              int64_t index, att_argument *out)
{
    bool listed = weights->value->kind == ATT_VALUE_LIST;
    *out = (att_argument){ .name = weights->name, .node = weights->node };
    if (listed || weights->count > 1)
        ATT_TRY(name_weight(layer, weights, index, out));
    if (listed)
        out->matrix = weights->value->items[index].matrix;
    else if (weights->count == 1)
        out->matrix = weights->value->matrix;
    else
        ATT_TRY(split(layer, weights, index, &out->matrix));
    return att_argument_check(layer->call, out);
}

/* Counts the query heads; groups of them may share a key and value head (grouped-query
 * attention). */
static att_status count_heads(const att_call *call, struct weights w[ROLES], int64_t *out)
{
    int64_t heads = 1;
    ATT_TRY(att_option_integer(call, "heads", 1, MAX_HEADS, &heads));
    for (int role = 0; role < ROLES; role++)
        ATT_TRY(read_weights(call, (enum role)role, heads, &w[role]));
    *out = w[ROLE_QUERY].count;
    if (att_call_option(call, "heads") && *out != heads)
        return att_call_fail(call, att_option_node(call, "heads"),
                             "%s: heads = %" PRId64 ", but %s lists %" PRId64, call->function->name,
                             heads, w[ROLE_QUERY].name, *out);
    if (w[ROLE_KEY].count == w[ROLE_VALUE].count && *out % w[ROLE_KEY].count == 0)
        return ATT_OK;
    return att_call_fail(
        call, NULL,
        "%s: there are %" PRId64 " query, %" PRId64 " key and %" PRId64
        " value heads: expected as many key heads as value heads, and a multiple of that "
        "as query heads",
        call->function->name, *out, w[ROLE_KEY].count, w[ROLE_VALUE].count);
}

/* Concatenates the outputs [head 1, head 2, …]; heads may differ in width. */
static const att_matrix *concatenate(att_arena *arena, const att_sheet_head *heads, int64_t count)
{
    const att_matrix **outputs = att_arena_alloc(arena, (size_t)count, sizeof *outputs);
    if (!outputs)
        return NULL;
    for (int64_t h = 0; h < count; h++)
        outputs[h] = heads[h].output;
    return att_matrix_hstack(arena, outputs, (size_t)count);
}

/* "[output_1, output_2]", separated by ; where vectors are columns. */
static const att_expr *concatenate_formula(const att_sheet_layer *layer, int64_t count)
{
    att_arena *arena = layer->call->arena;
    const char *text = "[output_1";
    for (int64_t h = 2; h <= count && text; h++) {
        bool skip = count > 4 && h > 2 && h < count;
        if (!skip)
            text = att_arena_printf(arena, "%s%s output_%" PRId64, text, layer->columns ? ";" : ",",
                                    h);
    }
    text = text ? att_arena_printf(arena, "%s]", text) : NULL;
    return text ? att_formula(arena, text) : NULL;
}

/* Adds the concatenated heads and, if W_O is given, the output projection. */
static att_status join_heads(att_sheet_layer *layer, const att_sheet_head *heads, int64_t count)
{
    const att_call *call = layer->call;
    const att_matrix *joined_rows = concatenate(call->arena, heads, count);
    const att_matrix *all =
        att_scenario_heads(layer, heads, count, att_sheet_layer_orient(layer, joined_rows));
    const att_expr *formula = concatenate_formula(layer, count);
    if (!all || !formula)
        return att_fail_memory(call->err);
    ATT_TRY(att_sheet_layer_add(
        layer,
        &(att_trace_part){ .name = "heads",
                           .description = layer->columns
                                              ? "the outputs of all heads, concatenated vertically"
                                              : "the outputs of all heads, concatenated",
                           .formula = formula,
                           .value = all }));
    if (call->arg_count <= ROLES + 1)
        return ATT_OK;
    att_argument w, joined = { .matrix = all, .name = "heads" };
    att_calculations calculations = { 0 };
    ATT_TRY(att_argument_get(call, ROLES + 1, "W_O", &w));
    if (call->scenario &&
        (layer->columns ? w.matrix->cols != all->rows : w.matrix->rows != all->cols))
        return ATT_OK; /* heads that were added, not concatenated */
    ATT_TRY(att_argument_check_linear(layer, &joined, &w));
    const att_expr *mapping = att_sheet_layer_linear_formula(
        layer, (att_expr *)att_formula(call->arena, "heads"), w.node);
    const att_matrix *output = att_sheet_layer_linear(layer, all, w.matrix, "y", &calculations);
    if (!mapping)
        return att_fail_memory(call->err);
    return att_sheet_layer_add(
        layer, &(att_trace_part){ .name = "output",
                                  .description = "the output projection of the concatenated heads",
                                  .formula = mapping,
                                  .value = output,
                                  .calculations = calculations.items,
                                  .calculation_count = calculations.count });
}

/* Queries come from X; keys and values from X, or from the matrix of the option `from`. */
static att_status read_inputs(att_sheet_layer *layer, att_argument *x, att_argument *y)
{
    const att_call *call = layer->call;
    ATT_TRY(att_argument_get(call, 0, "X", x));
    ATT_TRY(add_input(layer, "x", "the input vectors", x));
    *y = *x;
    const att_value *from = att_call_option(call, "from");
    if (!from)
        return ATT_OK;
    att_expr *node = (att_expr *)att_option_node(call, "from");
    if (!from->matrix || from->matrix->rows == 0 || from->matrix->cols == 0)
        return att_call_fail(call, node, "%s: from takes a matrix", call->function->name);
    *y = (att_argument){ .matrix = from->matrix,
                         .name = att_argument_name(call, node, "Y"),
                         .node = node };
    if (!y->name)
        return att_fail_memory(call->err);
    return add_input(layer, "y", "the vectors attended to", y);
}

att_status att_run_multihead(const att_call *call, att_value *out)
{
    struct weights weights[ROLES];
    int64_t count;
    att_sheet_layer layer;
    att_sheet_attention attention;
    att_argument x, y;
    ATT_TRY(count_heads(call, weights, &count));
    ATT_TRY(att_sheet_layer_start(&layer, call, (size_t)count * HEAD_PARTS + SHARED_PARTS));
    ATT_TRY(att_sheet_attention_read(&layer, count, &attention));
    ATT_TRY(read_inputs(&layer, &x, &y));
    att_sheet_head *heads = att_arena_alloc(call->arena, (size_t)count, sizeof *heads);
    if (!heads)
        return att_fail_memory(call->err);
    for (int64_t h = 0; h < count; h++) {
        att_argument w[ROLES];
        for (int role = 0; role < ROLES; role++)
            ATT_TRY(read_weight(&layer, &weights[role], h * weights[role].count / count, &w[role]));
        ATT_TRY(compute_projected(&layer, &attention, h + 1, &x, &y, w, &heads[h]));
    }
    ATT_TRY(join_heads(&layer, heads, count));
    att_sheet_layer_finish(&layer, out);
    return ATT_OK;
}
