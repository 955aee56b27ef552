/* Elementwise operations (add, multiply, scale, activation) and the sum of all elements. */
#include "base/minmax.h"
#include "base/parallel.h"
#include "reference/activation.h"
#include "tape/op_util.h"
#include "tape/ops.h"
#include "tensor/tensor.h"

#include <string.h>

/* ---------------------------------------------------------------- add and multiply */

/* The last dimensions of a must be the shape of b; the result has the shape of a. */
static bool pair_shape(att_tape *tape, att_node *node)
{
    const att_node *a = node->in[0], *b = node->in[1];
    bool fits = b->rank <= a->rank;
    for (int d = 0; fits && d < b->rank; d++)
        fits = b->shape[b->rank - 1 - d] == a->shape[a->rank - 1 - d];
    char first[ATT_SHAPE_STRING_SIZE], second[ATT_SHAPE_STRING_SIZE];
    if (!fits)
        att_tape_fail(tape, node->op->name, "expected the last dimensions of %s to be %s",
                      att_shape_to_string(first, a->rank, a->shape),
                      att_shape_to_string(second, b->rank, b->shape));
    att_node_shape_like(node, a);
    return fits;
}

/* a as rows of `width` elements, the size of b. */
typedef struct operands {
    float *out;
    const float *a, *b;
    int64_t width;
} operands;

static int64_t pair_rows(const att_node *node)
{
    int64_t width = node->in[1]->count;
    return width > 0 ? node->count / width : 0;
}

static operands pair_of(const att_node *node)
{
    return (operands){ node->value, node->in[0]->value, node->in[1]->value, node->in[1]->count };
}

static void add_pairs(void *context, int64_t begin, int64_t end)
{
    const operands *p = context;
    for (int64_t i = begin; i < end; i++) {
        const float *a = p->a + i * p->width;
        float *out = p->out + i * p->width;
        for (int64_t j = 0; j < p->width; j++)
            out[j] = a[j] + p->b[j];
    }
}

static bool add_forward(att_tape *tape, att_node *node)
{
    (void)tape;
    operands p = pair_of(node);
    att_parallel_for(pair_rows(node), att_row_grain(p.width), add_pairs, &p);
    return true;
}

static bool add_backward(att_tape *tape, att_node *node)
{
    bool add = true;
    float *da = att_node_grad_overwrite(tape, node->in[0], &add);
    if (da)
        att_add_arrays(da, node->grad, node->count, add);
    float *db = att_node_grad(tape, node->in[1]);
    return !db || att_sum_rows(tape, db, node->grad, pair_rows(node), node->in[1]->count);
}

static void add_truth(double *value, const att_node *node, const double *const *in)
{
    for (int64_t i = 0; i < node->count; i++)
        value[i] = in[0][i] + in[1][i % node->in[1]->count];
}

static const att_op_sample pair_samples[] = {
    { "same shape", 2, { { 2, { 3, 5 } }, { 2, { 3, 5 } } }, NULL, 0, 0 },
    { "broadcast row", 2, { { 3, { 2, 3, 17 } }, { 1, { 17 } } }, NULL, 0, 0 },
    { "broadcast matrix", 2, { { 3, { 4, 3, 2 } }, { 2, { 3, 2 } } }, NULL, 0, 0 },
    { "broadcast scalar", 2, { { 2, { 4, 3 } }, { 0, { 0 } } }, NULL, 0, 0 },
    { "nothing", 2, { { 2, { 4, 0 } }, { 1, { 0 } } }, NULL, 0, 0 },
    { "no rows", 2, { { 2, { 0, 4 } }, { 1, { 4 } } }, NULL, 0, 0 },
};

const att_op att_op_add = {
    .name = "add",
    .shape = pair_shape,
    .forward = add_forward,
    .backward = add_backward,
    .truth = add_truth,
    .rounding_steps = 16,
    .samples = pair_samples,
    .sample_count = ATT_COUNT(pair_samples),
};

att_node *att_add(att_tape *tape, att_node *a, att_node *b)
{
    att_node *const in[] = { a, b };
    return att_op_apply(tape, &att_op_add, in, 2, NULL);
}

static void multiply_pairs(void *context, int64_t begin, int64_t end)
{
    const operands *p = context;
    for (int64_t i = begin; i < end; i++) {
        const float *a = p->a + i * p->width;
        float *out = p->out + i * p->width;
        for (int64_t j = 0; j < p->width; j++)
            out[j] = a[j] * p->b[j];
    }
}

static void multiply_add_pairs(void *context, int64_t begin, int64_t end)
{
    const operands *p = context;
    for (int64_t i = begin; i < end; i++) {
        const float *a = p->a + i * p->width;
        float *out = p->out + i * p->width;
        for (int64_t j = 0; j < p->width; j++)
            out[j] += a[j] * p->b[j];
    }
}

static bool multiply_forward(att_tape *tape, att_node *node)
{
    (void)tape;
    operands p = pair_of(node);
    att_parallel_for(pair_rows(node), att_row_grain(p.width), multiply_pairs, &p);
    return true;
}

static bool multiply_backward(att_tape *tape, att_node *node)
{
    operands p = pair_of(node);
    int64_t rows = pair_rows(node);
    float *da = att_node_grad(tape, node->in[0]), *db = att_node_grad(tape, node->in[1]);
    if (da) {
        operands back = { da, node->grad, p.b, p.width };
        att_parallel_for(rows, att_row_grain(p.width), multiply_add_pairs, &back);
    }
    for (int64_t i = 0; db && i < rows; i++) /* in order: all rows add to one */
        for (int64_t j = 0; j < p.width; j++)
            db[j] += node->grad[i * p.width + j] * p.a[i * p.width + j];
    return true;
}

static void multiply_truth(double *value, const att_node *node, const double *const *in)
{
    for (int64_t i = 0; i < node->count; i++)
        value[i] = in[0][i] * in[1][i % node->in[1]->count];
}

const att_op att_op_multiply = {
    .name = "multiply",
    .shape = pair_shape,
    .forward = multiply_forward,
    .backward = multiply_backward,
    .truth = multiply_truth,
    .rounding_steps = 20,
    .samples = pair_samples,
    .sample_count = ATT_COUNT(pair_samples),
};

att_node *att_multiply(att_tape *tape, att_node *a, att_node *b)
{
    att_node *const in[] = { a, b };
    return att_op_apply(tape, &att_op_multiply, in, 2, NULL);
}

/* ---------------------------------------------------------------- scale */

static bool same_shape(att_tape *tape, att_node *node)
{
    (void)tape;
    att_node_shape_like(node, node->in[0]);
    return true;
}

static bool scale_forward(att_tape *tape, att_node *node)
{
    (void)tape;
    float factor = *(const float *)node->options;
    for (int64_t i = 0; i < node->count; i++)
        node->value[i] = factor * node->in[0]->value[i];
    return true;
}

static bool scale_backward(att_tape *tape, att_node *node)
{
    float *dx = att_node_grad(tape, node->in[0]);
    if (dx)
        att_kernels_get()->axpy(dx, *(const float *)node->options, node->grad, (size_t)node->count);
    return true;
}

static void scale_truth(double *value, const att_node *node, const double *const *in)
{
    for (int64_t i = 0; i < node->count; i++)
        value[i] = (double)*(const float *)node->options * in[0][i];
}

static const att_op_sample scale_samples[] = {
    { "by 0.3", 1, { { 2, { 3, 17 } } }, &(const float){ 0.3f }, 0, 0 },
    { "by 0", 1, { { 1, { 3 } } }, &(const float){ 0.0f }, 0, 0 },
    { "nothing", 1, { { 1, { 0 } } }, &(const float){ 2.0f }, 0, 0 },
};

const att_op att_op_scale = {
    .name = "scale",
    .options_size = sizeof(float),
    .shape = same_shape,
    .forward = scale_forward,
    .backward = scale_backward,
    .truth = scale_truth,
    .rounding_steps = 2,
    .samples = scale_samples,
    .sample_count = ATT_COUNT(scale_samples),
};

att_node *att_scale(att_tape *tape, att_node *a, float factor)
{
    return att_op_apply(tape, &att_op_scale, &a, 1, &factor);
}

/* ---------------------------------------------------------------- sum */

static bool sum_shape(att_tape *tape, att_node *node)
{
    (void)tape;
    att_node_set_shape(node, 0, NULL);
    return true;
}

static bool sum_forward(att_tape *tape, att_node *node)
{
    (void)tape;
    double sum = 0;
    for (int64_t i = 0; i < node->in[0]->count; i++)
        sum += (double)node->in[0]->value[i];
    node->value[0] = (float)sum;
    return true;
}

static bool sum_backward(att_tape *tape, att_node *node)
{
    float *dx = att_node_grad(tape, node->in[0]);
    for (int64_t i = 0; dx && i < node->in[0]->count; i++)
        dx[i] += node->grad[0];
    return true;
}

static void sum_truth(double *value, const att_node *node, const double *const *in)
{
    value[0] = 0;
    for (int64_t i = 0; i < node->in[0]->count; i++)
        value[0] += in[0][i];
}

static const att_op_sample sum_samples[] = {
    { "a matrix", 1, { { 2, { 3, 17 } } }, NULL, 0, 0 },
    { "a scalar", 1, { { 0, { 0 } } }, NULL, 0, 0 },
    { "nothing", 1, { { 1, { 0 } } }, NULL, 0, 0 },
};

const att_op att_op_sum = {
    .name = "sum",
    .shape = sum_shape,
    .forward = sum_forward,
    .backward = sum_backward,
    .truth = sum_truth,
    .rounding_steps = 2,
    .samples = sum_samples,
    .sample_count = ATT_COUNT(sum_samples),
};

att_node *att_sum(att_tape *tape, att_node *a)
{
    return att_op_apply(tape, &att_op_sum, &a, 1, NULL);
}

/* ---------------------------------------------------------------- activation */

typedef struct activation_range {
    float *out;
    const float *x, *saved;
    att_activation_kernels kernels;
} activation_range;

static void activation_forward_range(void *context, int64_t begin, int64_t end)
{
    const activation_range *m = context;
    m->kernels.forward(m->out + begin, m->x + begin, (size_t)(end - begin));
}

static void activation_backward_range(void *context, int64_t begin, int64_t end)
{
    const activation_range *m = context;
    m->kernels.backward(m->out + begin, m->x + begin, m->saved + begin, (size_t)(end - begin));
}

static bool activation_forward(att_tape *tape, att_node *node)
{
    (void)tape;
    activation_range m = { .out = node->value,
                           .x = node->in[0]->value,
                           .kernels =
                               att_activation_kernels_get(*(const att_activation *)node->options) };
    att_parallel_for(node->count, att_row_grain(4), activation_forward_range, &m);
    return true;
}

static bool activation_backward(att_tape *tape, att_node *node)
{
    activation_range m = { .out = att_node_grad(tape, node->in[0]),
                           .x = node->grad,
                           .kernels =
                               att_activation_kernels_get(*(const att_activation *)node->options) };
    m.saved = m.kernels.saves_input ? node->in[0]->value : node->value;
    if (m.out)
        att_parallel_for(node->count, att_row_grain(4), activation_backward_range, &m);
    return true;
}

static void activation_truth(double *value, const att_node *node, const double *const *in)
{
    for (int64_t i = 0; i < node->count; i++)
        value[i] = att_reference_activation(*(const att_activation *)node->options, in[0][i]);
}

#define ACTIVATION(name)                                                                           \
    &(const att_activation)                                                                        \
    {                                                                                              \
        ATT_ACTIVATION_##name                                                                      \
    }

static const att_op_sample activation_samples[] = {
    { "relu", 1, { { 2, { 3, 17 } } }, ACTIVATION(RELU), -3, 3 },
    { "gelu", 1, { { 2, { 3, 17 } } }, ACTIVATION(GELU), -3, 3 },
    { "silu", 1, { { 2, { 3, 17 } } }, ACTIVATION(SILU), -3, 3 },
    { "tanh", 1, { { 2, { 3, 17 } } }, ACTIVATION(TANH), -3, 3 },
    { "sigmoid", 1, { { 2, { 3, 17 } } }, ACTIVATION(SIGMOID), -3, 3 },
    { "nothing", 1, { { 2, { 0, 17 } } }, ACTIVATION(TANH), 0, 0 },
};

const att_op att_op_activation = {
    .name = "activation",
    .options_size = sizeof(att_activation),
    .shape = same_shape,
    .forward = activation_forward,
    .backward = activation_backward,
    .truth = activation_truth,
    .rounding_steps = 20,
    .samples = activation_samples,
    .sample_count = ATT_COUNT(activation_samples),
};

att_node *att_activate(att_tape *tape, att_node *x, att_activation activation)
{
    if (activation == ATT_ACTIVATION_NONE)
        return x;
    return att_op_apply(tape, &att_op_activation, &x, 1, &activation);
}
