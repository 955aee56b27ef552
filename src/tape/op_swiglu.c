/* SwiGLU, the gated unit of a Transformer's feed-forward layer (Shazeer 2020): silu(a) b for the
 * two halves a and b of a row. Elementwise, so that its bits do not depend on the instruction set.
 */
#include "base/minmax.h"
#include "base/parallel.h"
#include "reference/activation.h"
#include "tape/op_util.h"
#include "tape/ops.h"

static bool swiglu_shape(att_tape *tape, att_node *node)
{
    const att_node *x = node->in[0];
    int64_t width = att_node_last_dim(x);
    if (x->rank == 0 || width % 2 != 0) {
        att_tape_fail(tape, node->op->name, "expected an even number of columns, found %lld",
                      (long long)width);
        return false;
    }
    att_node_shape_like(node, x);
    node->shape[node->rank - 1] = width / 2;
    return true;
}

/* A loop over rows, forward or backward. */
typedef struct swiglu_rows_context {
    const att_node *node;
    att_activation_kernels silu;
    float *dx;
} swiglu_rows_context;

static void swiglu_rows(void *context, int64_t begin, int64_t end)
{
    const swiglu_rows_context *g = context;
    size_t width = (size_t)att_node_last_dim(g->node);
    for (int64_t i = begin; i < end; i++) {
        const float *a = g->node->in[0]->value + (size_t)i * 2 * width, *b = a + width;
        float *y = g->node->value + (size_t)i * width;
        g->silu.forward(y, a, width);
        for (size_t j = 0; j < width; j++)
            y[j] *= b[j];
    }
}

static bool swiglu_forward(att_tape *tape, att_node *node)
{
    (void)tape;
    swiglu_rows_context g = { .node = node,
                              .silu = att_activation_kernels_get(ATT_ACTIVATION_SILU) };
    att_parallel_for(att_node_rows(node), att_row_grain(4 * att_node_last_dim(node)), swiglu_rows,
                     &g);
    return true;
}

/* da = dy b silu'(a), db = dy silu(a), in blocks of columns that fit the buffers on the stack. */
static void swiglu_row_backward(const swiglu_rows_context *g, float *dx, const float *dy,
                                const float *a, size_t width)
{
    enum { BLOCK = 256 };
    float dgate[BLOCK], gate[BLOCK];
    for (size_t at = 0; at < width; at += BLOCK) {
        size_t count = att_min_size(width - at, BLOCK);
        const float *b = a + width + at;
        float *db = dx + width + at;
        for (size_t j = 0; j < count; j++)
            dgate[j] = dy[at + j] * b[j];
        g->silu.forward(gate, a + at, count);
        g->silu.backward(dx + at, dgate, g->silu.saves_input ? a + at : gate, count);
        for (size_t j = 0; j < count; j++)
            db[j] += dy[at + j] * gate[j];
    }
}

static void swiglu_rows_backward(void *context, int64_t begin, int64_t end)
{
    const swiglu_rows_context *g = context;
    size_t width = (size_t)att_node_last_dim(g->node);
    for (int64_t i = begin; i < end; i++) {
        size_t at = (size_t)i * 2 * width;
        swiglu_row_backward(g, g->dx + at, g->node->grad + (size_t)i * width,
                            g->node->in[0]->value + at, width);
    }
}

static bool swiglu_backward(att_tape *tape, att_node *node)
{
    swiglu_rows_context g = { .node = node,
                              .silu = att_activation_kernels_get(ATT_ACTIVATION_SILU),
                              .dx = att_node_grad(tape, node->in[0]) };
    if (g.dx)
        att_parallel_for(att_node_rows(node), att_row_grain(8 * att_node_last_dim(node)),
                         swiglu_rows_backward, &g);
    return true;
}

static void swiglu_truth(double *value, const att_node *node, const double *const *in)
{
    att_reference_swiglu(value, in[0], att_node_rows(node), att_node_last_dim(node));
}

static const att_op_sample swiglu_samples[] = {
    { "rows", 1, { { 2, { 5, 34 } } }, NULL, -3, 3 },
    { "wider than one block", 1, { { 2, { 2, 600 } } }, NULL, -3, 3 },
    { "sequences", 1, { { 3, { 2, 3, 2 } } }, NULL, -3, 3 },
    { "no rows", 1, { { 2, { 0, 4 } } }, NULL, 0, 0 },
    { "no width", 1, { { 2, { 3, 0 } } }, NULL, 0, 0 },
};

const att_op att_op_swiglu = {
    .name = "swiglu",
    .shape = swiglu_shape,
    .forward = swiglu_forward,
    .backward = swiglu_backward,
    .truth = swiglu_truth,
    .rounding_steps = 20,
    .samples = swiglu_samples,
    .sample_count = ATT_COUNT(swiglu_samples),
};

att_node *att_swiglu(att_tape *tape, att_node *x)
{
    return att_op_apply(tape, &att_op_swiglu, &x, 1, NULL);
}
