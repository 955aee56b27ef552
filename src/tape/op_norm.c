/* Layer norm and RMS norm. */
#include "base/minmax.h"
#include "base/parallel.h"
#include "reference/norm.h"
#include "tape/op_util.h"
#include "tape/ops.h"

#include <string.h>

enum { NORM_X, NORM_GAIN, NORM_BIAS };

static const float EPSILON = 1e-5f;

static bool norm_shape(att_tape *tape, att_node *node)
{
    int64_t width = att_node_last_dim(node->in[NORM_X]);
    att_node_shape_like(node, node->in[NORM_X]);
    return att_node_check_shape(tape, node, "gain", node->in[NORM_GAIN], 1, &width) &&
           (node->input_count <= NORM_BIAS ||
            att_node_check_shape(tape, node, "bias", node->in[NORM_BIAS], 1, &width));
}

/* A loop over rows, forward or backward. */
typedef struct norm_rows_context {
    const att_node *node;
    att_kern_norm *forward;
    att_kern_norm_backward *backward;
    float *dx;           /* like x */
    float *partial_sums; /* [ranges, 2, width] gradients of gain and bias, one per range of rows */
    int64_t grain;
} norm_rows_context;

static void norm_rows(void *context, int64_t begin, int64_t end)
{
    const norm_rows_context *n = context;
    const att_node *node = n->node, *x = node->in[NORM_X];
    size_t width = (size_t)att_node_last_dim(node);
    const float *bias = node->input_count > NORM_BIAS ? node->in[NORM_BIAS]->value : NULL;
    att_norm_stats *stats = node->saved;
    for (int64_t i = begin; i < end; i++)
        n->forward(node->value + (size_t)i * width, &stats[i], x->value + (size_t)i * width,
                   node->in[NORM_GAIN]->value, bias, width, EPSILON);
}

static bool norm_forward(att_tape *tape, att_node *node, att_kern_norm *kernel)
{
    int64_t rows = att_node_rows(node);
    norm_rows_context n = { .node = node, .forward = kernel };
    node->saved = att_tape_alloc(tape, rows, sizeof(att_norm_stats));
    if (!node->saved)
        return false;
    att_parallel_for(rows, att_row_grain(att_node_last_dim(node)), norm_rows, &n);
    return true;
}

static void norm_rows_backward(void *context, int64_t begin, int64_t end)
{
    const norm_rows_context *n = context;
    const att_node *node = n->node;
    size_t width = (size_t)att_node_last_dim(node);
    const att_norm_stats *stats = node->saved;
    float *dgain = n->partial_sums + (size_t)(begin / n->grain) * 2 * width, *dbias = dgain + width;
    memset(dgain, 0, 2 * width * sizeof(float));
    for (int64_t i = begin; i < end; i++) {
        size_t at = (size_t)i * width;
        n->backward(n->dx + at, dgain, dbias, node->grad + at, node->in[NORM_X]->value + at,
                    node->in[NORM_GAIN]->value, &stats[i], width);
    }
}

/* Each range of rows has its own partial sums, which are added in order. The ranges depend on the
 * shape alone, so that the sums do not depend on the number of threads. */
static bool norm_backward(att_tape *tape, att_node *node, att_kern_norm_backward *kernel)
{
    int64_t rows = att_node_rows(node), width = att_node_last_dim(node);
    norm_rows_context n = { .node = node, .backward = kernel, .grain = att_row_grain(width) };
    int64_t ranges = att_ceil_div_i64(rows, n.grain);
    float *dgain = att_node_grad(tape, node->in[NORM_GAIN]);
    float *dbias = node->input_count > NORM_BIAS ? att_node_grad(tape, node->in[NORM_BIAS]) : NULL;
    n.dx = att_node_grad(tape, node->in[NORM_X]);
    att_memory_pool_mark mark = att_tape_mark(tape);
    if (!n.dx && node->in[NORM_X]->requires_grad)
        return false;
    if (!n.dx) { /* the kernel always writes dx */
        n.dx = att_tape_alloc(tape, node->count, sizeof(float));
        if (!n.dx)
            return false;
        memset(n.dx, 0, (size_t)node->count * sizeof(float));
    }
    n.partial_sums = att_tape_alloc(tape, ranges * 2 * width, sizeof(float));
    if (!n.partial_sums)
        return false;
    att_parallel_for(rows, n.grain, norm_rows_backward, &n);
    for (int64_t r = 0; r < ranges; r++) {
        const float *partial = n.partial_sums + r * 2 * width;
        if (dgain)
            att_kernels_get()->axpy(dgain, 1, partial, (size_t)width);
        if (dbias)
            att_kernels_get()->axpy(dbias, 1, partial + width, (size_t)width);
    }
    att_tape_release_to_mark(tape, mark);
    return true;
}

static bool layer_norm_forward(att_tape *tape, att_node *node)
{
    return norm_forward(tape, node, att_kernels_get()->layer_norm);
}

static bool layer_norm_backward(att_tape *tape, att_node *node)
{
    return norm_backward(tape, node, att_kernels_get()->layer_norm_backward);
}

static void layer_norm_truth(double *value, const att_node *node, const double *const *in)
{
    int64_t width = att_node_last_dim(node);
    for (int64_t i = 0; i < att_node_rows(node); i++)
        att_reference_layer_norm(value + i * width, in[NORM_X] + i * width, width, (double)EPSILON,
                                 in[NORM_GAIN], in[NORM_BIAS]);
}

static const att_op_sample layer_norm_samples[] = {
    { "wide", 3, { { 2, { 5, 17 } }, { 1, { 17 } }, { 1, { 17 } } }, NULL, -2, 2 },
    { "sequences", 3, { { 3, { 2, 3, 4 } }, { 1, { 4 } }, { 1, { 4 } } }, NULL, -2, 2 },
    { "no rows", 3, { { 2, { 0, 4 } }, { 1, { 4 } }, { 1, { 4 } } }, NULL, 0, 0 },
};

const att_op att_op_layer_norm = {
    .name = "layer-norm",
    .shape = norm_shape,
    .forward = layer_norm_forward,
    .backward = layer_norm_backward,
    .truth = layer_norm_truth,
    .rounding_steps = 80,
    .samples = layer_norm_samples,
    .sample_count = ATT_COUNT(layer_norm_samples),
};

att_node *att_layer_norm(att_tape *tape, att_node *x, att_node *gain, att_node *bias)
{
    att_node *const in[] = { x, gain, bias };
    return att_op_apply(tape, &att_op_layer_norm, in, 3, NULL);
}

static bool rms_norm_forward(att_tape *tape, att_node *node)
{
    return norm_forward(tape, node, att_kernels_get()->rms_norm);
}

static bool rms_norm_backward(att_tape *tape, att_node *node)
{
    return norm_backward(tape, node, att_kernels_get()->rms_norm_backward);
}

static void rms_norm_truth(double *value, const att_node *node, const double *const *in)
{
    int64_t width = att_node_last_dim(node);
    for (int64_t i = 0; i < att_node_rows(node); i++)
        att_reference_rms_norm(value + i * width, in[NORM_X] + i * width, width, (double)EPSILON,
                               in[NORM_GAIN]);
}

static const att_op_sample rms_norm_samples[] = {
    { "wide", 2, { { 2, { 5, 17 } }, { 1, { 17 } } }, NULL, -2, 2 },
    { "sequences", 2, { { 3, { 2, 3, 4 } }, { 1, { 4 } } }, NULL, -2, 2 },
    { "no rows", 2, { { 2, { 0, 4 } }, { 1, { 4 } } }, NULL, 0, 0 },
};

const att_op att_op_rms_norm = {
    .name = "rms-norm",
    .shape = norm_shape,
    .forward = rms_norm_forward,
    .backward = rms_norm_backward,
    .truth = rms_norm_truth,
    .rounding_steps = 80,
    .samples = rms_norm_samples,
    .sample_count = ATT_COUNT(rms_norm_samples),
};

att_node *att_rms_norm(att_tape *tape, att_node *x, att_node *gain)
{
    att_node *const in[] = { x, gain };
    return att_op_apply(tape, &att_op_rms_norm, in, 2, NULL);
}
