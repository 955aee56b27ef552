/* Rotary position embedding, RoPE (Su et al. 2021). Elementwise with a table of cosines and sines,
 * so that its bits do not depend on the instruction set. */
#include "base/math.h"
#include "base/minmax.h"
#include "base/parallel.h"
#include "reference/positions.h"
#include "tape/op_util.h"
#include "tape/ops.h"

#include <string.h>

typedef struct rope {
    int64_t heads, head_size;
    const int32_t *positions; /* [rows] */
} rope;

/* Cosines, then sines, of the angles of every position from `first` on, rounded from double:
 * [positions, 2, head_size/2]. */
typedef struct rope_table {
    int64_t first;
    float *table;
} rope_table;

static bool rope_shape(att_tape *tape, att_node *node)
{
    const rope *options = node->options;
    att_node_shape_like(node, node->in[0]);
    if (options->heads >= 0 && options->head_size > 0 && options->head_size % 2 == 0 &&
        options->heads * options->head_size <= att_node_last_dim(node))
        return true;
    att_tape_fail(
        tape, node->op->name,
        "expected heads of an even size that fit the columns of x, found %lld heads of size %lld "
        "in %lld columns",
        (long long)options->heads, (long long)options->head_size,
        (long long)att_node_last_dim(node));
    return false;
}

static rope_table *make_rope_table(att_tape *tape, const rope *options, int64_t rows)
{
    int64_t first = rows > 0 ? options->positions[0] : 0, last = first,
            half = options->head_size / 2;
    for (int64_t i = 0; i < rows; i++) {
        first = att_min_i64(first, options->positions[i]);
        last = att_max_i64(last, options->positions[i]);
    }
    rope_table *out = att_tape_alloc(tape, 1, sizeof *out);
    if (!out)
        return NULL;
    *out = (rope_table){ first, att_tape_alloc(tape, (last - first + 1) * options->head_size,
                                               sizeof *out->table) };
    for (int64_t p = first; out->table && p <= last; p++)
        for (int64_t j = 0; j < half; j++) {
            float *row = out->table + (p - first) * options->head_size;
            double angle = att_reference_rope_angle(p, j, options->head_size, ATT_POSITION_BASE);
            row[j] = (float)att_cos(angle);
            row[half + j] = (float)att_sin(angle);
        }
    return out->table ? out : NULL;
}

/* A loop over rows: y = rotated x, or dx += dy rotated back. */
typedef struct rope_rows_context {
    const att_node *node;
    float *dx;
} rope_rows_context;

static void rope_head(float *restrict y, const float *restrict x, const float *cosines, size_t half)
{
    const float *sines = cosines + half;
    for (size_t j = 0; j < half; j++) {
        y[j] = x[j] * cosines[j] - x[half + j] * sines[j];
        y[half + j] = x[half + j] * cosines[j] + x[j] * sines[j];
    }
}

static void rope_head_backward(float *restrict dx, const float *restrict dy, const float *cosines,
                               size_t half)
{
    const float *sines = cosines + half;
    for (size_t j = 0; j < half; j++) {
        dx[j] += dy[j] * cosines[j] + dy[half + j] * sines[j];
        dx[half + j] += dy[half + j] * cosines[j] - dy[j] * sines[j];
    }
}

static void rope_rows(void *context, int64_t begin, int64_t end)
{
    const rope_rows_context *r = context;
    const rope *options = r->node->options;
    const rope_table *angles = r->node->saved;
    int64_t width = att_node_last_dim(r->node), rotated = options->heads * options->head_size;
    for (int64_t i = begin; i < end; i++) {
        const float *cosines =
            angles->table + (options->positions[i] - angles->first) * options->head_size;
        const float *from = (r->dx ? r->node->grad : r->node->in[0]->value) + i * width;
        float *to = (r->dx ? r->dx : r->node->value) + i * width;
        for (int64_t h = 0; h < options->heads; h++)
            (r->dx ? rope_head_backward : rope_head)(to + h * options->head_size,
                                                     from + h * options->head_size, cosines,
                                                     (size_t)options->head_size / 2);
        if (r->dx)
            att_kernels_get()->axpy(to + rotated, 1, from + rotated, (size_t)(width - rotated));
        else
            memcpy(to + rotated, from + rotated, (size_t)(width - rotated) * sizeof(float));
    }
}

static bool rope_forward(att_tape *tape, att_node *node)
{
    int64_t rows = att_node_rows(node);
    rope_rows_context r = { .node = node };
    node->saved = make_rope_table(tape, node->options, rows);
    if (node->saved)
        att_parallel_for(rows, att_row_grain(2 * att_node_last_dim(node)), rope_rows, &r);
    return node->saved;
}

static bool rope_backward(att_tape *tape, att_node *node)
{
    rope_rows_context r = { .node = node, .dx = att_node_grad(tape, node->in[0]) };
    if (r.dx)
        att_parallel_for(att_node_rows(node), att_row_grain(2 * att_node_last_dim(node)), rope_rows,
                         &r);
    return true;
}

static void rope_truth(double *value, const att_node *node, const double *const *in)
{
    const rope *options = node->options;
    att_reference_rope(value, in[0], att_node_rows(node), att_node_last_dim(node), options->heads,
                       options->head_size, options->positions, ATT_POSITION_BASE);
}

static const int32_t some_positions[] = { 3, 0, 40, 1, 1, 7 };

static const att_op_sample rope_samples[] = {
    { "two heads and other columns",
      1,
      { { 2, { 6, 19 } } },
      &(const rope){ 2, 8, some_positions },
      0,
      0 },
    { "sequences", 1, { { 3, { 2, 3, 6 } } }, &(const rope){ 1, 6, some_positions }, 0, 0 },
    { "no heads", 1, { { 2, { 2, 3 } } }, &(const rope){ 0, 2, some_positions }, 0, 0 },
    { "no rows", 1, { { 2, { 0, 4 } } }, &(const rope){ 1, 4, some_positions }, 0, 0 },
};

const att_op att_op_rope = {
    .name = "rope",
    .options_size = sizeof(rope),
    .shape = rope_shape,
    .forward = rope_forward,
    .backward = rope_backward,
    .truth = rope_truth,
    .rounding_steps = 8,
    .samples = rope_samples,
    .sample_count = ATT_COUNT(rope_samples),
};

att_node *att_rope(att_tape *tape, att_node *x, int64_t heads, int64_t head_size,
                   const int32_t *positions)
{
    if (!x)
        return NULL;
    rope options = { heads, head_size,
                     att_tape_copy(tape, positions, att_node_rows(x), sizeof *positions) };
    return att_op_apply(tape, &att_op_rope, &x, 1, &options);
}
