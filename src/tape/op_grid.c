/* Grids made smaller: the maximum of windows, and means over cells. */
#include "base/parallel.h"
#include "tape/help.h"
#include "tape/ops.h"

#include <math.h>
#include <string.h>

/* The lines, or the columns, that one result is made of. */
typedef struct span {
    int64_t begin, end;
} span;

/* What both operations know: which lines and columns result (oy, ox) is made of. */
typedef struct region {
    span y, x;
} region;

static bool picture_fits(att_tape *tape, const att_node *node)
{
    const int64_t any[4] = { -1, -1, -1, -1 };
    return att_node_fits(tape, node, "x", node->in[0], 4, any);
}

/* Where (y, x) of picture b begins. */
static int64_t place(const int64_t *shape, int64_t b, int64_t y, int64_t x)
{
    return ((b * shape[1] + y) * shape[2] + x) * shape[3];
}

/* ---------------------------------------------------------------- maximum */

typedef struct window_how {
    int64_t size, stride;
    bool ceil;
} window_how;

/* Windows along a side of `size` numbers; 0: none fits. */
static int64_t windows_along(const window_how *how, int64_t size)
{
    int64_t rest = size - how->size;
    if (rest < 0)
        return how->ceil && size > 0 ? 1 : 0;
    return (rest + (how->ceil ? how->stride - 1 : 0)) / how->stride + 1;
}

static bool max_shape(att_tape *tape, att_node *node)
{
    const window_how *how = node->how;
    const int64_t *in = node->in[0]->shape;
    if (!picture_fits(tape, node))
        return false;
    if (how->stride < 1 || how->stride > how->size)
        return att_tape_fail(tape, "grid-max",
                             "the stride must be between 1 and the window's size");
    int64_t tall = windows_along(how, in[1]), wide = windows_along(how, in[2]);
    if (tall == 0 || wide == 0)
        return att_tape_fail(tape, "grid-max",
                             "a window of %lld does not fit a picture of %lld x %lld",
                             (long long)how->size, (long long)in[1], (long long)in[2]);
    att_node_set_shape(node, 4, (const int64_t[]){ in[0], tall, wide, in[3] });
    return true;
}

static span window_span(const window_how *how, int64_t index, int64_t size)
{
    int64_t begin = index * how->stride, end = begin + how->size;
    return (span){ begin, end < size ? end : size };
}

/* The window of the result's line (counted through the batch) and column. */
static region window_of(const att_node *node, int64_t line, int64_t ox)
{
    const int64_t *in = node->in[0]->shape;
    return (region){ window_span(node->how, line % node->shape[1], in[1]),
                     window_span(node->how, ox, in[2]) };
}

/* NaN is larger than everything: it shows. */
static void raise_to(float *y, const float *x, int64_t count)
{
    for (int64_t c = 0; c < count; c++)
        y[c] = x[c] > y[c] || x[c] != x[c] ? x[c] : y[c];
}

static void max_lines(void *context, int64_t begin, int64_t end)
{
    const att_node *node = context;
    const int64_t *in = node->in[0]->shape, *out = node->shape;
    for (int64_t line = begin; line < end; line++)
        for (int64_t ox = 0; ox < out[2]; ox++) {
            region w = window_of(node, line, ox);
            float *y = node->value + (line * out[2] + ox) * out[3];
            const float *x = node->in[0]->value;
            int64_t b = line / out[1];
            memcpy(y, x + place(in, b, w.y.begin, w.x.begin), (size_t)out[3] * sizeof *y);
            for (int64_t iy = w.y.begin; iy < w.y.end; iy++)
                for (int64_t ix = w.x.begin; ix < w.x.end; ix++)
                    raise_to(y, x + place(in, b, iy, ix), out[3]);
        }
}

static bool max_forward(att_tape *tape, att_node *node)
{
    (void)tape;
    int64_t grain = att_rows_grain(node->shape[2] * node->shape[3]);
    att_parallel_for(node->shape[0] * node->shape[1], grain, max_lines, node);
    return true;
}

/* The first of a window's numbers that is its maximum gets the gradient. */
static void max_back_number(const att_node *node, float *dx, region w, int64_t b, int64_t result)
{
    const int64_t *in = node->in[0]->shape;
    const float *x = node->in[0]->value;
    int64_t c = result % in[3];
    for (int64_t iy = w.y.begin; iy < w.y.end; iy++)
        for (int64_t ix = w.x.begin; ix < w.x.end; ix++) {
            int64_t at = place(in, b, iy, ix) + c;
            if (x[at] == node->value[result]) {
                dx[at] += node->grad[result];
                return;
            }
        }
}

/* Windows overlap, pictures do not: each is one thread's. */
static void max_back_items(void *context, int64_t begin, int64_t end)
{
    const att_node *node = context;
    const int64_t *out = node->shape;
    for (int64_t line = begin * out[1]; line < end * out[1]; line++)
        for (int64_t ox = 0; ox < out[2]; ox++) {
            region w = window_of(node, line, ox);
            for (int64_t c = 0; c < out[3]; c++)
                max_back_number(node, node->in[0]->grad, w, line / out[1],
                                (line * out[2] + ox) * out[3] + c);
        }
}

static bool max_backward(att_tape *tape, att_node *node)
{
    if (att_node_grad(tape, node->in[0]))
        att_parallel_for(node->shape[0], 1, max_back_items, node);
    return true;
}

static void max_truth(double *value, const att_node *node, const double *const *in)
{
    const int64_t *from = node->in[0]->shape, *out = node->shape;
    for (int64_t i = 0; i < node->count; i++) {
        int64_t c = i % out[3], ox = i / out[3] % out[2], line = i / out[3] / out[2];
        region w = window_of(node, line, ox);
        value[i] = -INFINITY;
        for (int64_t iy = w.y.begin; iy < w.y.end; iy++)
            for (int64_t ix = w.x.begin; ix < w.x.end; ix++)
                value[i] = fmax(value[i], in[0][place(from, line / out[1], iy, ix) + c]);
    }
}

#define WINDOW(size, stride, ceil) (&(const window_how){ size, stride, ceil })

static const att_op_sample max_samples[] = {
    { "2 x 2", 1, { { 4, { 2, 4, 6, 3 } } }, WINDOW(2, 2, false), 0, 0 },
    { "overlapping, a line left over", 1, { { 4, { 1, 6, 7, 2 } } }, WINDOW(3, 2, false), 0, 0 },
    { "overlapping, beyond the border", 1, { { 4, { 2, 6, 7, 17 } } }, WINDOW(3, 2, true), 0, 0 },
    { "a window larger than the picture", 1, { { 4, { 1, 2, 3, 2 } } }, WINDOW(5, 1, true), 0, 0 },
    { "no pictures", 1, { { 4, { 0, 2, 3, 2 } } }, WINDOW(2, 1, false), 0, 0 },
};

const att_op att_op_grid_max = {
    .name = "grid-max",
    .how_size = sizeof(window_how),
    .shape = max_shape,
    .forward = max_forward,
    .backward = max_backward,
    .truth = max_truth,
    .rounds = 8,
    .samples = max_samples,
    .sample_count = sizeof max_samples / sizeof *max_samples,
};

att_node *att_grid_max(att_tape *tape, att_node *x, int64_t size, int64_t stride, bool ceil)
{
    return att_op_apply(tape, &att_op_grid_max, &x, 1, &(window_how){ size, stride, ceil });
}

/* ---------------------------------------------------------------- mean */

typedef struct cells {
    int64_t height, width; /* of one */
} cells;

static bool mean_shape(att_tape *tape, att_node *node)
{
    const cells *how = node->how;
    const int64_t *in = node->in[0]->shape;
    if (!picture_fits(tape, node))
        return false;
    if (how->height < 1 || how->width < 1)
        return att_tape_fail(tape, "grid-mean", "a cell must have a height and a width");
    att_node_set_shape(node, 4,
                       (const int64_t[]){ in[0], (in[1] + how->height - 1) / how->height,
                                          (in[2] + how->width - 1) / how->width, in[3] });
    return true;
}

static span cell_span(int64_t index, int64_t length, int64_t size)
{
    int64_t end = (index + 1) * length;
    return (span){ index * length, end < size ? end : size };
}

static region cell_of(const att_node *node, int64_t line, int64_t ox)
{
    const cells *how = node->how;
    const int64_t *in = node->in[0]->shape;
    return (region){ cell_span(line % node->shape[1], how->height, in[1]),
                     cell_span(ox, how->width, in[2]) };
}

static float share_of(region r)
{
    return 1 / (float)((r.y.end - r.y.begin) * (r.x.end - r.x.begin));
}

static void mean_lines(void *context, int64_t begin, int64_t end)
{
    const att_kernels *kernels = att_kernels_get();
    const att_node *node = context;
    const int64_t *in = node->in[0]->shape, *out = node->shape;
    for (int64_t line = begin; line < end; line++)
        for (int64_t ox = 0; ox < out[2]; ox++) {
            region r = cell_of(node, line, ox);
            float *y = node->value + (line * out[2] + ox) * out[3];
            memset(y, 0, (size_t)out[3] * sizeof *y);
            for (int64_t iy = r.y.begin; iy < r.y.end; iy++)
                for (int64_t ix = r.x.begin; ix < r.x.end; ix++)
                    kernels->add_scaled(y, share_of(r),
                                        node->in[0]->value + place(in, line / out[1], iy, ix),
                                        (size_t)out[3]);
        }
}

static bool mean_forward(att_tape *tape, att_node *node)
{
    (void)tape;
    att_parallel_for(node->shape[0] * node->shape[1], 1, mean_lines, node);
    return true;
}

static void mean_back_items(void *context, int64_t begin, int64_t end)
{
    const att_kernels *kernels = att_kernels_get();
    const att_node *node = context;
    const int64_t *in = node->in[0]->shape, *out = node->shape;
    for (int64_t line = begin * out[1]; line < end * out[1]; line++)
        for (int64_t ox = 0; ox < out[2]; ox++) {
            region r = cell_of(node, line, ox);
            const float *dy = node->grad + (line * out[2] + ox) * out[3];
            for (int64_t iy = r.y.begin; iy < r.y.end; iy++)
                for (int64_t ix = r.x.begin; ix < r.x.end; ix++)
                    kernels->add_scaled(node->in[0]->grad + place(in, line / out[1], iy, ix),
                                        share_of(r), dy, (size_t)out[3]);
        }
}

static bool mean_backward(att_tape *tape, att_node *node)
{
    if (att_node_grad(tape, node->in[0]))
        att_parallel_for(node->shape[0], 1, mean_back_items, node);
    return true;
}

static void mean_truth(double *value, const att_node *node, const double *const *in)
{
    const int64_t *from = node->in[0]->shape, *out = node->shape;
    for (int64_t i = 0; i < node->count; i++) {
        int64_t c = i % out[3], ox = i / out[3] % out[2], line = i / out[3] / out[2];
        region r = cell_of(node, line, ox);
        double sum = 0;
        for (int64_t iy = r.y.begin; iy < r.y.end; iy++)
            for (int64_t ix = r.x.begin; ix < r.x.end; ix++)
                sum += in[0][place(from, line / out[1], iy, ix) + c];
        value[i] = sum / (double)((r.y.end - r.y.begin) * (r.x.end - r.x.begin));
    }
}

#define CELLS(height, width) (&(const cells){ height, width })

static const att_op_sample mean_samples[] = {
    { "one cell", 1, { { 4, { 2, 3, 5, 4 } } }, CELLS(3, 5), 0, 0 },
    { "cells cut at the border", 1, { { 4, { 1, 13, 7, 3 } } }, CELLS(2, 3), 0, 0 },
    { "a cell beyond the picture", 1, { { 4, { 1, 2, 3, 17 } } }, CELLS(4, 1), 0, 0 },
    { "no pictures", 1, { { 4, { 0, 3, 5, 4 } } }, CELLS(2, 2), 0, 0 },
};

const att_op att_op_grid_mean = {
    .name = "grid-mean",
    .how_size = sizeof(cells),
    .shape = mean_shape,
    .forward = mean_forward,
    .backward = mean_backward,
    .truth = mean_truth,
    .rounds = 40,
    .samples = mean_samples,
    .sample_count = sizeof mean_samples / sizeof *mean_samples,
};

att_node *att_grid_mean(att_tape *tape, att_node *x, int64_t height, int64_t width)
{
    return att_op_apply(tape, &att_op_grid_mean, &x, 1, &(cells){ height, width });
}
