/* Fused attention, forward; see fused.h. */
#include "attention/fused_backward.h"
#include "attention/paths.h"
#include "attention/tensor_element.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/progress.h"
#include "base/parallel.h"

#include <math.h>
#include <string.h>

/* Blocks of keys between two polls: 16 tiles of 16 queries and a width of 64 take some 3 ms, and
 * one query tens of microseconds, beside which a look at the clock is nothing. */
enum { BLOCKS_PER_POLL = 64 };

/* Packs the queries of a tile and resets its softmax state. */
static void start_tile(const att_fused_attention *fused, att_query_tile *tile,
                       att_fused_buffers *buffers)
{
    const att_sequence_head *head = &tile->head;
    att_matrix_view rows = att_tensor_head_rows(fused->problem->in->query, head->b, tile->first,
                                                head->h, tile->queries, buffers->gathered);
    fused->kernels->tile_pack(tile->query, tile->lanes, rows, fused->scale);
    tile->has_sums = false;
    for (size_t q = 0; q < tile->lanes; q++) {
        tile->state->max[q] = -INFINITY;
        tile->state->sum[q] = 0;
    }
}

/* One tile and one block: scores, weights, weighted sums of values. A masked value that is finite
 * does no harm, since its weight is 0. */
static void attention_block(const att_fused_attention *fused, att_query_tile *tile,
                            att_fused_buffers *buffers, int64_t block)
{
    const att_sequence_head *head = &tile->head;
    int64_t from;
    size_t count;
    if (!att_tile_key_range(tile, head->key_start + block * ATT_BLOCK_KEYS, ATT_BLOCK_KEYS, &from,
                            &count))
        return;
    att_block_mask allowed = att_tile_scores(fused, head, tile, buffers, from, count);
    if (allowed == ATT_BLOCK_MASK_EMPTY)
        return;
    fused->kernels->tile_softmax(buffers->scores, tile->lanes, count, tile->state);
    if (fused->dropout.threshold > 0) {
        att_tile_dropout_bits(fused, head, tile, buffers, from, count);
        fused->kernels->tile_mask(buffers->scores, tile->lanes, count, buffers->dropout_bits, 0);
    }
    const float *keep = tile->has_sums ? tile->state->rescale : NULL;
    tile->has_sums = true;
    att_matrix_view values =
        att_row_copy_get(&buffers->values, fused->problem->in->value, head, from, count);
    if (allowed == ATT_BLOCK_MASK_PARTIAL && !(fused->kernels->all_finite(values) > 0))
        fused->kernels->tile_combine_masked(tile->sums, fused->sum_stride, tile->queries, keep,
                                            buffers->scores, tile->lanes, values,
                                            buffers->mask_bits);
    else
        fused->kernels->tile_combine(tile->sums, fused->sum_stride, tile->queries, keep,
                                     buffers->scores, tile->lanes, values);
}

/* Divides by the sums of weights. A query that attended no key gets zeros, whatever its lane holds.
 */
static void finish_tile(const att_fused_attention *fused, att_query_tile *tile)
{
    const att_tensor *out = fused->out->output;
    const att_sequence_head *head = &tile->head;
    float factor[ATT_TILE_LANES];
    for (size_t q = 0; q < tile->queries; q++) {
        bool attended = tile->attended >> q & 1;
        factor[q] = attended ? (float)(fused->dropout.keep_scale / (double)tile->state->sum[q]) : 0;
        if (!attended)
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

/* What is read after this block: the next block, or after the last one the next unit. */
static att_prefetch_target prefetch_after_block(const att_fused_attention *fused,
                                                const att_fused_buffers *buffers, int64_t block,
                                                bool last)
{
    return last ? att_prefetch_unit(fused) : att_prefetch_block(&buffers->tile[0].head, block + 1);
}

/* Requests the rows of a tile's output, and the queries of a tile of the next unit. */
static void prefetch_output_and_next(const att_fused_attention *fused, const att_query_tile *tile,
                                     const att_work_unit *next, int64_t index,
                                     att_fused_buffers *buffers)
{
    att_prefetch_add(buffers, (att_prefetch_rows){ fused->out->output, tile->head.b, tile->first,
                                                   tile->head.h, (int64_t)tile->queries });
    att_prefetch_add_queries(fused, next, index, buffers);
}

/* One block for all tiles, head by head; the tiles of one head share the prefetching of what comes
 * next. */
static void attention_keys(const att_fused_attention *fused, att_fused_buffers *buffers,
                           int64_t count, int64_t block, bool last)
{
    att_query_tile *tile = buffers->tile;
    att_prefetch_target after = prefetch_after_block(fused, buffers, block, last);
    for (int64_t t = 0, end; t < count; t = end) {
        for (end = t + 1; end < count && tile[end].head.g == tile[t].head.g; end++)
            ;
        att_prefetch_target next = end < count ? att_prefetch_block(&tile[end].head, block) : after;
        for (int64_t n = t; n < end; n++) {
            buffers->prefetch_count = 0;
            if (fused->prefetches && !buffers->keys.rows) /* a copy is read in one go */
                att_prefetch_add_part(fused, &next, n - t, end - t, buffers);
            if (fused->prefetches && last)
                prefetch_output_and_next(fused, &tile[n], &after.unit, n, buffers);
            attention_block(fused, &tile[n], buffers, block);
        }
    }
    buffers->prefetch_count = 0;
}

static bool all_single_query(const att_fused_buffers *buffers, int64_t count)
{
    for (int64_t t = 0; t < count; t++)
        if (buffers->tile[t].lanes > 1)
            return false;
    return true;
}

/* Visits the blocks of keys in [begin, end). ATT_MAX_TILES tiles and a long sequence take long, so
 * the callback is polled on the way; false where the call was abandoned and the sums are
 * incomplete. */
static bool attention_blocks(const att_fused_attention *fused, att_fused_buffers *buffers,
                             int64_t count, int64_t begin, int64_t end)
{
    int64_t start = buffers->tile[0].head.key_start, last = (end - 1 - start) / ATT_BLOCK_KEYS;
    bool single = all_single_query(buffers, count);
    for (int64_t block = (begin - start) / ATT_BLOCK_KEYS; block <= last; block++) {
        (single ? att_single_query_block : attention_keys)(fused, buffers, count, block,
                                                           block == last);
        if (block % BLOCKS_PER_POLL == BLOCKS_PER_POLL - 1 && block < last) {
            att_progress_poll();
            if (att_progress_abandoned())
                return false;
        }
    }
    return true;
}

/* Up to ATT_MAX_TILES tiles of a sequence visit the keys together. */
static void attention_tiles(const att_fused_attention *fused, att_fused_buffers *buffers,
                            att_work_unit unit)
{
    int64_t begin = INT64_MAX, end = INT64_MIN, count = unit.last - unit.first;
    for (int64_t t = 0; t < count; t++) {
        att_query_tile *tile = &buffers->tile[t];
        att_fused_tile_at(fused, unit.sequence, unit.first + t, tile);
        start_tile(fused, tile, buffers);
        if (tile->active && tile->key_begin < begin)
            begin = tile->key_begin;
        if (tile->active && tile->key_end > end)
            end = tile->key_end;
    }
    if (begin < end && !attention_blocks(fused, buffers, count, begin, end))
        return;
    for (int64_t t = 0; t < count && !att_progress_abandoned(); t++) {
        finish_tile(fused, &buffers->tile[t]);
        if (att_fused_outputs_tile(fused, &buffers->tile[t].head, &buffers->tile[t], buffers))
            att_progress_poll();
    }
}

static void run_units(void *context, int64_t worker, int64_t end)
{
    (void)end;
    att_fused_attention *fused = context;
    att_fused_buffers buffers = att_fused_worker_buffers(fused, (int)worker);
    int64_t number;
    while ((number = atomic_fetch_add(&fused->next_unit, 1)) < fused->units) {
        att_work_unit unit = att_fused_unit(fused, number), some = unit;
        att_fused_outputs_head_begin(fused, &buffers);
        for (; some.first < unit.last; some.first = some.last) {
            some.last = att_min_i64(unit.last, some.first + ATT_MAX_TILES);
            attention_tiles(fused, &buffers, some);
            att_progress_poll();
            if (att_progress_abandoned()) {
                atomic_store(&fused->next_unit, fused->units); /* the workers stop too */
                return;
            }
        }
        att_fused_outputs_head_end(fused, &buffers.tile[0].head, &buffers);
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

/* Enough for every choice of outputs: the entropy needs a buffer per worker; key_totals need
 * another one, but then there are fewer workers. */
static size_t forward_workspace(const att_problem *problem)
{
    att_tensor some;
    const att_attention_outputs entropy = { .entropy = &some },
                                both = { .key_totals = &some, .entropy = &some };
    att_fused_attention fused;
    size_t with_entropy = att_fused_plan(&fused, problem, &entropy);
    return att_max_size(with_entropy, att_fused_plan(&fused, problem, &both));
}

size_t att_fused_workspace(const att_problem *problem, bool backward)
{
    return backward ? att_fused_backward_workspace(problem) : forward_workspace(problem);
}

bool att_fused_supports(const att_problem *p)
{
    return (p->options->score == ATT_SCORE_DOT || p->options->score == ATT_SCORE_SCALED) &&
           p->options->normalizer == ATT_NORMALIZE_SOFTMAX;
}
