/* Operations that only move elements: reshape, concat, slice, stack, select, expand. Concat to
 * select are strided copies from the inputs to the result, each described by a function; backward
 * runs the same copies in the other direction. */
#include "base/minmax.h"
#include "base/parallel.h"
#include "tape/op_util.h"
#include "tape/ops.h"
#include "tensor/tensor.h"

#include <string.h>

/* ---------------------------------------------------------------- reshape */

typedef struct reshape {
    int rank;
    int64_t shape[ATT_NODE_MAX_RANK];
} reshape;

static bool reshape_shape(att_tape *tape, att_node *node)
{
    const reshape *options = node->options;
    const att_node *x = node->in[0];
    char from[ATT_SHAPE_STRING_SIZE], to[ATT_SHAPE_STRING_SIZE];
    att_node_set_shape(node, options->rank, options->shape);
    if (att_shape_count(options->rank, options->shape, INT64_MAX) == x->count)
        return true;
    att_tape_fail(tape, "reshape", "cannot reshape %s to %s",
                  att_shape_to_string(from, x->rank, x->shape),
                  att_shape_to_string(to, options->rank, options->shape));
    return false;
}

static void reshape_truth(double *value, const att_node *node, const double *const *in)
{
    for (int64_t i = 0; i < node->count; i++)
        value[i] = in[0][i];
}

static const att_op_sample reshape_samples[] = {
    { "split", 1, { { 2, { 3, 8 } } }, &(const reshape){ 4, { 3, 2, 2, 2 } }, 0, 0 },
    { "flatten", 1, { { 3, { 3, 2, 4 } } }, &(const reshape){ 1, { 24 } }, 0, 0 },
    { "nothing", 1, { { 2, { 0, 8 } } }, &(const reshape){ 3, { 5, 0, 2 } }, 0, 0 },
};

const att_op att_op_reshape = {
    .name = "reshape",
    .options_size = sizeof(reshape),
    .shape = reshape_shape,
    .truth = reshape_truth,
    .rounding_steps = 2,
    .samples = reshape_samples,
    .sample_count = ATT_COUNT(reshape_samples),
};

att_node *att_reshape(att_tape *tape, att_node *x, int rank, const int64_t *shape)
{
    reshape options = { .rank = rank };
    for (int d = 0; d < rank; d++)
        options.shape[d] = shape[d];
    return att_op_apply(tape, &att_op_reshape, &x, 1, &options);
}

/* ---------------------------------------------------------------- strided copies */

/* For one input: `count` runs of `length` elements, with their strides in the input (source) and in
 * the result (target). */
typedef struct strided_copy {
    int64_t count, length;
    int64_t source_offset, source_stride;
    int64_t target_offset, target_stride;
} strided_copy;

typedef strided_copy strided_copy_function(const att_node *node, int input);

/* The copy of one input. */
typedef struct strided_copy_job {
    strided_copy copy;
    float *to;
    const float *from;
    bool add;
} strided_copy_job;

static void copy_forward_range(void *context, int64_t begin, int64_t end)
{
    const strided_copy_job *m = context;
    for (int64_t n = begin; n < end; n++)
        memcpy(m->to + m->copy.target_offset + n * m->copy.target_stride,
               m->from + m->copy.source_offset + n * m->copy.source_stride,
               (size_t)m->copy.length * sizeof(float));
}

/* From the result's gradient (`from`) to the input's (`to`). Runs do not overlap in either. */
static void copy_backward_range(void *context, int64_t begin, int64_t end)
{
    const strided_copy_job *m = context;
    for (int64_t n = begin; n < end; n++) {
        float *to = m->to + m->copy.source_offset + n * m->copy.source_stride;
        const float *from = m->from + m->copy.target_offset + n * m->copy.target_stride;
        if (m->add)
            att_kernels_get()->axpy(to, 1, from, (size_t)m->copy.length);
        else
            memcpy(to, from, (size_t)m->copy.length * sizeof(float));
    }
}

static bool strided_forward(att_node *node, strided_copy_function *copies_of)
{
    for (int i = 0; i < node->input_count; i++) {
        strided_copy_job m = { .copy = copies_of(node, i),
                               .to = node->value,
                               .from = node->in[i]->value };
        att_parallel_for(m.copy.count, att_row_grain(m.copy.length), copy_forward_range, &m);
    }
    return true;
}

static bool strided_backward(att_tape *tape, att_node *node, strided_copy_function *copies_of)
{
    for (int i = 0; i < node->input_count; i++) {
        strided_copy_job m = { .copy = copies_of(node, i), .from = node->grad, .add = true };
        if (m.copy.count * m.copy.length == node->in[i]->count)
            m.to = att_node_grad_overwrite(tape, node->in[i], &m.add);
        else
            m.to = att_node_grad(tape, node->in[i]);
        if (m.to)
            att_parallel_for(m.copy.count, att_row_grain(m.copy.length), copy_backward_range, &m);
    }
    return true;
}

static void strided_truth(double *value, const att_node *node, const double *const *in,
                          strided_copy_function *copies_of)
{
    for (int i = 0; i < node->input_count; i++) {
        strided_copy r = copies_of(node, i);
        for (int64_t n = 0; n < r.count; n++)
            for (int64_t j = 0; j < r.length; j++)
                value[r.target_offset + n * r.target_stride + j] =
                    in[i][r.source_offset + n * r.source_stride + j];
    }
}

/* An operation given by its strided copies, op##_copies. */
#define STRIDED_COPY_OP(op)                                                                        \
    static bool op##_forward(att_tape *tape, att_node *node)                                       \
    {                                                                                              \
        (void)tape;                                                                                \
        return strided_forward(node, op##_copies);                                                 \
    }                                                                                              \
    static bool op##_backward(att_tape *tape, att_node *node)                                      \
    {                                                                                              \
        return strided_backward(tape, node, op##_copies);                                          \
    }                                                                                              \
    static void op##_truth(double *value, const att_node *node, const double *const *in)           \
    {                                                                                              \
        strided_truth(value, node, in, op##_copies);                                               \
    }                                                                                              \
    const att_op att_op_##op = {                                                                   \
        .name = #op,                                                                               \
        .options_size = op##_options_size,                                                         \
        .shape = op##_shape,                                                                       \
        .forward = op##_forward,                                                                   \
        .backward = op##_backward,                                                                 \
        .truth = op##_truth,                                                                       \
        .rounding_steps = 6,                                                                       \
        .samples = op##_samples,                                                                   \
        .sample_count = ATT_COUNT(op##_samples),                                                   \
    };

/* ---------------------------------------------------------------- concat */

static bool concat_shape(att_tape *tape, att_node *node)
{
    const att_node *first = node->in[0];
    int64_t width = 0, want[ATT_NODE_MAX_RANK];
    for (int d = 0; d + 1 < first->rank; d++)
        want[d] = first->shape[d];
    if (first->rank == 0) {
        att_tape_fail(tape, node->op->name,
                      "expected inputs with at least one dimension, found a scalar");
        return false;
    }
    want[first->rank - 1] = -1;
    for (int i = 0; i < node->input_count; i++) {
        if (!att_node_check_shape(tape, node, "an input", node->in[i], first->rank, want))
            return false;
        width += att_node_last_dim(node->in[i]);
    }
    att_node_shape_like(node, first);
    node->shape[first->rank - 1] = width;
    return true;
}

static strided_copy concat_copies(const att_node *node, int input)
{
    int64_t before = 0, length = att_node_last_dim(node->in[input]);
    for (int i = 0; i < input; i++)
        before += att_node_last_dim(node->in[i]);
    return (
        strided_copy){ att_node_rows(node), length, 0, length, before, att_node_last_dim(node) };
}

static const att_op_sample concat_samples[] = {
    { "three", 3, { { 2, { 3, 2 } }, { 2, { 3, 17 } }, { 2, { 3, 1 } } }, NULL, 0, 0 },
    { "one empty", 2, { { 3, { 2, 3, 0 } }, { 3, { 2, 3, 4 } } }, NULL, 0, 0 },
    { "one alone", 1, { { 1, { 4 } } }, NULL, 0, 0 },
    { "no rows", 2, { { 2, { 0, 2 } }, { 2, { 0, 3 } } }, NULL, 0, 0 },
};

enum { concat_options_size = 0 };
STRIDED_COPY_OP(concat)

att_node *att_concat(att_tape *tape, att_node *const *parts, int count)
{
    return att_op_apply(tape, &att_op_concat, parts, count, NULL);
}

/* ---------------------------------------------------------------- slice */

typedef struct slice {
    int64_t first, count;
} slice;

static bool slice_shape(att_tape *tape, att_node *node)
{
    const slice *options = node->options;
    int64_t width = att_node_last_dim(node->in[0]);
    if (options->first < 0 || options->count < 0 || options->first > width - options->count) {
        att_tape_fail(tape, node->op->name,
                      "expected columns within the %lld of x, found %lld columns from %lld on",
                      (long long)width, (long long)options->count, (long long)options->first);
        return false;
    }
    att_node_shape_like(node, node->in[0]);
    node->shape[node->rank - 1] = options->count;
    return true;
}

static strided_copy slice_copies(const att_node *node, int input)
{
    const slice *options = node->options;
    const att_node *x = node->in[input];
    return (strided_copy){
        att_node_rows(x), options->count, options->first, att_node_last_dim(x), 0, options->count
    };
}

static const att_op_sample slice_samples[] = {
    { "middle", 1, { { 2, { 3, 17 } } }, &(const slice){ 5, 4 }, 0, 0 },
    { "all", 1, { { 3, { 2, 2, 3 } } }, &(const slice){ 0, 3 }, 0, 0 },
    { "nothing", 1, { { 2, { 3, 4 } } }, &(const slice){ 4, 0 }, 0, 0 },
    { "no rows", 1, { { 2, { 0, 4 } } }, &(const slice){ 1, 2 }, 0, 0 },
};

enum { slice_options_size = sizeof(slice) };
STRIDED_COPY_OP(slice)

att_node *att_slice(att_tape *tape, att_node *x, int64_t first, int64_t count)
{
    return att_op_apply(tape, &att_op_slice, &x, 1, &(slice){ first, count });
}

/* ---------------------------------------------------------------- stack */

static bool stack_shape(att_tape *tape, att_node *node)
{
    const att_node *first = node->in[0];
    int64_t want[2] = { -1, -1 };
    for (int i = 0; i < node->input_count; i++) {
        if (!att_node_check_shape(tape, node, "an input", node->in[i], 2, want))
            return false;
        memcpy(want, first->shape, sizeof want);
    }
    att_node_set_shape(node, 3, (const int64_t[]){ want[0], node->input_count, want[1] });
    return true;
}

static strided_copy stack_copies(const att_node *node, int input)
{
    int64_t width = node->shape[2];
    return (strided_copy){ node->shape[0], width, 0, width, input * width, node->shape[1] * width };
}

static const att_op_sample stack_samples[] = {
    { "three steps", 3, { { 2, { 2, 5 } }, { 2, { 2, 5 } }, { 2, { 2, 5 } } }, NULL, 0, 0 },
    { "one step", 1, { { 2, { 3, 17 } } }, NULL, 0, 0 },
    { "no sequences", 2, { { 2, { 0, 5 } }, { 2, { 0, 5 } } }, NULL, 0, 0 },
};

enum { stack_options_size = 0 };
STRIDED_COPY_OP(stack)

att_node *att_stack(att_tape *tape, att_node *const *steps, int64_t count)
{
    return att_op_apply(tape, &att_op_stack, steps, (int)count, NULL);
}

/* ---------------------------------------------------------------- select */

static bool select_shape(att_tape *tape, att_node *node)
{
    const att_node *x = node->in[0];
    int64_t t = *(const int64_t *)node->options, any[3] = { -1, -1, -1 };
    if (!att_node_check_shape(tape, node, "x", x, 3, any))
        return false;
    if (t < 0 || t >= x->shape[1]) {
        att_tape_fail(tape, node->op->name, "expected a step below %lld, found %lld",
                      (long long)x->shape[1], (long long)t);
        return false;
    }
    att_node_set_shape(node, 2, (const int64_t[]){ x->shape[0], x->shape[2] });
    return true;
}

static strided_copy select_copies(const att_node *node, int input)
{
    const att_node *x = node->in[input];
    int64_t t = *(const int64_t *)node->options, width = x->shape[2];
    return (strided_copy){ x->shape[0], width, t * width, x->shape[1] * width, 0, width };
}

static const att_op_sample select_samples[] = {
    { "first", 1, { { 3, { 2, 3, 5 } } }, &(const int64_t){ 0 }, 0, 0 },
    { "last", 1, { { 3, { 2, 3, 17 } } }, &(const int64_t){ 2 }, 0, 0 },
    { "no sequences", 1, { { 3, { 0, 3, 5 } } }, &(const int64_t){ 1 }, 0, 0 },
};

enum { select_options_size = sizeof(int64_t) };
STRIDED_COPY_OP(select)

att_node *att_select(att_tape *tape, att_node *x, int64_t t)
{
    return att_op_apply(tape, &att_op_select, &x, 1, &t);
}

/* ---------------------------------------------------------------- expand */

/* [B,N] to [B,count,N]; not a strided copy, because every input element is copied several times. */
static bool expand_shape(att_tape *tape, att_node *node)
{
    const att_node *x = node->in[0];
    const int64_t any[2] = { -1, -1 };
    if (!att_node_check_shape(tape, node, "x", x, 2, any))
        return false;
    const int64_t shape[] = { x->shape[0], *(const int64_t *)node->options, x->shape[1] };
    att_node_set_shape(node, 3, shape);
    return true;
}

static bool expand_forward(att_tape *tape, att_node *node)
{
    (void)tape;
    int64_t count = node->shape[1], width = node->shape[2];
    for (int64_t i = 0; i < node->shape[0] * count; i++)
        memcpy(node->value + i * width, node->in[0]->value + i / count * width,
               (size_t)width * sizeof(float));
    return true;
}

static bool expand_backward(att_tape *tape, att_node *node)
{
    int64_t count = node->shape[1], width = node->shape[2];
    float *dx = att_node_grad(tape, node->in[0]);
    for (int64_t i = 0; dx && i < node->shape[0] * count; i++)
        att_kernels_get()->axpy(dx + i / count * width, 1, node->grad + i * width, (size_t)width);
    return true;
}

static void expand_truth(double *value, const att_node *node, const double *const *in)
{
    int64_t count = node->shape[1], width = node->shape[2];
    for (int64_t i = 0; i < node->count; i++)
        value[i] = in[0][i / (count * width) * width + i % width];
}

static const att_op_sample expand_samples[] = {
    { "four times", 1, { { 2, { 3, 17 } } }, &(const int64_t){ 4 }, 0, 0 },
    { "zero times", 1, { { 2, { 3, 5 } } }, &(const int64_t){ 0 }, 0, 0 },
    { "no sequences", 1, { { 2, { 0, 5 } } }, &(const int64_t){ 3 }, 0, 0 },
};

const att_op att_op_expand = {
    .name = "expand",
    .options_size = sizeof(int64_t),
    .shape = expand_shape,
    .forward = expand_forward,
    .backward = expand_backward,
    .truth = expand_truth,
    .rounding_steps = 6,
    .samples = expand_samples,
    .sample_count = ATT_COUNT(expand_samples),
};

att_node *att_expand(att_tape *tape, att_node *x, int64_t count)
{
    return att_op_apply(tape, &att_op_expand, &x, 1, &count);
}
