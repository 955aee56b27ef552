/* Convolution of pictures, on kern/convolve.h. */
#include "kern/convolve.h"

#include "tape/help.h"
#include "tape/ops.h"

enum { CONVOLVE_X, CONVOLVE_W, CONVOLVE_BIAS };

static bool convolve_shape(att_tape *tape, att_node *node)
{
    const att_convolution *how = node->how;
    const att_node *x = node->in[CONVOLVE_X], *w = node->in[CONVOLVE_W];
    const int64_t any[4] = { -1, -1, -1, -1 };
    if (how->height < 1 || how->width < 1 || how->stride < 1 || how->padding < 0)
        return att_tape_fail(tape, "convolve", "the kernel and the stride must be at least 1");
    if (!att_node_fits(tape, node, "x", x, 4, any))
        return false;
    const int64_t weights[2] = { how->height * how->width * x->shape[3], -1 };
    if (!att_node_fits(tape, node, "w", w, 2, weights))
        return false;
    if (node->in[CONVOLVE_BIAS] &&
        !att_node_fits(tape, node, "bias", node->in[CONVOLVE_BIAS], 1, &w->shape[1]))
        return false;
    int64_t tall = x->shape[1] + 2 * how->padding - how->height;
    int64_t wide = x->shape[2] + 2 * how->padding - how->width;
    if (tall < 0 || wide < 0)
        return att_tape_fail(tape, "convolve",
                             "a kernel of %lld x %lld does not fit a picture of %lld x %lld",
                             (long long)how->height, (long long)how->width, (long long)x->shape[1],
                             (long long)x->shape[2]);
    att_node_set_shape(node, 4,
                       (const int64_t[]){ x->shape[0], tall / how->stride + 1,
                                          wide / how->stride + 1, w->shape[1] });
    return true;
}

static att_convolve_sizes sizes_of(const att_node *node)
{
    const att_convolution *how = node->how;
    const int64_t *in = node->in[CONVOLVE_X]->shape, *out = node->shape;
    return (att_convolve_sizes){ .items = (size_t)in[0],
                                 .height = (size_t)in[1],
                                 .width = (size_t)in[2],
                                 .channels = (size_t)in[3],
                                 .out_height = (size_t)out[1],
                                 .out_width = (size_t)out[2],
                                 .columns = (size_t)out[3],
                                 .kernel_height = (size_t)how->height,
                                 .kernel_width = (size_t)how->width,
                                 .stride = (size_t)how->stride,
                                 .padding = (size_t)how->padding };
}

static bool convolve_forward(att_tape *tape, att_node *node)
{
    const att_convolution *how = node->how;
    const att_node *bias = node->in[CONVOLVE_BIAS];
    att_activation_maps maps = att_activation_get(how->activation);
    bool keep = node->learns && maps.keeps_input;
    float *sums = keep ? att_tape_take(tape, node->count, sizeof(float)) : node->value;
    if (!sums)
        return false;
    att_pool_mark mark = att_tape_mark(tape);
    const float *panels = att_node_packed(tape, node->in[CONVOLVE_W], false);
    if (!panels)
        return false;
    att_convolve_run(
        &(att_convolve_call){ .sizes = sizes_of(node),
                              .x = node->in[CONVOLVE_X]->value,
                              .panels = panels,
                              .bias = bias ? bias->value : NULL,
                              .activation = keep ? ATT_ACTIVATION_NONE : how->activation,
                              .y = sums });
    att_tape_release(tape, mark);
    if (keep) {
        node->kept = sums;
        maps.forward(node->value, sums, (size_t)node->count);
    }
    return true;
}

static bool back_weights(att_tape *tape, const att_node *node, const float *dz, float *dw, bool add)
{
    size_t rows = (size_t)att_node_rows(node), columns = (size_t)att_node_width(node);
    att_pool_mark mark = att_tape_mark(tape);
    float *panels =
        att_tape_take(tape, (int64_t)att_product_packed_size(rows, columns), sizeof(float));
    if (!panels)
        return false;
    att_product_pack(panels, dz, columns, false, rows, columns);
    att_convolve_back_weights(&(att_convolve_weights_call){ .sizes = sizes_of(node),
                                                            .x = node->in[CONVOLVE_X]->value,
                                                            .panels = panels,
                                                            .dw = dw,
                                                            .add = add });
    att_tape_release(tape, mark);
    return true;
}

static bool back_input(att_tape *tape, const att_node *node, const float *dz, float *dx)
{
    const float *panels = att_node_packed(tape, node->in[CONVOLVE_W], true);
    if (panels)
        att_convolve_back_input(&(att_convolve_input_call){
            .sizes = sizes_of(node), .dz = dz, .panels = panels, .dx = dx });
    return panels;
}

static bool convolve_backward(att_tape *tape, att_node *node)
{
    const att_convolution *how = node->how;
    bool add = true;
    float *dx = att_node_grad(tape, node->in[CONVOLVE_X]);
    float *dw = att_node_grad_whole(tape, node->in[CONVOLVE_W], &add);
    float *dbias = att_node_grad(tape, node->in[CONVOLVE_BIAS]);
    att_pool_mark mark = att_tape_mark(tape);
    const float *dz = att_activation_back(tape, node, how->activation);
    bool done =
        dz && (!dx || back_input(tape, node, dz, dx)) &&
        (!dw || back_weights(tape, node, dz, dw, add)) &&
        (!dbias || att_add_rows(tape, dbias, dz, att_node_rows(node), att_node_width(node)));
    att_tape_release(tape, mark);
    return done;
}

/* ---------------------------------------------------------------- the formula */

/* Number (y, x, c) of picture b, 0 beyond its borders. */
static double pixel(const double *x, const int64_t *shape, int64_t b, int64_t y, int64_t column,
                    int64_t c)
{
    if (y < 0 || y >= shape[1] || column < 0 || column >= shape[2])
        return 0;
    return x[((b * shape[1] + y) * shape[2] + column) * shape[3] + c];
}

static double convolve_at(const att_node *node, const double *const *in, int64_t b, int64_t oy,
                          int64_t ox, int64_t n)
{
    const att_convolution *how = node->how;
    const int64_t *shape = node->in[CONVOLVE_X]->shape;
    double sum = in[CONVOLVE_BIAS] ? in[CONVOLVE_BIAS][n] : 0;
    for (int64_t ky = 0; ky < how->height; ky++)
        for (int64_t kx = 0; kx < how->width; kx++)
            for (int64_t c = 0; c < shape[3]; c++)
                sum += pixel(in[CONVOLVE_X], shape, b, oy * how->stride - how->padding + ky,
                             ox * how->stride - how->padding + kx, c) *
                       in[CONVOLVE_W][((ky * how->width + kx) * shape[3] + c) * node->shape[3] + n];
    return att_activation_truth(how->activation, sum);
}

static void convolve_truth(double *value, const att_node *node, const double *const *in)
{
    const int64_t *out = node->shape;
    for (int64_t i = 0; i < node->count; i++) {
        int64_t n = i % out[3], place = i / out[3];
        int64_t ox = place % out[2], line = place / out[2];
        value[i] = convolve_at(node, in, line / out[1], line % out[1], ox, n);
    }
}

#define HOW(height, width, stride, padding, activation)                                            \
    (&(const att_convolution){ height, width, stride, padding, ATT_ACTIVATION_##activation })

static const att_op_sample convolve_samples[] = {
    { "3 x 3, padded",
      3,
      { { 4, { 2, 5, 4, 3 } }, { 2, { 27, 4 } }, { 1, { 4 } } },
      HOW(3, 3, 1, 1, NONE),
      0,
      0 },
    { "stride 2 that leaves a line over, no bias",
      3,
      { { 4, { 1, 8, 7, 2 } }, { 2, { 18, 5 } }, { -1, { 0 } } },
      HOW(3, 3, 2, 0, RELU),
      0,
      0 },
    { "stride beyond the kernel",
      3,
      { { 4, { 1, 7, 7, 2 } }, { 2, { 4, 3 } }, { 1, { 3 } } },
      HOW(1, 2, 3, 0, NONE),
      0,
      0 },
    { "padding beyond the kernel",
      3,
      { { 4, { 1, 2, 3, 1 } }, { 2, { 6, 17 } }, { 1, { 17 } } },
      HOW(3, 2, 1, 4, TANH),
      0,
      0 },
    { "the kernel is the picture",
      3,
      { { 4, { 3, 4, 3, 2 } }, { 2, { 24, 2 } }, { 1, { 2 } } },
      HOW(4, 3, 1, 0, GELU),
      0,
      0 },
    { "a patch of two blocks",
      3,
      { { 4, { 1, 4, 5, 31 } }, { 2, { 279, 2 } }, { 1, { 2 } } },
      HOW(3, 3, 1, 1, NONE),
      0,
      0 },
    { "a line of more patches than are gathered at once",
      3,
      { { 4, { 1, 2, 61, 1 } }, { 2, { 4, 2 } }, { 1, { 2 } } },
      HOW(2, 2, 1, 1, SILU),
      0,
      0 },
    { "1 x 1",
      3,
      { { 4, { 2, 3, 2, 5 } }, { 2, { 5, 4 } }, { 1, { 4 } } },
      HOW(1, 1, 1, 0, SIGMOID),
      0,
      0 },
    { "no pictures",
      3,
      { { 4, { 0, 4, 4, 2 } }, { 2, { 18, 2 } }, { 1, { 2 } } },
      HOW(3, 3, 1, 0, NONE),
      0,
      0 },
    { "no channels",
      3,
      { { 4, { 1, 3, 3, 0 } }, { 2, { 0, 2 } }, { 1, { 2 } } },
      HOW(3, 3, 1, 1, NONE),
      0,
      0 },
};

const att_op att_op_convolve = {
    .name = "convolve",
    .how_size = sizeof(att_convolution),
    .shape = convolve_shape,
    .forward = convolve_forward,
    .backward = convolve_backward,
    .truth = convolve_truth,
    .rounds = 290,
    .samples = convolve_samples,
    .sample_count = sizeof convolve_samples / sizeof *convolve_samples,
};

att_node *att_convolve(att_tape *tape, att_node *x, att_node *w, att_node *bias,
                       const att_convolution *how)
{
    bool pointwise = how->height == 1 && how->width == 1 && how->stride == 1 && how->padding == 0;
    if (pointwise && x && x->rank == 4) /* patches that lie there already */
        return att_linear(tape, x, w, bias, how->activation, false);
    att_node *const in[] = { x, w, bias };
    return att_op_apply(tape, &att_op_convolve, in, 3, how);
}
