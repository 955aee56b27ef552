/* The kernels of kern/attention_rowwise.h, ready to run in a scene. */
#ifndef ATT_TESTS_KERN_RUNS_ATTENTION_ROWWISE_H
#define ATT_TESTS_KERN_RUNS_ATTENTION_ROWWISE_H

#include "kern/attention_rowwise.h"
#include "kern/runs_attention.h"

static inline att_additive_exps scene_exps(scene *s, size_t count)
{
    att_additive_exps exps = { .exps = scene_take(s, count) };
    exps.mantissas = scene_take(s, count);
    exps.exponents = scene_take(s, count);
    return exps;
}

static inline void run_att_kern_additive_exps(att_kern_additive_exps *kernel, scene *s)
{
    const float *x = scene_take(s, s->n);
    const att_additive_exps exps = scene_exps(s, s->n);
    scene_take(s, 1)[0] = kernel(&exps, x, s->n);
}

/* A query and `count` keys with their exponentials. */
static inline att_additive scene_additive(scene *s, size_t count, bool *small_keys)
{
    const att_kernels *plain = att_kernels_for(ATT_CPU_SCALAR);
    size_t width = scene_width(s);
    att_additive in = { .query = scene_take(s, width), .query_exps = scene_exps(s, width) };
    in.v = scene_take(s, width);
    in.keys = scene_rows(s, count, width);
    in.key_exps = scene_exps(s, count * width);
    in.small_query = plain->additive_exps(&in.query_exps, in.query, width) > 0;
    in.small_keys = small_keys;
    for (size_t j = 0; j < count; j++) {
        const att_additive_exps row = { .exps = in.key_exps.exps + j * width,
                                        .mantissas = in.key_exps.mantissas + j * width,
                                        .exponents = in.key_exps.exponents + j * width };
        const float *key = in.keys.data + (ptrdiff_t)j * in.keys.stride;
        small_keys[j] = plain->additive_exps(&row, key, width) > 0;
    }
    return in;
}

static inline void run_att_kern_additive(att_kern_additive *kernel, scene *s)
{
    bool small_keys[9];
    const att_additive in = scene_additive(s, s->seed % 9, small_keys);
    kernel(scene_take(s, in.keys.rows), &in);
}

static inline void run_att_kern_additive_backward(att_kern_additive_backward *kernel, scene *s)
{
    bool small_keys[9];
    size_t count = s->seed % 9;
    const att_additive in = scene_additive(s, count, small_keys);
    size_t width = in.keys.columns;
    float *of_scores = scene_take(s, count);
    for (size_t j = 0; j < count; j += 3)
        of_scores[j] = 0;
    att_additive_grads grads = { .query = scene_take(s, width),
                                 .v = scene_take(s, width),
                                 .keys = scene_take(s, count > 0 ? count * (width + 2) - 2 : 0),
                                 .key_stride = width + 2,
                                 .scores = of_scores };
    kernel(&grads, &in);
}

static inline void run_att_kern_simplex(att_kern_simplex *kernel, scene *s)
{
    const float *x = scene_take(s, s->n);
    kernel(scene_take(s, s->n), x, s->n);
}

static inline void run_att_kern_tile_unpack(att_kern_tile_unpack *kernel, scene *s)
{
    FOR_EACH_TILE(lanes)
    {
        size_t keys = scene_keys(s), queries = lanes - lanes / 3, stride = keys + 5;
        const float *tile = scene_take(s, keys * lanes);
        kernel(scene_take(s, (queries - 1) * stride + keys), stride, queries, tile, lanes, keys);
    }
}

#endif
