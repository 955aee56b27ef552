/* A runner for each type of kernel in kern/rows.h: a query of 64 over a block of keys, or a row. */
#ifndef ATT_MEASURE_RUNNERS_ROWS_H
#define ATT_MEASURE_RUNNERS_ROWS_H

#include "measure/stage.h"

static const char additive_says[] = "1 query, 128 keys, hidden width 64";

static void run_att_kern_additive(att_kern_additive *kernel, stage *s)
{
    float *scores = writes(s, TILE_KEYS);
    const float *query = reads(s, TILE_WIDTH), *v = reads(s, TILE_WIDTH);
    att_rows keys = reads_rows(s, TILE_KEYS, TILE_WIDTH);
    stage_shape(s, additive_says, (double)(TILE_KEYS * TILE_WIDTH));
    TIMES(s) kernel(scores, query, v, keys);
}

static void run_att_kern_additive_back(att_kern_additive_back *kernel, stage *s)
{
    const float *query = reads(s, TILE_WIDTH), *v = reads(s, TILE_WIDTH);
    att_rows keys = reads_rows(s, TILE_KEYS, TILE_WIDTH);
    att_additive_grads grads = { .query = updates(s, TILE_WIDTH),
                                 .v = updates(s, TILE_WIDTH),
                                 .keys = updates(s, TILE_KEYS * TILE_WIDTH),
                                 .key_stride = TILE_WIDTH,
                                 .of_scores = reads(s, TILE_KEYS) };
    stage_shape(s, additive_says, (double)(TILE_KEYS * TILE_WIDTH));
    TIMES(s) kernel(&grads, query, v, keys);
}

static void run_att_kern_simplex(att_kern_simplex *kernel, stage *s)
{
    float *y = writes(s, ROW);
    const float *x = reads(s, ROW);
    TIMES(s) kernel(y, x, ROW);
}

static void run_att_kern_tile_unpack(att_kern_tile_unpack *kernel, stage *s)
{
    float *rows = writes(s, ATT_TILE_LANES * TILE_KEYS);
    const float *tile = reads(s, ATT_TILE_LANES * TILE_KEYS);
    stage_shape(s, "32 queries, 128 keys", (double)(ATT_TILE_LANES * TILE_KEYS));
    TIMES(s) kernel(rows, TILE_KEYS, ATT_TILE_LANES, tile, ATT_TILE_LANES, TILE_KEYS);
}

#endif
