/* The kernels of kern/attention_rowwise.h, ready to run in a scene. */
#ifndef ATT_TESTS_KERN_RUNS_ATTENTION_ROWWISE_H
#define ATT_TESTS_KERN_RUNS_ATTENTION_ROWWISE_H

#include "kern/attention_rowwise.h"
#include "kern/runs_attention.h"

static inline void run_att_kern_additive(att_kern_additive *kernel, scene *s)
{
    size_t width = scene_width(s);
    const float *query = scene_take(s, width), *v = scene_take(s, width);
    att_matrix_view keys = scene_rows(s, s->seed % 9, width);
    kernel(scene_take(s, keys.rows), query, v, keys);
}

static inline void run_att_kern_additive_backward(att_kern_additive_backward *kernel, scene *s)
{
    size_t width = scene_width(s), count = s->seed % 9;
    const float *query = scene_take(s, width), *v = scene_take(s, width);
    att_matrix_view keys = scene_rows(s, count, width);
    float *of_scores = scene_take(s, count);
    for (size_t j = 0; j < count; j += 3)
        of_scores[j] = 0;
    att_additive_grads grads = { .query = scene_take(s, width),
                                 .v = scene_take(s, width),
                                 .keys = scene_take(s, count > 0 ? count * (width + 2) - 2 : 0),
                                 .key_stride = width + 2,
                                 .scores = of_scores };
    kernel(&grads, query, v, keys);
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
