/* One head of attention: checks shapes and options, and computes the result with the
 * double-precision reference (att_attention_forward_reference). */
#include "sheet/blocks.h"

#include <inttypes.h>
#include <math.h>

static int64_t queries_of(const att_sheet_head *head)
{
    return head->query->rows;
}

static int64_t keys_of(const att_sheet_head *head)
{
    return head->key->rows;
}

/* ---------------------------------------------------------------- checks */

/* "d_q = d_k" for scores that multiply q and k, "n_v = n_k" always. Messages use the names and
 * shapes of the sheet. */
static att_status check_shapes(const att_sheet_layer *layer, const att_sheet_attention *attention,
                               const att_sheet_head *head)
{
    const char *function = layer->call->function->name;
    const att_matrix *q = head->q.matrix;
    const att_matrix *k = head->k.matrix;
    const att_matrix *v = head->v.matrix;
    if (att_score_specs[attention->options.score].needs_equal_width &&
        head->query->cols != head->key->cols)
        return att_call_fail(layer->call, head->k.node,
                             "%s: %s is %" PRId64 " × %" PRId64 " and %s is %" PRId64 " × %" PRId64
                             ": the %s score needs d_q = d_k, but %" PRId64 " ≠ %" PRId64,
                             function, head->q.name, q->rows, q->cols, head->k.name, k->rows,
                             k->cols, att_score_name(attention->options.score), head->query->cols,
                             head->key->cols);
    if (head->value->rows != head->key->rows)
        return att_call_fail(layer->call, head->v.node,
                             "%s: %s is %" PRId64 " × %" PRId64 " and %s is %" PRId64 " × %" PRId64
                             ": each key needs one value, n_v = n_k, but %" PRId64 " ≠ %" PRId64,
                             function, head->v.name, v->rows, v->cols, head->k.name, k->rows,
                             k->cols, head->value->rows, head->key->rows);
    return ATT_OK;
}

/* A matrix option over pairs of query and key; a single row or column is broadcast. */
static att_status read_pairs(const att_sheet_layer *layer, const att_sheet_attention *attention,
                             const att_sheet_head *head, const char *name, const att_matrix **out)
{
    ATT_TRY(att_sheet_attention_option(layer, attention, name, head->number, out));
    const att_matrix *m = *out;
    if (!m || ((m->rows == 1 || m->rows == queries_of(head)) &&
               (m->cols == 1 || m->cols == keys_of(head))))
        return ATT_OK;
    return att_call_fail(
        layer->call, att_option_node(layer->call, name),
        "%s: %s is %" PRId64 " × %" PRId64 ", but there are %" PRId64 " queries and %" PRId64
        " keys: expected n_q × n_k (a side of 1 is repeated)",
        layer->call->function->name, name, m->rows, m->cols, queries_of(head), keys_of(head));
}

double att_broadcast_at(const att_matrix *m, int64_t i, int64_t j)
{
    return m->data[(m->rows == 1 ? 0 : i) * m->cols + (m->cols == 1 ? 0 : j)];
}

/* alibi = slope, or one slope per head. */
static att_status read_alibi_slope(const att_sheet_layer *layer,
                                   const att_sheet_attention *attention, att_sheet_head *head)
{
    const att_matrix *m;
    ATT_TRY(att_sheet_attention_option(layer, attention, "alibi", head->number, &m));
    if (!m)
        return ATT_OK;
    int64_t count = m->rows * m->cols;
    bool single = count == 1;
    bool listed = (m->rows == 1 || m->cols == 1) && count == attention->heads && head->number > 0;
    double slope = single ? m->data[0] : listed ? m->data[head->number - 1] : (double)NAN;
    if (!isfinite(slope))
        return att_call_fail(layer->call, att_option_node(layer->call, "alibi"),
                             "%s: alibi: expected one finite slope, or one for each head",
                             layer->call->function->name);
    head->alibi_slope = slope;
    return ATT_OK;
}

/* The dense mask of 0 and 1 as bytes; NULL if absent. */
static att_status read_mask(const att_sheet_layer *layer, const att_sheet_attention *attention,
                            const att_sheet_head *head, uint8_t **out)
{
    const att_value *given = att_call_option(layer->call, "mask");
    *out = NULL;
    if (!given || given->kind == ATT_VALUE_WORD)
        return ATT_OK;
    const att_matrix *mask;
    ATT_TRY(read_pairs(layer, attention, head, "mask", &mask));
    size_t queries = (size_t)queries_of(head);
    size_t keys = (size_t)keys_of(head);
    *out = att_arena_alloc(layer->call->arena, queries * keys, 1);
    if (!*out)
        return att_fail_memory(layer->call->err);
    for (size_t i = 0; i < queries; i++) {
        for (size_t j = 0; j < keys; j++) {
            double bit = att_broadcast_at(mask, (int64_t)i, (int64_t)j);
            if (bit != 0.0 && bit != 1.0)
                return att_call_fail(layer->call, att_option_node(layer->call, "mask"),
                                     "%s: mask holds 1 where a query may attend a key and 0 where "
                                     "not; for query %zu and key %zu it holds %g",
                                     layer->call->function->name, i + 1, j + 1, bit);
            (*out)[i * keys + j] = bit == 1.0;
        }
    }
    return ATT_OK;
}

static att_status check_length(const att_sheet_layer *layer, const att_sheet_attention *attention,
                               const att_sheet_head *head)
{
    if (attention->length <= keys_of(head))
        return ATT_OK;
    return att_call_fail(layer->call, att_option_node(layer->call, "length"),
                         "%s: length = %" PRId64 ", but there are only %" PRId64 " keys",
                         layer->call->function->name, attention->length, keys_of(head));
}

/* The reference computes each pair separately: the general and the additive score apply W (and U)
 * every time. */
static att_status check_work(const att_sheet_layer *layer, const att_sheet_attention *attention,
                             const att_sheet_head *head)
{
    double pair = (double)(head->query->cols + head->key->cols + head->value->cols);
    for (size_t i = ATT_PARAM_W; i <= ATT_PARAM_U; i++)
        if (head->param[i] && attention->options.score != ATT_SCORE_LOCATION)
            pair += (double)head->param[i]->rows * (double)head->param[i]->cols;
    return att_sheet_layer_check_cost(layer->call,
                                      (double)queries_of(head) * (double)keys_of(head) * pair);
}

/* ---------------------------------------------------------------- the reference */

static att_tensor view3(const att_matrix *m)
{
    return att_tensor_view(m->data, ATT_F64, 3, (int64_t[]){ 1, m->rows, m->cols });
}

static att_tensor view_vectors(const att_matrix *m)
{
    return att_tensor_view(m->data, ATT_F64, 4, (int64_t[]){ 1, m->rows, 1, m->cols });
}

static att_tensor view_pairs(const att_matrix *m)
{
    return att_tensor_view(m->data, ATT_F64, 4, (int64_t[]){ 1, 1, m->rows, m->cols });
}

/* A vector parameter is [H,A], without a dimension for rows. */
static att_tensor view_param(const att_matrix *m, size_t param)
{
    if (param == ATT_PARAM_B || param == ATT_PARAM_V)
        return att_tensor_view(m->data, ATT_F64, 2, (int64_t[]){ 1, m->cols });
    return view3(m);
}

att_status att_sheet_head_reference(const att_sheet_layer *layer,
                                    const att_attention_options *options,
                                    const att_sheet_head *head, att_matrix *scores,
                                    att_matrix *weights, att_matrix *output)
{
    att_tensor query = view_vectors(head->query);
    att_tensor key = view_vectors(head->key);
    att_tensor value = view_vectors(head->value);
    att_tensor param[ATT_PARAMS];
    for (size_t i = 0; i < ATT_PARAMS; i++)
        if (head->param[i])
            param[i] = view_param(head->param[i], i);
    att_tensor bias = head->bias ? view_pairs(head->bias) : (att_tensor){ 0 };
    att_tensor slope = att_tensor_view(&head->alibi_slope, ATT_F64, 1, (int64_t[]){ 1 });
    att_attention_inputs in = {
        .query = &query,
        .key = &key,
        .value = &value,
        .score_w = head->param[ATT_PARAM_W] ? &param[ATT_PARAM_W] : NULL,
        .score_u = head->param[ATT_PARAM_U] ? &param[ATT_PARAM_U] : NULL,
        .score_b = head->param[ATT_PARAM_B] ? &param[ATT_PARAM_B] : NULL,
        .score_v = head->param[ATT_PARAM_V] ? &param[ATT_PARAM_V] : NULL,
        .bias = head->bias ? &bias : NULL,
        .alibi = head->alibi_slope != 0.0 ? &slope : NULL,
    };
    att_tensor scores_view = view_pairs(scores);
    att_tensor weights_view = weights ? view_pairs(weights) : (att_tensor){ 0 };
    att_tensor output_view = view_vectors(output);
    att_attention_outputs out = { .output = &output_view,
                                  .scores = &scores_view,
                                  .weights = weights ? &weights_view : NULL };
    att_error err = { 0 };
    att_status status = att_attention_forward_reference(options, &in, &out, &err);
    if (status == ATT_BAD_INPUT)
        return att_call_fail(layer->call, NULL, "%s: %s", layer->call->function->name, err.message);
    if (status != ATT_OK && layer->call->err)
        *layer->call->err = err;
    return status;
}

/* Finds the pairs that the masks allow, with the reference itself: all vectors are zero, so only a
 * masked pair has a score of minus infinity. */
static att_status find_allowed(const att_sheet_layer *layer, const att_attention_options *options,
                               att_sheet_head *head)
{
    bool masked = options->causal || options->window || options->key_lengths || options->mask;
    if (!masked)
        return ATT_OK;
    att_arena *arena = layer->call->arena;
    int64_t queries = queries_of(head);
    int64_t keys = keys_of(head);
    att_matrix *scores = att_matrix_new(arena, queries, keys);
    att_matrix *output = att_matrix_new(arena, queries, 1);
    uint8_t *allowed = att_arena_alloc(arena, (size_t)queries * (size_t)keys, 1);
    att_sheet_head blank = { .query = att_matrix_new(arena, queries, 1),
                             .key = att_matrix_new(arena, keys, 1),
                             .value = att_matrix_new(arena, keys, 1) };
    if (!scores || !output || !allowed || !blank.query || !blank.key || !blank.value)
        return att_fail_memory(layer->call->err);
    att_attention_options only_masks = *options;
    only_masks.score = ATT_SCORE_DOT;
    only_masks.normalizer = ATT_NORMALIZE_NONE;
    ATT_TRY(att_sheet_head_reference(layer, &only_masks, &blank, scores, NULL, output));
    for (int64_t i = 0; i < queries * keys; i++)
        allowed[i] = isinf(scores->data[i]) ? 0 : 1;
    head->allowed = allowed;
    return ATT_OK;
}

/* Whether the scores differ from the products that they are computed from. */
static bool has_raw_scores(const att_attention_options *options, const att_sheet_head *head)
{
    return options->score == ATT_SCORE_SCALED || options->scale != 0.0 ||
           options->soft_cap != 0.0 || head->bias || head->alibi_slope != 0.0;
}

/* Computes the scores before scale, soft cap, bias and mask. */
static att_status compute_raw_scores(const att_sheet_layer *layer,
                                     const att_attention_options *options, att_sheet_head *head)
{
    if (!has_raw_scores(options, head))
        return ATT_OK;
    att_matrix *products = att_matrix_new(layer->call->arena, queries_of(head), keys_of(head));
    if (!products)
        return att_fail_memory(layer->call->err);
    att_attention_options raw = { .size = sizeof(att_attention_options),
                                  .score = options->score == ATT_SCORE_SCALED ? ATT_SCORE_DOT
                                                                              : options->score,
                                  .normalizer = ATT_NORMALIZE_NONE };
    att_sheet_head bare = *head;
    bare.bias = NULL;
    bare.alibi_slope = 0.0;
    ATT_TRY(att_sheet_head_reference(layer, &raw, &bare, products, NULL, head->output));
    products->row_labels = head->query->row_labels;
    products->col_labels = head->key->row_labels;
    head->raw_scores = products;
    return ATT_OK;
}

static void label_results(att_sheet_head *head)
{
    att_matrix *pairs[] = { head->scores, head->weights };
    for (size_t i = 0; i < 2; i++) {
        pairs[i]->row_labels = head->query->row_labels;
        pairs[i]->col_labels = head->key->row_labels;
        pairs[i]->allowed = head->allowed;
    }
    head->output->row_labels = head->query->row_labels;
    head->output->col_labels = head->value->col_labels;
    head->output->magnitude = att_matrix_largest(head->value);
    if (head->key->cols == head->query->cols)
        head->scores->magnitude = att_matrix_largest(head->query) * att_matrix_largest(head->key);
}

static att_status compute(const att_sheet_layer *layer, const att_sheet_attention *attention,
                          att_sheet_head *head, const uint8_t *mask)
{
    att_arena *arena = layer->call->arena;
    att_attention_options options = attention->options;
    options.key_lengths = attention->length >= 0 ? &attention->length : NULL;
    options.mask = mask;
    options.mask_stride[2] = keys_of(head);
    options.mask_stride[3] = 1;
    head->scores = att_matrix_new(arena, queries_of(head), keys_of(head));
    head->weights = att_matrix_new(arena, queries_of(head), keys_of(head));
    head->output = att_matrix_new(arena, queries_of(head), head->value->cols);
    if (!head->scores || !head->weights || !head->output)
        return att_fail_memory(layer->call->err);
    ATT_TRY(find_allowed(layer, &options, head));
    ATT_TRY(compute_raw_scores(layer, &options, head));
    ATT_TRY(
        att_sheet_head_reference(layer, &options, head, head->scores, head->weights, head->output));
    label_results(head);
    ATT_TRY(att_sheet_head_apply_scenario(layer, &options, head));
    return layer->call->rounding
               ? att_sheet_head_round(layer, attention, head, (att_matrix *)head->raw_scores)
               : ATT_OK;
}

att_status att_sheet_head_compute(att_sheet_layer *layer, const att_sheet_attention *attention,
                                  att_sheet_head *head)
{
    uint8_t *mask;
    ATT_TRY(check_shapes(layer, attention, head));
    ATT_TRY(att_sheet_head_read_params(layer, attention, head));
    ATT_TRY(read_pairs(layer, attention, head, "bias", &head->bias));
    ATT_TRY(read_alibi_slope(layer, attention, head));
    ATT_TRY(read_mask(layer, attention, head, &mask));
    ATT_TRY(check_length(layer, attention, head));
    ATT_TRY(check_work(layer, attention, head));
    ATT_TRY(compute(layer, attention, head, mask));
    return att_sheet_head_add_parts(layer, attention, head);
}
