/* Every kernel of the list, ready to run in a scene: one runner per kernel type, one row per
 * kernel. A kernel whose type has no runner here does not compile. */
#ifndef ATT_TESTS_KERN_RUNS_H
#define ATT_TESTS_KERN_RUNS_H

#include "kern/kern.h"
#include "kern/runs_attention.h"
#include "kern/runs_attention_rowwise.h"
#include "kern/scene.h"

#include <stdlib.h>

static inline void run_att_kern_elementwise(att_kern_elementwise *kernel, scene *s)
{
    const float *x = scene_take(s, s->n);
    kernel(scene_take(s, s->n), x, s->n);
}

static inline void run_att_kern_elementwise_backward(att_kern_elementwise_backward *kernel,
                                                     scene *s)
{
    const float *dy = scene_take(s, s->n), *kept = scene_take(s, s->n);
    kernel(scene_take(s, s->n), dy, kept, s->n);
}

static inline void run_att_kern_from_half(att_kern_from_half *kernel, scene *s)
{
    const float *x = scene_take(s, s->n); /* its bytes: 2 n numbers of 16 bits, of any bits */
    uint16_t *bits = (uint16_t *)malloc((2 * s->n + 1) * sizeof *bits);
    memcpy(bits, x, s->n * sizeof *x);
    kernel(scene_take(s, 2 * s->n), bits, 2 * s->n);
    free(bits);
}

static inline void run_att_kern_reduce(att_kern_reduce *kernel, scene *s)
{
    const float *x = scene_take(s, s->n);
    *scene_take(s, 1) = kernel(x, s->n);
}

static inline void run_att_kern_dot(att_kern_dot *kernel, scene *s)
{
    const float *x = scene_take(s, s->n), *y = scene_take(s, s->n);
    *scene_take(s, 1) = kernel(x, y, s->n);
}

static inline void run_att_kern_axpy(att_kern_axpy *kernel, scene *s)
{
    const float *x = scene_take(s, s->n), *a = scene_take(s, 1);
    kernel(scene_take(s, s->n), *a, x, s->n);
}

static inline void run_att_kern_softmax(att_kern_softmax *kernel, scene *s)
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
    out[0] = kernel(x, s->n, (att_cross_entropy_target){ .class = s->seed % s->n }, &out[1]);
    out[2] = kernel(x, s->n, (att_cross_entropy_target){ s->n - 1, 0.1f }, &out[3]);
}

static inline void run_att_kern_cross_entropy_backward(att_kern_cross_entropy_backward *kernel,
                                                       scene *s)
{
    if (s->n == 0)
        return;
    const float *x = scene_take(s, s->n);
    float *dx = scene_take(s, s->n);
    kernel(dx, 0.7f, x, s->n, (att_cross_entropy_target){ .class = s->seed % s->n }, 3.5f);
    kernel(dx, -1.3f, x, s->n, (att_cross_entropy_target){ s->n - 1, 0.1f }, 3.0f);
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

static inline void run_att_kern_norm_backward(att_kern_norm_backward *kernel, scene *s)
{
    const float *dy = scene_take(s, s->n), *x = scene_take(s, s->n), *gain = scene_take(s, s->n);
    float *dx = scene_take(s, s->n), *dgain = scene_take(s, s->n), *dbias = scene_take(s, s->n);
    att_norm_stats stats = { 0.3f, 0.4f };
    kernel(dx, dgain, dbias, dy, x, gain, &stats, s->n);
}

static inline void run_att_kern_lstm(att_kern_lstm *kernel, scene *s)
{
    const float *before = scene_take(s, s->n), *from = scene_take(s, 4 * s->n);
    float *gates = scene_take(s, 4 * s->n), *cell = scene_take(s, s->n);
    float *alone = scene_take(s, 4 * s->n), *other = scene_take(s, s->n);
    kernel(scene_take(s, s->n), cell, gates, from, before, s->n);
    kernel(scene_take(s, s->n), other, alone, NULL, before, s->n);
}

static inline void run_att_kern_lstm_backward(att_kern_lstm_backward *kernel, scene *s)
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

static inline void run_att_kern_gru_backward(att_kern_gru_backward *kernel, scene *s)
{
    const float *dhidden = scene_take(s, s->n), *gates = scene_take(s, 3 * s->n);
    const float *from_hidden = scene_take(s, 3 * s->n), *before = scene_take(s, s->n);
    float *dinput = scene_take(s, 3 * s->n), *dfrom_hidden = scene_take(s, 3 * s->n);
    kernel(dinput, dfrom_hidden, scene_take(s, s->n), dhidden, gates, from_hidden, before, s->n);
}

static inline void run_att_kern_dropout(att_kern_dropout *kernel, scene *s)
{
    const float *x = scene_take(s, s->n);
    att_dropout_options drop = { s->seed * UINT64_C(0x9e3779b97f4a7c15), s->seed << 30, 0.3f };
    kernel(scene_take(s, s->n), x, s->n, &drop);
}

static inline float *take_positive(scene *s)
{
    float *x = scene_take(s, s->n);
    for (size_t i = 0; i < s->n; i++)
        x[i] = fabsf(x[i]);
    return x;
}

static inline void run_att_kern_sgd(att_kern_sgd *kernel, scene *s)
{
    const float *gradient = scene_take(s, s->n);
    float *velocity = scene_take(s, s->n);
    att_sgd_step step = { { 0.7f, 0.02f }, 1e-2f, 0.9f };
    kernel(scene_take(s, s->n), velocity, gradient, s->n, &step);
}

static inline void run_att_kern_adam(att_kern_adam *kernel, scene *s)
{
    const float *gradient = scene_take(s, s->n);
    float *moment1 = scene_take(s, s->n), *moment2 = take_positive(s);
    att_adam_step step = { { 0.3f, 0.01f }, 1e-3f, 0.9f, 0.999f, 1e-8f, 0.01f, 0.19f, 0.002f };
    kernel(scene_take(s, s->n), moment1, moment2, gradient, s->n, &step);
}

static inline void run_att_kern_adadelta(att_kern_adadelta *kernel, scene *s)
{
    const float *gradient = scene_take(s, s->n);
    float *squares = take_positive(s), *changes = take_positive(s);
    att_adadelta_step step = { { 0.3f, 0.01f }, 0.5f, 0.95f, 1e-6f };
    kernel(scene_take(s, s->n), squares, changes, gradient, s->n, &step);
}

/* A block with gaps between its rows, at every number of rows and both layouts of A, of B and of
 * C's end. */
static inline void run_product_case(att_kern_matmul *kernel, scene *s, size_t rows, size_t depth,
                                    int variant)
{
    size_t panels = (s->n + ATT_PANEL_COLUMNS - 1) / ATT_PANEL_COLUMNS, c_row = s->n + 3;
    bool side_by_side = variant & 1, transposed = variant & 16;
    att_matmul_block block = {
        .rows = rows,
        .columns = s->n,
        .depth = depth,
        .a = scene_take(s, (rows + 2) * (depth + 5)),
        .a_row_stride = side_by_side ? 1 : depth + 5,
        .a_column_stride = side_by_side ? rows + 2 : 1,
        .b = transposed ? scene_take(s, s->n * (depth + 2))
                        : scene_take(s, panels * depth * ATT_PANEL_COLUMNS),
        .b_panel_stride = depth * ATT_PANEL_COLUMNS,
        .b_row_stride = ATT_PANEL_COLUMNS,
        .b_column_stride = transposed ? depth + 2 : 0,
        .c = scene_take(s, (rows - 1) * c_row + s->n),
        .c_row_stride = c_row,
        .accumulate = variant & 2,
        .is_last = variant & 4,
        .bias = variant & 8 ? scene_take(s, s->n) : NULL,
        .activation = (att_activation)(rows % ATT_ACTIVATION_COUNT),
    };
    kernel(&block);
}

static inline void run_att_kern_matmul(att_kern_matmul *kernel, scene *s)
{
    uint64_t pick = s->seed;
    for (int i = 0; i < 4; i++, pick = pick * 2862933555777941757u + 3037000493u)
        run_product_case(kernel, s, 1 + pick / 8 % 33, pick / 512 % 40, (int)(pick >> 20 & 31));
}

static inline void run_att_kern_matmul_pack(att_kern_matmul_pack *kernel, scene *s)
{
    size_t depth = s->seed % 23, panels = (s->n + ATT_PANEL_COLUMNS - 1) / ATT_PANEL_COLUMNS;
    const float *b = scene_take(s, (depth + 1) * (s->n + 1));
    kernel(scene_take(s, panels * ATT_PANEL_COLUMNS * depth), b, s->n + 1, false, depth, s->n);
    kernel(scene_take(s, panels * ATT_PANEL_COLUMNS * depth), b, depth + 1, true, depth, s->n);
}

static inline void run_att_kern_fma_chains(att_kern_fma_chains *kernel, scene *s)
{
    kernel(scene_take(s, ATT_FMA_CHAINS * ATT_LANES), s->n, 0.9f, -0.3f);
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
