/* Convolutions as benchmarks: layers of a network that looks at pictures, forward, and forward and
 * backward as in a step of training. */
#include "measure/measure.h"

#include "base/alloc.h"
#include "base/error.h"
#include "tape/op.h"
#include "tape/ops.h"

typedef struct convolve_case {
    const char *name;
    const char *says;
    int64_t pictures, side, channels, columns, kernel, stride;
    bool learn;
} convolve_case;

static const convolve_case cases[] = {
    { "convolve/first/7x7", "a picture 227 x 227 x 3, 96 columns, stride 2", 1, 227, 3, 96, 7, 2,
      false },
    { "convolve/wide/3x3", "a picture 57 x 57 x 16, 64 columns", 1, 57, 16, 64, 3, 1, false },
    { "convolve/deep/3x3", "a picture 15 x 15 x 64, 256 columns", 1, 15, 64, 256, 3, 1, false },
    { "convolve/learn/3x3", "16 pictures 34 x 34 x 32, 32 columns, forward and backward", 16, 34,
      32, 32, 3, 1, true },
};

static int64_t out_side(const convolve_case *c)
{
    return (c->side - c->kernel) / c->stride + 1;
}

/* The products, and twice as much backward. */
static void about(att_bench *out, size_t index)
{
    const convolve_case *c = &cases[index];
    double results = (double)(c->pictures * out_side(c) * out_side(c) * c->columns);
    double depth = (double)(c->kernel * c->kernel * c->channels);
    double inputs = (double)(c->pictures * c->side * c->side * c->channels);
    *out = (att_bench){ .name = c->name,
                        .says = c->says,
                        .limit = ATT_LIMIT_COMPUTE,
                        .flops = 2 * results * depth * (c->learn ? 3 : 1),
                        .bytes = sizeof(float) * (results + inputs + depth * (double)c->columns),
                        .elements = results };
}

enum { PARAM_W, PARAM_BIAS, PARAMS };

typedef struct convolve_state {
    const convolve_case *which;
    att_params params;
    att_tape *tape;
    float *x;
} convolve_state;

static att_status make_params(convolve_state *s, att_error *err)
{
    const convolve_case *c = s->which;
    const att_param rows[PARAMS] = {
        [PARAM_W] = { .name = "w",
                      .rank = 2,
                      .shape = { c->kernel * c->kernel * c->channels, c->columns },
                      .start = ATT_START_GLOROT,
                      .spread = 1 },
        [PARAM_BIAS] = { .name = "bias", .rank = 1, .shape = { c->columns } },
    };
    for (int i = 0, at; i < PARAMS; i++)
        ATT_TRY(att_params_add(&s->params, &rows[i], &at, err));
    ATT_TRY(att_params_build(&s->params, 1, err));
    return c->learn ? att_params_want_grad(&s->params, err) : ATT_OK;
}

static att_status open_convolve(void **state, size_t index, att_error *err)
{
    convolve_state *s = att_alloc_zero(1, sizeof *s);
    *state = s;
    if (!s)
        return att_fail_memory(err);
    s->which = &cases[index];
    const convolve_case *c = s->which;
    size_t numbers = (size_t)(c->pictures * c->side * c->side * c->channels);
    s->x = att_alloc(numbers, sizeof *s->x);
    if (!s->x)
        return att_fail_memory(err);
    att_bench_fill(s->x, numbers, 1);
    ATT_TRY(make_params(s, err));
    return att_tape_new(&s->tape, &s->params, err);
}

/* Weights are packed once where they only serve, and again at each step where they learn. */
static att_status run_once(convolve_state *s, att_error *err)
{
    const convolve_case *c = s->which;
    const int64_t shape[] = { c->pictures, c->side, c->side, c->channels };
    if (c->learn)
        att_params_changed(&s->params);
    att_tape_begin(s->tape, c->learn, 1, 1);
    att_node *x = c->learn ? att_tape_variable(s->tape, 4, shape, s->x)
                           : att_tape_lend(s->tape, 4, shape, s->x);
    att_node *y = att_convolve(s->tape, x, att_tape_param(s->tape, PARAM_W),
                               att_tape_param(s->tape, PARAM_BIAS),
                               &(att_convolution){ .height = c->kernel,
                                                   .width = c->kernel,
                                                   .stride = c->stride,
                                                   .activation = ATT_ACTIVATION_RELU });
    float *grad = y && c->learn ? att_node_grad(s->tape, y) : NULL;
    for (int64_t i = 0; grad && i < y->count; i++)
        grad[i] = 1;
    return grad ? att_tape_play_back(s->tape, err) : att_tape_status(s->tape, err);
}

static att_status run_convolve(void *state, size_t times, att_error *err)
{
    for (; times > 0; times--)
        ATT_TRY(run_once(state, err));
    return ATT_OK;
}

static void close_convolve(void *state)
{
    convolve_state *s = state;
    if (!s)
        return;
    att_tape_free(s->tape);
    att_params_free(&s->params);
    att_free(s->x);
    att_free(s);
}

const att_bench_family att_bench_convolutions = {
    .count = sizeof cases / sizeof *cases,
    .about = about,
    .open = open_convolve,
    .run = run_convolve,
    .close = close_convolve,
};
