/* A runner for each type of kernel in kern/attention.h: a full tile of queries, a full block of
 * keys, heads of 64. */
#ifndef ATT_BENCH_KERNEL_RUNNERS_ATTENTION_H
#define ATT_BENCH_KERNEL_RUNNERS_ATTENTION_H

#include "bench/kernel_fixture.h"

enum { TILE_SCORES = ATT_TILE_LANES * TILE_KEYS, TILE_QUERY = ATT_TILE_LANES * TILE_WIDTH };

static const char tile_shape[] = "32 queries, 128 keys, heads of 64";

/* Two operations per pair of query and key and per column. */
static inline void tile_flops(kernel_fixture *s, size_t pairs)
{
    fixture_shape(s, tile_shape, (double)pairs);
    fixture_flops(s, 2.0 * (double)pairs * TILE_WIDTH);
}

static inline size_t unmasked_pairs(const kernel_fixture *s)
{
    size_t pairs = 0;
    for (size_t j = 0; j < TILE_KEYS; j++)
        pairs += (size_t)__builtin_popcount(s->mask_bits[j]);
    return pairs;
}

static float *inout_scores(kernel_fixture *s)
{
    fixture_shape(s, tile_shape, TILE_SCORES);
    return fixture_inout(s, TILE_SCORES);
}

static void run_att_kern_tile_pack(att_kern_tile_pack *kernel, kernel_fixture *s)
{
    float *tile = fixture_output(s, TILE_QUERY);
    att_matrix_view rows = fixture_input_rows(s, ATT_TILE_LANES, TILE_WIDTH);
    fixture_shape(s, tile_shape, TILE_QUERY);
    REPEAT(s) kernel(tile, ATT_TILE_LANES, rows, 0.125f);
}

static void run_att_kern_tile_scores(att_kern_tile_scores *kernel, kernel_fixture *s)
{
    float *scores = fixture_output(s, TILE_SCORES);
    const float *tile = fixture_input(s, TILE_QUERY);
    att_matrix_view keys = fixture_input_rows(s, TILE_KEYS, TILE_WIDTH);
    tile_flops(s, TILE_SCORES);
    REPEAT(s) kernel(scores, ATT_TILE_LANES, tile, keys);
}

static void run_att_kern_single_query_scores(att_kern_single_query_scores *kernel,
                                             kernel_fixture *s)
{
    float *scores = fixture_output(s, TILE_KEYS);
    const float *query = fixture_input(s, TILE_WIDTH);
    att_matrix_view keys = fixture_input_rows(s, TILE_KEYS, TILE_WIDTH);
    tile_flops(s, TILE_KEYS);
    REPEAT(s) kernel(scores, query, keys, (att_matrix_view){ 0 });
}

static void run_att_kern_single_query_combine(att_kern_single_query_combine *kernel,
                                              kernel_fixture *s)
{
    float *sums = fixture_inout(s, TILE_WIDTH);
    const float *weights = fixture_input(s, TILE_KEYS);
    att_matrix_view values = fixture_input_rows(s, TILE_KEYS, TILE_WIDTH);
    tile_flops(s, TILE_KEYS);
    REPEAT(s) kernel(sums, weights, values, (att_matrix_view){ 0 });
}

/* In place: the weights of one call are the scores of the next. */
static void run_att_kern_tile_softmax(att_kern_tile_softmax *kernel, kernel_fixture *s)
{
    float *scores = inout_scores(s);
    att_tile_state state = { 0 };
    REPEAT(s) kernel(scores, ATT_TILE_LANES, TILE_KEYS, &state);
}

static void run_att_kern_tile_weights(att_kern_tile_weights *kernel, kernel_fixture *s)
{
    float *scores = inout_scores(s), shift[ATT_TILE_LANES], factor[ATT_TILE_LANES];
    for (size_t q = 0; q < ATT_TILE_LANES; q++) {
        shift[q] = 2.0f;
        factor[q] = 0.5f;
    }
    REPEAT(s) kernel(scores, ATT_TILE_LANES, TILE_KEYS, shift, factor);
}

static void run_att_kern_tile_combine(att_kern_tile_combine *kernel, kernel_fixture *s)
{
    float *sums = fixture_inout(s, TILE_QUERY);
    const float keep[ATT_TILE_LANES] = { 0 }, *weights = fixture_input(s, TILE_SCORES);
    att_matrix_view values = fixture_input_rows(s, TILE_KEYS, TILE_WIDTH);
    tile_flops(s, TILE_SCORES);
    REPEAT(s) kernel(sums, TILE_WIDTH, ATT_TILE_LANES, keep, weights, ATT_TILE_LANES, values);
}

static void run_att_kern_tile_combine_masked(att_kern_tile_combine_masked *kernel,
                                             kernel_fixture *s)
{
    float *sums = fixture_inout(s, TILE_QUERY);
    const float keep[ATT_TILE_LANES] = { 0 }, *weights = fixture_input(s, TILE_SCORES);
    att_matrix_view values = fixture_input_rows(s, TILE_KEYS, TILE_WIDTH);
    tile_flops(s, unmasked_pairs(s));
    REPEAT(s)
    kernel(sums, TILE_WIDTH, ATT_TILE_LANES, keep, weights, ATT_TILE_LANES, values, s->mask_bits);
}

static void run_att_kern_tile_mask(att_kern_tile_mask *kernel, kernel_fixture *s)
{
    float *scores = inout_scores(s);
    REPEAT(s) kernel(scores, ATT_TILE_LANES, TILE_KEYS, s->mask_bits, -2.0f);
}

static void run_att_kern_tile_mask_from_bytes(att_kern_tile_mask_from_bytes *kernel,
                                              kernel_fixture *s)
{
    s->bytes += sizeof s->mask_bytes + 2 * sizeof s->mask_bits;
    fixture_shape(s, tile_shape, TILE_SCORES);
    REPEAT(s) kernel(s->mask_bits, TILE_KEYS, s->mask_bytes, ATT_BLOCK_KEYS, ATT_TILE_LANES);
}

static void run_att_kern_tile_dropout_mask(att_kern_tile_dropout_mask *kernel, kernel_fixture *s)
{
    const att_tile_dropout draw = { .key = 1, .threshold = UINT32_MAX / 10 };
    s->bytes += sizeof s->mask_bits;
    fixture_shape(s, tile_shape, TILE_SCORES);
    REPEAT(s) kernel(s->mask_bits, ATT_TILE_LANES, TILE_KEYS, &draw);
}

static void run_att_kern_tile_add_distance_bias(att_kern_tile_add_distance_bias *kernel,
                                                kernel_fixture *s)
{
    float *scores = inout_scores(s);
    const float *by_distance = fixture_input(s, ATT_TILE_LANES + TILE_KEYS - 1);
    REPEAT(s) kernel(scores, ATT_TILE_LANES, TILE_KEYS, by_distance);
}

static void run_att_kern_tile_soft_cap(att_kern_tile_soft_cap *kernel, kernel_fixture *s)
{
    float *x = fixture_inout(s, s->row);
    REPEAT(s) kernel(x, s->row, 30.0f, 1.0f / 30.0f);
}

static void run_att_kern_tile_soft_cap_derivative(att_kern_tile_soft_cap_derivative *kernel,
                                                  kernel_fixture *s)
{
    float *slope = fixture_output(s, s->row);
    const float *x = fixture_input(s, s->row);
    REPEAT(s) kernel(slope, x, s->row, 1.0f / 30.0f);
}

static void run_att_kern_tile_softmax_backward(att_kern_tile_softmax_backward *kernel,
                                               kernel_fixture *s)
{
    float *scores = inout_scores(s), *grads = inout_scores(s);
    float shift[ATT_TILE_LANES], along[ATT_TILE_LANES];
    for (size_t q = 0; q < ATT_TILE_LANES; q++) {
        shift[q] = 2.0f;
        along[q] = 0.5f;
    }
    REPEAT(s) kernel(scores, grads, ATT_TILE_LANES, TILE_KEYS, shift, along);
}

static void run_att_kern_tile_combine_transposed(att_kern_tile_combine_transposed *kernel,
                                                 kernel_fixture *s)
{
    float *sums = fixture_inout(s, TILE_KEYS * TILE_WIDTH);
    const float *tile = fixture_input(s, TILE_SCORES);
    att_matrix_view rows = fixture_input_rows(s, ATT_TILE_LANES, TILE_WIDTH);
    tile_flops(s, TILE_SCORES);
    REPEAT(s) kernel(sums, TILE_WIDTH, TILE_KEYS, tile, ATT_TILE_LANES, rows);
}

static void run_att_kern_tile_combine_transposed_masked(
    att_kern_tile_combine_transposed_masked *kernel, kernel_fixture *s)
{
    float *sums = fixture_inout(s, TILE_KEYS * TILE_WIDTH);
    const float *tile = fixture_input(s, TILE_SCORES);
    att_matrix_view rows = fixture_input_rows(s, ATT_TILE_LANES, TILE_WIDTH);
    tile_flops(s, unmasked_pairs(s));
    REPEAT(s) kernel(sums, TILE_WIDTH, TILE_KEYS, tile, ATT_TILE_LANES, rows, s->mask_bits);
}

static void run_att_kern_tile_scale_output(att_kern_tile_scale_output *kernel, kernel_fixture *s)
{
    float *out = fixture_output(s, TILE_QUERY);
    att_matrix_view sums = fixture_input_rows(s, ATT_TILE_LANES, TILE_WIDTH);
    const float *factor = fixture_input(s, ATT_TILE_LANES);
    fixture_shape(s, tile_shape, TILE_QUERY);
    REPEAT(s) kernel(out, TILE_WIDTH, factor, sums);
}

static void run_att_kern_all_finite(att_kern_all_finite *kernel, kernel_fixture *s)
{
    att_matrix_view rows = fixture_input_rows(s, ATT_TILE_LANES, TILE_WIDTH);
    fixture_shape(s, tile_shape, TILE_QUERY);
    REPEAT(s) s->result += kernel(rows);
}

#endif
