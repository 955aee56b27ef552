/* What a Transformer's layers have besides products, norms and attention: the gated unit and
 * rotary positions. Both go element by element, so that their bits depend on no instruction set. */
#include "base/math.h"
#include "base/parallel.h"
#include "tape/op_util.h"
#include "tape/ops.h"

#include <string.h>

#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

/* ---------------------------------------------------------------- gated */

static bool swiglu_shape(att_tape *tape, att_node *node)
{
    const att_node *x = node->in[0];
    int64_t width = att_node_last_dim(x);
    if (x->rank == 0 || width % 2 != 0) {
        att_tape_fail(tape, "gated", "x has %lld columns, no two halves", (long long)width);
        return false;
    }
    att_node_shape_like(node, x);
    node->shape[node->rank - 1] = width / 2;
    return true;
}

/* A loop over rows. */
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

/* da = dy b silu'(a), db = dy silu(a); some columns at a time, for which there is room here. */
static void swiglu_row_backward(const swiglu_rows_context *g, float *dx, const float *dy,
                                const float *a, size_t width, size_t count)
{
    enum { AT_ONCE = 256 };
    float share[AT_ONCE], gate[AT_ONCE];
    for (size_t at = 0; at < count; at += AT_ONCE) {
        size_t some = count - at < AT_ONCE ? count - at : AT_ONCE;
        const float *b = a + width + at;
        float *db = dx + width + at;
        for (size_t j = 0; j < some; j++)
            share[j] = dy[at + j] * b[j];
        g->silu.forward(gate, a + at, some);
        g->silu.backward(dx + at, share, g->silu.saves_input ? a + at : gate, some);
        for (size_t j = 0; j < some; j++)
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
                            g->node->in[0]->value + at, width, width);
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
    int64_t width = att_node_last_dim(node);
    for (int64_t i = 0; i < node->count; i++) {
        const double *row = in[0] + i / width * 2 * width;
        double a = row[i % width];
        value[i] = a / (1 + att_exp(-a)) * row[width + i % width];
    }
}

static const att_op_sample swiglu_samples[] = {
    { "rows", 1, { { 2, { 5, 34 } } }, NULL, -3, 3 },
    { "wider than what is done at once", 1, { { 2, { 2, 600 } } }, NULL, -3, 3 },
    { "sequences", 1, { { 3, { 2, 3, 2 } } }, NULL, -3, 3 },
    { "no rows", 1, { { 2, { 0, 4 } } }, NULL, 0, 0 },
    { "no width", 1, { { 2, { 3, 0 } } }, NULL, 0, 0 },
};

const att_op att_op_swiglu = {
    .name = "gated",
    .shape = swiglu_shape,
    .forward = swiglu_forward,
    .backward = swiglu_backward,
    .truth = swiglu_truth,
    .rounding_steps = 20,
    .samples = swiglu_samples,
    .sample_count = COUNT(swiglu_samples),
};

att_node *att_swiglu(att_tape *tape, att_node *x)
{
    return att_op_apply(tape, &att_op_swiglu, &x, 1, NULL);
}

/* ---------------------------------------------------------------- rotate */

typedef struct rope {
    int64_t heads, width;
    const int32_t *positions; /* [rows] */
} rope;

/* Cosines, then sines, of the turns of every position from `first` on; [positions][2][width/2]. */
typedef struct rope_table {
    int64_t first;
    float *table;
} rope_table;

static bool rope_shape(att_tape *tape, att_node *node)
{
    const rope *options = node->options;
    att_node_shape_like(node, node->in[0]);
    if (options->heads >= 0 && options->width > 0 && options->width % 2 == 0 &&
        options->heads * options->width <= att_node_last_dim(node))
        return true;
    att_tape_fail(tape, "rotate", "%lld heads of width %lld do not fit in %lld columns by pairs",
                  (long long)options->heads, (long long)options->width,
                  (long long)att_node_last_dim(node));
    return false;
}

static double rope_angle(int64_t position, int64_t pair, int64_t width)
{
    return (double)position / att_pow(10000, 2 * (double)pair / (double)width);
}

static rope_table *make_rope_table(att_tape *tape, const rope *options, int64_t rows)
{
    int64_t first = rows > 0 ? options->positions[0] : 0, last = first, half = options->width / 2;
    for (int64_t i = 0; i < rows; i++) {
        first = options->positions[i] < first ? options->positions[i] : first;
        last = options->positions[i] > last ? options->positions[i] : last;
    }
    rope_table *out = att_tape_alloc(tape, 1, sizeof *out);
    if (!out)
        return NULL;
    *out = (rope_table){ first, att_tape_alloc(tape, (last - first + 1) * options->width,
                                               sizeof *out->table) };
    for (int64_t p = first; out->table && p <= last; p++)
        for (int64_t j = 0; j < half; j++) {
            float *row = out->table + (p - first) * options->width;
            row[j] = (float)att_cos(rope_angle(p, j, options->width));
            row[half + j] = (float)att_sin(rope_angle(p, j, options->width));
        }
    return out->table ? out : NULL;
}

/* A loop over rows: y = turned x, or dx += dy turned back. */
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
    const rope_table *turn = r->node->saved;
    int64_t width = att_node_last_dim(r->node), turned = options->heads * options->width;
    for (int64_t i = begin; i < end; i++) {
        const float *cosines = turn->table + (options->positions[i] - turn->first) * options->width;
        const float *from = (r->dx ? r->node->grad : r->node->in[0]->value) + i * width;
        float *to = (r->dx ? r->dx : r->node->value) + i * width;
        for (int64_t h = 0; h < options->heads; h++)
            (r->dx ? rope_head_backward : rope_head)(to + h * options->width,
                                                     from + h * options->width, cosines,
                                                     (size_t)options->width / 2);
        if (r->dx)
            att_kernels_get()->axpy(to + turned, 1, from + turned, (size_t)(width - turned));
        else
            memcpy(to + turned, from + turned, (size_t)(width - turned) * sizeof(float));
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
    int64_t width = att_node_last_dim(node), half = options->width / 2;
    for (int64_t i = 0; i < node->count; i++) {
        int64_t column = i % width, within = column % options->width;
        double turn = rope_angle(options->positions[i / width], within % half, options->width);
        if (column >= options->heads * options->width)
            value[i] = in[0][i];
        else if (within < half)
            value[i] = in[0][i] * att_cos(turn) - in[0][i + half] * att_sin(turn);
        else
            value[i] = in[0][i] * att_cos(turn) + in[0][i - half] * att_sin(turn);
    }
}

static const int32_t some_positions[] = { 3, 0, 40, 1, 1, 7 };

static const att_op_sample rope_samples[] = {
    { "two heads and more", 1, { { 2, { 6, 19 } } }, &(const rope){ 2, 8, some_positions }, 0, 0 },
    { "sequences", 1, { { 3, { 2, 3, 6 } } }, &(const rope){ 1, 6, some_positions }, 0, 0 },
    { "no heads", 1, { { 2, { 2, 3 } } }, &(const rope){ 0, 2, some_positions }, 0, 0 },
    { "no rows", 1, { { 2, { 0, 4 } } }, &(const rope){ 1, 4, some_positions }, 0, 0 },
};

const att_op att_op_rope = {
    .name = "rotate",
    .options_size = sizeof(rope),
    .shape = rope_shape,
    .forward = rope_forward,
    .backward = rope_backward,
    .truth = rope_truth,
    .rounding_steps = 8,
    .samples = rope_samples,
    .sample_count = COUNT(rope_samples),
};

att_node *att_rope(att_tape *tape, att_node *x, int64_t heads, int64_t width,
                   const int32_t *positions)
{
    if (!x)
        return NULL;
    rope options = { heads, width,
                     att_tape_copy(tape, positions, att_node_rows(x), sizeof *positions) };
    return att_op_apply(tape, &att_op_rope, &x, 1, &options);
}
