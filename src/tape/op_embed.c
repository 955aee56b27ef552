/* Embedding: rows of a table. And the sinusoids that tell positions apart. */
#include "base/math.h"
#include "base/parallel.h"
#include "tape/embed.h"
#include "tape/help.h"
#include "tape/ops.h"

#include <string.h>

typedef att_embed_how embed;

static bool embed_shape(att_tape *tape, att_node *node)
{
    const embed *how = node->how;
    const att_node *table = node->in[0];
    const int64_t any[2] = { -1, -1 };
    if (!att_node_fits(tape, node, "table", table, 2, any))
        return false;
    for (int64_t i = 0; i < how->rows * how->columns; i++)
        if (how->ids[i] >= table->shape[0]) {
            att_tape_fail(tape, "embed", "token %lld is %ld, but the table has %lld rows",
                          (long long)i, (long)how->ids[i], (long long)table->shape[0]);
            return false;
        }
    att_node_set_shape(node, 3, (const int64_t[]){ how->rows, how->columns, table->shape[1] });
    return true;
}

static void copy_rows(void *context, int64_t begin, int64_t end)
{
    const att_node *node = context;
    const embed *how = node->how;
    size_t width = (size_t)att_node_width(node);
    for (int64_t i = begin; i < end; i++) {
        float *to = node->value + (size_t)i * width;
        if (how->ids[i] >= 0)
            memcpy(to, node->in[0]->value + (size_t)how->ids[i] * width, width * sizeof(float));
        else
            memset(to, 0, width * sizeof(float));
    }
}

static bool embed_forward(att_tape *tape, att_node *node)
{
    (void)tape;
    att_parallel_for(att_node_rows(node), att_rows_grain(att_node_width(node)), copy_rows, node);
    return true;
}

/* ---------------------------------------------------------------- backward */

/* Threads share the columns: whatever adds to one number of the table does so in one order. */
typedef struct tally {
    float *sums;
    const float *x;
    const int32_t *ids;
    int64_t count, width;
} tally;

static void add_columns(void *context, int64_t begin, int64_t end)
{
    const tally *t = context;
    att_kern_add_scaled *add = att_kernels_get()->add_scaled;
    for (int64_t i = 0; i < t->count; i++)
        if (t->ids[i] >= 0)
            add(t->sums + t->ids[i] * t->width + begin, 1, t->x + i * t->width + begin,
                (size_t)(end - begin));
}

void att_add_by_id(float *sums, const float *x, const int32_t *ids, int64_t count, int64_t width)
{
    enum { COLUMNS_IN_RANGE = 64 };
    tally t = { sums, x, ids, count, width };
    bool alone = count * width <= att_rows_grain(1);
    int64_t shares = att_threads_get(), each = (width + shares - 1) / shares;
    each = (each + COLUMNS_IN_RANGE - 1) / COLUMNS_IN_RANGE * COLUMNS_IN_RANGE;
    att_parallel_for(width, alone ? width : each, add_columns, &t);
}

static bool embed_backward(att_tape *tape, att_node *node)
{
    const embed *how = node->how;
    float *grad = att_node_grad(tape, node->in[0]);
    if (grad)
        att_add_by_id(grad, node->grad, how->ids, att_node_rows(node), att_node_width(node));
    return true;
}

static void embed_truth(double *value, const att_node *node, const double *const *in)
{
    const embed *how = node->how;
    int64_t width = att_node_width(node);
    for (int64_t i = 0; i < node->count; i++) {
        int32_t id = how->ids[i / width];
        value[i] = id < 0 ? 0 : in[0][id * width + i % width];
    }
}

static const int32_t some_ids[] = { 3, 0, -1, 3, 2, 3 };

static const att_op_sample embed_samples[] = {
    { "a token three times, one missing",
      1,
      { { 2, { 5, 17 } } },
      &(const embed){ 2, 3, some_ids },
      0,
      0 },
    { "wide", 1, { { 2, { 4, 70 } } }, &(const embed){ 1, 6, some_ids }, 0, 0 },
    { "no width", 1, { { 2, { 4, 0 } } }, &(const embed){ 2, 3, some_ids }, 0, 0 },
    { "no tokens", 1, { { 2, { 4, 3 } } }, &(const embed){ 0, 6, some_ids }, 0, 0 },
};

const att_op att_op_embed = {
    .name = "embed",
    .how_size = sizeof(embed),
    .shape = embed_shape,
    .forward = embed_forward,
    .backward = embed_backward,
    .truth = embed_truth,
    .rounds = 6,
    .samples = embed_samples,
    .sample_count = sizeof embed_samples / sizeof *embed_samples,
};

att_node *att_embed(att_tape *tape, att_node *table, int64_t rows, int64_t columns,
                    const int32_t *ids)
{
    embed how = { rows, columns, att_tape_copy(tape, ids, rows * columns, sizeof *ids) };
    return att_op_apply(tape, &att_op_embed, &table, 1, &how);
}

/* Position p has sin(p / 10000^(2i/D)) in column 2i and the cosine of the same in column 2i + 1
 * (Vaswani et al. 2017, 3.5). */
att_node *att_sinusoids(att_tape *tape, int64_t first, int64_t count, int64_t width)
{
    att_node *node = att_tape_input(tape, 2, (const int64_t[]){ count, width }, NULL);
    for (int64_t i = 0; node && i < width; i++) {
        double wave = att_pow(10000, (double)(i / 2 * 2) / (double)width);
        for (int64_t t = 0; t < count; t++) {
            double angle = (double)(first + t) / wave;
            node->value[t * width + i] = (float)(i % 2 ? att_cos(angle) : att_sin(angle));
        }
    }
    return node;
}
