/* Backward of one chunk of keys; see fused_backward.h. With P the weights and dP their gradients,
 *     dP = dO Vᵀ,  dS = P ∘ (dP - D),  D_i = dO_i · O_i = Σ_j P_ij dP_ij,
 *     dV = Pᵀ dO,  dK = dSᵀ Q,  dQ = dS K,
 * the last two times the scale. Dropout multiplies by 1/(1-p) or 0: the factor is applied to dO
 * before it is multiplied with V and to the final dV; the zeros are a mask on P and dP. */
#include "attention/fused_backward.h"
#include "attention/tensor_element.h"
#include "base/minmax.h"
#include "base/progress.h"

#include <math.h>
#include <string.h>

static bool all_active(const att_query_tile *tile)
{
    return tile->active == (uint32_t)(((uint64_t)1 << tile->queries) - 1);
}

/* The rows of a tile, one after another; those of queries that may attend no key become zeros,
 * whatever they hold. Rows that collide in the cache are copied: every strip of keys reads them all
 * again. */
static att_matrix_view active_rows(const att_tensor *tensor, const att_sequence_head *head,
                                   const att_query_tile *tile, float *room)
{
    att_matrix_view rows =
        att_tensor_head_rows(tensor, head->b, tile->first, head->h, tile->queries, room);
    if (all_active(tile) && !att_rows_collide(tensor))
        return rows;
    size_t size = rows.columns * sizeof *room;
    for (size_t q = 0; q < tile->queries; q++) {
        float *row = room + q * rows.columns;
        if (!(tile->active >> q & 1))
            memset(row, 0, size);
        else
            memmove(row, rows.data + (ptrdiff_t)q * rows.stride, size);
    }
    return (att_matrix_view){ room, (ptrdiff_t)rows.columns, rows.rows, rows.columns };
}

/* A query without keys has the log-sum-exp -inf; replacing it by +inf makes all its weights 0. If
 * the query turns out to attend a key, its scores were all -inf and its weights are NaN. */
static float shift_of(float log_sum_exp)
{
    if (log_sum_exp == -INFINITY)
        return INFINITY;
    return isfinite(log_sum_exp) ? (float)((double)log_sum_exp * M_LOG2E) : NAN;
}

static void start_tile(const att_backward_pass *back, const att_sequence_head *head,
                       att_query_tile *tile, att_backward_buffers *s)
{
    const att_fused_attention *fused = &back->fused;
    const att_kernels *kern = fused->kernels;
    s->queries = active_rows(fused->problem->in->query, head, tile, s->query_buffer);
    s->output_grad_rows = active_rows(back->output_grad, head, tile, s->grad_buffer);
    s->queries_finite = kern->all_finite(s->queries) > 0;
    s->output_grad_rows_finite = kern->all_finite(s->output_grad_rows) > 0;
    kern->tile_pack(tile->query, tile->lanes, s->queries, fused->scale);
    kern->tile_pack(s->output_grad_tile, tile->lanes, s->output_grad_rows,
                    (float)fused->dropout.keep_scale);
    att_matrix_view outputs = att_tensor_head_rows(back->output, head->b, tile->first, head->h,
                                                   tile->queries, s->common.gathered);
    const att_tensor *sums = back->log_sum_exp;
    for (size_t q = 0; q < tile->lanes; q++) {
        bool active = q < tile->queries && tile->active >> q & 1;
        s->shift[q] = INFINITY;
        s->delta[q] = 0;
        if (!active)
            continue;
        int64_t i = tile->first + (int64_t)q;
        s->shift[q] = shift_of(
            (float)att_element_get(sums, att_element_offset(sums, head->b, head->h, i, 0)));
        s->delta[q] =
            kern->dot(s->output_grad_rows.data + (ptrdiff_t)q * s->output_grad_rows.stride,
                      outputs.data + (ptrdiff_t)q * outputs.stride, outputs.columns);
    }
    memset(s->query_sums, 0, tile->queries * back->key_stride * sizeof(float));
}

/* Rows whose weights are NaN: dropout multiplies by 0, and 0 · NaN must stay NaN. */
static void restore_nan(const att_query_tile *tile, att_backward_buffers *s, size_t count,
                        att_block_mask allowed)
{
    for (size_t q = 0; q < tile->queries; q++)
        for (size_t j = 0; isnan(s->shift[q]) && j < count; j++)
            if (allowed == ATT_BLOCK_MASK_FULL || s->common.mask_bits[j] >> q & 1)
                s->common.scores[j * tile->lanes + q] = NAN;
}

/* Turns scores into weights and s->grads into the gradients of the scores. Masked pairs and
 * inactive lanes get exact zeros. */
static att_block_mask recompute_weights(const att_backward_pass *back,
                                        const att_sequence_head *head, att_query_tile *tile,
                                        att_backward_buffers *s, int64_t from, size_t count)
{
    const att_fused_attention *fused = &back->fused;
    const att_kernels *kern = fused->kernels;
    float *weights = s->common.scores;
    uint32_t *allow = s->common.mask_bits;
    att_block_mask allowed = att_tile_scores(fused, head, tile, &s->common, from, count);
    if (allowed == ATT_BLOCK_MASK_EMPTY)
        return allowed;
    if (allowed == ATT_BLOCK_MASK_FULL && !all_active(tile)) {
        for (size_t j = 0; j < count; j++)
            allow[j] = tile->active;
        allowed = ATT_BLOCK_MASK_PARTIAL;
    }
    for (size_t q = 0; q < tile->queries; q++)
        if (tile->attended >> q & 1 && s->shift[q] == INFINITY)
            s->shift[q] = NAN;
    att_matrix_view values =
        att_row_copy_get(&s->common.values, fused->problem->in->value, head, from, count);
    kern->tile_scores(s->grads, tile->lanes, s->output_grad_tile, values);
    if (fused->dropout.threshold > 0) {
        att_tile_dropout_bits(fused, head, tile, &s->common, from, count);
        kern->tile_mask(s->grads, tile->lanes, count, s->common.dropout_bits, 0);
    }
    kern->tile_softmax_backward(weights, s->grads, tile->lanes, count, s->shift, s->delta);
    if (allowed == ATT_BLOCK_MASK_PARTIAL) {
        kern->tile_mask(weights, tile->lanes, count, allow, 0);
        kern->tile_mask(s->grads, tile->lanes, count, allow, 0);
    }
    if (fused->dropout.threshold > 0) {
        kern->tile_mask(weights, tile->lanes, count, s->common.dropout_bits, 0);
        restore_nan(tile, s, count, allowed);
    }
    return allowed;
}

/* Adds Σ_q tile[j][q] rows[q] to the sums of each key; `masked`: over the allowed pairs alone. */
static void accumulate_key_grads(const att_backward_pass *back, const att_query_tile *tile,
                                 const att_backward_buffers *s, float *sums, size_t stride,
                                 size_t count, const float *numbers, att_matrix_view rows,
                                 bool masked)
{
    if (masked)
        back->fused.kernels->tile_combine_transposed_masked(sums, stride, count, numbers,
                                                            tile->lanes, rows, s->common.mask_bits);
    else
        back->fused.kernels->tile_combine_transposed(sums, stride, count, numbers, tile->lanes,
                                                     rows);
}

/* Adds Σ_j dS[j][q] K[j] to the sums of each query. */
static void accumulate_query_grads(const att_backward_pass *back, const att_sequence_head *head,
                                   const att_query_tile *tile, att_backward_buffers *s,
                                   int64_t from, size_t count, bool some)
{
    const att_kernels *kern = back->fused.kernels;
    att_matrix_view keys =
        att_row_copy_get(&s->common.keys, back->fused.problem->in->key, head, from, count);
    if (some && !(kern->all_finite(keys) > 0))
        kern->tile_combine_masked(s->query_sums, back->key_stride, tile->queries, att_tile_ones,
                                  s->grads, tile->lanes, keys, s->common.mask_bits);
    else
        kern->tile_combine(s->query_sums, back->key_stride, tile->queries, att_tile_ones, s->grads,
                           tile->lanes, keys);
}

/* Backward through the soft cap. The derivative can be NaN at a masked pair, so masked pairs are
 * set to zero again. */
static void soft_cap_backward(const att_backward_pass *back, const att_query_tile *tile,
                              att_backward_buffers *s, size_t count, bool some)
{
    for (size_t n = 0; n < count * tile->lanes; n++)
        s->grads[n] *= s->common.cap_derivative[n];
    if (some)
        back->fused.kernels->tile_mask(s->grads, tile->lanes, count, s->common.mask_bits, 0);
}

/* One tile and up to ATT_BACKWARD_KEYS keys: all five matrix products. */
static void backward_block(const att_backward_pass *back, const att_sequence_head *head,
                           att_query_tile *tile, att_backward_buffers *s, int64_t chunk_start,
                           int64_t from, size_t count)
{
    const att_attention_grads *grads = back->grads;
    att_block_mask allowed = recompute_weights(back, head, tile, s, from, count);
    if (allowed == ATT_BLOCK_MASK_EMPTY)
        return;
    bool some = allowed == ATT_BLOCK_MASK_PARTIAL;
    size_t at = (size_t)(from - chunk_start);
    if (grads->value)
        accumulate_key_grads(back, tile, s, s->value_sums + at * back->value_stride,
                             back->value_stride, count, s->common.scores, s->output_grad_rows,
                             some && !s->output_grad_rows_finite);
    att_bias_grad_add(back, head, tile, s, chunk_start, from, count);
    if (back->fused.problem->options->soft_cap > 0)
        soft_cap_backward(back, tile, s, count, some);
    if (grads->key)
        accumulate_key_grads(back, tile, s, s->key_sums + at * back->key_stride, back->key_stride,
                             count, s->grads, s->queries, some && !s->queries_finite);
    if (grads->query)
        accumulate_query_grads(back, head, tile, s, from, count, some);
}

static float *query_grad_sums_of(const att_backward_pass *back, const att_backward_buffers *s,
                                 int64_t tile)
{
    return s->query_grad_sums +
           (size_t)(tile % back->tiles_per_round) * ATT_TILE_LANES * back->key_stride;
}

void att_backward_add_query_grads(const att_backward_pass *back, int64_t b,
                                  const att_backward_buffers *s, int64_t tile)
{
    const att_tensor *grad = back->grads->query;
    const att_query_grad_part *part = &s->query_grad_parts[tile % back->tiles_per_round];
    const float *sums = query_grad_sums_of(back, s, tile);
    for (size_t q = 0; q < part->queries; q++) {
        int64_t at = att_element_offset(grad, b, part->first + (int64_t)q, part->h, 0);
        att_tensor_row_axpy(back->fused.kernels, grad, at, (float)back->fused.problem->scale,
                            sums + q * back->key_stride);
    }
}

/* Leaves the contributions to the queries in the part for tile `number` of the chunk. */
static void backward_tile(const att_backward_pass *back, const att_key_chunk *chunk,
                          const att_sequence_head *head, int64_t number, att_backward_buffers *s)
{
    att_query_tile *tile = &s->common.tile[0];
    att_query_grad_part *part = &s->query_grad_parts[number % back->tiles_per_round];
    att_fused_tile_init(&back->fused, head, number % att_fused_tile_count(head), tile);
    *part = (att_query_grad_part){ .h = head->h, .first = tile->first };
    int64_t from;
    size_t count;
    if (!att_tile_key_range(tile, chunk->start, chunk->count, &from, &count))
        return;
    part->queries = tile->queries;
    s->query_sums = query_grad_sums_of(back, s, number);
    start_tile(back, head, tile, s);
    for (int64_t start = 0; start < chunk->count; start += ATT_BACKWARD_KEYS)
        if (att_tile_key_range(tile, chunk->start + start,
                               att_min_i64(ATT_BACKWARD_KEYS, chunk->count - start), &from, &count))
            backward_block(back, head, tile, s, chunk->start, from, count);
}

/* Adds a chunk's sums to the gradient of its keys or values. */
static void finish_rows(const att_backward_pass *back, const att_sequence_head *head,
                        const att_tensor *grad, float factor, const float *sums, size_t stride,
                        int64_t start, int64_t count)
{
    for (int64_t j = 0; grad && j < count; j++) {
        int64_t at = att_element_offset(grad, head->b, start + j, head->g, 0);
        att_tensor_row_axpy(back->fused.kernels, grad, at, factor, sums + (size_t)j * stride);
    }
}

/* Prefetches what the next tile of a head will read. */
static void prefetch_tile(const att_backward_pass *back, const att_sequence_head *head,
                          int64_t index)
{
    const att_tensor *const tensors[] = { back->fused.problem->in->query, back->output_grad,
                                          back->output, back->grads->query };
    int64_t first = index * ATT_TILE_LANES,
            count = att_min_i64(head->queries - first, ATT_TILE_LANES);
    for (size_t n = 0; n < ATT_COUNT(tensors); n++)
        if (tensors[n])
            att_tensor_prefetch_rows(tensors[n], head->b, head->query_start + first, head->h,
                                     count);
}

int64_t att_backward_chunk_count(const att_sequence_head *head)
{
    return att_ceil_div_i64(head->keys, ATT_CHUNK_KEYS);
}

att_key_chunk att_backward_chunk(const att_backward_pass *back, int64_t sequence, int64_t g,
                                 int64_t number)
{
    att_sequence_head head =
        att_sequence_head_get(back->fused.problem, sequence, g * back->heads_per_kv_head);
    int64_t start = number * ATT_CHUNK_KEYS;
    return (att_key_chunk){ .head = head,
                            .start = head.key_start + start,
                            .count = att_min_i64(ATT_CHUNK_KEYS, head.keys - start),
                            .tiles = back->heads_per_kv_head * att_fused_tile_count(&head) };
}

static void start_chunk(const att_backward_pass *back, const att_key_chunk *chunk,
                        att_backward_buffers *s)
{
    memset(s->key_sums, 0, (size_t)chunk->count * back->key_stride * sizeof(float));
    memset(s->value_sums, 0, (size_t)chunk->count * back->value_stride * sizeof(float));
    att_bias_grad_clear(back, s);
}

static void finish_chunk(const att_backward_pass *back, const att_key_chunk *chunk,
                         att_backward_buffers *s)
{
    finish_rows(back, &chunk->head, back->grads->key, (float)back->fused.problem->scale,
                s->key_sums, back->key_stride, chunk->start, chunk->count);
    finish_rows(back, &chunk->head, back->grads->value, (float)back->fused.dropout.keep_scale,
                s->value_sums, back->value_stride, chunk->start, chunk->count);
    att_bias_grad_chunk_end(back, &chunk->head, s, chunk->start, (size_t)chunk->count);
}

void att_backward_tiles(const att_backward_pass *back, const att_key_chunk *chunk, int64_t begin,
                        int64_t end, att_backward_buffers *s)
{
    int64_t of_head = att_fused_tile_count(&chunk->head);
    if (begin == 0)
        start_chunk(back, chunk, s);
    for (int64_t number = begin; number < end; number++) {
        att_sequence_head head = chunk->head;
        head.h += number / of_head;
        prefetch_tile(back, &head, number % of_head + 1);
        backward_tile(back, chunk, &head, number, s);
        if (!back->by_chunk && back->grads->query)
            att_backward_add_query_grads(back, head.b, s, number);
        att_progress_poll();
        if (att_progress_abandoned())
            return;
    }
    if (end == chunk->tiles)
        finish_chunk(back, chunk, s);
}
