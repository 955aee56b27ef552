/* What a Transformer's layers have besides products, norms and attention: the gated unit and
 * rotary positions. Both go element by element, so that their bits depend on no instruction set. */
#include "base/math.h"
#include "base/parallel.h"
#include "tape/help.h"
#include "tape/ops.h"

#include <string.h>

#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

/* ---------------------------------------------------------------- gated */

static bool gated_shape(att_tape *tape, att_node *node)
{
    const att_node *x = node->in[0];
    int64_t width = att_node_width(x);
    if (x->rank == 0 || width % 2 != 0) {
        att_tape_fail(tape, "gated", "x has %lld columns, no two halves", (long long)width);
        return false;
    }
    att_node_like(node, x);
    node->shape[node->rank - 1] = width / 2;
    return true;
}

/* A loop over rows. */
typedef struct gating {
    const att_node *node;
    att_activation_maps silu;
    float *dx;
} gating;

static void gate_rows(void *context, int64_t begin, int64_t end)
{
    const gating *g = context;
    size_t width = (size_t)att_node_width(g->node);
    for (int64_t i = begin; i < end; i++) {
        const float *a = g->node->in[0]->value + (size_t)i * 2 * width, *b = a + width;
        float *y = g->node->value + (size_t)i * width;
        g->silu.forward(y, a, width);
        for (size_t j = 0; j < width; j++)
            y[j] *= b[j];
    }
}

static bool gated_forward(att_tape *tape, att_node *node)
{
    (void)tape;
    gating g = { .node = node, .silu = att_activation_get(ATT_ACTIVATION_SILU) };
    att_parallel_for(att_node_rows(node), att_rows_grain(4 * att_node_width(node)), gate_rows, &g);
    return true;
}

/* da = dy b silu'(a), db = dy silu(a); some columns at a time, for which there is room here. */
static void gate_back(const gating *g, float *dx, const float *dy, const float *a, size_t width,
                      size_t count)
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
        g->silu.backward(dx + at, share, g->silu.keeps_input ? a + at : gate, some);
        for (size_t j = 0; j < some; j++)
            db[j] += dy[at + j] * gate[j];
    }
}

static void gate_rows_back(void *context, int64_t begin, int64_t end)
{
    const gating *g = context;
    size_t width = (size_t)att_node_width(g->node);
    for (int64_t i = begin; i < end; i++) {
        size_t at = (size_t)i * 2 * width;
        gate_back(g, g->dx + at, g->node->grad + (size_t)i * width, g->node->in[0]->value + at,
                  width, width);
    }
}

static bool gated_backward(att_tape *tape, att_node *node)
{
    gating g = { .node = node,
                 .silu = att_activation_get(ATT_ACTIVATION_SILU),
                 .dx = att_node_grad(tape, node->in[0]) };
    if (g.dx)
        att_parallel_for(att_node_rows(node), att_rows_grain(8 * att_node_width(node)),
                         gate_rows_back, &g);
    return true;
}

static void gated_truth(double *value, const att_node *node, const double *const *in)
{
    int64_t width = att_node_width(node);
    for (int64_t i = 0; i < node->count; i++) {
        const double *row = in[0] + i / width * 2 * width;
        double a = row[i % width];
        value[i] = a / (1 + att_exp(-a)) * row[width + i % width];
    }
}

static const att_op_sample gated_samples[] = {
    { "rows", 1, { { 2, { 5, 34 } } }, NULL, -3, 3 },
    { "wider than what is done at once", 1, { { 2, { 2, 600 } } }, NULL, -3, 3 },
    { "sequences", 1, { { 3, { 2, 3, 2 } } }, NULL, -3, 3 },
    { "no rows", 1, { { 2, { 0, 4 } } }, NULL, 0, 0 },
    { "no width", 1, { { 2, { 3, 0 } } }, NULL, 0, 0 },
};

const att_op att_op_gated = {
    .name = "gated",
    .shape = gated_shape,
    .forward = gated_forward,
    .backward = gated_backward,
    .truth = gated_truth,
    .rounds = 20,
    .samples = gated_samples,
    .sample_count = COUNT(gated_samples),
};

att_node *att_gated(att_tape *tape, att_node *x)
{
    return att_op_apply(tape, &att_op_gated, &x, 1, NULL);
}

/* ---------------------------------------------------------------- rotate */

typedef struct rotate {
    int64_t heads, width;
    const int32_t *positions; /* [rows] */
} rotate;

/* Cosines, then sines, of the turns of every position from `first` on; [positions][2][width/2]. */
typedef struct turns {
    int64_t first;
    float *table;
} turns;

static bool rotate_shape(att_tape *tape, att_node *node)
{
    const rotate *how = node->how;
    att_node_like(node, node->in[0]);
    if (how->heads >= 0 && how->width > 0 && how->width % 2 == 0 &&
        how->heads * how->width <= att_node_width(node))
        return true;
    att_tape_fail(tape, "rotate", "%lld heads of width %lld do not fit in %lld columns by pairs",
                  (long long)how->heads, (long long)how->width, (long long)att_node_width(node));
    return false;
}

static double turn_of(int64_t position, int64_t pair, int64_t width)
{
    return (double)position / att_pow(10000, 2 * (double)pair / (double)width);
}

static turns *make_turns(att_tape *tape, const rotate *how, int64_t rows)
{
    int64_t first = rows > 0 ? how->positions[0] : 0, last = first, half = how->width / 2;
    for (int64_t i = 0; i < rows; i++) {
        first = how->positions[i] < first ? how->positions[i] : first;
        last = how->positions[i] > last ? how->positions[i] : last;
    }
    turns *out = att_tape_take(tape, 1, sizeof *out);
    if (!out)
        return NULL;
    *out =
        (turns){ first, att_tape_take(tape, (last - first + 1) * how->width, sizeof *out->table) };
    for (int64_t p = first; out->table && p <= last; p++)
        for (int64_t j = 0; j < half; j++) {
            float *row = out->table + (p - first) * how->width;
            row[j] = (float)att_cos(turn_of(p, j, how->width));
            row[half + j] = (float)att_sin(turn_of(p, j, how->width));
        }
    return out->table ? out : NULL;
}

/* A loop over rows: y = turned x, or dx += dy turned back. */
typedef struct rotating {
    const att_node *node;
    float *dx;
} rotating;

static void turn_head(float *restrict y, const float *restrict x, const float *cosines, size_t half)
{
    const float *sines = cosines + half;
    for (size_t j = 0; j < half; j++) {
        y[j] = x[j] * cosines[j] - x[half + j] * sines[j];
        y[half + j] = x[half + j] * cosines[j] + x[j] * sines[j];
    }
}

static void turn_head_back(float *restrict dx, const float *restrict dy, const float *cosines,
                           size_t half)
{
    const float *sines = cosines + half;
    for (size_t j = 0; j < half; j++) {
        dx[j] += dy[j] * cosines[j] + dy[half + j] * sines[j];
        dx[half + j] += dy[half + j] * cosines[j] - dy[j] * sines[j];
    }
}

static void rotate_rows(void *context, int64_t begin, int64_t end)
{
    const rotating *r = context;
    const rotate *how = r->node->how;
    const turns *turn = r->node->kept;
    int64_t width = att_node_width(r->node), turned = how->heads * how->width;
    for (int64_t i = begin; i < end; i++) {
        const float *cosines = turn->table + (how->positions[i] - turn->first) * how->width;
        const float *from = (r->dx ? r->node->grad : r->node->in[0]->value) + i * width;
        float *to = (r->dx ? r->dx : r->node->value) + i * width;
        for (int64_t h = 0; h < how->heads; h++)
            (r->dx ? turn_head_back : turn_head)(to + h * how->width, from + h * how->width,
                                                 cosines, (size_t)how->width / 2);
        if (r->dx)
            att_kernels_get()->add_scaled(to + turned, 1, from + turned, (size_t)(width - turned));
        else
            memcpy(to + turned, from + turned, (size_t)(width - turned) * sizeof(float));
    }
}

static bool rotate_forward(att_tape *tape, att_node *node)
{
    int64_t rows = att_node_rows(node);
    rotating r = { .node = node };
    node->kept = make_turns(tape, node->how, rows);
    if (node->kept)
        att_parallel_for(rows, att_rows_grain(2 * att_node_width(node)), rotate_rows, &r);
    return node->kept;
}

static bool rotate_backward(att_tape *tape, att_node *node)
{
    rotating r = { .node = node, .dx = att_node_grad(tape, node->in[0]) };
    if (r.dx)
        att_parallel_for(att_node_rows(node), att_rows_grain(2 * att_node_width(node)), rotate_rows,
                         &r);
    return true;
}

static void rotate_truth(double *value, const att_node *node, const double *const *in)
{
    const rotate *how = node->how;
    int64_t width = att_node_width(node), half = how->width / 2;
    for (int64_t i = 0; i < node->count; i++) {
        int64_t column = i % width, within = column % how->width;
        double turn = turn_of(how->positions[i / width], within % half, how->width);
        if (column >= how->heads * how->width)
            value[i] = in[0][i];
        else if (within < half)
            value[i] = in[0][i] * att_cos(turn) - in[0][i + half] * att_sin(turn);
        else
            value[i] = in[0][i] * att_cos(turn) + in[0][i - half] * att_sin(turn);
    }
}

static const int32_t some_positions[] = { 3, 0, 40, 1, 1, 7 };

static const att_op_sample rotate_samples[] = {
    { "two heads and more",
      1,
      { { 2, { 6, 19 } } },
      &(const rotate){ 2, 8, some_positions },
      0,
      0 },
    { "sequences", 1, { { 3, { 2, 3, 6 } } }, &(const rotate){ 1, 6, some_positions }, 0, 0 },
    { "no heads", 1, { { 2, { 2, 3 } } }, &(const rotate){ 0, 2, some_positions }, 0, 0 },
    { "no rows", 1, { { 2, { 0, 4 } } }, &(const rotate){ 1, 4, some_positions }, 0, 0 },
};

const att_op att_op_rotate = {
    .name = "rotate",
    .how_size = sizeof(rotate),
    .shape = rotate_shape,
    .forward = rotate_forward,
    .backward = rotate_backward,
    .truth = rotate_truth,
    .rounds = 8,
    .samples = rotate_samples,
    .sample_count = COUNT(rotate_samples),
};

att_node *att_rotate(att_tape *tape, att_node *x, int64_t heads, int64_t width,
                     const int32_t *positions)
{
    if (!x)
        return NULL;
    rotate how = { heads, width,
                   att_tape_copy(tape, positions, att_node_rows(x), sizeof *positions) };
    return att_op_apply(tape, &att_op_rotate, &x, 1, &how);
}
