/* Two-dimensional convolution of images, on kern/conv2d.h. */
#include "base/minmax.h"
#include "kern/conv2d.h"

#include "reference/conv.h"
#include "tape/op_util.h"
#include "tape/ops.h"

enum { CONV2D_X, CONV2D_W, CONV2D_BIAS };

static bool conv2d_shape(att_tape *tape, att_node *node)
{
    const att_conv2d_options *options = node->options;
    const att_node *x = node->in[CONV2D_X], *w = node->in[CONV2D_W];
    const int64_t any[4] = { -1, -1, -1, -1 };
    if (options->kernel_height < 1 || options->kernel_width < 1 || options->stride < 1 ||
        options->padding < 0)
        return att_tape_fail(
            tape, node->op->name,
            "expected a kernel and a stride of at least 1 and no negative padding, "
            "found kernel %lld x %lld, stride %lld, padding %lld",
            (long long)options->kernel_height, (long long)options->kernel_width,
            (long long)options->stride, (long long)options->padding);
    if (!att_node_check_shape(tape, node, "x", x, 4, any))
        return false;
    const int64_t weights[2] = { options->kernel_height * options->kernel_width * x->shape[3], -1 };
    if (!att_node_check_shape(tape, node, "w", w, 2, weights))
        return false;
    if (node->in[CONV2D_BIAS] &&
        !att_node_check_shape(tape, node, "bias", node->in[CONV2D_BIAS], 1, &w->shape[1]))
        return false;
    int64_t free_rows = x->shape[1] + 2 * options->padding - options->kernel_height;
    int64_t free_columns = x->shape[2] + 2 * options->padding - options->kernel_width;
    if (free_rows < 0 || free_columns < 0)
        return att_tape_fail(tape, node->op->name,
                             "a kernel of %lld x %lld does not fit an image of %lld x %lld",
                             (long long)options->kernel_height, (long long)options->kernel_width,
                             (long long)x->shape[1], (long long)x->shape[2]);
    att_node_set_shape(node, 4,
                       (const int64_t[]){ x->shape[0], free_rows / options->stride + 1,
                                          free_columns / options->stride + 1, w->shape[1] });
    return true;
}

static att_conv2d_shape shape_of(const att_node *node)
{
    const att_conv2d_options *options = node->options;
    const int64_t *in = node->in[CONV2D_X]->shape, *out = node->shape;
    return (att_conv2d_shape){ .batch = (size_t)in[0],
                               .height = (size_t)in[1],
                               .width = (size_t)in[2],
                               .channels = (size_t)in[3],
                               .out_height = (size_t)out[1],
                               .out_width = (size_t)out[2],
                               .out_channels = (size_t)out[3],
                               .kernel_height = (size_t)options->kernel_height,
                               .kernel_width = (size_t)options->kernel_width,
                               .stride = (size_t)options->stride,
                               .padding = (size_t)options->padding };
}

static bool conv2d_forward(att_tape *tape, att_node *node)
{
    const att_conv2d_options *options = node->options;
    const att_node *bias = node->in[CONV2D_BIAS];
    att_activation_kernels kernels = att_activation_kernels_get(options->activation);
    bool keep = node->requires_grad && kernels.saves_input;
    float *sums = keep ? att_tape_alloc(tape, node->count, sizeof(float)) : node->value;
    if (!sums)
        return false;
    att_memory_pool_mark mark = att_tape_mark(tape);
    const float *panels = att_node_packed_weights(tape, node->in[CONV2D_W], false);
    if (!panels)
        return false;
    att_conv2d_run(
        &(att_conv2d_call){ .shape = shape_of(node),
                            .x = node->in[CONV2D_X]->value,
                            .panels = panels,
                            .bias = bias ? bias->value : NULL,
                            .activation = keep ? ATT_ACTIVATION_NONE : options->activation,
                            .y = sums });
    att_tape_release_to_mark(tape, mark);
    if (keep) {
        node->saved = sums;
        kernels.forward(node->value, sums, (size_t)node->count);
    }
    return true;
}

static bool backward_weights(att_tape *tape, const att_node *node, const float *dz, float *dw,
                             bool add)
{
    size_t rows = (size_t)att_node_rows(node), columns = (size_t)att_node_last_dim(node);
    att_memory_pool_mark mark = att_tape_mark(tape);
    float *panels =
        att_tape_alloc(tape, (int64_t)att_matmul_packed_size(rows, columns), sizeof(float));
    if (!panels)
        return false;
    att_matmul_pack(panels, dz, columns, false, rows, columns);
    att_conv2d_backward_weights(&(att_conv2d_weight_grad_call){ .shape = shape_of(node),
                                                                .x = node->in[CONV2D_X]->value,
                                                                .panels = panels,
                                                                .dw = dw,
                                                                .accumulate = add });
    att_tape_release_to_mark(tape, mark);
    return true;
}

static bool backward_input(att_tape *tape, const att_node *node, const float *dz, float *dx)
{
    const float *panels = att_node_packed_weights(tape, node->in[CONV2D_W], true);
    if (panels)
        att_conv2d_backward_input(&(att_conv2d_input_grad_call){
            .shape = shape_of(node), .dz = dz, .panels = panels, .dx = dx });
    return panels;
}

static bool conv2d_backward(att_tape *tape, att_node *node)
{
    const att_conv2d_options *options = node->options;
    bool add = true;
    float *dx = att_node_grad(tape, node->in[CONV2D_X]);
    float *dw = att_node_grad_overwrite(tape, node->in[CONV2D_W], &add);
    float *dbias = att_node_grad(tape, node->in[CONV2D_BIAS]);
    att_memory_pool_mark mark = att_tape_mark(tape);
    const float *dz = att_activation_backward(tape, node, options->activation);
    bool done =
        dz && (!dx || backward_input(tape, node, dz, dx)) &&
        (!dw || backward_weights(tape, node, dz, dw, add)) &&
        (!dbias || att_sum_rows(tape, dbias, dz, att_node_rows(node), att_node_last_dim(node)));
    att_tape_release_to_mark(tape, mark);
    return done;
}

static void conv2d_truth(double *value, const att_node *node, const double *const *in)
{
    const att_conv2d_options *options = node->options;
    const int64_t *x = node->in[CONV2D_X]->shape, *out = node->shape;
    const att_reference_conv2d_shape shape = { .batch = x[0],
                                               .height = x[1],
                                               .width = x[2],
                                               .channels = x[3],
                                               .out_height = out[1],
                                               .out_width = out[2],
                                               .out_channels = out[3],
                                               .kernel_height = options->kernel_height,
                                               .kernel_width = options->kernel_width,
                                               .stride = options->stride,
                                               .padding = options->padding };
    att_reference_conv2d(value, &shape, in[CONV2D_X], in[CONV2D_W], in[CONV2D_BIAS],
                         options->activation);
}

#define CONV2D(height, width, stride, padding, activation)                                         \
    (&(const att_conv2d_options){ height, width, stride, padding, ATT_ACTIVATION_##activation })

static const att_op_sample conv2d_samples[] = {
    { "3 x 3, padded",
      3,
      { { 4, { 2, 5, 4, 3 } }, { 2, { 27, 4 } }, { 1, { 4 } } },
      CONV2D(3, 3, 1, 1, NONE),
      0,
      0 },
    { "stride 2 with one line left over, no bias",
      3,
      { { 4, { 1, 8, 7, 2 } }, { 2, { 18, 5 } }, { -1, { 0 } } },
      CONV2D(3, 3, 2, 0, RELU),
      0,
      0 },
    { "stride beyond the kernel",
      3,
      { { 4, { 1, 7, 7, 2 } }, { 2, { 4, 3 } }, { 1, { 3 } } },
      CONV2D(1, 2, 3, 0, NONE),
      0,
      0 },
    { "padding beyond the kernel",
      3,
      { { 4, { 1, 2, 3, 1 } }, { 2, { 6, 17 } }, { 1, { 17 } } },
      CONV2D(3, 2, 1, 4, TANH),
      0,
      0 },
    { "the kernel as large as the image",
      3,
      { { 4, { 3, 4, 3, 2 } }, { 2, { 24, 2 } }, { 1, { 2 } } },
      CONV2D(4, 3, 1, 0, GELU),
      0,
      0 },
    { "a patch of two blocks",
      3,
      { { 4, { 1, 4, 5, 31 } }, { 2, { 279, 2 } }, { 1, { 2 } } },
      CONV2D(3, 3, 1, 1, NONE),
      0,
      0 },
    { "a line of more patches than one gather",
      3,
      { { 4, { 1, 2, 61, 1 } }, { 2, { 4, 2 } }, { 1, { 2 } } },
      CONV2D(2, 2, 1, 1, SILU),
      0,
      0 },
    { "1 x 1",
      3,
      { { 4, { 2, 3, 2, 5 } }, { 2, { 5, 4 } }, { 1, { 4 } } },
      CONV2D(1, 1, 1, 0, SIGMOID),
      0,
      0 },
    { "no images",
      3,
      { { 4, { 0, 4, 4, 2 } }, { 2, { 18, 2 } }, { 1, { 2 } } },
      CONV2D(3, 3, 1, 0, NONE),
      0,
      0 },
    { "no channels",
      3,
      { { 4, { 1, 3, 3, 0 } }, { 2, { 0, 2 } }, { 1, { 2 } } },
      CONV2D(3, 3, 1, 1, NONE),
      0,
      0 },
};

const att_op att_op_conv2d = {
    .name = "conv2d",
    .options_size = sizeof(att_conv2d_options),
    .shape = conv2d_shape,
    .forward = conv2d_forward,
    .backward = conv2d_backward,
    .truth = conv2d_truth,
    .rounding_steps = 290,
    .samples = conv2d_samples,
    .sample_count = ATT_COUNT(conv2d_samples),
};

att_node *att_conv2d(att_tape *tape, att_node *x, att_node *w, att_node *bias,
                     const att_conv2d_options *options)
{
    bool pointwise = options->kernel_height == 1 && options->kernel_width == 1 &&
                     options->stride == 1 && options->padding == 0;
    if (pointwise && x && x->rank == 4) /* its patches are the pixels of x themselves */
        return att_linear(tape, x, w, bias, options->activation, false);
    att_node *const in[] = { x, w, bias };
    return att_op_apply(tape, &att_op_conv2d, in, 3, options);
}
