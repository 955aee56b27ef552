/* Pools a sequence of rows into one row: column means, column maxima, or the last row. Classifiers
 * make one vector of a sentence this way. */
#include "base/minmax.h"
#include "base/parallel.h"
#include "reference/pool.h"
#include "tape/op_util.h"
#include "tape/ops.h"

#include <math.h>
#include <string.h>

typedef struct sequence_pool {
    att_pool_mode mode;
    int64_t sequences;
    const int64_t *offsets; /* [sequences] first row of each in x */
    const int64_t *lengths; /* [sequences] */
} sequence_pool;

static bool sequence_pool_shape(att_tape *tape, att_node *node)
{
    const sequence_pool *options = node->options;
    const att_node *x = node->in[0];
    int64_t rows = att_node_rows(x);
    if (x->rank == 0) {
        att_tape_fail(tape, node->op->name, "expected rows of x, found a scalar");
        return false;
    }
    for (int64_t b = 0; b < options->sequences; b++) {
        int64_t first = options->offsets[b], length = options->lengths[b];
        if (first >= 0 && length >= 0 && first <= rows - length)
            continue;
        att_tape_fail(
            tape, node->op->name,
            "expected sequences within the %lld rows of x, found %lld rows from row %lld on",
            (long long)rows, (long long)length, (long long)first);
        return false;
    }
    att_node_set_shape(node, 2, (const int64_t[]){ options->sequences, att_node_last_dim(x) });
    return true;
}

/* ---- one sequence of at least one row: y [width] starts as zeros, x is the first row */

static void mean_forward(float *y, int32_t *argmax, const float *x, int64_t length, int64_t width)
{
    (void)argmax;
    for (int64_t t = 0; t < length; t++)
        att_kernels_get()->axpy(y, 1, x + t * width, (size_t)width);
    for (int64_t j = 0; j < width; j++)
        y[j] *= 1 / (float)length;
}

static void mean_backward(float *dx, const int32_t *argmax, const float *dy, int64_t length,
                          int64_t width)
{
    (void)argmax;
    for (int64_t t = 0; t < length; t++)
        att_kernels_get()->axpy(dx + t * width, 1 / (float)length, dy, (size_t)width);
}

/* The first of equal maxima. A NaN counts as the largest value, so that it is not hidden. */
static void max_forward(float *y, int32_t *argmax, const float *x, int64_t length, int64_t width)
{
    memcpy(y, x, (size_t)width * sizeof *y);
    memset(argmax, 0, (size_t)width * sizeof *argmax);
    for (int64_t t = 1; t < length; t++)
        for (int64_t j = 0; j < width; j++)
            if (x[t * width + j] > y[j] || (isnan(x[t * width + j]) && !isnan(y[j]))) {
                y[j] = x[t * width + j];
                argmax[j] = (int32_t)t;
            }
}

static void max_backward(float *dx, const int32_t *argmax, const float *dy, int64_t length,
                         int64_t width)
{
    (void)length;
    for (int64_t j = 0; j < width; j++)
        dx[argmax[j] * width + j] += dy[j];
}

static void last_forward(float *y, int32_t *argmax, const float *x, int64_t length, int64_t width)
{
    (void)argmax;
    memcpy(y, x + (length - 1) * width, (size_t)width * sizeof *y);
}

static void last_backward(float *dx, const int32_t *argmax, const float *dy, int64_t length,
                          int64_t width)
{
    (void)argmax;
    att_kernels_get()->axpy(dx + (length - 1) * width, 1, dy, (size_t)width);
}

/* In the order of att_pool_mode. */
static const struct {
    void (*forward)(float *y, int32_t *argmax, const float *x, int64_t length, int64_t width);
    void (*backward)(float *dx, const int32_t *argmax, const float *dy, int64_t length,
                     int64_t width);
    void (*truth)(double *y, const double *x, int64_t length, int64_t width);
    bool saves_argmax; /* the row of each column's maximum */
} pool_modes[] = {
    { mean_forward, mean_backward, att_reference_sequence_mean, false },
    { max_forward, max_backward, att_reference_sequence_max, true },
    { last_forward, last_backward, att_reference_sequence_last, false },
};

/* ---- all sequences */

typedef struct sequence_pool_job {
    att_node *node;
    float *dx; /* NULL in forward */
} sequence_pool_job;

static void pool_range_forward(void *context, int64_t begin, int64_t end)
{
    const att_node *node = ((const sequence_pool_job *)context)->node;
    const sequence_pool *options = node->options;
    int64_t width = node->shape[1];
    int32_t *argmax = node->saved;
    for (int64_t b = begin; b < end; b++) {
        float *y = node->value + b * width;
        memset(y, 0, (size_t)width * sizeof *y);
        if (options->lengths[b] > 0)
            pool_modes[options->mode].forward(y, argmax ? argmax + b * width : NULL,
                                              node->in[0]->value + options->offsets[b] * width,
                                              options->lengths[b], width);
    }
}

static void pool_range_backward(void *context, int64_t begin, int64_t end)
{
    const sequence_pool_job *s = context;
    const sequence_pool *options = s->node->options;
    int64_t width = s->node->shape[1];
    const int32_t *argmax = s->node->saved;
    for (int64_t b = begin; b < end; b++)
        if (options->lengths[b] > 0)
            pool_modes[options->mode].backward(
                s->dx + options->offsets[b] * width, argmax ? argmax + b * width : NULL,
                s->node->grad + b * width, options->lengths[b], width);
}

/* Sequences that make a range worth a thread. */
static int64_t grain_of(const att_node *node)
{
    int64_t rows = att_node_rows(node->in[0]), sequences = node->shape[0];
    return att_row_grain(node->shape[1] * (sequences > 0 ? 1 + rows / sequences : 1));
}

static bool sequence_pool_forward(att_tape *tape, att_node *node)
{
    const sequence_pool *options = node->options;
    if (pool_modes[options->mode].saves_argmax) {
        node->saved = att_tape_alloc(tape, node->count, sizeof(int32_t));
        if (!node->saved)
            return false;
    }
    att_parallel_for(options->sequences, grain_of(node), pool_range_forward,
                     &(sequence_pool_job){ node, NULL });
    return true;
}

/* Whether no two sequences share a row. Where some do, one thread adds their gradients in order. */
static bool do_not_overlap(const sequence_pool *options)
{
    for (int64_t b = 1; b < options->sequences; b++)
        if (options->offsets[b] < options->offsets[b - 1] + options->lengths[b - 1])
            return false;
    return true;
}

static bool sequence_pool_backward(att_tape *tape, att_node *node)
{
    const sequence_pool *options = node->options;
    sequence_pool_job s = { node, att_node_grad(tape, node->in[0]) };
    if (s.dx && do_not_overlap(options))
        att_parallel_for(options->sequences, grain_of(node), pool_range_backward, &s);
    else if (s.dx)
        pool_range_backward(&s, 0, options->sequences);
    return true;
}

static void sequence_pool_truth(double *value, const att_node *node, const double *const *in)
{
    const sequence_pool *options = node->options;
    int64_t width = node->shape[1];
    for (int64_t b = 0; b < options->sequences; b++)
        pool_modes[options->mode].truth(value + b * width, in[0] + options->offsets[b] * width,
                                        options->lengths[b], width);
}

/* Sequences of [3,4,…] with padding, 9 packed rows, and shared rows; an empty sequence in the first
 * two. */
static const int64_t row_first[] = { 0, 4, 8 }, row_lengths[] = { 4, 0, 2 };
static const int64_t packed_first[] = { 0, 5, 5, 8 }, packed_lengths[] = { 5, 0, 3, 1 };
static const int64_t shared_first[] = { 0, 1 }, shared_lengths[] = { 3, 3 };

#define SAMPLES(MODE, NAME)                                                                        \
    { NAME " of rows with padding",                                                                \
      1,                                                                                           \
      { { 3, { 3, 4, 17 } } },                                                                     \
      &(const sequence_pool){ MODE, 3, row_first, row_lengths },                                   \
      0,                                                                                           \
      0 },                                                                                         \
        { NAME " of packed sequences",                                                             \
          1,                                                                                       \
          { { 3, { 1, 9, 5 } } },                                                                  \
          &(const sequence_pool){ MODE, 4, packed_first, packed_lengths },                         \
          0,                                                                                       \
          0 },                                                                                     \
        { NAME " of shared rows",                                                                  \
          1,                                                                                       \
          { { 2, { 4, 3 } } },                                                                     \
          &(const sequence_pool){ MODE, 2, shared_first, shared_lengths },                         \
          0,                                                                                       \
          0 },                                                                                     \
    {                                                                                              \
        NAME " of no sequences", 1, { { 3, { 0, 4, 5 } } },                                        \
            &(const sequence_pool){ MODE, 0, row_first, row_lengths }, 0, 0                        \
    }

static const att_op_sample sequence_pool_samples[] = {
    SAMPLES(ATT_POOL_MODE_MEAN, "mean"),
    SAMPLES(ATT_POOL_MODE_MAX, "maximum"),
    SAMPLES(ATT_POOL_MODE_LAST, "last"),
};

const att_op att_op_sequence_pool = {
    .name = "sequence-pool",
    .options_size = sizeof(sequence_pool),
    .shape = sequence_pool_shape,
    .forward = sequence_pool_forward,
    .backward = sequence_pool_backward,
    .truth = sequence_pool_truth,
    .rounding_steps = 8,
    .samples = sequence_pool_samples,
    .sample_count = ATT_COUNT(sequence_pool_samples),
};

att_node *att_sequence_pool(att_tape *tape, att_node *x, att_pool_mode mode, int64_t sequences,
                            const int64_t *offsets, const int64_t *lengths)
{
    if (!x)
        return NULL;
    const sequence_pool options = { mode, sequences,
                                    att_tape_copy(tape, offsets, sequences, sizeof *offsets),
                                    att_tape_copy(tape, lengths, sequences, sizeof *lengths) };
    return att_op_apply(tape, &att_op_sequence_pool, &x, 1, &options);
}
