/* Pooling of images: maxima and means of windows. */
#include "base/minmax.h"
#include "base/parallel.h"
#include "reference/pool.h"
#include "tape/op_util.h"
#include "tape/ops.h"

#include <string.h>

/* A range of rows or columns of the image. */
typedef struct span {
    int64_t begin, end;
} span;

/* The pixels of one result. */
typedef struct pool_window {
    span y, x;
} pool_window;

static bool check_image(att_tape *tape, const att_node *node)
{
    const int64_t any[4] = { -1, -1, -1, -1 };
    return att_node_check_shape(tape, node, "x", node->in[0], 4, any);
}

/* The index of channel 0 of pixel (y, x) of image b. */
static int64_t pixel_offset(const int64_t *shape, int64_t b, int64_t y, int64_t x)
{
    return ((b * shape[1] + y) * shape[2] + x) * shape[3];
}

/* ---------------------------------------------------------------- maximum */

typedef struct max_pool2d {
    int64_t size, stride;
    bool ceil;
} max_pool2d;

/* The number of windows along a side of `size` pixels; 0: none fits. */
static int64_t window_count(const max_pool2d *options, int64_t size)
{
    int64_t rest = size - options->size;
    if (rest < 0)
        return options->ceil && size > 0 ? 1 : 0;
    return (rest + (options->ceil ? options->stride - 1 : 0)) / options->stride + 1;
}

static bool max_pool2d_shape(att_tape *tape, att_node *node)
{
    const max_pool2d *options = node->options;
    const int64_t *in = node->in[0]->shape;
    if (!check_image(tape, node))
        return false;
    if (options->stride < 1 || options->stride > options->size)
        return att_tape_fail(tape, node->op->name, "expected a stride from 1 to %lld, found %lld",
                             (long long)options->size, (long long)options->stride);
    int64_t rows = window_count(options, in[1]), columns = window_count(options, in[2]);
    if (rows == 0 || columns == 0)
        return att_tape_fail(tape, node->op->name,
                             "a window of %lld does not fit an image of %lld x %lld",
                             (long long)options->size, (long long)in[1], (long long)in[2]);
    att_node_set_shape(node, 4, (const int64_t[]){ in[0], rows, columns, in[3] });
    return true;
}

static span window_span(const max_pool2d *options, int64_t index, int64_t size)
{
    int64_t begin = index * options->stride;
    return (span){ begin, att_min_i64(begin + options->size, size) };
}

/* The window of output column ox in output row `line`, counted through the batch. */
static pool_window window_of(const att_node *node, int64_t line, int64_t ox)
{
    const int64_t *in = node->in[0]->shape;
    return (pool_window){ window_span(node->options, line % node->shape[1], in[1]),
                          window_span(node->options, ox, in[2]) };
}

/* A NaN counts as the largest value, so that it is not hidden. */
static void max_into(float *y, const float *x, int64_t count)
{
    for (int64_t c = 0; c < count; c++)
        y[c] = x[c] > y[c] || x[c] != x[c] ? x[c] : y[c];
}

static void max_pool2d_rows(void *context, int64_t begin, int64_t end)
{
    const att_node *node = context;
    const int64_t *in = node->in[0]->shape, *out = node->shape;
    for (int64_t line = begin; line < end; line++)
        for (int64_t ox = 0; ox < out[2]; ox++) {
            pool_window w = window_of(node, line, ox);
            float *y = node->value + (line * out[2] + ox) * out[3];
            const float *x = node->in[0]->value;
            int64_t b = line / out[1];
            memcpy(y, x + pixel_offset(in, b, w.y.begin, w.x.begin), (size_t)out[3] * sizeof *y);
            for (int64_t iy = w.y.begin; iy < w.y.end; iy++)
                for (int64_t ix = w.x.begin; ix < w.x.end; ix++)
                    max_into(y, x + pixel_offset(in, b, iy, ix), out[3]);
        }
}

static bool max_pool2d_forward(att_tape *tape, att_node *node)
{
    (void)tape;
    int64_t grain = att_row_grain(node->shape[2] * node->shape[3]);
    att_parallel_for(node->shape[0] * node->shape[1], grain, max_pool2d_rows, node);
    return true;
}

/* The first element of a window that equals the maximum receives the gradient. */
static void max_pool2d_backward_element(const att_node *node, float *dx, pool_window w, int64_t b,
                                        int64_t result)
{
    const int64_t *in = node->in[0]->shape;
    const float *x = node->in[0]->value;
    int64_t c = result % in[3];
    for (int64_t iy = w.y.begin; iy < w.y.end; iy++)
        for (int64_t ix = w.x.begin; ix < w.x.end; ix++) {
            int64_t at = pixel_offset(in, b, iy, ix) + c;
            if (x[at] == node->value[result]) {
                dx[at] += node->grad[result];
                return;
            }
        }
}

/* Windows overlap, images do not: a thread takes whole images. */
static void max_pool2d_backward_images(void *context, int64_t begin, int64_t end)
{
    const att_node *node = context;
    const int64_t *out = node->shape;
    for (int64_t line = begin * out[1]; line < end * out[1]; line++)
        for (int64_t ox = 0; ox < out[2]; ox++) {
            pool_window w = window_of(node, line, ox);
            for (int64_t c = 0; c < out[3]; c++)
                max_pool2d_backward_element(node, node->in[0]->grad, w, line / out[1],
                                            (line * out[2] + ox) * out[3] + c);
        }
}

static bool max_pool2d_backward(att_tape *tape, att_node *node)
{
    if (att_node_grad(tape, node->in[0]))
        att_parallel_for(node->shape[0], 1, max_pool2d_backward_images, node);
    return true;
}

/* Sizes for the reference formulas; windows and strides are set by the caller. */
static att_reference_pool2d_shape reference_shape(const att_node *node)
{
    const int64_t *in = node->in[0]->shape;
    return (att_reference_pool2d_shape){ .batch = in[0],
                                         .height = in[1],
                                         .width = in[2],
                                         .channels = in[3],
                                         .out_height = node->shape[1],
                                         .out_width = node->shape[2] };
}

static void max_pool2d_truth(double *value, const att_node *node, const double *const *in)
{
    const max_pool2d *options = node->options;
    att_reference_pool2d_shape shape = reference_shape(node);
    shape.window_height = shape.window_width = options->size;
    shape.stride_y = shape.stride_x = options->stride;
    att_reference_max_pool2d(value, &shape, in[0]);
}

#define MAX_POOL2D(size, stride, ceil) (&(const max_pool2d){ size, stride, ceil })

static const att_op_sample max_pool2d_samples[] = {
    { "2 x 2", 1, { { 4, { 2, 4, 6, 3 } } }, MAX_POOL2D(2, 2, false), 0, 0 },
    { "overlapping, one line left over",
      1,
      { { 4, { 1, 6, 7, 2 } } },
      MAX_POOL2D(3, 2, false),
      0,
      0 },
    { "overlapping, beyond the border",
      1,
      { { 4, { 2, 6, 7, 17 } } },
      MAX_POOL2D(3, 2, true),
      0,
      0 },
    { "a window larger than the image",
      1,
      { { 4, { 1, 2, 3, 2 } } },
      MAX_POOL2D(5, 1, true),
      0,
      0 },
    { "no images", 1, { { 4, { 0, 2, 3, 2 } } }, MAX_POOL2D(2, 1, false), 0, 0 },
};

const att_op att_op_max_pool2d = {
    .name = "max-pool2d",
    .options_size = sizeof(max_pool2d),
    .shape = max_pool2d_shape,
    .forward = max_pool2d_forward,
    .backward = max_pool2d_backward,
    .truth = max_pool2d_truth,
    .rounding_steps = 8,
    .samples = max_pool2d_samples,
    .sample_count = ATT_COUNT(max_pool2d_samples),
};

att_node *att_max_pool2d(att_tape *tape, att_node *x, int64_t size, int64_t stride, bool ceil)
{
    return att_op_apply(tape, &att_op_max_pool2d, &x, 1, &(max_pool2d){ size, stride, ceil });
}

/* ---------------------------------------------------------------- mean */

typedef struct avg_pool2d {
    int64_t height, width; /* of a window */
} avg_pool2d;

static bool avg_pool2d_shape(att_tape *tape, att_node *node)
{
    const avg_pool2d *options = node->options;
    const int64_t *in = node->in[0]->shape;
    if (!check_image(tape, node))
        return false;
    if (options->height < 1 || options->width < 1)
        return att_tape_fail(tape, node->op->name,
                             "expected a window of at least 1 x 1, found %lld x %lld",
                             (long long)options->height, (long long)options->width);
    att_node_set_shape(node, 4,
                       (const int64_t[]){ in[0], att_ceil_div_i64(in[1], options->height),
                                          att_ceil_div_i64(in[2], options->width), in[3] });
    return true;
}

static span avg_window_span(int64_t index, int64_t length, int64_t size)
{
    return (span){ index * length, att_min_i64((index + 1) * length, size) };
}

static pool_window avg_window_of(const att_node *node, int64_t line, int64_t ox)
{
    const avg_pool2d *options = node->options;
    const int64_t *in = node->in[0]->shape;
    return (pool_window){ avg_window_span(line % node->shape[1], options->height, in[1]),
                          avg_window_span(ox, options->width, in[2]) };
}

static float window_weight(pool_window r)
{
    return 1 / (float)((r.y.end - r.y.begin) * (r.x.end - r.x.begin));
}

static void avg_pool2d_rows(void *context, int64_t begin, int64_t end)
{
    const att_kernels *kernels = att_kernels_get();
    const att_node *node = context;
    const int64_t *in = node->in[0]->shape, *out = node->shape;
    for (int64_t line = begin; line < end; line++)
        for (int64_t ox = 0; ox < out[2]; ox++) {
            pool_window r = avg_window_of(node, line, ox);
            float *y = node->value + (line * out[2] + ox) * out[3];
            memset(y, 0, (size_t)out[3] * sizeof *y);
            for (int64_t iy = r.y.begin; iy < r.y.end; iy++)
                for (int64_t ix = r.x.begin; ix < r.x.end; ix++)
                    kernels->axpy(y, window_weight(r),
                                  node->in[0]->value + pixel_offset(in, line / out[1], iy, ix),
                                  (size_t)out[3]);
        }
}

static bool avg_pool2d_forward(att_tape *tape, att_node *node)
{
    (void)tape;
    att_parallel_for(node->shape[0] * node->shape[1], 1, avg_pool2d_rows, node);
    return true;
}

static void avg_pool2d_backward_images(void *context, int64_t begin, int64_t end)
{
    const att_kernels *kernels = att_kernels_get();
    const att_node *node = context;
    const int64_t *in = node->in[0]->shape, *out = node->shape;
    for (int64_t line = begin * out[1]; line < end * out[1]; line++)
        for (int64_t ox = 0; ox < out[2]; ox++) {
            pool_window r = avg_window_of(node, line, ox);
            const float *dy = node->grad + (line * out[2] + ox) * out[3];
            for (int64_t iy = r.y.begin; iy < r.y.end; iy++)
                for (int64_t ix = r.x.begin; ix < r.x.end; ix++)
                    kernels->axpy(node->in[0]->grad + pixel_offset(in, line / out[1], iy, ix),
                                  window_weight(r), dy, (size_t)out[3]);
        }
}

static bool avg_pool2d_backward(att_tape *tape, att_node *node)
{
    if (att_node_grad(tape, node->in[0]))
        att_parallel_for(node->shape[0], 1, avg_pool2d_backward_images, node);
    return true;
}

static void avg_pool2d_truth(double *value, const att_node *node, const double *const *in)
{
    const avg_pool2d *options = node->options;
    att_reference_pool2d_shape shape = reference_shape(node);
    shape.window_height = shape.stride_y = options->height;
    shape.window_width = shape.stride_x = options->width;
    att_reference_avg_pool2d(value, &shape, in[0]);
}

#define AVG_POOL2D(height, width) (&(const avg_pool2d){ height, width })

static const att_op_sample avg_pool2d_samples[] = {
    { "one window", 1, { { 4, { 2, 3, 5, 4 } } }, AVG_POOL2D(3, 5), 0, 0 },
    { "windows cut at the border", 1, { { 4, { 1, 13, 7, 3 } } }, AVG_POOL2D(2, 3), 0, 0 },
    { "a window beyond the image", 1, { { 4, { 1, 2, 3, 17 } } }, AVG_POOL2D(4, 1), 0, 0 },
    { "no images", 1, { { 4, { 0, 3, 5, 4 } } }, AVG_POOL2D(2, 2), 0, 0 },
};

const att_op att_op_avg_pool2d = {
    .name = "avg-pool2d",
    .options_size = sizeof(avg_pool2d),
    .shape = avg_pool2d_shape,
    .forward = avg_pool2d_forward,
    .backward = avg_pool2d_backward,
    .truth = avg_pool2d_truth,
    .rounding_steps = 40,
    .samples = avg_pool2d_samples,
    .sample_count = ATT_COUNT(avg_pool2d_samples),
};

att_node *att_avg_pool2d(att_tape *tape, att_node *x, int64_t height, int64_t width)
{
    return att_op_apply(tape, &att_op_avg_pool2d, &x, 1, &(avg_pool2d){ height, width });
}
