/* The scores of a tile and a block, as the normaliser gets them: product, soft cap, biases, mask.
 * In base 2 everything that is added to a score is first multiplied by log2(e). */
#include "attention/tensor_element.h"
#include "attention/fused.h"

#include <math.h>

/* Keys whose scores are worked out in one go: whole strips of any instruction set's tile. */
enum { PREFETCH_STEP_KEYS = 24 };

#define LOG2E_FLOAT ((float)M_LOG2E)

static int64_t min_int64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max_int64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Keys before the tile's first are left out in steps of ATT_LANES, so that every key keeps its
 * partial sum. */
bool att_tile_key_range(const att_query_tile *tile, int64_t start, int64_t length, int64_t *from,
                        size_t *count)
{
    if (!tile->active)
        return false;
    int64_t skipped = max_int64(tile->key_begin - start, 0) / ATT_LANES * ATT_LANES;
    int64_t end = min_int64(tile->key_end, start + length);
    *from = start + skipped;
    *count = (size_t)max_int64(end - *from, 0);
    return *count > 0;
}

/* A dimension of size 1 is shared: its stride is 0. */
static int64_t bias_stride(const att_tensor *bias, int dim)
{
    return bias->shape[dim] == 1 ? 0 : bias->stride[dim];
}

static void add_bias(const att_fused_attention *fused, const att_sequence_head *head,
                     const att_query_tile *tile, att_fused_buffers *scratch, int64_t from,
                     size_t count)
{
    const att_tensor *bias = fused->problem->in->bias;
    int64_t row = bias_stride(bias, 2), step = bias_stride(bias, 3);
    const float *at = (const float *)bias->data + head->b * bias_stride(bias, 0) +
                      head->h * bias_stride(bias, 1) + tile->first * row + from * step;
    size_t lanes = tile->lanes;
    if (step == 1)
        fused->kernels->tile_pack(scratch->bias, lanes,
                                  (att_matrix_view){ at, (ptrdiff_t)row, tile->queries, count },
                                  1.0f);
    else
        for (size_t j = 0; j < count; j++)
            for (size_t q = 0; q < lanes; q++)
                scratch->bias[j * lanes + q] =
                    q < tile->queries ? at[(int64_t)q * row + (int64_t)j * step] : 0.0f;
    fused->kernels->axpy(scratch->scores, LOG2E_FLOAT, scratch->bias, count * lanes);
}

/* ALiBi and the relative table: one number per distance of key and query. */
static void add_distance_bias(const att_fused_attention *fused, const att_sequence_head *head,
                              const att_query_tile *tile, att_fused_buffers *scratch, int64_t from,
                              size_t count)
{
    const att_tensor *alibi = fused->problem->in->alibi, *table = fused->problem->in->relative;
    int64_t reach = fused->problem->R;
    double slope = 0;
    int64_t head_of_table = 0;
    if (alibi)
        slope = att_element_get(alibi, alibi->shape[0] == 1 ? 0 : head->h * alibi->stride[0]);
    if (table)
        head_of_table = table->shape[0] == 1 ? 0 : head->h * table->stride[0];
    /* Of the last key and lane 0; falls by one with every lane and every key before. */
    int64_t distance = from - tile->key_range[0].key_start - tile->key_range[0].query_position +
                       (int64_t)count - 1;
    for (size_t x = 0; x < tile->lanes + count - 1; x++, distance--) {
        double value = -slope * (double)(distance < 0 ? -distance : distance);
        int64_t place = distance < -reach ? -reach : distance > reach ? reach : distance;
        if (table)
            value += att_element_get(table, head_of_table + (place + reach) * table->stride[1]);
        scratch->distance_bias[x] = (float)(value * M_LOG2E);
    }
    fused->kernels->tile_add_distance_bias(scratch->scores, tile->lanes, count,
                                           scratch->distance_bias);
}

/* The products. What is wanted next is fetched between pieces of them: all at once would stall. */
static void score_keys(const att_fused_attention *fused, const att_query_tile *tile,
                       const att_fused_buffers *scratch, att_matrix_view keys)
{
    size_t lanes = tile->lanes, count = keys.rows;
    if (lanes == 1) {
        fused->kernels->single_query_scores(scratch->scores, tile->query, keys,
                                            (att_matrix_view){ 0 });
        return;
    }
    size_t piece = scratch->prefetch_count > 0 ? PREFETCH_STEP_KEYS : count;
    size_t parts = (count + piece - 1) / piece;
    for (size_t part = 0; part < parts; part++) {
        size_t j = part * piece;
        att_matrix_view some = { keys.data + (ptrdiff_t)j * keys.stride, keys.stride,
                                 count - j < piece ? count - j : piece, keys.columns };
        att_prefetch_run(scratch, part, parts);
        fused->kernels->tile_scores(scratch->scores + j * lanes, lanes, tile->query, some);
    }
}

att_block_mask att_tile_scores(const att_fused_attention *fused, const att_sequence_head *head,
                               att_query_tile *tile, att_fused_buffers *scratch, int64_t from,
                               size_t count)
{
    att_block_mask allowed =
        att_tile_block_mask(fused, head, tile, from, count, scratch->mask_bits);
    if (allowed == ATT_BLOCK_MASK_EMPTY)
        return allowed;
    att_matrix_view keys = att_tensor_head_rows(fused->problem->in->key, head->b, from, head->g,
                                                count, scratch->gathered);
    score_keys(fused, tile, scratch, keys);
    att_tile_scores_finish(fused, head, tile, scratch, from, count, allowed);
    return allowed;
}

void att_tile_scores_finish(const att_fused_attention *fused, const att_sequence_head *head,
                            const att_query_tile *tile, att_fused_buffers *scratch, int64_t from,
                            size_t count, att_block_mask allowed)
{
    const att_problem *p = fused->problem;
    double cap = p->options->soft_cap * M_LOG2E;
    if (cap > 0)
        fused->kernels->tile_soft_cap(scratch->scores, count * tile->lanes, (float)cap,
                                      (float)(1 / cap));
    if (cap > 0 && scratch->cap_derivative)
        fused->kernels->tile_soft_cap_derivative(scratch->cap_derivative, scratch->scores,
                                                 count * tile->lanes, (float)(1 / cap));
    if (p->in->bias)
        add_bias(fused, head, tile, scratch, from, count);
    if (p->in->alibi || p->in->relative)
        add_distance_bias(fused, head, tile, scratch, from, count);
    if (allowed == ATT_BLOCK_MASK_PARTIAL)
        fused->kernels->tile_mask(scratch->scores, tile->lanes, count, scratch->mask_bits,
                                  -INFINITY);
}

void att_tile_dropout_bits(const att_fused_attention *fused, const att_sequence_head *head,
                           const att_query_tile *tile, att_fused_buffers *scratch, int64_t from,
                           size_t count)
{
    const att_attention_dropout *drop = &fused->dropout;
    att_tile_dropout draw = { .key = (uint64_t)drop->key[1] << 32 | drop->key[0],
                              .threshold = drop->threshold,
                              .b = (uint32_t)head->b,
                              .h = (uint32_t)head->h,
                              .i = (uint32_t)tile->first,
                              .j = (uint32_t)from };
    fused->kernels->tile_dropout_mask(scratch->dropout_bits, tile->lanes, count, &draw);
}
