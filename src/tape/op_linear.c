/* Matrix products: the linear layer and the batched product. */
#include "base/minmax.h"
#include "reference/linear.h"
#include "tape/op_util.h"
#include "tape/ops.h"

/* ---------------------------------------------------------------- linear */

enum { LINEAR_X, LINEAR_W, LINEAR_BIAS };

typedef struct linear {
    att_activation activation;
    bool transposed;
} linear;

static bool linear_shape(att_tape *tape, att_node *node)
{
    const linear *options = node->options;
    const att_node *x = node->in[LINEAR_X], *w = node->in[LINEAR_W], *bias = node->in[LINEAR_BIAS];
    const int64_t any[2] = { -1, -1 };
    if (!att_node_check_shape(tape, node, "w", w, 2, any))
        return false;
    int64_t depth = w->shape[options->transposed], columns = w->shape[!options->transposed];
    int64_t want[ATT_NODE_MAX_RANK] = { -1, -1, -1, -1 };
    int rank = x->rank > 0 ? x->rank : 1;
    want[rank - 1] = depth;
    if (!att_node_check_shape(tape, node, "x", x, rank, want) ||
        (bias && !att_node_check_shape(tape, node, "bias", bias, 1, &columns)))
        return false;
    att_node_shape_like(node, x);
    node->shape[rank - 1] = columns;
    return true;
}

static bool linear_forward(att_tape *tape, att_node *node)
{
    const linear *options = node->options;
    const att_node *x = node->in[LINEAR_X], *bias = node->in[LINEAR_BIAS];
    if (node->in[LINEAR_W]->int8)
        return att_tape_int8_matmul(tape, &(att_int8_linear){ .b = node->in[LINEAR_W]->int8,
                                                              .rows = att_node_rows(x),
                                                              .a = x->value,
                                                              .c = node->value,
                                                              .bias = bias ? bias->value : NULL,
                                                              .activation = options->activation });
    att_activation_kernels kernels = att_activation_kernels_get(options->activation);
    size_t depth = (size_t)att_node_last_dim(x), columns = (size_t)att_node_last_dim(node);
    bool keep = node->requires_grad && kernels.saves_input;
    float *sums = keep ? att_tape_alloc(tape, node->count, sizeof(float)) : node->value;
    if (!sums)
        return false;
    att_memory_pool_mark mark = att_tape_mark(tape);
    const float *panels = att_node_packed_weights(tape, node->in[LINEAR_W], options->transposed);
    att_matmul_call call = { .batch = 1,
                             .rows = (size_t)att_node_rows(x),
                             .columns = columns,
                             .depth = depth,
                             .a = x->value,
                             .a_row_stride = depth,
                             .a_column_stride = 1,
                             .panels = panels,
                             .c = sums,
                             .c_row_stride = columns,
                             .bias = bias ? bias->value : NULL,
                             .activation = keep ? ATT_ACTIVATION_NONE : options->activation };
    if (!panels || !att_tape_matmul(tape, &call))
        return false;
    att_tape_release_to_mark(tape, mark);
    if (keep) {
        node->saved = sums;
        kernels.forward(node->value, sums, (size_t)node->count);
    }
    return true;
}

/* dx = dz wᵀ */
static bool linear_backward_x(att_tape *tape, const att_node *node, const float *dz, float *dx,
                              bool add)
{
    const linear *options = node->options;
    size_t depth = (size_t)att_node_last_dim(node->in[LINEAR_X]);
    size_t columns = (size_t)att_node_last_dim(node);
    const float *panels = att_node_packed_weights(tape, node->in[LINEAR_W], !options->transposed);
    return panels && att_tape_matmul(tape, &(att_matmul_call){ .batch = 1,
                                                               .rows = (size_t)att_node_rows(node),
                                                               .columns = depth,
                                                               .depth = columns,
                                                               .a = dz,
                                                               .a_row_stride = columns,
                                                               .a_column_stride = 1,
                                                               .panels = panels,
                                                               .c = dx,
                                                               .c_row_stride = depth,
                                                               .accumulate = add });
}

/* dw = xᵀ dz, or dzᵀ x where w is transposed */
static bool linear_backward_w(att_tape *tape, const att_node *node, const float *dz, float *dw,
                              bool add)
{
    const linear *options = node->options;
    const att_node *x = node->in[LINEAR_X];
    size_t depth = (size_t)att_node_last_dim(x), columns = (size_t)att_node_last_dim(node);
    const float *a = options->transposed ? dz : x->value, *b = options->transposed ? x->value : dz;
    size_t a_width = options->transposed ? columns : depth,
           b_width = options->transposed ? depth : columns;
    return att_tape_matmul(tape, &(att_matmul_call){ .batch = 1,
                                                     .rows = a_width,
                                                     .columns = b_width,
                                                     .depth = (size_t)att_node_rows(x),
                                                     .a = a,
                                                     .a_row_stride = 1,
                                                     .a_column_stride = a_width,
                                                     .b = b,
                                                     .b_stride = b_width,
                                                     .c = dw,
                                                     .c_row_stride = b_width,
                                                     .accumulate = add });
}

static bool linear_backward(att_tape *tape, att_node *node)
{
    const linear *options = node->options;
    bool add_x = true, add_w = true;
    float *dx = att_node_grad_overwrite(tape, node->in[LINEAR_X], &add_x);
    float *dw = att_node_grad_overwrite(tape, node->in[LINEAR_W], &add_w);
    float *dbias = att_node_grad(tape, node->in[LINEAR_BIAS]);
    att_memory_pool_mark mark = att_tape_mark(tape);
    const float *dz = att_activation_backward(tape, node, options->activation);
    bool done =
        dz && (!dx || linear_backward_x(tape, node, dz, dx, add_x)) &&
        (!dw || linear_backward_w(tape, node, dz, dw, add_w)) &&
        (!dbias || att_sum_rows(tape, dbias, dz, att_node_rows(node), att_node_last_dim(node)));
    att_tape_release_to_mark(tape, mark);
    return done;
}

static void linear_truth(double *value, const att_node *node, const double *const *in)
{
    const linear *options = node->options;
    const att_reference_linear_weights weights = {
        .w = in[LINEAR_W],
        .bias = in[LINEAR_BIAS],
        .depth = node->in[LINEAR_W]->shape[options->transposed],
        .columns = att_node_last_dim(node),
        .transposed = options->transposed
    };
    att_reference_linear(value, in[LINEAR_X], att_node_rows(node), &weights, options->activation);
}

#define LINEAR(activation, transposed) (&(const linear){ ATT_ACTIVATION_##activation, transposed })

static const att_op_sample linear_samples[] = {
    { "plain", 3, { { 2, { 5, 3 } }, { 2, { 3, 4 } }, { 1, { 4 } } }, LINEAR(NONE, false), 0, 0 },
    { "no bias",
      3,
      { { 3, { 2, 3, 17 } }, { 2, { 17, 19 } }, { -1, { 0 } } },
      LINEAR(NONE, false),
      0,
      0 },
    { "transposed",
      3,
      { { 2, { 5, 3 } }, { 2, { 4, 3 } }, { 1, { 4 } } },
      LINEAR(TANH, true),
      0,
      0 },
    { "no rows", 3, { { 2, { 0, 3 } }, { 2, { 3, 4 } }, { 1, { 4 } } }, LINEAR(RELU, false), 0, 0 },
    { "no depth",
      3,
      { { 2, { 2, 0 } }, { 2, { 0, 4 } }, { 1, { 4 } } },
      LINEAR(NONE, false),
      0,
      0 },
    { "a vector",
      3,
      { { 1, { 6 } }, { 2, { 6, 1 } }, { 1, { 1 } } },
      LINEAR(SIGMOID, false),
      0,
      0 },
    { "relu", 3, { { 2, { 17, 3 } }, { 2, { 3, 5 } }, { 1, { 5 } } }, LINEAR(RELU, false), 0, 0 },
    { "gelu", 3, { { 2, { 17, 3 } }, { 2, { 3, 5 } }, { 1, { 5 } } }, LINEAR(GELU, false), 0, 0 },
    { "silu", 3, { { 2, { 17, 3 } }, { 2, { 3, 5 } }, { 1, { 5 } } }, LINEAR(SILU, false), 0, 0 },
    { "long",
      3,
      { { 2, { 3, 300 } }, { 2, { 300, 2 } }, { 1, { 2 } } },
      LINEAR(NONE, false),
      0,
      0 },
};

const att_op att_op_linear = {
    .name = "linear",
    .options_size = sizeof(linear),
    .shape = linear_shape,
    .forward = linear_forward,
    .backward = linear_backward,
    .truth = linear_truth,
    .rounding_steps = 310,
    .samples = linear_samples,
    .sample_count = ATT_COUNT(linear_samples),
    .reads_int8 = true,
};

att_node *att_linear(att_tape *tape, att_node *x, att_node *w, att_node *bias,
                     att_activation activation, bool transposed)
{
    att_node *const in[] = { x, w, bias };
    return att_op_apply(tape, &att_op_linear, in, 3, &(linear){ activation, transposed });
}

/* ---------------------------------------------------------------- batched product */

static bool bmm_shape(att_tape *tape, att_node *node)
{
    const att_node *a = node->in[0], *b = node->in[1];
    const int64_t any[3] = { -1, -1, -1 };
    if (!att_node_check_shape(tape, node, "a", a, 3, any))
        return false;
    const int64_t want[3] = { a->shape[0], a->shape[2], -1 };
    if (!att_node_check_shape(tape, node, "b", b, 3, want))
        return false;
    att_node_set_shape(node, 3, (const int64_t[]){ a->shape[0], a->shape[1], b->shape[2] });
    return true;
}

/* Matrices [rows, columns] of a batch, one after the other; used as they are or transposed. */
typedef struct batch_matrix {
    const float *at;
    size_t rows, columns;
    bool transposed;
} batch_matrix;

/* c (+)= a b for each of `count` items. */
static bool matmul_batch(att_tape *tape, size_t count, batch_matrix a, batch_matrix b, float *c,
                         bool add)
{
    size_t rows = a.transposed ? a.columns : a.rows, depth = a.transposed ? a.rows : a.columns;
    size_t columns = b.transposed ? b.rows : b.columns;
    return att_tape_matmul(tape,
                           &(att_matmul_call){ .batch = count,
                                               .rows = rows,
                                               .columns = columns,
                                               .depth = depth,
                                               .a = a.at,
                                               .a_row_stride = a.transposed ? 1 : a.columns,
                                               .a_column_stride = a.transposed ? a.columns : 1,
                                               .a_batch_stride = a.rows * a.columns,
                                               .b = b.at,
                                               .b_stride = b.columns,
                                               .b_transposed = b.transposed,
                                               .b_batch_stride = b.rows * b.columns,
                                               .c = c,
                                               .c_row_stride = columns,
                                               .c_batch_stride = rows * columns,
                                               .accumulate = add });
}

static batch_matrix batch_matrix_of(const att_node *node, const float *at, bool transposed)
{
    return (batch_matrix){ at, (size_t)node->shape[1], (size_t)node->shape[2], transposed };
}

static bool bmm_forward(att_tape *tape, att_node *node)
{
    const att_node *a = node->in[0], *b = node->in[1];
    return matmul_batch(tape, (size_t)a->shape[0], batch_matrix_of(a, a->value, false),
                        batch_matrix_of(b, b->value, false), node->value, false);
}

static bool bmm_backward(att_tape *tape, att_node *node)
{
    att_node *a = node->in[0], *b = node->in[1];
    size_t count = (size_t)a->shape[0];
    batch_matrix dy = batch_matrix_of(node, node->grad, false);
    float *da = att_node_grad(tape, a), *db = att_node_grad(tape, b);
    return (!da || matmul_batch(tape, count, dy, batch_matrix_of(b, b->value, true), da, true)) &&
           (!db || matmul_batch(tape, count, batch_matrix_of(a, a->value, true), dy, db, true));
}

static void bmm_truth(double *value, const att_node *node, const double *const *in)
{
    att_reference_bmm(value, in[0], in[1], node->shape[0], node->shape[1], node->in[0]->shape[2],
                      node->shape[2]);
}

static const att_op_sample bmm_samples[] = {
    { "three items", 2, { { 3, { 3, 2, 5 } }, { 3, { 3, 5, 7 } } }, NULL, 0, 0 },
    { "wide", 2, { { 3, { 2, 1, 17 } }, { 3, { 2, 17, 33 } } }, NULL, 0, 0 },
    { "no items", 2, { { 3, { 0, 2, 5 } }, { 3, { 0, 5, 7 } } }, NULL, 0, 0 },
    { "no keys", 2, { { 3, { 2, 2, 0 } }, { 3, { 2, 0, 7 } } }, NULL, 0, 0 },
};

const att_op att_op_bmm = {
    .name = "bmm",
    .shape = bmm_shape,
    .forward = bmm_forward,
    .backward = bmm_backward,
    .truth = bmm_truth,
    .rounding_steps = 40,
    .samples = bmm_samples,
    .sample_count = ATT_COUNT(bmm_samples),
};

att_node *att_bmm(att_tape *tape, att_node *a, att_node *b)
{
    att_node *const in[] = { a, b };
    return att_op_apply(tape, &att_op_bmm, in, 2, NULL);
}
