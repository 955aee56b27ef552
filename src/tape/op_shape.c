/* Operations that only move numbers. But for the first, they are copies of runs of numbers from the
 * inputs to the result, listed by a function each; backward goes the same way round. */
#include "base/parallel.h"
#include "tape/help.h"
#include "tape/ops.h"
#include "tensor/tensor.h"

#include <string.h>

#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

/* ---------------------------------------------------------------- another shape */

typedef struct reshape {
    int rank;
    int64_t shape[ATT_NODE_RANK];
} reshape;

static bool reshape_shape(att_tape *tape, att_node *node)
{
    const reshape *how = node->how;
    const att_node *x = node->in[0];
    char from[ATT_SHAPE_TEXT], to[ATT_SHAPE_TEXT];
    att_node_set_shape(node, how->rank, how->shape);
    if (att_shape_count(how->rank, how->shape, INT64_MAX) == x->count)
        return true;
    att_tape_fail(tape, "reshape", "%s cannot become %s", att_shape_text(from, x->rank, x->shape),
                  att_shape_text(to, how->rank, how->shape));
    return false;
}

static void reshape_truth(double *value, const att_node *node, const double *const *in)
{
    for (int64_t i = 0; i < node->count; i++)
        value[i] = in[0][i];
}

static const att_op_sample reshape_samples[] = {
    { "apart", 1, { { 2, { 3, 8 } } }, &(const reshape){ 4, { 3, 2, 2, 2 } }, 0, 0 },
    { "together", 1, { { 3, { 3, 2, 4 } } }, &(const reshape){ 1, { 24 } }, 0, 0 },
    { "nothing", 1, { { 2, { 0, 8 } } }, &(const reshape){ 3, { 5, 0, 2 } }, 0, 0 },
};

const att_op att_op_reshape = {
    .name = "reshape",
    .how_size = sizeof(reshape),
    .shape = reshape_shape,
    .truth = reshape_truth,
    .rounds = 2,
    .samples = reshape_samples,
    .sample_count = COUNT(reshape_samples),
};

att_node *att_reshape(att_tape *tape, att_node *x, int rank, const int64_t *shape)
{
    reshape how = { .rank = rank };
    for (int d = 0; d < rank; d++)
        how.shape[d] = shape[d];
    return att_op_apply(tape, &att_op_reshape, &x, 1, &how);
}

/* ---------------------------------------------------------------- runs */

/* For one input: `rows` runs of `length` numbers, so far apart in the input and in the result. */
typedef struct runs {
    int64_t rows, length;
    int64_t from, from_step;
    int64_t to, to_step;
} runs;

typedef runs runs_function(const att_node *node, int input);

/* One input's runs on their way. */
typedef struct moving {
    runs runs;
    float *to;
    const float *from;
    bool add; /* to what is there */
} moving;

static void copy_runs(void *context, int64_t begin, int64_t end)
{
    const moving *m = context;
    for (int64_t n = begin; n < end; n++)
        memcpy(m->to + m->runs.to + n * m->runs.to_step,
               m->from + m->runs.from + n * m->runs.from_step,
               (size_t)m->runs.length * sizeof(float));
}

/* From the result's gradient (`from`) to the input's (`to`). No two runs meet in either. */
static void return_runs(void *context, int64_t begin, int64_t end)
{
    const moving *m = context;
    for (int64_t n = begin; n < end; n++) {
        float *to = m->to + m->runs.from + n * m->runs.from_step;
        const float *from = m->from + m->runs.to + n * m->runs.to_step;
        if (m->add)
            att_kernels_get()->add_scaled(to, 1, from, (size_t)m->runs.length);
        else
            memcpy(to, from, (size_t)m->runs.length * sizeof(float));
    }
}

static bool move_forward(att_node *node, runs_function *runs_of)
{
    for (int i = 0; i < node->inputs; i++) {
        moving m = { .runs = runs_of(node, i), .to = node->value, .from = node->in[i]->value };
        att_parallel_for(m.runs.rows, att_rows_grain(m.runs.length), copy_runs, &m);
    }
    return true;
}

static bool move_backward(att_tape *tape, att_node *node, runs_function *runs_of)
{
    for (int i = 0; i < node->inputs; i++) {
        moving m = { .runs = runs_of(node, i), .from = node->grad, .add = true };
        if (m.runs.rows * m.runs.length == node->in[i]->count)
            m.to = att_node_grad_whole(tape, node->in[i], &m.add);
        else
            m.to = att_node_grad(tape, node->in[i]);
        if (m.to)
            att_parallel_for(m.runs.rows, att_rows_grain(m.runs.length), return_runs, &m);
    }
    return true;
}

static void move_truth(double *value, const att_node *node, const double *const *in,
                       runs_function *runs_of)
{
    for (int i = 0; i < node->inputs; i++) {
        runs r = runs_of(node, i);
        for (int64_t n = 0; n < r.rows; n++)
            for (int64_t j = 0; j < r.length; j++)
                value[r.to + n * r.to_step + j] = in[i][r.from + n * r.from_step + j];
    }
}

/* An operation that is given by its runs. */
#define MOVE(op)                                                                                   \
    static bool op##_forward(att_tape *tape, att_node *node)                                       \
    {                                                                                              \
        (void)tape;                                                                                \
        return move_forward(node, op##_runs);                                                      \
    }                                                                                              \
    static bool op##_backward(att_tape *tape, att_node *node)                                      \
    {                                                                                              \
        return move_backward(tape, node, op##_runs);                                               \
    }                                                                                              \
    static void op##_truth(double *value, const att_node *node, const double *const *in)           \
    {                                                                                              \
        move_truth(value, node, in, op##_runs);                                                    \
    }                                                                                              \
    const att_op att_op_##op = {                                                                   \
        .name = #op,                                                                               \
        .how_size = op##_how_size,                                                                 \
        .shape = op##_shape,                                                                       \
        .forward = op##_forward,                                                                   \
        .backward = op##_backward,                                                                 \
        .truth = op##_truth,                                                                       \
        .rounds = 6,                                                                               \
        .samples = op##_samples,                                                                   \
        .sample_count = COUNT(op##_samples),                                                       \
    };

/* ---------------------------------------------------------------- join */

static bool join_shape(att_tape *tape, att_node *node)
{
    const att_node *first = node->in[0];
    int64_t width = 0, want[ATT_NODE_RANK];
    for (int d = 0; d + 1 < first->rank; d++)
        want[d] = first->shape[d];
    if (first->rank == 0) {
        att_tape_fail(tape, "join", "single numbers have no last dimension to join");
        return false;
    }
    want[first->rank - 1] = -1;
    for (int i = 0; i < node->inputs; i++) {
        if (!att_node_fits(tape, node, "a part", node->in[i], first->rank, want))
            return false;
        width += att_node_width(node->in[i]);
    }
    att_node_like(node, first);
    node->shape[first->rank - 1] = width;
    return true;
}

static runs join_runs(const att_node *node, int input)
{
    int64_t before = 0, length = att_node_width(node->in[input]);
    for (int i = 0; i < input; i++)
        before += att_node_width(node->in[i]);
    return (runs){ att_node_rows(node), length, 0, length, before, att_node_width(node) };
}

static const att_op_sample join_samples[] = {
    { "three", 3, { { 2, { 3, 2 } }, { 2, { 3, 17 } }, { 2, { 3, 1 } } }, NULL, 0, 0 },
    { "one empty", 2, { { 3, { 2, 3, 0 } }, { 3, { 2, 3, 4 } } }, NULL, 0, 0 },
    { "one alone", 1, { { 1, { 4 } } }, NULL, 0, 0 },
    { "no rows", 2, { { 2, { 0, 2 } }, { 2, { 0, 3 } } }, NULL, 0, 0 },
};

enum { join_how_size = 0 };
MOVE(join)

att_node *att_join(att_tape *tape, att_node *const *parts, int count)
{
    return att_op_apply(tape, &att_op_join, parts, count, NULL);
}

/* ---------------------------------------------------------------- part */

typedef struct part {
    int64_t first, count;
} part;

static bool part_shape(att_tape *tape, att_node *node)
{
    const part *how = node->how;
    int64_t width = att_node_width(node->in[0]);
    if (how->first < 0 || how->count < 0 || how->first > width - how->count) {
        att_tape_fail(tape, "part", "%lld columns from %lld on, but there are %lld",
                      (long long)how->count, (long long)how->first, (long long)width);
        return false;
    }
    att_node_like(node, node->in[0]);
    node->shape[node->rank - 1] = how->count;
    return true;
}

static runs part_runs(const att_node *node, int input)
{
    const part *how = node->how;
    const att_node *x = node->in[input];
    return (runs){ att_node_rows(x), how->count, how->first, att_node_width(x), 0, how->count };
}

static const att_op_sample part_samples[] = {
    { "middle", 1, { { 2, { 3, 17 } } }, &(const part){ 5, 4 }, 0, 0 },
    { "all", 1, { { 3, { 2, 2, 3 } } }, &(const part){ 0, 3 }, 0, 0 },
    { "nothing", 1, { { 2, { 3, 4 } } }, &(const part){ 4, 0 }, 0, 0 },
    { "no rows", 1, { { 2, { 0, 4 } } }, &(const part){ 1, 2 }, 0, 0 },
};

enum { part_how_size = sizeof(part) };
MOVE(part)

att_node *att_part(att_tape *tape, att_node *x, int64_t first, int64_t count)
{
    return att_op_apply(tape, &att_op_part, &x, 1, &(part){ first, count });
}

/* ---------------------------------------------------------------- stack */

static bool stack_shape(att_tape *tape, att_node *node)
{
    const att_node *first = node->in[0];
    int64_t want[2] = { -1, -1 };
    for (int i = 0; i < node->inputs; i++) {
        if (!att_node_fits(tape, node, "a step", node->in[i], 2, want))
            return false;
        memcpy(want, first->shape, sizeof want);
    }
    att_node_set_shape(node, 3, (const int64_t[]){ want[0], node->inputs, want[1] });
    return true;
}

static runs stack_runs(const att_node *node, int input)
{
    int64_t width = node->shape[2];
    return (runs){ node->shape[0], width, 0, width, input * width, node->shape[1] * width };
}

static const att_op_sample stack_samples[] = {
    { "three steps", 3, { { 2, { 2, 5 } }, { 2, { 2, 5 } }, { 2, { 2, 5 } } }, NULL, 0, 0 },
    { "one step", 1, { { 2, { 3, 17 } } }, NULL, 0, 0 },
    { "no sequences", 2, { { 2, { 0, 5 } }, { 2, { 0, 5 } } }, NULL, 0, 0 },
};

enum { stack_how_size = 0 };
MOVE(stack)

att_node *att_stack(att_tape *tape, att_node *const *steps, int64_t count)
{
    return att_op_apply(tape, &att_op_stack, steps, (int)count, NULL);
}

/* ---------------------------------------------------------------- step */

static bool step_shape(att_tape *tape, att_node *node)
{
    const att_node *x = node->in[0];
    int64_t t = *(const int64_t *)node->how, any[3] = { -1, -1, -1 };
    if (!att_node_fits(tape, node, "x", x, 3, any))
        return false;
    if (t < 0 || t >= x->shape[1]) {
        att_tape_fail(tape, "step", "step %lld of %lld", (long long)t, (long long)x->shape[1]);
        return false;
    }
    att_node_set_shape(node, 2, (const int64_t[]){ x->shape[0], x->shape[2] });
    return true;
}

static runs step_runs(const att_node *node, int input)
{
    const att_node *x = node->in[input];
    int64_t t = *(const int64_t *)node->how, width = x->shape[2];
    return (runs){ x->shape[0], width, t * width, x->shape[1] * width, 0, width };
}

static const att_op_sample step_samples[] = {
    { "first", 1, { { 3, { 2, 3, 5 } } }, &(const int64_t){ 0 }, 0, 0 },
    { "last", 1, { { 3, { 2, 3, 17 } } }, &(const int64_t){ 2 }, 0, 0 },
    { "no sequences", 1, { { 3, { 0, 3, 5 } } }, &(const int64_t){ 1 }, 0, 0 },
};

enum { step_how_size = sizeof(int64_t) };
MOVE(step)

att_node *att_step(att_tape *tape, att_node *x, int64_t t)
{
    return att_op_apply(tape, &att_op_step, &x, 1, &t);
}

/* ---------------------------------------------------------------- spread */

/* [B,N] to [B,count,N]; not given by runs, because its input is used many times. */
static bool spread_shape(att_tape *tape, att_node *node)
{
    const att_node *x = node->in[0];
    const int64_t any[2] = { -1, -1 };
    if (!att_node_fits(tape, node, "x", x, 2, any))
        return false;
    const int64_t shape[] = { x->shape[0], *(const int64_t *)node->how, x->shape[1] };
    att_node_set_shape(node, 3, shape);
    return true;
}

static bool spread_forward(att_tape *tape, att_node *node)
{
    (void)tape;
    int64_t count = node->shape[1], width = node->shape[2];
    for (int64_t i = 0; i < node->shape[0] * count; i++)
        memcpy(node->value + i * width, node->in[0]->value + i / count * width,
               (size_t)width * sizeof(float));
    return true;
}

static bool spread_backward(att_tape *tape, att_node *node)
{
    int64_t count = node->shape[1], width = node->shape[2];
    float *dx = att_node_grad(tape, node->in[0]);
    for (int64_t i = 0; dx && i < node->shape[0] * count; i++)
        att_kernels_get()->add_scaled(dx + i / count * width, 1, node->grad + i * width,
                                      (size_t)width);
    return true;
}

static void spread_truth(double *value, const att_node *node, const double *const *in)
{
    int64_t count = node->shape[1], width = node->shape[2];
    for (int64_t i = 0; i < node->count; i++)
        value[i] = in[0][i / (count * width) * width + i % width];
}

static const att_op_sample spread_samples[] = {
    { "four times", 1, { { 2, { 3, 17 } } }, &(const int64_t){ 4 }, 0, 0 },
    { "not at all", 1, { { 2, { 3, 5 } } }, &(const int64_t){ 0 }, 0, 0 },
    { "no sequences", 1, { { 2, { 0, 5 } } }, &(const int64_t){ 3 }, 0, 0 },
};

const att_op att_op_spread = {
    .name = "spread",
    .how_size = sizeof(int64_t),
    .shape = spread_shape,
    .forward = spread_forward,
    .backward = spread_backward,
    .truth = spread_truth,
    .rounds = 6,
    .samples = spread_samples,
    .sample_count = COUNT(spread_samples),
};

att_node *att_spread(att_tape *tape, att_node *x, int64_t count)
{
    return att_op_apply(tape, &att_op_spread, &x, 1, &count);
}
