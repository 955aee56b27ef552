/* A sequence of rows as one row: their mean, the largest of each column, or the last row. What a
 * classifier makes of a sentence. */
#include "base/parallel.h"
#include "tape/help.h"
#include "tape/ops.h"

#include <math.h>
#include <string.h>

typedef struct summary {
    att_summary kind;
    int64_t sequences;
    const int64_t *first;   /* [sequences] row of x where each begins */
    const int64_t *lengths; /* [sequences] */
} summary;

static bool summarise_shape(att_tape *tape, att_node *node)
{
    const summary *how = node->how;
    const att_node *x = node->in[0];
    int64_t rows = att_node_rows(x);
    if (x->rank == 0) {
        att_tape_fail(tape, "summarise", "a single number has no rows");
        return false;
    }
    for (int64_t b = 0; b < how->sequences; b++) {
        int64_t first = how->first[b], length = how->lengths[b];
        if (first >= 0 && length >= 0 && first <= rows - length)
            continue;
        att_tape_fail(tape, "summarise", "%lld rows from %lld on, but there are %lld",
                      (long long)length, (long long)first, (long long)rows);
        return false;
    }
    att_node_set_shape(node, 2, (const int64_t[]){ how->sequences, att_node_width(x) });
    return true;
}

/* ---- one sequence each: `y` is its summary, which starts as zeros, `x` its first row */

static void mean_forward(float *y, int32_t *places, const float *x, int64_t length, int64_t width)
{
    (void)places;
    for (int64_t t = 0; t < length; t++)
        att_kernels_get()->add_scaled(y, 1, x + t * width, (size_t)width);
    for (int64_t j = 0; j < width; j++)
        y[j] *= 1 / (float)length;
}

static void mean_backward(float *dx, const int32_t *places, const float *dy, int64_t length,
                          int64_t width)
{
    (void)places;
    for (int64_t t = 0; t < length; t++)
        att_kernels_get()->add_scaled(dx + t * width, 1 / (float)length, dy, (size_t)width);
}

/* The first of equals; a NaN is larger than anything, so that it shows. */
static void max_forward(float *y, int32_t *places, const float *x, int64_t length, int64_t width)
{
    memcpy(y, x, (size_t)width * sizeof *y);
    memset(places, 0, (size_t)width * sizeof *places);
    for (int64_t t = 1; t < length; t++)
        for (int64_t j = 0; j < width; j++)
            if (x[t * width + j] > y[j] || (isnan(x[t * width + j]) && !isnan(y[j]))) {
                y[j] = x[t * width + j];
                places[j] = (int32_t)t;
            }
}

static void max_backward(float *dx, const int32_t *places, const float *dy, int64_t length,
                         int64_t width)
{
    (void)length;
    for (int64_t j = 0; j < width; j++)
        dx[places[j] * width + j] += dy[j];
}

static void last_forward(float *y, int32_t *places, const float *x, int64_t length, int64_t width)
{
    (void)places;
    memcpy(y, x + (length - 1) * width, (size_t)width * sizeof *y);
}

static void last_backward(float *dx, const int32_t *places, const float *dy, int64_t length,
                          int64_t width)
{
    (void)places;
    att_kernels_get()->add_scaled(dx + (length - 1) * width, 1, dy, (size_t)width);
}

static double mean_truth(const double *x, int64_t length, int64_t width)
{
    double sum = 0;
    for (int64_t t = 0; t < length; t++)
        sum += x[t * width];
    return sum / (double)length;
}

static double max_truth(const double *x, int64_t length, int64_t width)
{
    double most = x[0];
    for (int64_t t = 1; t < length; t++)
        most = fmax(most, x[t * width]);
    return most;
}

static double last_truth(const double *x, int64_t length, int64_t width)
{
    return x[(length - 1) * width];
}

/* In the order of att_summary. */
static const struct {
    void (*forward)(float *y, int32_t *places, const float *x, int64_t length, int64_t width);
    void (*backward)(float *dx, const int32_t *places, const float *dy, int64_t length,
                     int64_t width);
    double (*truth)(const double *x, int64_t length, int64_t width); /* of one column */
    bool keeps_places; /* which row each column came from */
} kinds[] = {
    { mean_forward, mean_backward, mean_truth, false },
    { max_forward, max_backward, max_truth, true },
    { last_forward, last_backward, last_truth, false },
};

/* ---- all of them */

typedef struct summing {
    att_node *node;
    float *dx; /* backward alone */
} summing;

static void sum_forward(void *context, int64_t begin, int64_t end)
{
    const att_node *node = ((const summing *)context)->node;
    const summary *how = node->how;
    int64_t width = node->shape[1];
    int32_t *places = node->kept;
    for (int64_t b = begin; b < end; b++) {
        float *y = node->value + b * width;
        memset(y, 0, (size_t)width * sizeof *y);
        if (how->lengths[b] > 0)
            kinds[how->kind].forward(y, places ? places + b * width : NULL,
                                     node->in[0]->value + how->first[b] * width, how->lengths[b],
                                     width);
    }
}

static void sum_backward(void *context, int64_t begin, int64_t end)
{
    const summing *s = context;
    const summary *how = s->node->how;
    int64_t width = s->node->shape[1];
    const int32_t *places = s->node->kept;
    for (int64_t b = begin; b < end; b++)
        if (how->lengths[b] > 0)
            kinds[how->kind].backward(s->dx + how->first[b] * width,
                                      places ? places + b * width : NULL, s->node->grad + b * width,
                                      how->lengths[b], width);
}

/* Sequences in a range that is worth a thread. */
static int64_t grain_of(const att_node *node)
{
    int64_t rows = att_node_rows(node->in[0]), sequences = node->shape[0];
    return att_rows_grain(node->shape[1] * (sequences > 0 ? 1 + rows / sequences : 1));
}

static bool summarise_forward(att_tape *tape, att_node *node)
{
    const summary *how = node->how;
    if (kinds[how->kind].keeps_places) {
        node->kept = att_tape_take(tape, node->count, sizeof(int32_t));
        if (!node->kept)
            return false;
    }
    att_parallel_for(how->sequences, grain_of(node), sum_forward, &(summing){ node, NULL });
    return true;
}

/* Whether no two share a row. Where some do, they add to its gradient one after the other. */
static bool are_apart(const summary *how)
{
    for (int64_t b = 1; b < how->sequences; b++)
        if (how->first[b] < how->first[b - 1] + how->lengths[b - 1])
            return false;
    return true;
}

static bool summarise_backward(att_tape *tape, att_node *node)
{
    const summary *how = node->how;
    summing s = { node, att_node_grad(tape, node->in[0]) };
    if (s.dx && are_apart(how))
        att_parallel_for(how->sequences, grain_of(node), sum_backward, &s);
    else if (s.dx)
        sum_backward(&s, 0, how->sequences);
    return true;
}

static void summarise_truth(double *value, const att_node *node, const double *const *in)
{
    const summary *how = node->how;
    int64_t width = node->shape[1];
    for (int64_t i = 0; i < node->count; i++) {
        int64_t b = i / width, length = how->lengths[b];
        const double *x = in[0] + how->first[b] * width + i % width;
        value[i] = length > 0 ? kinds[how->kind].truth(x, length, width) : 0;
    }
}

/* [3,4,…] with padding, and 9 rows end to end; an empty sequence in each. */
static const int64_t row_first[] = { 0, 4, 8 }, row_lengths[] = { 4, 0, 2 };
static const int64_t packed_first[] = { 0, 5, 5, 8 }, packed_lengths[] = { 5, 0, 3, 1 };
static const int64_t shared_first[] = { 0, 1 }, shared_lengths[] = { 3, 3 };

#define SAMPLES(KIND, NAME)                                                                        \
    { NAME " of rows with padding",                                                                \
      1,                                                                                           \
      { { 3, { 3, 4, 17 } } },                                                                     \
      &(const summary){ KIND, 3, row_first, row_lengths },                                         \
      0,                                                                                           \
      0 },                                                                                         \
        { NAME " of sequences end to end",                                                         \
          1,                                                                                       \
          { { 3, { 1, 9, 5 } } },                                                                  \
          &(const summary){ KIND, 4, packed_first, packed_lengths },                               \
          0,                                                                                       \
          0 },                                                                                     \
        { NAME " of shared rows",                                                                  \
          1,                                                                                       \
          { { 2, { 4, 3 } } },                                                                     \
          &(const summary){ KIND, 2, shared_first, shared_lengths },                               \
          0,                                                                                       \
          0 },                                                                                     \
    {                                                                                              \
        NAME " of no sequences", 1, { { 3, { 0, 4, 5 } } },                                        \
            &(const summary){ KIND, 0, row_first, row_lengths }, 0, 0                              \
    }

static const att_op_sample summarise_samples[] = {
    SAMPLES(ATT_SUMMARY_MEAN, "mean"),
    SAMPLES(ATT_SUMMARY_MAX, "maximum"),
    SAMPLES(ATT_SUMMARY_LAST, "last"),
};

const att_op att_op_summarise = {
    .name = "summarise",
    .how_size = sizeof(summary),
    .shape = summarise_shape,
    .forward = summarise_forward,
    .backward = summarise_backward,
    .truth = summarise_truth,
    .rounds = 8,
    .samples = summarise_samples,
    .sample_count = sizeof summarise_samples / sizeof *summarise_samples,
};

att_node *att_summarise(att_tape *tape, att_node *x, att_summary kind, int64_t sequences,
                        const int64_t *first, const int64_t *lengths)
{
    if (!x)
        return NULL;
    const summary how = { kind, sequences, att_tape_copy(tape, first, sequences, sizeof *first),
                          att_tape_copy(tape, lengths, sequences, sizeof *lengths) };
    return att_op_apply(tape, &att_op_summarise, &x, 1, &how);
}
