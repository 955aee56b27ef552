/* Dropout, drawn row by row; alone, and within a residual connection. */
#include "base/minmax.h"
#include "base/parallel.h"
#include "base/random.h"
#include "reference/activation.h"
#include "tape/op_util.h"
#include "tape/ops.h"

typedef struct dropout {
    uint64_t seed; /* of this dropout_id in this step */
    float probability;
    const int32_t *groups; /* [rows] the row whose draws a row takes, or NULL: its own */
} dropout;

static uint64_t stream_of(const dropout *options, int64_t row)
{
    return options->groups ? (uint64_t)options->groups[row] : (uint64_t)row;
}

/* A loop over rows, forward or backward. */
typedef struct dropout_rows_context {
    att_kern_dropout *kernel;
    const dropout *options;
    float *y;
    const float *x;
    size_t width;
} dropout_rows_context;

static void dropout_rows(void *context, int64_t begin, int64_t end)
{
    const dropout_rows_context *d = context;
    for (int64_t i = begin; i < end; i++) {
        att_dropout_options drop = { d->options->seed, stream_of(d->options, i),
                                     d->options->probability };
        d->kernel(d->y + (size_t)i * d->width, d->x + (size_t)i * d->width, d->width, &drop);
    }
}

static bool dropout_shape(att_tape *tape, att_node *node)
{
    (void)tape;
    att_node_shape_like(node, node->in[0]);
    return true;
}

static bool dropout_forward(att_tape *tape, att_node *node)
{
    (void)tape;
    int64_t width = att_node_last_dim(node);
    dropout_rows_context d = { att_kernels_get()->dropout, node->options, node->value,
                               node->in[0]->value, (size_t)width };
    att_parallel_for(att_node_rows(node), att_row_grain(2 * width), dropout_rows, &d);
    return true;
}

static bool dropout_backward(att_tape *tape, att_node *node)
{
    int64_t width = att_node_last_dim(node);
    float *dx = att_node_grad(tape, node->in[0]);
    dropout_rows_context d = { att_kernels_get()->dropout_backward, node->options, dx, node->grad,
                               (size_t)width };
    if (dx)
        att_parallel_for(att_node_rows(node), att_row_grain(2 * width), dropout_rows, &d);
    return true;
}

static void dropout_truth(double *value, const att_node *node, const double *const *in)
{
    const dropout *options = node->options;
    int64_t width = att_node_last_dim(node);
    for (int64_t i = 0; i < att_node_rows(node); i++)
        att_reference_dropout(value + i * width, in[0] + i * width, width, options->seed,
                              stream_of(options, i), options->probability);
}

static const int32_t some_groups[] = { 3, 0, 3, -1, 0 };

static const att_op_sample dropout_samples[] = {
    { "a third", 1, { { 2, { 5, 17 } } }, &(const dropout){ 7, 0.3f, NULL }, 0, 0 },
    { "nine tenths", 1, { { 3, { 2, 2, 5 } } }, &(const dropout){ 8, 0.9f, NULL }, 0, 0 },
    { "groups of rows", 1, { { 2, { 5, 70 } } }, &(const dropout){ 7, 0.4f, some_groups }, 0, 0 },
    { "no rows", 1, { { 2, { 0, 5 } } }, &(const dropout){ 9, 0.5f, NULL }, 0, 0 },
};

const att_op att_op_dropout = {
    .name = "dropout",
    .options_size = sizeof(dropout),
    .shape = dropout_shape,
    .forward = dropout_forward,
    .backward = dropout_backward,
    .truth = dropout_truth,
    .rounding_steps = 4,
    .samples = dropout_samples,
    .sample_count = ATT_COUNT(dropout_samples),
};

/* The seed of one dropout_id in one step: both are mixed by Philox. */
static uint64_t seed_of(uint64_t seed, uint64_t step, uint64_t dropout_id)
{
    const uint32_t counter[4] = { (uint32_t)step, (uint32_t)(step >> 32), (uint32_t)dropout_id,
                                  (uint32_t)(dropout_id >> 32) };
    const uint32_t key[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) };
    uint32_t out[4];
    att_philox(out, counter, key);
    return (uint64_t)out[0] << 32 | out[1];
}

static bool check_probability(att_tape *tape, float probability)
{
    if (probability >= 0 && probability < 1)
        return true;
    att_tape_fail(tape, "dropout", "expected a probability of at least 0 and below 1, found %g",
                  (double)probability);
    return false;
}

att_node *att_dropout_grouped(att_tape *tape, att_node *x, float probability, uint64_t dropout_id,
                              const int32_t *groups)
{
    if (!att_tape_is_training(tape) || probability == 0 || !x)
        return x;
    if (!check_probability(tape, probability))
        return NULL;
    dropout options = { .seed = seed_of(att_tape_seed(tape), att_tape_step(tape), dropout_id),
                        .probability = probability,
                        .groups = att_tape_copy(tape, groups, att_node_rows(x), sizeof *groups) };
    return att_op_apply(tape, &att_op_dropout, &x, 1, &options);
}

att_node *att_dropout(att_tape *tape, att_node *x, float probability, uint64_t dropout_id)
{
    return att_dropout_grouped(tape, x, probability, dropout_id, NULL);
}

/* ---------------------------------------------------------------- residual */

static bool residual_shape(att_tape *tape, att_node *node)
{
    att_node_shape_like(node, node->in[0]);
    return att_node_check_shape(tape, node, "y", node->in[1], node->rank, node->shape);
}

/* to += dropout(from): the value of y, or its gradient. */
static void add_dropout(float *to, const float *from, const att_node *node)
{
    int64_t width = att_node_last_dim(node);
    dropout_rows_context d = { att_kernels_get()->dropout_backward, node->options, to, from,
                               (size_t)width };
    att_parallel_for(att_node_rows(node), att_row_grain(2 * width), dropout_rows, &d);
}

static bool residual_forward(att_tape *tape, att_node *node)
{
    (void)tape;
    att_add_arrays(node->value, node->in[0]->value, node->count, false);
    add_dropout(node->value, node->in[1]->value, node);
    return true;
}

static bool residual_backward(att_tape *tape, att_node *node)
{
    float *dy = att_node_grad(tape, node->in[1]);
    if (dy)
        add_dropout(dy, node->grad, node);
    if (att_node_grad_move(node, node->in[0]))
        return true;
    float *dx = att_node_grad(tape, node->in[0]);
    if (dx)
        att_add_arrays(dx, node->grad, node->count, true);
    return true;
}

static void residual_truth(double *value, const att_node *node, const double *const *in)
{
    dropout_truth(value, node, in + 1);
    for (int64_t i = 0; i < node->count; i++)
        value[i] += in[0][i];
}

static const att_op_sample residual_samples[] = {
    { "a third",
      2,
      { { 2, { 5, 17 } }, { 2, { 5, 17 } } },
      &(const dropout){ 7, 0.3f, NULL },
      0,
      0 },
    { "nothing dropped",
      2,
      { { 3, { 2, 2, 5 } }, { 3, { 2, 2, 5 } } },
      &(const dropout){ 8, 0, NULL },
      0,
      0 },
    { "no rows", 2, { { 2, { 0, 5 } }, { 2, { 0, 5 } } }, &(const dropout){ 9, 0.5f, NULL }, 0, 0 },
};

const att_op att_op_residual = {
    .name = "residual",
    .options_size = sizeof(dropout),
    .shape = residual_shape,
    .forward = residual_forward,
    .backward = residual_backward,
    .truth = residual_truth,
    .rounding_steps = 6,
    .samples = residual_samples,
    .sample_count = ATT_COUNT(residual_samples),
};

att_node *att_residual(att_tape *tape, att_node *x, att_node *y, float probability,
                       uint64_t dropout_id)
{
    if (!att_tape_is_training(tape) || probability == 0)
        return att_add(tape, x, y);
    if (!check_probability(tape, probability))
        return NULL;
    const dropout options = { .seed = seed_of(att_tape_seed(tape), att_tape_step(tape), dropout_id),
                              .probability = probability };
    att_node *const in[] = { x, y };
    return att_op_apply(tape, &att_op_residual, in, 2, &options);
}
