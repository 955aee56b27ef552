/* Embedding lookup (rows of a table) and sinusoidal position vectors. */
#include "base/minmax.h"
#include "base/parallel.h"
#include "reference/positions.h"
#include "tape/op_embedding.h"
#include "tape/op_util.h"
#include "tape/ops.h"

#include <string.h>

typedef att_embedding_options embedding;

static bool embedding_shape(att_tape *tape, att_node *node)
{
    const embedding *options = node->options;
    const att_node *table = node->in[0];
    const int64_t any[2] = { -1, -1 };
    if (!att_node_check_shape(tape, node, "table", table, 2, any))
        return false;
    for (int64_t i = 0; i < options->rows * options->columns; i++)
        if (options->ids[i] >= table->shape[0]) {
            att_tape_fail(tape, node->op->name, "expected ids below %lld, found %ld at index %lld",
                          (long long)table->shape[0], (long)options->ids[i], (long long)i);
            return false;
        }
    att_node_set_shape(node, 3,
                       (const int64_t[]){ options->rows, options->columns, table->shape[1] });
    return true;
}

static void copy_rows(void *context, int64_t begin, int64_t end)
{
    const att_node *node = context;
    const embedding *options = node->options;
    size_t width = (size_t)att_node_last_dim(node);
    for (int64_t i = begin; i < end; i++) {
        float *to = node->value + (size_t)i * width;
        if (options->ids[i] >= 0 && node->in[0]->int8)
            att_int8_matrix_column_floats(to, node->in[0]->int8, (size_t)options->ids[i], 1);
        else if (options->ids[i] >= 0)
            memcpy(to, node->in[0]->value + (size_t)options->ids[i] * width, width * sizeof(float));
        else
            memset(to, 0, width * sizeof(float));
    }
}

static bool embedding_forward(att_tape *tape, att_node *node)
{
    (void)tape;
    att_parallel_for(att_node_rows(node), att_row_grain(att_node_last_dim(node)), copy_rows, node);
    return true;
}

/* ---------------------------------------------------------------- backward */

/* Threads share the columns, so that every element of the table is summed in one fixed order. */
typedef struct scatter_job {
    float *sums;
    const float *x;
    const int32_t *ids;
    int64_t count, width;
} scatter_job;

static void add_columns(void *context, int64_t begin, int64_t end)
{
    const scatter_job *t = context;
    att_kern_axpy *add = att_kernels_get()->axpy;
    for (int64_t i = 0; i < t->count; i++)
        if (t->ids[i] >= 0)
            add(t->sums + t->ids[i] * t->width + begin, 1, t->x + i * t->width + begin,
                (size_t)(end - begin));
}

void att_scatter_add_rows(float *sums, const float *x, const int32_t *ids, int64_t count,
                          int64_t width)
{
    enum { COLUMNS_IN_RANGE = 64 };
    scatter_job t = { sums, x, ids, count, width };
    bool alone = count * width <= att_row_grain(1);
    size_t share = att_ceil_div((size_t)width, (size_t)att_threads_get());
    int64_t grain = (int64_t)att_round_up(share, COLUMNS_IN_RANGE);
    att_parallel_for(width, alone ? width : grain, add_columns, &t);
}

static bool embedding_backward(att_tape *tape, att_node *node)
{
    const embedding *options = node->options;
    float *grad = att_node_grad(tape, node->in[0]);
    if (grad)
        att_scatter_add_rows(grad, node->grad, options->ids, att_node_rows(node),
                             att_node_last_dim(node));
    return true;
}

static void embedding_truth(double *value, const att_node *node, const double *const *in)
{
    const embedding *options = node->options;
    int64_t width = att_node_last_dim(node);
    for (int64_t i = 0; i < node->count; i++) {
        int32_t id = options->ids[i / width];
        value[i] = id < 0 ? 0 : in[0][id * width + i % width];
    }
}

static const int32_t some_ids[] = { 3, 0, -1, 3, 2, 3 };

static const att_op_sample embedding_samples[] = {
    { "a token three times, one missing",
      1,
      { { 2, { 5, 17 } } },
      &(const embedding){ 2, 3, some_ids },
      0,
      0 },
    { "wide", 1, { { 2, { 4, 70 } } }, &(const embedding){ 1, 6, some_ids }, 0, 0 },
    { "no width", 1, { { 2, { 4, 0 } } }, &(const embedding){ 2, 3, some_ids }, 0, 0 },
    { "no tokens", 1, { { 2, { 4, 3 } } }, &(const embedding){ 0, 6, some_ids }, 0, 0 },
};

const att_op att_op_embedding = {
    .name = "embedding",
    .options_size = sizeof(embedding),
    .shape = embedding_shape,
    .forward = embedding_forward,
    .backward = embedding_backward,
    .truth = embedding_truth,
    .rounding_steps = 6,
    .samples = embedding_samples,
    .sample_count = ATT_COUNT(embedding_samples),
    .reads_int8 = true,
};

att_node *att_embedding_lookup(att_tape *tape, att_node *table, int64_t rows, int64_t columns,
                               const int32_t *ids)
{
    embedding options = { rows, columns, att_tape_copy(tape, ids, rows * columns, sizeof *ids) };
    return att_op_apply(tape, &att_op_embedding, &table, 1, &options);
}

/* The reference table, rounded to float. */
att_node *att_sinusoidal_positions(att_tape *tape, int64_t first, int64_t count, int64_t width)
{
    att_node *node = att_tape_input(tape, 2, (const int64_t[]){ count, width }, NULL);
    for (int64_t j = 0; node && j < width; j++) {
        double divisor = att_reference_sinusoid_divisor(j, width, ATT_POSITION_BASE);
        for (int64_t t = 0; t < count; t++)
            node->value[t * width + j] = (float)att_reference_sinusoid(first + t, j, divisor);
    }
    return node;
}
