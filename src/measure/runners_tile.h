/* A runner for each type of kernel in kern/attention.h: one full tile of queries and a whole block
 * of keys, heads of 64. */
#ifndef ATT_MEASURE_RUNNERS_TILE_H
#define ATT_MEASURE_RUNNERS_TILE_H

#include "measure/stage.h"

enum { TILE_SCORES = ATT_TILE_LANES * TILE_KEYS, TILE_QUERY = ATT_TILE_LANES * TILE_WIDTH };

static const char tile_says[] = "32 queries, 128 keys, heads of 64";

/* Two operations for each of `pairs` of query and key and each column. */
static inline void tile_computes(stage *s, size_t pairs)
{
    stage_shape(s, tile_says, (double)pairs);
    computes(s, 2.0 * (double)pairs * TILE_WIDTH);
}

static inline size_t allowed_pairs(const stage *s)
{
    size_t pairs = 0;
    for (size_t j = 0; j < TILE_KEYS; j++)
        pairs += (size_t)__builtin_popcount(s->allow[j]);
    return pairs;
}

static float *updates_scores(stage *s)
{
    stage_shape(s, tile_says, TILE_SCORES);
    return updates(s, TILE_SCORES);
}

static void run_att_kern_tile_pack(att_kern_tile_pack *kernel, stage *s)
{
    float *tile = writes(s, TILE_QUERY);
    att_rows rows = reads_rows(s, ATT_TILE_LANES, TILE_WIDTH);
    stage_shape(s, tile_says, TILE_QUERY);
    TIMES(s) kernel(tile, ATT_TILE_LANES, rows, 0.125f);
}

static void run_att_kern_tile_scores(att_kern_tile_scores *kernel, stage *s)
{
    float *scores = writes(s, TILE_SCORES);
    const float *tile = reads(s, TILE_QUERY);
    att_rows keys = reads_rows(s, TILE_KEYS, TILE_WIDTH);
    tile_computes(s, TILE_SCORES);
    TIMES(s) kernel(scores, ATT_TILE_LANES, tile, keys);
}

static void run_att_kern_row_scores(att_kern_row_scores *kernel, stage *s)
{
    float *scores = writes(s, TILE_KEYS);
    const float *query = reads(s, TILE_WIDTH);
    att_rows keys = reads_rows(s, TILE_KEYS, TILE_WIDTH);
    tile_computes(s, TILE_KEYS);
    TIMES(s) kernel(scores, query, keys, (att_rows){ 0 });
}

static void run_att_kern_row_add(att_kern_row_add *kernel, stage *s)
{
    float *sums = updates(s, TILE_WIDTH);
    const float *weights = reads(s, TILE_KEYS);
    att_rows values = reads_rows(s, TILE_KEYS, TILE_WIDTH);
    tile_computes(s, TILE_KEYS);
    TIMES(s) kernel(sums, weights, values, (att_rows){ 0 });
}

/* In place: what were weights a call ago are the next scores, and as good as any. */
static void run_att_kern_tile_softmax(att_kern_tile_softmax *kernel, stage *s)
{
    float *scores = updates_scores(s);
    att_tile_state state = { 0 };
    TIMES(s) kernel(scores, ATT_TILE_LANES, TILE_KEYS, &state);
}

static void run_att_kern_tile_weights(att_kern_tile_weights *kernel, stage *s)
{
    float *scores = updates_scores(s), shift[ATT_TILE_LANES], factor[ATT_TILE_LANES];
    for (size_t q = 0; q < ATT_TILE_LANES; q++) {
        shift[q] = 2.0f;
        factor[q] = 0.5f;
    }
    TIMES(s) kernel(scores, ATT_TILE_LANES, TILE_KEYS, shift, factor);
}

static void run_att_kern_tile_combine(att_kern_tile_combine *kernel, stage *s)
{
    float *sums = updates(s, TILE_QUERY);
    const float keep[ATT_TILE_LANES] = { 0 }, *weights = reads(s, TILE_SCORES);
    att_rows values = reads_rows(s, TILE_KEYS, TILE_WIDTH);
    tile_computes(s, TILE_SCORES);
    TIMES(s) kernel(sums, TILE_WIDTH, ATT_TILE_LANES, keep, weights, ATT_TILE_LANES, values);
}

static void run_att_kern_tile_combine_allowed(att_kern_tile_combine_allowed *kernel, stage *s)
{
    float *sums = updates(s, TILE_QUERY);
    const float keep[ATT_TILE_LANES] = { 0 }, *weights = reads(s, TILE_SCORES);
    att_rows values = reads_rows(s, TILE_KEYS, TILE_WIDTH);
    tile_computes(s, allowed_pairs(s));
    TIMES(s)
    kernel(sums, TILE_WIDTH, ATT_TILE_LANES, keep, weights, ATT_TILE_LANES, values, s->allow);
}

static void run_att_kern_tile_mask(att_kern_tile_mask *kernel, stage *s)
{
    float *scores = updates_scores(s);
    TIMES(s) kernel(scores, ATT_TILE_LANES, TILE_KEYS, s->allow, -2.0f);
}

static void run_att_kern_tile_allow(att_kern_tile_allow *kernel, stage *s)
{
    s->bytes += sizeof s->allow_bytes + 2 * sizeof s->allow;
    stage_shape(s, tile_says, TILE_SCORES);
    TIMES(s) kernel(s->allow, TILE_KEYS, s->allow_bytes, ATT_BLOCK_KEYS, ATT_TILE_LANES);
}

static void run_att_kern_tile_draw(att_kern_tile_draw *kernel, stage *s)
{
    const att_tile_draw draw = { .key = 1, .threshold = UINT32_MAX / 10 };
    s->bytes += sizeof s->allow;
    stage_shape(s, tile_says, TILE_SCORES);
    TIMES(s) kernel(s->allow, ATT_TILE_LANES, TILE_KEYS, &draw);
}

static void run_att_kern_tile_diagonals(att_kern_tile_diagonals *kernel, stage *s)
{
    float *scores = updates_scores(s);
    const float *by_distance = reads(s, ATT_TILE_LANES + TILE_KEYS - 1);
    TIMES(s) kernel(scores, ATT_TILE_LANES, TILE_KEYS, by_distance);
}

static void run_att_kern_tile_cap(att_kern_tile_cap *kernel, stage *s)
{
    float *x = updates(s, ROW);
    TIMES(s) kernel(x, ROW, 30.0f, 1.0f / 30.0f);
}

static void run_att_kern_tile_cap_slope(att_kern_tile_cap_slope *kernel, stage *s)
{
    float *slope = writes(s, ROW);
    const float *x = reads(s, ROW);
    TIMES(s) kernel(slope, x, ROW, 1.0f / 30.0f);
}

static void run_att_kern_tile_back(att_kern_tile_back *kernel, stage *s)
{
    float *scores = updates_scores(s), *grads = updates_scores(s);
    float shift[ATT_TILE_LANES], along[ATT_TILE_LANES];
    for (size_t q = 0; q < ATT_TILE_LANES; q++) {
        shift[q] = 2.0f;
        along[q] = 0.5f;
    }
    TIMES(s) kernel(scores, grads, ATT_TILE_LANES, TILE_KEYS, shift, along);
}

static void run_att_kern_tile_spread(att_kern_tile_spread *kernel, stage *s)
{
    float *sums = updates(s, TILE_KEYS * TILE_WIDTH);
    const float *tile = reads(s, TILE_SCORES);
    att_rows rows = reads_rows(s, ATT_TILE_LANES, TILE_WIDTH);
    tile_computes(s, TILE_SCORES);
    TIMES(s) kernel(sums, TILE_WIDTH, TILE_KEYS, tile, ATT_TILE_LANES, rows);
}

static void run_att_kern_tile_spread_allowed(att_kern_tile_spread_allowed *kernel, stage *s)
{
    float *sums = updates(s, TILE_KEYS * TILE_WIDTH);
    const float *tile = reads(s, TILE_SCORES);
    att_rows rows = reads_rows(s, ATT_TILE_LANES, TILE_WIDTH);
    tile_computes(s, allowed_pairs(s));
    TIMES(s) kernel(sums, TILE_WIDTH, TILE_KEYS, tile, ATT_TILE_LANES, rows, s->allow);
}

static void run_att_kern_tile_finish(att_kern_tile_finish *kernel, stage *s)
{
    float *out = writes(s, TILE_QUERY);
    att_rows sums = reads_rows(s, ATT_TILE_LANES, TILE_WIDTH);
    const float *factor = reads(s, ATT_TILE_LANES);
    stage_shape(s, tile_says, TILE_QUERY);
    TIMES(s) kernel(out, TILE_WIDTH, factor, sums);
}

static void run_att_kern_rows_finite(att_kern_rows_finite *kernel, stage *s)
{
    att_rows rows = reads_rows(s, ATT_TILE_LANES, TILE_WIDTH);
    stage_shape(s, tile_says, TILE_QUERY);
    TIMES(s) s->result += kernel(rows);
}

#endif
