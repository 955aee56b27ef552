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

/* The exponentials of `count` numbers: kernels that use them in different ways give the same bits
 * only if they belong together. */
static att_additive_exps exps_of(kernel_fixture *s, const float *x, size_t count)
{
    att_additive_exps exps = { .exps = fixture_alloc(s, count, 1) };
    exps.mantissas = fixture_alloc(s, count, 1);
    exps.exponents = fixture_alloc(s, count, 1);
    if (x)
        att_kernels_get()->additive_exps(&exps, x, count);
    return exps;
}

/* All elements are small; for every other key that is not known. */
static att_additive additive_input(kernel_fixture *s)
{
    static bool small_keys[TILE_KEYS];
    for (size_t j = 0; j < TILE_KEYS; j++)
        small_keys[j] = j % 2 == 0;
    att_additive in = { .small_query = true, .small_keys = small_keys };
    in.query = fixture_input(s, TILE_WIDTH);
    in.query_exps = exps_of(s, in.query, TILE_WIDTH);
    in.v = fixture_input(s, TILE_WIDTH);
    in.keys = fixture_input_rows(s, TILE_KEYS, TILE_WIDTH);
    in.key_exps = exps_of(s, in.keys.data, TILE_KEYS * TILE_WIDTH);
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
    att_additive_grads grads = { .key_stride = TILE_WIDTH };
    grads.query =
        fixture_inout(s, TILE_WIDTH); /* one after the other: numbers are drawn in order */
    grads.v = fixture_inout(s, TILE_WIDTH);
    grads.keys = fixture_inout(s, TILE_KEYS * TILE_WIDTH);
    grads.scores = fixture_input(s, TILE_KEYS);
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
