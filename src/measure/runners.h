/* A runner for each type of kernel in kern.h, on a stage; those of kern/attention.h are in
 * runners_tile.h, those of kern/rows.h in runners_rows.h. */
#ifndef ATT_MEASURE_RUNNERS_H
#define ATT_MEASURE_RUNNERS_H

#include "measure/stage.h"

static void run_att_kern_map(att_kern_map *kernel, stage *s)
{
    float *y = writes(s, ROW);
    const float *x = reads(s, ROW);
    TIMES(s) kernel(y, x, ROW);
}

static void run_att_kern_map_back(att_kern_map_back *kernel, stage *s)
{
    float *dx = updates(s, ROW);
    const float *dy = reads(s, ROW), *kept = reads(s, ROW);
    TIMES(s) kernel(dx, dy, kept, ROW);
}

static void run_att_kern_fold(att_kern_fold *kernel, stage *s)
{
    const float *x = reads(s, ROW);
    TIMES(s) s->result += kernel(x, ROW);
}

static void run_att_kern_fold_two(att_kern_fold_two *kernel, stage *s)
{
    const float *x = reads(s, ROW), *y = reads(s, ROW);
    TIMES(s) s->result += kernel(x, y, ROW);
}

static void run_att_kern_add_scaled(att_kern_add_scaled *kernel, stage *s)
{
    float *y = updates(s, ROW);
    const float *x = reads(s, ROW);
    TIMES(s) kernel(y, 1e-3f, x, ROW);
}

static void run_att_kern_row(att_kern_row *kernel, stage *s)
{
    float *y = writes(s, ROW);
    const float *x = reads(s, ROW);
    TIMES(s) s->result += kernel(y, x, ROW);
}

static const att_target some_target = { .class = ROW / 3, .smoothing = 0.1f };

static void run_att_kern_cross_entropy(att_kern_cross_entropy *kernel, stage *s)
{
    const float *x = reads(s, ROW);
    float lse = 0;
    TIMES(s) s->result += kernel(x, ROW, some_target, &lse);
}

static void run_att_kern_cross_entropy_back(att_kern_cross_entropy_back *kernel, stage *s)
{
    float *dx = updates(s, ROW);
    const float *x = reads(s, ROW);
    TIMES(s) kernel(dx, 1.0f, x, ROW, some_target, 7.0f);
}

static void run_att_kern_norm(att_kern_norm *kernel, stage *s)
{
    float *y = writes(s, ROW);
    const float *x = reads(s, ROW), *gain = reads(s, ROW), *bias = reads(s, ROW);
    att_norm_stats stats;
    TIMES(s) kernel(y, &stats, x, gain, bias, ROW, 1e-5f);
}

static void run_att_kern_norm_back(att_kern_norm_back *kernel, stage *s)
{
    float *dx = updates(s, ROW), *dgain = updates(s, ROW), *dbias = updates(s, ROW);
    const float *dy = reads(s, ROW), *x = reads(s, ROW), *gain = reads(s, ROW);
    const att_norm_stats stats = { 0.1f, 1.0f };
    TIMES(s) kernel(dx, dgain, dbias, dy, x, gain, &stats, ROW);
}

static void run_att_kern_lstm(att_kern_lstm *kernel, stage *s)
{
    float *hidden = writes(s, ROW), *cell = writes(s, ROW), *gates = updates(s, 4 * ROW);
    const float *from = reads(s, 4 * ROW), *before = reads(s, ROW);
    TIMES(s) kernel(hidden, cell, gates, from, before, ROW);
}

static void run_att_kern_lstm_back(att_kern_lstm_back *kernel, stage *s)
{
    float *dgates = writes(s, 4 * ROW), *dbefore = writes(s, ROW);
    const float *dhidden = reads(s, ROW), *dcell = reads(s, ROW), *gates = reads(s, 4 * ROW);
    const float *cell = reads(s, ROW), *before = reads(s, ROW);
    TIMES(s) kernel(dgates, dbefore, dhidden, dcell, gates, cell, before, ROW);
}

static void run_att_kern_gru(att_kern_gru *kernel, stage *s)
{
    float *hidden = writes(s, ROW), *gates = writes(s, 3 * ROW);
    const float *input = reads(s, 3 * ROW), *from_hidden = reads(s, 3 * ROW);
    const float *before = reads(s, ROW);
    TIMES(s) kernel(hidden, gates, input, from_hidden, before, ROW);
}

static void run_att_kern_gru_back(att_kern_gru_back *kernel, stage *s)
{
    float *dinput = writes(s, 3 * ROW), *dfrom = writes(s, 3 * ROW), *dbefore = writes(s, ROW);
    const float *dhidden = reads(s, ROW), *gates = reads(s, 3 * ROW);
    const float *from_hidden = reads(s, 3 * ROW), *before = reads(s, ROW);
    TIMES(s) kernel(dinput, dfrom, dbefore, dhidden, gates, from_hidden, before, ROW);
}

static void run_att_kern_dropout(att_kern_dropout *kernel, stage *s)
{
    float *y = writes(s, ROW);
    const float *x = reads(s, ROW);
    const att_drop drop = { 1, 2, 0.1f };
    TIMES(s) kernel(y, x, ROW, &drop);
}

static void run_att_kern_sgd(att_kern_sgd *kernel, stage *s)
{
    float *parameter = updates(s, ROW), *velocity = updates(s, ROW);
    const float *gradient = reads(s, ROW);
    const att_sgd_step step = { { .scale = 1 }, 1e-6f, 0.9f };
    TIMES(s) kernel(parameter, velocity, gradient, ROW, &step);
}

static void run_att_kern_adam(att_kern_adam *kernel, stage *s)
{
    float *parameter = updates(s, ROW), *first = updates(s, ROW), *second = updates(s, ROW);
    const float *gradient = reads(s, ROW);
    const att_adam_step step = { { .scale = 1 }, 1e-6f, 0.9f, 0.999f, 1e-8f, 0.01f, 1.0f, 1.0f };
    TIMES(s) kernel(parameter, first, second, gradient, ROW, &step);
}

static void run_att_kern_adadelta(att_kern_adadelta *kernel, stage *s)
{
    float *parameter = updates(s, ROW), *squares = updates(s, ROW), *changes = updates(s, ROW);
    const float *gradient = reads(s, ROW);
    const att_adadelta_step step = { { .scale = 1 }, 1e-6f, 0.95f, 1e-6f };
    TIMES(s) kernel(parameter, squares, changes, gradient, ROW, &step);
}

/* A block as the product has them: rows enough for whole tiles, columns for two panels. */
static void run_att_kern_product(att_kern_product *kernel, stage *s)
{
    enum { ROWS = 24, COLUMNS = 2 * ATT_PANEL, DEPTH = 128 };
    const att_product_block block = {
        .rows = ROWS,
        .columns = COLUMNS,
        .depth = DEPTH,
        .a = reads(s, (size_t)ROWS * DEPTH),
        .a_row = DEPTH,
        .a_step = 1,
        .b = reads(s, (size_t)DEPTH * COLUMNS),
        .b_panel = (size_t)DEPTH * ATT_PANEL,
        .b_step = ATT_PANEL,
        .c = writes(s, (size_t)ROWS * COLUMNS),
        .c_row = COLUMNS,
        .last = true,
    };
    stage_shape(s, "24 rows, 32 columns, depth 128", ROWS * COLUMNS);
    computes(s, 2.0 * ROWS * COLUMNS * DEPTH);
    TIMES(s) kernel(&block);
}

static void run_att_kern_pack(att_kern_pack *kernel, stage *s)
{
    enum { COLUMNS = 4 * ATT_PANEL, DEPTH = 32 };
    const float *b = reads(s, (size_t)DEPTH * COLUMNS);
    float *panels = writes(s, (size_t)DEPTH * COLUMNS);
    stage_shape(s, "64 columns, depth 32", DEPTH * COLUMNS);
    TIMES(s) kernel(panels, b, COLUMNS, false, DEPTH, COLUMNS);
}

static void run_att_kern_chains(att_kern_chains *kernel, stage *s)
{
    enum { ROUNDS = 200 };
    float *x = updates(s, ATT_CHAINS * ATT_LANES);
    stage_shape(s, "on registers alone", ATT_CHAINS * ATT_LANES);
    computes(s, 2.0 * ROUNDS * ATT_CHAINS * ATT_LANES);
    TIMES(s) kernel(x, ROUNDS, 0.5f, 0.5f);
}

#endif
