/* Convolutions as benchmarks: layers of an image encoder, forward, and forward and backward as in a
 * training step. */
#include "bench/bench.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "tape/op.h"
#include "tape/ops.h"

typedef struct conv2d_case {
    const char *name;
    const char *shape;
    int64_t images, side, channels, out_channels, kernel, stride;
    bool training;
} conv2d_case;

static const conv2d_case cases[] = {
    { "conv2d/first/7x7", "image 227 x 227 x 3, 96 channels, stride 2", 1, 227, 3, 96, 7, 2,
      false },
    { "conv2d/wide/3x3", "image 57 x 57 x 16, 64 channels", 1, 57, 16, 64, 3, 1, false },
    { "conv2d/deep/3x3", "image 15 x 15 x 64, 256 channels", 1, 15, 64, 256, 3, 1, false },
    { "conv2d/train/3x3", "16 images 34 x 34 x 32, 32 channels, forward and backward", 16, 34, 32,
      32, 3, 1, true },
};

static int64_t out_side(const conv2d_case *c)
{
    return (c->side - c->kernel) / c->stride + 1;
}

/* The backward does twice the multiplications of the forward. */
static void info(att_bench *out, size_t index)
{
    const conv2d_case *c = &cases[index];
    double results = (double)(c->images * out_side(c) * out_side(c) * c->out_channels);
    double depth = (double)(c->kernel * c->kernel * c->channels);
    double inputs = (double)(c->images * c->side * c->side * c->channels);
    *out =
        (att_bench){ .name = c->name,
                     .help = c->shape,
                     .limit = ATT_LIMIT_COMPUTE,
                     .flops = 2 * results * depth * (c->training ? 3 : 1),
                     .bytes = sizeof(float) * (results + inputs + depth * (double)c->out_channels),
                     .elements = results };
}

enum { PARAM_W, PARAM_BIAS, PARAMS };

typedef struct conv2d_state {
    const conv2d_case *which;
    att_params params;
    att_tape *tape;
    float *x;
} conv2d_state;

static att_status make_params(conv2d_state *s, att_error *err)
{
    const conv2d_case *c = s->which;
    const att_param rows[PARAMS] = {
        [PARAM_W] = { .name = "w",
                      .rank = 2,
                      .shape = { c->kernel * c->kernel * c->channels, c->out_channels },
                      .init = ATT_INIT_GLOROT,
                      .init_scale = 1 },
        [PARAM_BIAS] = { .name = "bias", .rank = 1, .shape = { c->out_channels } },
    };
    for (int i = 0, at; i < PARAMS; i++)
        ATT_TRY(att_params_add(&s->params, &rows[i], &at, err));
    ATT_TRY(att_params_init(&s->params, 1, err));
    return c->training ? att_params_alloc_grad(&s->params, err) : ATT_OK;
}

static att_status open_conv2d(void **state, size_t index, att_error *err)
{
    conv2d_state *s = att_alloc_zero(1, sizeof *s);
    *state = s;
    if (!s)
        return att_fail_memory(err);
    s->which = &cases[index];
    const conv2d_case *c = s->which;
    size_t numbers = (size_t)(c->images * c->side * c->side * c->channels);
    s->x = att_alloc(numbers, sizeof *s->x);
    if (!s->x)
        return att_fail_memory(err);
    att_bench_fill(s->x, numbers, 1);
    ATT_TRY(make_params(s, err));
    return att_tape_new_training(&s->tape, &s->params, err);
}

/* For inference the weights are packed once; in training they are packed again in each step. */
static att_status run_once(conv2d_state *s, att_error *err)
{
    const conv2d_case *c = s->which;
    const int64_t shape[] = { c->images, c->side, c->side, c->channels };
    if (c->training)
        att_params_mark_changed(&s->params);
    att_tape_begin(s->tape, c->training, 1, 1);
    att_node *x = c->training ? att_tape_variable(s->tape, 4, shape, s->x)
                              : att_tape_input_view(s->tape, 4, shape, s->x);
    att_node *y = att_conv2d(s->tape, x, att_tape_param(s->tape, PARAM_W),
                             att_tape_param(s->tape, PARAM_BIAS),
                             &(att_conv2d_options){ .kernel_height = c->kernel,
                                                    .kernel_width = c->kernel,
                                                    .stride = c->stride,
                                                    .activation = ATT_ACTIVATION_RELU });
    float *grad = y && c->training ? att_node_grad(s->tape, y) : NULL;
    for (int64_t i = 0; grad && i < y->count; i++)
        grad[i] = 1;
    return grad ? att_tape_run_backward(s->tape, err) : att_tape_status(s->tape, err);
}

static att_status run_conv2d(void *state, size_t times, att_error *err)
{
    for (; times > 0; times--)
        ATT_TRY(run_once(state, err));
    return ATT_OK;
}

static void close_conv2d(void *state)
{
    conv2d_state *s = state;
    if (!s)
        return;
    att_tape_free(s->tape);
    att_params_free(&s->params);
    att_free(s->x);
    att_free(s);
}

const att_bench_suite att_bench_conv2d = {
    .count = ATT_COUNT(cases),
    .info = info,
    .open = open_conv2d,
    .run = run_conv2d,
    .close = close_conv2d,
};
