/* A runner for each type of kernel in kern.h; those of kern/attention.h are in
 * kernel_runners_attention.h, those of kern/attention_rowwise.h in kernel_runners_rowwise.h. */
#ifndef ATT_BENCH_KERNEL_RUNNERS_H
#define ATT_BENCH_KERNEL_RUNNERS_H

#include "bench/kernel_fixture.h"

static void run_att_kern_elementwise(att_kern_elementwise *kernel, kernel_fixture *s)
{
    float *y = fixture_output(s, s->row);
    const float *x = fixture_input(s, s->row);
    REPEAT(s) kernel(y, x, s->row);
}

static void run_att_kern_elementwise_backward(att_kern_elementwise_backward *kernel,
                                              kernel_fixture *s)
{
    float *dx = fixture_inout(s, s->row);
    const float *dy = fixture_input(s, s->row), *kept = fixture_input(s, s->row);
    REPEAT(s) kernel(dx, dy, kept, s->row);
}

static void run_att_kern_reduce(att_kern_reduce *kernel, kernel_fixture *s)
{
    const float *x = fixture_input(s, s->row);
    REPEAT(s) s->result += kernel(x, s->row);
}

static void run_att_kern_dot(att_kern_dot *kernel, kernel_fixture *s)
{
    const float *x = fixture_input(s, s->row), *y = fixture_input(s, s->row);
    REPEAT(s) s->result += kernel(x, y, s->row);
}

static void run_att_kern_from_half(att_kern_from_half *kernel, kernel_fixture *s)
{
    float *y = fixture_inout(s, s->row);
    const uint16_t *x = fixture_halves(s, s->row);
    REPEAT(s) kernel(y, x, s->row);
}

static void run_att_kern_axpy(att_kern_axpy *kernel, kernel_fixture *s)
{
    float *y = fixture_inout(s, s->row);
    const float *x = fixture_input(s, s->row);
    REPEAT(s) kernel(y, 1e-3f, x, s->row);
}

static void run_att_kern_softmax(att_kern_softmax *kernel, kernel_fixture *s)
{
    float *y = fixture_output(s, s->row);
    const float *x = fixture_input(s, s->row);
    REPEAT(s) s->result += kernel(y, x, s->row);
}

static att_cross_entropy_target some_target(const kernel_fixture *s)
{
    return (att_cross_entropy_target){ .class = s->row / 3, .label_smoothing = 0.1f };
}

static void run_att_kern_cross_entropy(att_kern_cross_entropy *kernel, kernel_fixture *s)
{
    const float *x = fixture_input(s, s->row);
    float lse = 0;
    REPEAT(s) s->result += kernel(x, s->row, some_target(s), &lse);
}

static void run_att_kern_cross_entropy_backward(att_kern_cross_entropy_backward *kernel,
                                                kernel_fixture *s)
{
    float *dx = fixture_inout(s, s->row);
    const float *x = fixture_input(s, s->row);
    REPEAT(s) kernel(dx, 1.0f, x, s->row, some_target(s), 7.0f);
}

static void run_att_kern_norm(att_kern_norm *kernel, kernel_fixture *s)
{
    float *y = fixture_output(s, s->row);
    const float *x = fixture_input(s, s->row), *gain = fixture_input(s, s->row),
                *bias = fixture_input(s, s->row);
    att_norm_stats stats;
    REPEAT(s) kernel(y, &stats, x, gain, bias, s->row, 1e-5f);
}

static void run_att_kern_norm_backward(att_kern_norm_backward *kernel, kernel_fixture *s)
{
    float *dx = fixture_inout(s, s->row), *dgain = fixture_inout(s, s->row),
          *dbias = fixture_inout(s, s->row);
    const float *dy = fixture_input(s, s->row), *x = fixture_input(s, s->row),
                *gain = fixture_input(s, s->row);
    const att_norm_stats stats = { 0.1f, 1.0f };
    REPEAT(s) kernel(dx, dgain, dbias, dy, x, gain, &stats, s->row);
}

static void run_att_kern_lstm(att_kern_lstm *kernel, kernel_fixture *s)
{
    float *hidden = fixture_output(s, s->row), *cell = fixture_output(s, s->row),
          *gates = fixture_inout(s, 4 * s->row);
    const float *from = fixture_input(s, 4 * s->row), *before = fixture_input(s, s->row);
    REPEAT(s) kernel(hidden, cell, gates, from, before, s->row);
}

static void run_att_kern_lstm_backward(att_kern_lstm_backward *kernel, kernel_fixture *s)
{
    float *dgates = fixture_output(s, 4 * s->row), *dbefore = fixture_output(s, s->row);
    const float *dhidden = fixture_input(s, s->row), *dcell = fixture_input(s, s->row),
                *gates = fixture_input(s, 4 * s->row);
    const float *cell = fixture_input(s, s->row), *before = fixture_input(s, s->row);
    REPEAT(s) kernel(dgates, dbefore, dhidden, dcell, gates, cell, before, s->row);
}

static void run_att_kern_gru(att_kern_gru *kernel, kernel_fixture *s)
{
    float *hidden = fixture_output(s, s->row), *gates = fixture_output(s, 3 * s->row);
    const float *input = fixture_input(s, 3 * s->row), *from_hidden = fixture_input(s, 3 * s->row);
    const float *before = fixture_input(s, s->row);
    REPEAT(s) kernel(hidden, gates, input, from_hidden, before, s->row);
}

static void run_att_kern_gru_backward(att_kern_gru_backward *kernel, kernel_fixture *s)
{
    float *dinput = fixture_output(s, 3 * s->row), *dfrom = fixture_output(s, 3 * s->row),
          *dbefore = fixture_output(s, s->row);
    const float *dhidden = fixture_input(s, s->row), *gates = fixture_input(s, 3 * s->row);
    const float *from_hidden = fixture_input(s, 3 * s->row), *before = fixture_input(s, s->row);
    REPEAT(s) kernel(dinput, dfrom, dbefore, dhidden, gates, from_hidden, before, s->row);
}

static void run_att_kern_dropout(att_kern_dropout *kernel, kernel_fixture *s)
{
    float *y = fixture_output(s, s->row);
    const float *x = fixture_input(s, s->row);
    const att_dropout_options drop = { 1, 2, 0.1f };
    REPEAT(s) kernel(y, x, s->row, &drop);
}

static void run_att_kern_sgd(att_kern_sgd *kernel, kernel_fixture *s)
{
    float *parameter = fixture_inout(s, s->row), *velocity = fixture_inout(s, s->row);
    const float *gradient = fixture_input(s, s->row);
    const att_sgd_step step = { { .scale = 1 }, 1e-6f, 0.9f };
    REPEAT(s) kernel(parameter, velocity, gradient, s->row, &step);
}

static void run_att_kern_adam(att_kern_adam *kernel, kernel_fixture *s)
{
    float *parameter = fixture_inout(s, s->row), *first = fixture_inout(s, s->row),
          *second = fixture_inout(s, s->row);
    const float *gradient = fixture_input(s, s->row);
    const att_adam_step step = { { .scale = 1 }, 1e-6f, 0.9f, 0.999f, 1e-8f, 0.01f, 1.0f, 1.0f };
    REPEAT(s) kernel(parameter, first, second, gradient, s->row, &step);
}

static void run_att_kern_adadelta(att_kern_adadelta *kernel, kernel_fixture *s)
{
    float *parameter = fixture_inout(s, s->row), *squares = fixture_inout(s, s->row),
          *changes = fixture_inout(s, s->row);
    const float *gradient = fixture_input(s, s->row);
    const att_adadelta_step step = { { .scale = 1 }, 1e-6f, 0.95f, 1e-6f };
    REPEAT(s) kernel(parameter, squares, changes, gradient, s->row, &step);
}

/* A block of a matrix product: rows for whole tiles, columns for two panels. */
static void run_att_kern_matmul(att_kern_matmul *kernel, kernel_fixture *s)
{
    enum { ROWS = 24, COLUMNS = 2 * ATT_PANEL_COLUMNS, DEPTH = 128 };
    const att_matmul_block block = {
        .rows = ROWS,
        .columns = COLUMNS,
        .depth = DEPTH,
        .a = fixture_input(s, (size_t)ROWS * DEPTH),
        .a_row_stride = DEPTH,
        .a_column_stride = 1,
        .b = fixture_input(s, (size_t)DEPTH * COLUMNS),
        .b_panel_stride = (size_t)DEPTH * ATT_PANEL_COLUMNS,
        .b_row_stride = ATT_PANEL_COLUMNS,
        .c = fixture_output(s, (size_t)ROWS * COLUMNS),
        .c_row_stride = COLUMNS,
        .is_last = true,
    };
    fixture_shape(s, "24 rows, 32 columns, depth 128", ROWS * COLUMNS);
    fixture_flops(s, 2.0 * ROWS * COLUMNS * DEPTH);
    REPEAT(s) kernel(&block);
}

static void run_att_kern_matmul_pack(att_kern_matmul_pack *kernel, kernel_fixture *s)
{
    enum { COLUMNS = 4 * ATT_PANEL_COLUMNS, DEPTH = 32 };
    const float *b = fixture_input(s, (size_t)DEPTH * COLUMNS);
    float *panels = fixture_output(s, (size_t)DEPTH * COLUMNS);
    fixture_shape(s, "64 columns, depth 32", DEPTH * COLUMNS);
    REPEAT(s) kernel(panels, b, COLUMNS, false, DEPTH, COLUMNS);
}

static void run_att_kern_fma_chains(att_kern_fma_chains *kernel, kernel_fixture *s)
{
    enum { ROUNDS = 200 };
    float *x = fixture_inout(s, ATT_FMA_CHAINS * ATT_LANES);
    fixture_shape(s, "on registers alone", ATT_FMA_CHAINS * ATT_LANES);
    fixture_flops(s, 2.0 * ROUNDS * ATT_FMA_CHAINS * ATT_LANES);
    REPEAT(s) kernel(x, ROUNDS, 0.5f, 0.5f);
}

#endif
