/* A runner for each type of kernel in kern/attention_rowwise.h: a query of size 64 and a block of
 * keys, or a row. */
#ifndef ATT_MEASURE_RUNNERS_ROWS_H
#define ATT_MEASURE_RUNNERS_ROWS_H

#include "bench/kernel_fixture.h"

static const char additive_shape[] = "1 query, 128 keys, hidden size 64";

static void run_att_kern_additive(att_kern_additive *kernel, kernel_fixture *s)
{
    float *scores = fixture_output(s, TILE_KEYS);
    const float *query = fixture_input(s, TILE_WIDTH), *v = fixture_input(s, TILE_WIDTH);
    att_matrix_view keys = fixture_input_rows(s, TILE_KEYS, TILE_WIDTH);
    fixture_shape(s, additive_shape, (double)(TILE_KEYS * TILE_WIDTH));
    REPEAT(s) kernel(scores, query, v, keys);
}

static void run_att_kern_additive_backward(att_kern_additive_backward *kernel, kernel_fixture *s)
{
    const float *query = fixture_input(s, TILE_WIDTH), *v = fixture_input(s, TILE_WIDTH);
    att_matrix_view keys = fixture_input_rows(s, TILE_KEYS, TILE_WIDTH);
    att_additive_grads grads = { .query = fixture_inout(s, TILE_WIDTH),
                                 .v = fixture_inout(s, TILE_WIDTH),
                                 .keys = fixture_inout(s, TILE_KEYS * TILE_WIDTH),
                                 .key_stride = TILE_WIDTH,
                                 .scores = fixture_input(s, TILE_KEYS) };
    fixture_shape(s, additive_shape, (double)(TILE_KEYS * TILE_WIDTH));
    REPEAT(s) kernel(&grads, query, v, keys);
}

static void run_att_kern_simplex(att_kern_simplex *kernel, kernel_fixture *s)
{
    float *y = fixture_output(s, s->row);
    const float *x = fixture_input(s, s->row);
    REPEAT(s) kernel(y, x, s->row);
}

static void run_att_kern_tile_unpack(att_kern_tile_unpack *kernel, kernel_fixture *s)
{
    float *rows = fixture_output(s, ATT_TILE_LANES * TILE_KEYS);
    const float *tile = fixture_input(s, ATT_TILE_LANES * TILE_KEYS);
    fixture_shape(s, "32 queries, 128 keys", (double)(ATT_TILE_LANES * TILE_KEYS));
    REPEAT(s) kernel(rows, TILE_KEYS, ATT_TILE_LANES, tile, ATT_TILE_LANES, TILE_KEYS);
}

#endif
