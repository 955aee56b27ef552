/* Every kernel of the list, ready to run in a scene: one runner per kernel type, one row per
 * kernel. A kernel whose type has no runner here does not compile. */
#ifndef ATT_TESTS_KERN_RUNS_H
#define ATT_TESTS_KERN_RUNS_H

#include "kern/kern.h"
#include "kern/runs_attention.h"
#include "kern/scene.h"

static inline void run_att_kern_map(att_kern_map *kernel, scene *s)
{
    const float *x = scene_take(s, s->n);
    kernel(scene_take(s, s->n), x, s->n);
}

static inline void run_att_kern_map_back(att_kern_map_back *kernel, scene *s)
{
    const float *dy = scene_take(s, s->n), *kept = scene_take(s, s->n);
    kernel(scene_take(s, s->n), dy, kept, s->n);
}

static inline void run_att_kern_fold(att_kern_fold *kernel, scene *s)
{
    const float *x = scene_take(s, s->n);
    *scene_take(s, 1) = kernel(x, s->n);
}

static inline void run_att_kern_fold_two(att_kern_fold_two *kernel, scene *s)
{
    const float *x = scene_take(s, s->n), *y = scene_take(s, s->n);
    *scene_take(s, 1) = kernel(x, y, s->n);
}

static inline void run_att_kern_add_scaled(att_kern_add_scaled *kernel, scene *s)
{
    const float *x = scene_take(s, s->n), *a = scene_take(s, 1);
    kernel(scene_take(s, s->n), *a, x, s->n);
}

static inline void run_att_kern_row(att_kern_row *kernel, scene *s)
{
    const float *x = scene_take(s, s->n);
    float *y = scene_take(s, s->n);
    *scene_take(s, 1) = kernel(y, x, s->n);
}

static inline void run_att_kern_cross_entropy(att_kern_cross_entropy *kernel, scene *s)
{
    if (s->n == 0)
        return;
    const float *x = scene_take(s, s->n);
    float *out = scene_take(s, 4);
    out[0] = kernel(x, s->n, (att_target){ .class = s->seed % s->n }, &out[1]);
    out[2] = kernel(x, s->n, (att_target){ s->n - 1, 0.1f }, &out[3]);
}

static inline void run_att_kern_cross_entropy_back(att_kern_cross_entropy_back *kernel, scene *s)
{
    if (s->n == 0)
        return;
    const float *x = scene_take(s, s->n);
    float *dx = scene_take(s, s->n);
    kernel(dx, 0.7f, x, s->n, (att_target){ .class = s->seed % s->n }, 3.5f);
    kernel(dx, -1.3f, x, s->n, (att_target){ s->n - 1, 0.1f }, 3.0f);
}

static inline void run_att_kern_norm(att_kern_norm *kernel, scene *s)
{
    const float *x = scene_take(s, s->n), *gain = scene_take(s, s->n), *bias = scene_take(s, s->n);
    float *y = scene_take(s, s->n), *stats = scene_take(s, 2);
    att_norm_stats got;
    kernel(y, &got, x, gain, bias, s->n, 1e-5f);
    stats[0] = got.mean;
    stats[1] = got.rstd;
}

static inline void run_att_kern_norm_back(att_kern_norm_back *kernel, scene *s)
{
    const float *dy = scene_take(s, s->n), *x = scene_take(s, s->n), *gain = scene_take(s, s->n);
    float *dx = scene_take(s, s->n), *dgain = scene_take(s, s->n), *dbias = scene_take(s, s->n);
    att_norm_stats stats = { 0.3f, 0.4f };
    kernel(dx, dgain, dbias, dy, x, gain, &stats, s->n);
}

static inline void run_att_kern_lstm(att_kern_lstm *kernel, scene *s)
{
    const float *before = scene_take(s, s->n);
    float *gates = scene_take(s, 4 * s->n), *cell = scene_take(s, s->n);
    kernel(scene_take(s, s->n), cell, gates, before, s->n);
}

static inline void run_att_kern_lstm_back(att_kern_lstm_back *kernel, scene *s)
{
    const float *dhidden = scene_take(s, s->n), *dcell = scene_take(s, s->n);
    const float *gates = scene_take(s, 4 * s->n), *cell = scene_take(s, s->n);
    const float *before = scene_take(s, s->n);
    float *dgates = scene_take(s, 4 * s->n);
    kernel(dgates, scene_take(s, s->n), dhidden, dcell, gates, cell, before, s->n);
}

static inline void run_att_kern_gru(att_kern_gru *kernel, scene *s)
{
    const float *from_input = scene_take(s, 3 * s->n), *from_hidden = scene_take(s, 3 * s->n);
    const float *before = scene_take(s, s->n);
    float *gates = scene_take(s, 3 * s->n);
    kernel(scene_take(s, s->n), gates, from_input, from_hidden, before, s->n);
}

static inline void run_att_kern_gru_back(att_kern_gru_back *kernel, scene *s)
{
    const float *dhidden = scene_take(s, s->n), *gates = scene_take(s, 3 * s->n);
    const float *from_hidden = scene_take(s, 3 * s->n), *before = scene_take(s, s->n);
    float *dinput = scene_take(s, 3 * s->n), *dfrom_hidden = scene_take(s, 3 * s->n);
    kernel(dinput, dfrom_hidden, scene_take(s, s->n), dhidden, gates, from_hidden, before, s->n);
}

static inline void run_att_kern_dropout(att_kern_dropout *kernel, scene *s)
{
    const float *x = scene_take(s, s->n);
    att_drop drop = { s->seed * UINT64_C(0x9e3779b97f4a7c15), s->seed << 30, 0.3f };
    kernel(scene_take(s, s->n), x, s->n, &drop);
}

static inline void run_att_kern_adam(att_kern_adam *kernel, scene *s)
{
    const float *gradient = scene_take(s, s->n);
    float *moment1 = scene_take(s, s->n), *moment2 = scene_take(s, s->n);
    for (size_t i = 0; i < s->n; i++)
        moment2[i] = fabsf(moment2[i]);
    att_adam_step step = { 1e-3f, 0.9f, 0.999f, 1e-8f, 0.01f, 0.19f, 0.002f };
    kernel(scene_take(s, s->n), moment1, moment2, gradient, s->n, &step);
}

/* Type-safe rows: run_exp(kernels, scene) runs that set's exp. */
#define RUN_FUNCTION(type, kernel)                                                                 \
    static inline void run_##kernel(const att_kernels *kernels, scene *s)                          \
    {                                                                                              \
        run_##type(kernels->kernel, s);                                                            \
    }
ATT_KERNELS(RUN_FUNCTION)

static const struct run {
    const char *name;
    void (*run)(const att_kernels *kernels, scene *s);
} runs[] = {
#define RUN_ROW(type, kernel) { #kernel, run_##kernel },
    ATT_KERNELS(RUN_ROW)
};
enum { RUN_COUNT = sizeof runs / sizeof *runs };

#endif
