/* A runner for each type of kernel in kern/attention_rowwise.h: a query of size 64 and a block of
 * keys, or a row. */
#ifndef ATT_MEASURE_RUNNERS_ROWS_H
#define ATT_MEASURE_RUNNERS_ROWS_H

#include "bench/kernel_fixture.h"

static const char additive_shape[] = "1 query, 128 keys, hidden size 64";

static void run_att_kern_additive_exps(att_kern_additive_exps *kernel, kernel_fixture *s)
{
    att_additive_exps exps = { .exps = fixture_output(s, s->row) };
    exps.mantissas = fixture_output(s, s->row);
    exps.exponents = fixture_output(s, s->row);
    const float *x = fixture_input(s, s->row);
    REPEAT(s) kernel(&exps, x, s->row);
}

static att_additive_exps exps_input(kernel_fixture *s, size_t rows)
{
    att_additive_exps exps = { .exps = fixture_alloc(s, rows * TILE_WIDTH, 1) };
    exps.mantissas = fixture_alloc(s, rows * TILE_WIDTH, 1);
    exps.exponents = fixture_alloc(s, rows * TILE_WIDTH, 1);
    return exps;
}

/* Every other key, and the query, have small elements. Exponentials may be any numbers. */
static att_additive additive_input(kernel_fixture *s)
{
    static bool small_keys[TILE_KEYS];
    for (size_t j = 0; j < TILE_KEYS; j++)
        small_keys[j] = j % 2 == 0;
    att_additive in = { .small_query = true, .small_keys = small_keys };
    in.query = fixture_input(s, TILE_WIDTH);
    in.query_exps = exps_input(s, 1);
    in.v = fixture_input(s, TILE_WIDTH);
    in.keys = fixture_input_rows(s, TILE_KEYS, TILE_WIDTH);
    in.key_exps = exps_input(s, TILE_KEYS);
    return in;
}

static void run_att_kern_additive(att_kern_additive *kernel, kernel_fixture *s)
{
    float *scores = fixture_output(s, TILE_KEYS);
    const att_additive in = additive_input(s);
    fixture_shape(s, additive_shape, (double)(TILE_KEYS * TILE_WIDTH));
    REPEAT(s) kernel(scores, &in);
}

static void run_att_kern_additive_backward(att_kern_additive_backward *kernel, kernel_fixture *s)
{
    const att_additive in = additive_input(s);
    att_additive_grads grads = { .query = fixture_inout(s, TILE_WIDTH),
                                 .v = fixture_inout(s, TILE_WIDTH),
                                 .keys = fixture_inout(s, TILE_KEYS * TILE_WIDTH),
                                 .key_stride = TILE_WIDTH,
                                 .scores = fixture_input(s, TILE_KEYS) };
    fixture_shape(s, additive_shape, (double)(TILE_KEYS * TILE_WIDTH));
    REPEAT(s) kernel(&grads, &in);
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
