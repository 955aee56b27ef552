/* The scores of a tile and a block, ready for softmax: dot product, soft cap, biases, mask. Scores
 * are in base 2, so everything added to them is first multiplied by log2(e). */
#include "attention/bias.h"
#include "attention/fused.h"
#include "attention/tensor_element.h"
#include "base/minmax.h"

#include <math.h>

/* Keys per call of tile_scores between prefetches: a multiple of the strip height of every
 * instruction set. */
enum { PREFETCH_STEP_KEYS = 24 };

#define LOG2E_FLOAT ((float)M_LOG2E)

/* Keys before the tile's first are skipped in steps of ATT_LANES, so that every key stays in the
 * same partial sum. */
bool att_tile_key_range(const att_query_tile *tile, int64_t start, int64_t length, int64_t *from,
                        size_t *count)
{
    if (!tile->active)
        return false;
    int64_t skipped = att_max_i64(tile->key_begin - start, 0) / ATT_LANES * ATT_LANES;
    int64_t end = att_min_i64(tile->key_end, start + length);
    *from = start + skipped;
    *count = (size_t)att_max_i64(end - *from, 0);
    return *count > 0;
}

/* A dimension of size 1 is broadcast. */
static int64_t bias_stride(const att_tensor *bias, int dim)
{
    return bias->shape[dim] == 1 ? 0 : bias->stride[dim];
}

static void add_bias(const att_fused_attention *fused, const att_sequence_head *head,
                     const att_query_tile *tile, att_fused_buffers *buffers, int64_t from,
                     size_t count)
{
    const att_tensor *bias = fused->problem->in->bias;
    int64_t row = bias_stride(bias, 2), step = bias_stride(bias, 3);
    int64_t at = head->b * bias_stride(bias, 0) + head->h * bias_stride(bias, 1) +
                 tile->first * row + from * step;
    size_t lanes = tile->lanes;
    if (step == 1 && bias->dtype == ATT_F32)
        fused->kernels->tile_pack(buffers->bias, lanes,
                                  (att_matrix_view){ (const float *)bias->data + at, (ptrdiff_t)row,
                                                     tile->queries, count },
                                  1.0f);
    else
        for (size_t j = 0; j < count; j++)
            for (size_t q = 0; q < lanes; q++)
                buffers->bias[j * lanes + q] =
                    q < tile->queries
                        ? (float)att_element_get(bias, at + (int64_t)q * row + (int64_t)j * step)
                        : 0.0f;
    fused->kernels->axpy(buffers->scores, LOG2E_FLOAT, buffers->bias, count * lanes);
}

/* ALiBi and the relative table: one value per distance of key and query. */
static void add_distance_bias(const att_fused_attention *fused, const att_sequence_head *head,
                              const att_query_tile *tile, att_fused_buffers *buffers, int64_t from,
                              size_t count)
{
    const att_tensor *alibi = fused->problem->in->alibi, *table = fused->problem->in->relative;
    int64_t R = fused->problem->R;
    double slope = 0;
    int64_t head_of_table = 0;
    if (alibi)
        slope = att_element_get(alibi, alibi->shape[0] == 1 ? 0 : head->h * alibi->stride[0]);
    if (table)
        head_of_table = table->shape[0] == 1 ? 0 : head->h * table->stride[0];
    /* Of the last key and lane 0; decreases by one with each lane and each earlier key. */
    int64_t distance = from - tile->key_range[0].key_start - tile->key_range[0].query_position +
                       (int64_t)count - 1;
    for (size_t x = 0; x < tile->lanes + count - 1; x++, distance--) {
        double value = -slope * (double)(distance < 0 ? -distance : distance);
        if (table)
            value += att_element_get(table, head_of_table +
                                                att_relative_index(R, distance) * table->stride[1]);
        buffers->distance_bias[x] = (float)(value * M_LOG2E);
    }
    fused->kernels->tile_add_distance_bias(buffers->scores, tile->lanes, count,
                                           buffers->distance_bias);
}

/* The dot products. Requested rows are prefetched between pieces of the work: all prefetches at
 * once would stall. */
static void score_keys(const att_fused_attention *fused, const att_query_tile *tile,
                       const att_fused_buffers *buffers, att_matrix_view keys)
{
    size_t lanes = tile->lanes, count = keys.rows;
    if (lanes == 1) {
        fused->kernels->single_query_scores(buffers->scores, tile->query, keys,
                                            (att_matrix_view){ 0 });
        return;
    }
    size_t piece = buffers->prefetch_count > 0 ? PREFETCH_STEP_KEYS : count;
    size_t parts = att_ceil_div(count, piece);
    for (size_t part = 0; part < parts; part++) {
        size_t j = part * piece;
        att_matrix_view some = { keys.data + (ptrdiff_t)j * keys.stride, keys.stride,
                                 att_min_size(count - j, piece), keys.columns };
        att_prefetch_run(buffers, part, parts);
        fused->kernels->tile_scores(buffers->scores + j * lanes, lanes, tile->query, some);
    }
}

att_block_mask att_tile_scores(const att_fused_attention *fused, const att_sequence_head *head,
                               att_query_tile *tile, att_fused_buffers *buffers, int64_t from,
                               size_t count)
{
    att_block_mask allowed =
        att_tile_block_mask(fused, head, tile, from, count, buffers->mask_bits);
    if (allowed == ATT_BLOCK_MASK_EMPTY)
        return allowed;
    att_matrix_view keys =
        att_row_copy_get(&buffers->keys, fused->problem->in->key, head, from, count);
    score_keys(fused, tile, buffers, keys);
    att_tile_scores_finish(fused, head, tile, buffers, from, count, allowed);
    return allowed;
}

void att_tile_scores_finish(const att_fused_attention *fused, const att_sequence_head *head,
                            const att_query_tile *tile, att_fused_buffers *buffers, int64_t from,
                            size_t count, att_block_mask allowed)
{
    const att_problem *p = fused->problem;
    double cap = p->options->soft_cap * M_LOG2E;
    if (cap > 0)
        fused->kernels->tile_soft_cap(buffers->scores, count * tile->lanes, (float)cap,
                                      (float)(1 / cap));
    if (cap > 0 && buffers->cap_derivative)
        fused->kernels->tile_soft_cap_derivative(buffers->cap_derivative, buffers->scores,
                                                 count * tile->lanes, (float)(1 / cap));
    if (p->in->bias)
        add_bias(fused, head, tile, buffers, from, count);
    if (p->in->alibi || p->in->relative)
        add_distance_bias(fused, head, tile, buffers, from, count);
    if (allowed == ATT_BLOCK_MASK_PARTIAL)
        fused->kernels->tile_mask(buffers->scores, tile->lanes, count, buffers->mask_bits,
                                  -INFINITY);
}

void att_tile_dropout_bits(const att_fused_attention *fused, const att_sequence_head *head,
                           const att_query_tile *tile, att_fused_buffers *buffers, int64_t from,
                           size_t count)
{
    att_tile_dropout draw =
        att_attention_dropout_draw(&fused->dropout, head->b, head->h, tile->first, from);
    fused->kernels->tile_dropout_mask(buffers->dropout_bits, tile->lanes, count, &draw);
}
