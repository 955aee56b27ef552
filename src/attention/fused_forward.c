/* Attention forward in float; see fused.h. What tiles are not made for is folded first or goes by
 * rows (fold.h), and what is in double to the reference. */
#include "attention/element.h"
#include "attention/fold.h"
#include "attention/fused_back.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/parallel.h"

#include <math.h>
#include <string.h>

/* The queries of a tile, packed; nothing attended yet. */
static void start_tile(const att_fused *fused, att_tile *tile, att_scratch *scratch)
{
    const att_head *head = &tile->head;
    att_rows rows = att_tensor_rows(fused->problem->in->query, head->b, tile->first, head->h,
                                    tile->queries, scratch->gather);
    fused->kern->tile_pack(tile->query, tile->lanes, rows, fused->scale);
    tile->started = false;
    for (size_t q = 0; q < tile->lanes; q++) {
        tile->state->most[q] = -INFINITY;
        tile->state->sum[q] = 0;
    }
}

/* One block: its scores, their weights, and the weighted sums. Values that a query must not see are
 * harmless while they are finite: their weight is 0. */
static void attend_block(const att_fused *fused, att_tile *tile, att_scratch *scratch,
                         int64_t block)
{
    const att_head *head = &tile->head;
    int64_t from;
    size_t count;
    if (!att_tile_reach(tile, head->key_start + block * ATT_BLOCK_KEYS, ATT_BLOCK_KEYS, &from,
                        &count))
        return;
    att_allowed allowed = att_tile_block(fused, head, tile, scratch, from, count);
    if (allowed == ATT_ALLOWED_NONE)
        return;
    fused->kern->tile_softmax(scratch->scores, tile->lanes, count, tile->state);
    if (fused->drop.threshold > 0) {
        att_tile_kept(fused, head, tile, scratch, from, count);
        fused->kern->tile_mask(scratch->scores, tile->lanes, count, scratch->kept, 0);
    }
    const float *keep = tile->started ? tile->state->keep : NULL;
    tile->started = true;
    att_rows values =
        att_tensor_rows(fused->problem->in->value, head->b, from, head->g, count, scratch->gather);
    if (allowed == ATT_ALLOWED_SOME && !(fused->kern->rows_finite(values) > 0))
        fused->kern->tile_combine_allowed(tile->sums, fused->sum_stride, tile->queries, keep,
                                          scratch->scores, tile->lanes, values, scratch->allow);
    else
        fused->kern->tile_combine(tile->sums, fused->sum_stride, tile->queries, keep,
                                  scratch->scores, tile->lanes, values);
}

/* Divides by the sums of weights. A query that met no key gets zeros, whatever its lane holds. */
static void finish_tile(const att_fused *fused, att_tile *tile)
{
    const att_tensor *out = fused->out->output;
    const att_head *head = &tile->head;
    float factor[ATT_TILE_LANES];
    for (size_t q = 0; q < tile->queries; q++) {
        bool met = tile->seen >> q & 1;
        factor[q] = met ? (float)(fused->drop.kept / (double)tile->state->sum[q]) : 0;
        if (!met)
            memset(tile->sums + q * fused->sum_stride, 0, fused->sum_stride * sizeof(float));
    }
    att_rows sums = { tile->sums, (ptrdiff_t)fused->sum_stride, tile->queries,
                      (size_t)fused->problem->M };
    float *to = (float *)out->data + att_element_at(out, head->b, tile->first, head->h, 0);
    if (out->stride[3] == 1) {
        fused->kern->tile_finish(to, (ptrdiff_t)out->stride[1], factor, sums);
        return;
    }
    fused->kern->tile_finish(tile->sums, sums.stride, factor, sums);
    for (size_t q = 0; q < tile->queries; q++)
        for (size_t m = 0; m < sums.width; m++)
            to[(int64_t)q * out->stride[1] + (int64_t)m * out->stride[3]] =
                tile->sums[q * fused->sum_stride + m];
}

/* After a block comes the next, after the last one the next unit. */
static att_ahead after_block(const att_fused *fused, const att_scratch *scratch, int64_t block,
                             bool last)
{
    return last ? att_ahead_unit(fused) : att_ahead_block(&scratch->tile[0].head, block + 1);
}

/* Where a tile's output will go, and the queries of one of the next unit. */
static void want_around(const att_fused *fused, const att_tile *tile, const att_unit *next,
                        int64_t index, att_scratch *scratch)
{
    att_ahead_want(scratch, (att_wanted){ fused->out->output, tile->head.b, tile->first,
                                          tile->head.h, (int64_t)tile->queries });
    att_ahead_queries(fused, next, index, scratch);
}

/* All tiles meet a block, head by head; those of one head share in fetching what comes next. */
static void attend_keys(const att_fused *fused, att_scratch *scratch, int64_t count, int64_t block,
                        bool last)
{
    att_tile *tile = scratch->tile;
    att_ahead after = after_block(fused, scratch, block, last);
    for (int64_t t = 0, end; t < count; t = end) {
        for (end = t + 1; end < count && tile[end].head.g == tile[t].head.g; end++)
            ;
        att_ahead next = end < count ? att_ahead_block(&tile[end].head, block) : after;
        for (int64_t n = t; n < end; n++) {
            scratch->wanted_count = 0;
            att_ahead_part(fused, &next, n - t, end - t, scratch);
            if (last)
                want_around(fused, &tile[n], &after.unit, n, scratch);
            attend_block(fused, &tile[n], scratch, block);
        }
    }
    scratch->wanted_count = 0;
}

static bool all_single(const att_scratch *scratch, int64_t count)
{
    for (int64_t t = 0; t < count; t++)
        if (scratch->tile[t].lanes > 1)
            return false;
    return true;
}

/* Some tiles of a sequence go through the keys side by side. */
static void attend_tiles(const att_fused *fused, att_scratch *scratch, att_unit unit)
{
    int64_t begin = INT64_MAX, end = INT64_MIN, count = unit.last - unit.first;
    for (int64_t t = 0; t < count; t++) {
        att_tile *tile = &scratch->tile[t];
        att_fused_tile_of(fused, unit.sequence, unit.first + t, tile);
        start_tile(fused, tile, scratch);
        if (tile->live && tile->begin < begin)
            begin = tile->begin;
        if (tile->live && tile->end > end)
            end = tile->end;
    }
    int64_t start = scratch->tile[0].head.key_start;
    bool single = all_single(scratch, count);
    if (begin < end)
        for (int64_t block = (begin - start) / ATT_BLOCK_KEYS,
                     last = (end - 1 - start) / ATT_BLOCK_KEYS;
             block <= last; block++)
            (single ? att_single_block : attend_keys)(fused, scratch, count, block, block == last);
    for (int64_t t = 0; t < count; t++) {
        finish_tile(fused, &scratch->tile[t]);
        att_report_tile(fused, &scratch->tile[t].head, &scratch->tile[t], scratch);
    }
}

static void work(void *context, int64_t worker, int64_t end)
{
    (void)end;
    att_fused *fused = context;
    att_scratch scratch = att_fused_scratch(fused, (int)worker);
    int64_t number;
    while ((number = atomic_fetch_add(&fused->next, 1)) < fused->units) {
        att_unit unit = att_fused_unit(fused, number), some = unit;
        att_report_head(fused, &scratch);
        for (; some.first < unit.last; some.first = some.last) {
            some.last = unit.last - some.first < ATT_TILES ? unit.last : some.first + ATT_TILES;
            attend_tiles(fused, &scratch, some);
        }
        att_report_head_end(fused, &scratch.tile[0].head, &scratch);
    }
}

att_status att_fused_forward(const att_problem *problem, const att_attention_outputs *out,
                             void *workspace, att_error *err)
{
    att_fused fused;
    void *own;
    void *room = att_fused_room(workspace, att_fused_plan(&fused, problem, out), &own);
    if (!room)
        return att_fail_memory(err);
    att_fused_place(&fused, room);
    att_status status = att_fused_lists(&fused, err);
    if (status == ATT_OK) {
        att_report_start(&fused);
        att_parallel_for(fused.workers, 1, work, &fused);
    }
    att_fused_free(&fused);
    att_free(own);
    return status;
}

size_t att_fused_forward_room(const att_problem *problem)
{
    /* The entropy takes room of each worker. So do totals, but with them workers are fewer. */
    att_tensor some;
    const att_attention_outputs entropy = { .entropy = &some },
                                both = { .key_totals = &some, .entropy = &some };
    att_fused fused;
    size_t least = att_fused_plan(&fused, problem, &entropy);
    size_t most = att_fused_plan(&fused, problem, &both);
    return most > least ? most : least;
}

size_t att_attention_workspace(const att_attention *how, const att_attention_inputs *in,
                               bool backward)
{
    att_problem problem;
    if (att_problem_new(&problem, how, in, NULL) != ATT_OK || !att_all_float(&problem, NULL))
        return 0;
    if (!att_fused_fits(&problem))
        return att_folded_room(&problem, backward);
    return backward ? att_back_room(&problem) : att_fused_forward_room(&problem);
}

att_status att_attention_forward(const att_attention *how, const att_attention_inputs *in,
                                 const att_attention_outputs *out, void *workspace, att_error *err)
{
    att_problem problem;
    ATT_TRY(att_problem_new(&problem, how, in, err));
    ATT_TRY(att_problem_check_outputs(&problem, out, err));
    if (!att_all_float(&problem, out))
        return att_attention_forward_ref(how, in, out, err);
    if (!att_fused_fits(&problem))
        return att_folded_forward(&problem, out, workspace, err);
    return att_fused_forward(&problem, out, workspace, err);
}
