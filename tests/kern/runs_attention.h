/* The kernels of kern/attention.h, ready to run in a scene: at every number of lanes, with the
 * scene's n as the number of keys or as the width of a row. */
#ifndef ATT_TESTS_KERN_RUNS_ATTENTION_H
#define ATT_TESTS_KERN_RUNS_ATTENTION_H

#include "kern/attention.h"
#include "kern/scene.h"

static const size_t tile_lanes[] = { 1, 16, 32 };
enum { TILE_SIZES = sizeof tile_lanes / sizeof *tile_lanes };

#define FOR_EACH_TILE(lanes)                                                                       \
    for (size_t t_ = 0, lanes = 1; t_ < TILE_SIZES;                                                \
         t_++, lanes = t_ < TILE_SIZES ? tile_lanes[t_] : 0)

/* A block has few keys; wide rows come with short columns, to keep the tests quick. */
static inline size_t scene_keys(const scene *s)
{
    return s->n % (ATT_BLOCK_KEYS + 1);
}

static inline size_t scene_width(const scene *s)
{
    return s->n > 300 ? 300 : s->n;
}

/* Rows that lie apart, the last one ending with its width. */
static inline att_matrix_view scene_rows(scene *s, size_t count, size_t width)
{
    size_t stride = width + 3;
    size_t length = count > 0 ? (count - 1) * stride + width : 0;
    return (att_matrix_view){ scene_take(s, length), (ptrdiff_t)stride, count, width };
}

/* Which pairs are allowed: some bits, sometimes none. */
static inline void scene_allow(const scene *s, uint32_t allow[ATT_BLOCK_KEYS])
{
    for (size_t j = 0; j < ATT_BLOCK_KEYS; j++)
        allow[j] = j % 7 == 3 ? 0 : att_random_bits(s->seed, 4000, j);
}

static inline void run_att_kern_tile_pack(att_kern_tile_pack *kernel, scene *s)
{
    FOR_EACH_TILE(lanes)
    {
        att_matrix_view rows = scene_rows(s, lanes - lanes / 3, scene_width(s));
        kernel(scene_take(s, lanes * rows.columns), lanes, rows, 0.3f);
    }
}

static inline void run_att_kern_tile_scores(att_kern_tile_scores *kernel, scene *s)
{
    FOR_EACH_TILE(lanes)
    {
        size_t width = scene_width(s), keys = s->n > 67 ? scene_keys(s) : s->n * 3 % 67;
        const float *tile = scene_take(s, lanes * width);
        att_matrix_view rows = scene_rows(s, keys, width);
        kernel(scene_take(s, lanes * keys), lanes, tile, rows);
    }
}

/* The prefetch address is never read: it may end before or after the keys, or be unmapped. */
static inline void run_att_kern_single_query_scores(att_kern_single_query_scores *kernel, scene *s)
{
    size_t width = scene_width(s), keys = s->n > 67 ? scene_keys(s) : s->n * 3 % 67;
    const float *query = scene_take(s, width);
    att_matrix_view rows = scene_rows(s, keys, width), ahead = rows;
    ahead.data += s->n % 3 * 4096;
    ahead.rows = s->n * 2 % 67;
    kernel(scene_take(s, keys), query, rows, ahead);
}

static inline void run_att_kern_single_query_combine(att_kern_single_query_combine *kernel,
                                                     scene *s)
{
    size_t width = scene_width(s), keys = s->n * 7 % 71;
    const float *weights = scene_take(s, keys);
    att_matrix_view values = scene_rows(s, keys, width), ahead = values;
    ahead.rows = s->n * 2 % 67;
    kernel(scene_take(s, width), weights, values, ahead);
}

static inline void run_att_kern_tile_softmax(att_kern_tile_softmax *kernel, scene *s)
{
    FOR_EACH_TILE(lanes)
    {
        float *scores = scene_take(s, lanes * scene_keys(s)), *state = scene_take(s, 3 * lanes);
        att_tile_state inside = { 0 };
        memcpy(inside.max, state, lanes * sizeof(float));
        memcpy(inside.sum, state + lanes, lanes * sizeof(float));
        kernel(scores, lanes, scene_keys(s), &inside);
        memcpy(state, inside.max, lanes * sizeof(float));
        memcpy(state + lanes, inside.sum, lanes * sizeof(float));
        memcpy(state + 2 * lanes, inside.rescale, lanes * sizeof(float));
    }
}

static inline void run_att_kern_tile_weights(att_kern_tile_weights *kernel, scene *s)
{
    FOR_EACH_TILE(lanes)
    {
        size_t keys = scene_keys(s);
        float *scores = scene_take(s, lanes * keys), *shift = scene_take(s, lanes);
        for (size_t q = 0; q < lanes; q++)
            for (size_t j = 0; j < keys; j++)
                shift[q] = !(shift[q] >= scores[j * lanes + q]) ? INFINITY : shift[q];
        kernel(scores, lanes, keys, shift, scene_take(s, lanes));
    }
}

static inline void run_att_kern_tile_combine(att_kern_tile_combine *kernel, scene *s)
{
    FOR_EACH_TILE(lanes)
    {
        size_t queries = lanes - lanes / 5, width = scene_width(s), keys = s->n * 7 % 71;
        const float *weights = scene_take(s, lanes * keys), *keep = scene_take(s, queries);
        att_matrix_view values = scene_rows(s, keys, width);
        float *sums = scene_take(s, queries * (width + 5));
        kernel(sums, width + 5, queries, s->n % 3 ? keep : NULL, weights, lanes, values);
    }
}

static inline void run_att_kern_tile_combine_masked(att_kern_tile_combine_masked *kernel, scene *s)
{
    uint32_t allow[ATT_BLOCK_KEYS];
    scene_allow(s, allow);
    FOR_EACH_TILE(lanes)
    {
        size_t queries = lanes - lanes / 5, width = scene_width(s), keys = s->n * 7 % 71;
        const float *weights = scene_take(s, lanes * keys), *keep = scene_take(s, queries);
        att_matrix_view values = scene_rows(s, keys, width);
        float *sums = scene_take(s, queries * (width + 5));
        kernel(sums, width + 5, queries, s->n % 3 ? keep : NULL, weights, lanes, values, allow);
    }
}

static inline void run_att_kern_tile_mask(att_kern_tile_mask *kernel, scene *s)
{
    uint32_t allow[ATT_BLOCK_KEYS];
    scene_allow(s, allow);
    FOR_EACH_TILE(lanes)
    kernel(scene_take(s, lanes * scene_keys(s)), lanes, scene_keys(s), allow, -2.0f);
}

/* Bits as numbers in a fenced array, half a word each, which a float holds exactly. */
static inline void scene_keep_bits(scene *s, const uint32_t *bits, size_t count)
{
    float *halves = scene_take(s, 2 * count);
    for (size_t j = 0; j < count; j++) {
        halves[2 * j] = (float)(bits[j] & 0xffff);
        halves[2 * j + 1] = (float)(bits[j] >> 16);
    }
}

static inline void run_att_kern_tile_mask_from_bytes(att_kern_tile_mask_from_bytes *kernel,
                                                     scene *s)
{
    uint32_t allow[ATT_BLOCK_KEYS];
    uint8_t bytes[ATT_TILE_LANES * (ATT_BLOCK_KEYS + 2)];
    for (size_t n = 0; n < sizeof bytes; n++)
        bytes[n] = (uint8_t)(att_random_bits(s->seed, 5000, n) % 3);
    scene_allow(s, allow);
    kernel(allow, scene_keys(s), bytes, ATT_BLOCK_KEYS + 2, s->n % 33);
    scene_keep_bits(s, allow, ATT_BLOCK_KEYS);
}

static inline void run_att_kern_tile_dropout_mask(att_kern_tile_dropout_mask *kernel, scene *s)
{
    static const uint64_t thresholds[] = { 1, 1u << 30, 3u << 30, UINT32_MAX, UINT64_C(1) << 32 };
    uint32_t kept[ATT_BLOCK_KEYS] = { 0 };
    FOR_EACH_TILE(lanes)
    {
        att_tile_dropout draw = { .key = s->seed * UINT64_C(0x9e3779b97f4a7c15),
                                  .threshold = thresholds[s->seed % 5],
                                  .b = 3,
                                  .h = 2,
                                  .i = (uint32_t)s->n * 1000,
                                  .j = (uint32_t)s->seed % 200 };
        kernel(kept, lanes, scene_keys(s), &draw);
        scene_keep_bits(s, kept, ATT_BLOCK_KEYS);
    }
}

static inline void run_att_kern_tile_add_distance_bias(att_kern_tile_add_distance_bias *kernel,
                                                       scene *s)
{
    FOR_EACH_TILE(lanes)
    {
        const float *by_distance = scene_take(s, lanes + scene_keys(s) - 1);
        kernel(scene_take(s, lanes * scene_keys(s)), lanes, scene_keys(s), by_distance);
    }
}

static inline void run_att_kern_tile_soft_cap(att_kern_tile_soft_cap *kernel, scene *s)
{
    kernel(scene_take(s, s->n), s->n, 5.0f, 0.2f);
}

static inline void run_att_kern_tile_soft_cap_derivative(att_kern_tile_soft_cap_derivative *kernel,
                                                         scene *s)
{
    const float *x = scene_take(s, s->n);
    kernel(scene_take(s, s->n), x, s->n, 0.2f);
}

static inline void run_att_kern_tile_softmax_backward(att_kern_tile_softmax_backward *kernel,
                                                      scene *s)
{
    FOR_EACH_TILE(lanes)
    {
        float *scores = scene_take(s, lanes * scene_keys(s));
        float *grads = scene_take(s, lanes * scene_keys(s)), *shift = scene_take(s, 2 * lanes);
        kernel(scores, grads, lanes, scene_keys(s), shift, shift + lanes);
    }
}

static inline void run_att_kern_tile_combine_transposed(att_kern_tile_combine_transposed *kernel,
                                                        scene *s)
{
    FOR_EACH_TILE(lanes)
    {
        size_t width = scene_width(s), keys = s->n * 7 % 71;
        const float *tile = scene_take(s, lanes * keys);
        att_matrix_view rows = scene_rows(s, lanes - lanes / 5, width);
        kernel(scene_take(s, keys * (width + 5)), width + 5, keys, tile, lanes, rows);
    }
}

static inline void run_att_kern_tile_combine_transposed_masked(
    att_kern_tile_combine_transposed_masked *kernel, scene *s)
{
    uint32_t allow[ATT_BLOCK_KEYS];
    scene_allow(s, allow);
    FOR_EACH_TILE(lanes)
    {
        size_t width = scene_width(s), keys = s->n * 7 % 71;
        const float *tile = scene_take(s, lanes * keys);
        att_matrix_view rows = scene_rows(s, lanes - lanes / 5, width);
        kernel(scene_take(s, keys * (width + 5)), width + 5, keys, tile, lanes, rows, allow);
    }
}

static inline void run_att_kern_tile_scale_output(att_kern_tile_scale_output *kernel, scene *s)
{
    size_t width = scene_width(s), rows = s->n % 33;
    att_matrix_view sums = scene_rows(s, rows, width);
    const float *factor = scene_take(s, rows);
    kernel(scene_take(s, rows * (width + 1)), (ptrdiff_t)width + 1, factor, sums);
}

static inline void run_att_kern_all_finite(att_kern_all_finite *kernel, scene *s)
{
    for (size_t rows = 0; rows < 4; rows++) {
        att_matrix_view some = scene_rows(s, rows, scene_width(s));
        *scene_take(s, 1) = kernel(some);
    }
}

#endif
