/* Attention forward in float; see fused.h. What tiles are not made for is folded first or goes by
 * rows (fold.h), and what is in double to the reference. */
#include "attention/tensor_element.h"
#include "attention/score_transform.h"
#include "attention/fused_backward.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/parallel.h"

#include <math.h>
#include <string.h>

/* The queries of a tile, packed; nothing attended yet. */
static void start_tile(const att_fused_attention *fused, att_query_tile *tile,
                       att_fused_buffers *scratch)
{
    const att_sequence_head *head = &tile->head;
    att_matrix_view rows = att_tensor_head_rows(fused->problem->in->query, head->b, tile->first,
                                                head->h, tile->queries, scratch->gathered);
    fused->kernels->tile_pack(tile->query, tile->lanes, rows, fused->scale);
    tile->has_sums = false;
    for (size_t q = 0; q < tile->lanes; q++) {
        tile->state->max[q] = -INFINITY;
        tile->state->sum[q] = 0;
    }
}

/* One block: its scores, their weights, and the weighted sums. Values that a query must not see are
 * harmless while they are finite: their weight is 0. */
static void attention_block(const att_fused_attention *fused, att_query_tile *tile,
                            att_fused_buffers *scratch, int64_t block)
{
    const att_sequence_head *head = &tile->head;
    int64_t from;
    size_t count;
    if (!att_tile_key_range(tile, head->key_start + block * ATT_BLOCK_KEYS, ATT_BLOCK_KEYS, &from,
                            &count))
        return;
    att_block_mask allowed = att_tile_scores(fused, head, tile, scratch, from, count);
    if (allowed == ATT_BLOCK_MASK_EMPTY)
        return;
    fused->kernels->tile_softmax(scratch->scores, tile->lanes, count, tile->state);
    if (fused->dropout.threshold > 0) {
        att_tile_dropout_bits(fused, head, tile, scratch, from, count);
        fused->kernels->tile_mask(scratch->scores, tile->lanes, count, scratch->dropout_bits, 0);
    }
    const float *keep = tile->has_sums ? tile->state->rescale : NULL;
    tile->has_sums = true;
    att_matrix_view values = att_tensor_head_rows(fused->problem->in->value, head->b, from, head->g,
                                                  count, scratch->gathered);
    if (allowed == ATT_BLOCK_MASK_PARTIAL && !(fused->kernels->all_finite(values) > 0))
        fused->kernels->tile_combine_masked(tile->sums, fused->sum_stride, tile->queries, keep,
                                            scratch->scores, tile->lanes, values,
                                            scratch->mask_bits);
    else
        fused->kernels->tile_combine(tile->sums, fused->sum_stride, tile->queries, keep,
                                     scratch->scores, tile->lanes, values);
}

/* Divides by the sums of weights. A query that met no key gets zeros, whatever its lane holds. */
static void finish_tile(const att_fused_attention *fused, att_query_tile *tile)
{
    const att_tensor *out = fused->out->output;
    const att_sequence_head *head = &tile->head;
    float factor[ATT_TILE_LANES];
    for (size_t q = 0; q < tile->queries; q++) {
        bool met = tile->attended >> q & 1;
        factor[q] = met ? (float)(fused->dropout.keep_scale / (double)tile->state->sum[q]) : 0;
        if (!met)
            memset(tile->sums + q * fused->sum_stride, 0, fused->sum_stride * sizeof(float));
    }
    att_matrix_view sums = { tile->sums, (ptrdiff_t)fused->sum_stride, tile->queries,
                             (size_t)fused->problem->M };
    float *to = (float *)out->data + att_element_offset(out, head->b, tile->first, head->h, 0);
    if (out->stride[3] == 1) {
        fused->kernels->tile_scale_output(to, (ptrdiff_t)out->stride[1], factor, sums);
        return;
    }
    fused->kernels->tile_scale_output(tile->sums, sums.stride, factor, sums);
    for (size_t q = 0; q < tile->queries; q++)
        for (size_t m = 0; m < sums.columns; m++)
            to[(int64_t)q * out->stride[1] + (int64_t)m * out->stride[3]] =
                tile->sums[q * fused->sum_stride + m];
}

/* After a block comes the next, after the last one the next unit. */
static att_prefetch_target prefetch_after_block(const att_fused_attention *fused,
                                                const att_fused_buffers *scratch, int64_t block,
                                                bool last)
{
    return last ? att_prefetch_unit(fused) : att_prefetch_block(&scratch->tile[0].head, block + 1);
}

/* Where a tile's output will go, and the queries of one of the next unit. */
static void prefetch_output_and_next(const att_fused_attention *fused, const att_query_tile *tile,
                                     const att_work_unit *next, int64_t index,
                                     att_fused_buffers *scratch)
{
    att_prefetch_add(scratch, (att_prefetch_rows){ fused->out->output, tile->head.b, tile->first,
                                                   tile->head.h, (int64_t)tile->queries });
    att_prefetch_add_queries(fused, next, index, scratch);
}

/* All tiles meet a block, head by head; those of one head share in fetching what comes next. */
static void attention_keys(const att_fused_attention *fused, att_fused_buffers *scratch,
                           int64_t count, int64_t block, bool last)
{
    att_query_tile *tile = scratch->tile;
    att_prefetch_target after = prefetch_after_block(fused, scratch, block, last);
    for (int64_t t = 0, end; t < count; t = end) {
        for (end = t + 1; end < count && tile[end].head.g == tile[t].head.g; end++)
            ;
        att_prefetch_target next = end < count ? att_prefetch_block(&tile[end].head, block) : after;
        for (int64_t n = t; n < end; n++) {
            scratch->prefetch_count = 0;
            att_prefetch_add_part(fused, &next, n - t, end - t, scratch);
            if (last)
                prefetch_output_and_next(fused, &tile[n], &after.unit, n, scratch);
            attention_block(fused, &tile[n], scratch, block);
        }
    }
    scratch->prefetch_count = 0;
}

static bool all_single_query(const att_fused_buffers *scratch, int64_t count)
{
    for (int64_t t = 0; t < count; t++)
        if (scratch->tile[t].lanes > 1)
            return false;
    return true;
}

/* Some tiles of a sequence go through the keys side by side. */
static void attention_tiles(const att_fused_attention *fused, att_fused_buffers *scratch,
                            att_work_unit unit)
{
    int64_t begin = INT64_MAX, end = INT64_MIN, count = unit.last - unit.first;
    for (int64_t t = 0; t < count; t++) {
        att_query_tile *tile = &scratch->tile[t];
        att_fused_tile_at(fused, unit.sequence, unit.first + t, tile);
        start_tile(fused, tile, scratch);
        if (tile->active && tile->key_begin < begin)
            begin = tile->key_begin;
        if (tile->active && tile->key_end > end)
            end = tile->key_end;
    }
    int64_t start = scratch->tile[0].head.key_start;
    bool single = all_single_query(scratch, count);
    if (begin < end)
        for (int64_t block = (begin - start) / ATT_BLOCK_KEYS,
                     last = (end - 1 - start) / ATT_BLOCK_KEYS;
             block <= last; block++)
            (single ? att_single_query_block : attention_keys)(fused, scratch, count, block,
                                                               block == last);
    for (int64_t t = 0; t < count; t++) {
        finish_tile(fused, &scratch->tile[t]);
        att_fused_outputs_tile(fused, &scratch->tile[t].head, &scratch->tile[t], scratch);
    }
}

static void run_units(void *context, int64_t worker, int64_t end)
{
    (void)end;
    att_fused_attention *fused = context;
    att_fused_buffers scratch = att_fused_worker_buffers(fused, (int)worker);
    int64_t number;
    while ((number = atomic_fetch_add(&fused->next_unit, 1)) < fused->units) {
        att_work_unit unit = att_fused_unit(fused, number), some = unit;
        att_fused_outputs_head_begin(fused, &scratch);
        for (; some.first < unit.last; some.first = some.last) {
            some.last =
                unit.last - some.first < ATT_MAX_TILES ? unit.last : some.first + ATT_MAX_TILES;
            attention_tiles(fused, &scratch, some);
        }
        att_fused_outputs_head_end(fused, &scratch.tile[0].head, &scratch);
    }
}

att_status att_fused_forward(const att_problem *problem, const att_attention_outputs *out,
                             void *workspace, att_error *err)
{
    att_fused_attention fused;
    void *own;
    void *room = att_workspace_get(workspace, att_fused_plan(&fused, problem, out), &own);
    if (!room)
        return att_fail_memory(err);
    att_fused_set_workspace(&fused, room);
    att_status status = att_fused_init_block_list(&fused, err);
    if (status == ATT_OK) {
        att_fused_outputs_begin(&fused);
        att_parallel_for(fused.workers, 1, run_units, &fused);
    }
    att_fused_free(&fused);
    att_free(own);
    return status;
}

size_t att_fused_forward_workspace(const att_problem *problem)
{
    /* The entropy takes room of each worker. So do totals, but with them workers are fewer. */
    att_tensor some;
    const att_attention_outputs entropy = { .entropy = &some },
                                both = { .key_totals = &some, .entropy = &some };
    att_fused_attention fused;
    size_t min = att_fused_plan(&fused, problem, &entropy);
    size_t max = att_fused_plan(&fused, problem, &both);
    return max > min ? max : min;
}

size_t att_attention_workspace(const att_attention_options *options, const att_attention_inputs *in,
                               bool backward)
{
    att_problem problem;
    if (att_problem_new(&problem, options, in, NULL) != ATT_OK || !att_all_float32(&problem, NULL))
        return 0;
    if (!att_fused_supports(&problem))
        return att_transformed_attention_workspace(&problem, backward);
    return backward ? att_fused_backward_workspace(&problem)
                    : att_fused_forward_workspace(&problem);
}

att_status att_attention_forward(const att_attention_options *options,
                                 const att_attention_inputs *in, const att_attention_outputs *out,
                                 void *workspace, att_error *err)
{
    att_problem problem;
    ATT_TRY(att_problem_new(&problem, options, in, err));
    ATT_TRY(att_problem_check_outputs(&problem, out, err));
    if (!att_all_float32(&problem, out))
        return att_attention_forward_reference(options, in, out, err);
    if (!att_fused_supports(&problem))
        return att_transformed_attention_forward(&problem, out, workspace, err);
    return att_fused_forward(&problem, out, workspace, err);
}
