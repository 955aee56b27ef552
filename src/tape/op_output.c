/* The loss of an output layer: a linear layer to one score per class, and cross-entropy, as one
 * operation. Scores are worked out for some rows at a time and never kept: with large vocabularies
 * they would be most of what a training step needs of memory. What backward needs is worked out at
 * once, while they are there: the gradient of a sum is known but for its factor. */
#include "base/math.h"
#include "base/parallel.h"
#include "tape/help.h"
#include "tape/ops.h"

#include <string.h>

enum { OUTPUT_X, OUTPUT_W, OUTPUT_BIAS, OUTPUT_INPUTS };

enum { SCORES_AT_ONCE = 1 << 22 };

typedef struct output {
    bool transposed;
    const int32_t *targets; /* [rows] */
    float smoothing;
    att_row_loss *losses; /* [rows] or NULL */
} output;

/* Gradients of the sum of losses, by input; NULL where none is wanted. */
typedef struct output_kept {
    float *grad[OUTPUT_INPUTS];
} output_kept;

static int64_t classes_of(const att_node *node)
{
    return node->in[OUTPUT_W]->shape[!((const output *)node->how)->transposed];
}

static bool output_shape(att_tape *tape, att_node *node)
{
    const output *how = node->how;
    const att_node *x = node->in[OUTPUT_X], *w = node->in[OUTPUT_W], *bias = node->in[OUTPUT_BIAS];
    const int64_t any[2] = { -1, -1 };
    if (!att_node_fits(tape, node, "w", w, 2, any))
        return false;
    int64_t classes = classes_of(node), want[ATT_NODE_RANK] = { -1, -1, -1, -1 };
    int rank = x->rank > 0 ? x->rank : 1;
    want[rank - 1] = w->shape[how->transposed];
    if (!att_node_fits(tape, node, "x", x, rank, want) ||
        (bias && !att_node_fits(tape, node, "bias", bias, 1, &classes)))
        return false;
    for (int64_t i = 0; i < att_node_rows(x); i++)
        if (how->targets[i] < 0 || how->targets[i] >= classes) {
            att_tape_fail(tape, node->op->name, "target %lld is %ld, but there are %lld classes",
                          (long long)i, (long)how->targets[i], (long long)classes);
            return false;
        }
    att_node_set_shape(node, 0, NULL);
    return true;
}

/* ---------------------------------------------------------------- rows */

/* Some rows under way. */
typedef struct batch {
    const att_node *node;
    int64_t first, rows;
    float *scores; /* [rows, classes] */
    float *grads;  /* the same, of the scores; NULL where none are wanted */
    double *sums;  /* [rows] losses, smoothed */
} batch;

/* Whether no score is larger than the target's, nor as large and before it. */
static bool foreseen(const float *x, size_t n, size_t target)
{
    if (att_kernels_get()->largest(x, n) != x[target])
        return false;
    for (size_t j = 0; j < target; j++)
        if (x[j] == x[target])
            return false;
    return true;
}

/* With the part s spread over n classes the loss is (1 - s) of the plain one, and s of what it
 * would be on average over the classes. */
static double smoothed(float plain, float lse, float total, size_t n, float smoothing)
{
    double s = (double)smoothing;
    return (1 - s) * (double)plain + s * ((double)lse - (double)total / (double)n);
}

static void row_losses(void *context, int64_t begin, int64_t end)
{
    const batch *b = context;
    const output *how = b->node->how;
    const att_kernels *kern = att_kernels_get();
    size_t n = (size_t)classes_of(b->node);
    for (int64_t i = begin; i < end; i++) {
        const float *x = b->scores + (size_t)i * n;
        att_target target = { (size_t)how->targets[b->first + i], 0 };
        float lse, plain = kern->cross_entropy(x, n, target, &lse);
        b->sums[i] = (double)plain;
        if (how->smoothing != 0)
            b->sums[i] = smoothed(plain, lse, kern->sum(x, n), n, how->smoothing);
        if (how->losses)
            how->losses[b->first + i] = (att_row_loss){ plain, foreseen(x, n, target.class) };
        if (!b->grads)
            continue;
        target.smoothing = how->smoothing;
        memset(b->grads + (size_t)i * n, 0, n * sizeof(float));
        kern->cross_entropy_back(b->grads + (size_t)i * n, 1, x, n, target, lse);
    }
}

/* ---------------------------------------------------------------- products */

static bool score_rows(att_tape *tape, const batch *b, const float *panels)
{
    const att_node *x = b->node->in[OUTPUT_X], *bias = b->node->in[OUTPUT_BIAS];
    size_t depth = (size_t)att_node_width(x), classes = (size_t)classes_of(b->node);
    return att_tape_product(tape, &(att_product_call){ .batch = 1,
                                                       .rows = (size_t)b->rows,
                                                       .columns = classes,
                                                       .depth = depth,
                                                       .a = x->value + (size_t)b->first * depth,
                                                       .a_row = depth,
                                                       .a_step = 1,
                                                       .panels = panels,
                                                       .c = b->scores,
                                                       .c_row = classes,
                                                       .bias = bias ? bias->value : NULL });
}

/* dx = ds wᵀ */
static bool back_x(att_tape *tape, const batch *b, float *dx)
{
    const output *how = b->node->how;
    size_t depth = (size_t)att_node_width(b->node->in[OUTPUT_X]);
    size_t classes = (size_t)classes_of(b->node);
    const float *panels = att_node_packed(tape, b->node->in[OUTPUT_W], !how->transposed);
    return panels && att_tape_product(tape, &(att_product_call){ .batch = 1,
                                                                 .rows = (size_t)b->rows,
                                                                 .columns = depth,
                                                                 .depth = classes,
                                                                 .a = b->grads,
                                                                 .a_row = classes,
                                                                 .a_step = 1,
                                                                 .panels = panels,
                                                                 .c = dx + (size_t)b->first * depth,
                                                                 .c_row = depth });
}

/* dw += xᵀ ds, or dsᵀ x where w is transposed */
static bool back_w(att_tape *tape, const batch *b, float *dw)
{
    const output *how = b->node->how;
    size_t depth = (size_t)att_node_width(b->node->in[OUTPUT_X]);
    size_t classes = (size_t)classes_of(b->node);
    const float *x = b->node->in[OUTPUT_X]->value + (size_t)b->first * depth;
    size_t rows = how->transposed ? classes : depth, columns = how->transposed ? depth : classes;
    return att_tape_product(tape, &(att_product_call){ .batch = 1,
                                                       .rows = rows,
                                                       .columns = columns,
                                                       .depth = (size_t)b->rows,
                                                       .a = how->transposed ? b->grads : x,
                                                       .a_row = 1,
                                                       .a_step = rows,
                                                       .b = how->transposed ? x : b->grads,
                                                       .b_stride = columns,
                                                       .c = dw,
                                                       .c_row = columns,
                                                       .add = b->first > 0 });
}

static bool back_rows(att_tape *tape, const batch *b, const output_kept *kept)
{
    float *const *grad = kept->grad;
    return (!grad[OUTPUT_X] || back_x(tape, b, grad[OUTPUT_X])) &&
           (!grad[OUTPUT_W] || back_w(tape, b, grad[OUTPUT_W])) &&
           (!grad[OUTPUT_BIAS] ||
            att_add_rows(tape, grad[OUTPUT_BIAS], b->grads, b->rows, classes_of(b->node)));
}

/* ---------------------------------------------------------------- the operation */

/* Room for the gradients that will be wanted; those of no rows, and of biases, start from zero. */
static bool take_grads(att_tape *tape, const att_node *node, output_kept *kept)
{
    for (int i = 0; i < OUTPUT_INPUTS; i++) {
        const att_node *in = node->in[i];
        kept->grad[i] = NULL;
        if (!in || !in->learns)
            continue;
        kept->grad[i] = att_tape_take(tape, in->count, sizeof(float));
        if (!kept->grad[i])
            return false;
        if (i == OUTPUT_BIAS || att_node_rows(node->in[OUTPUT_X]) == 0)
            memset(kept->grad[i], 0, (size_t)in->count * sizeof(float));
    }
    return true;
}

static bool run_rows(att_tape *tape, att_node *node, batch *b, double *total)
{
    const output *how = node->how;
    int64_t rows = att_node_rows(node->in[OUTPUT_X]), classes = classes_of(node);
    int64_t most = SCORES_AT_ONCE / classes > 64 ? SCORES_AT_ONCE / classes / 64 * 64 : 64;
    most = rows < most ? rows : most;
    const float *panels = att_node_packed(tape, node->in[OUTPUT_W], how->transposed);
    b->scores = att_tape_take(tape, most * classes, sizeof(float));
    b->grads = node->learns ? att_tape_take(tape, most * classes, sizeof(float)) : NULL;
    b->sums = att_tape_take(tape, most, sizeof(double));
    if (!panels || !b->sums)
        return false;
    for (; b->first < rows; b->first += b->rows) {
        b->rows = rows - b->first < most ? rows - b->first : most;
        if (!score_rows(tape, b, panels))
            return false;
        att_parallel_for(b->rows, att_rows_grain(8 * classes), row_losses, b);
        for (int64_t i = 0; i < b->rows; i++)
            *total += b->sums[i];
        if (b->grads && !back_rows(tape, b, node->kept))
            return false;
    }
    return true;
}

static bool output_forward(att_tape *tape, att_node *node)
{
    batch b = { .node = node };
    double total = 0;
    if (node->learns) {
        node->kept = att_tape_take(tape, 1, sizeof(output_kept));
        if (!node->kept || !take_grads(tape, node, node->kept))
            return false;
    }
    att_pool_mark mark = att_tape_mark(tape);
    if (!run_rows(tape, node, &b, &total))
        return false;
    att_tape_release(tape, mark);
    node->value[0] = (float)total;
    return true;
}

typedef struct scaling {
    float *to;
    const float *from;
    float factor;
} scaling;

static void add_scaled(void *context, int64_t begin, int64_t end)
{
    const scaling *s = context;
    att_kernels_get()->add_scaled(s->to + begin, s->factor, s->from + begin, (size_t)(end - begin));
}

static bool output_backward(att_tape *tape, att_node *node)
{
    const output_kept *kept = node->kept;
    for (int i = 0; i < OUTPUT_INPUTS; i++) {
        scaling s = { .from = kept->grad[i], .factor = node->grad[0] };
        if (s.from)
            s.to = att_node_grad(tape, node->in[i]);
        if (s.to)
            att_parallel_for(node->in[i]->count, att_rows_grain(1), add_scaled, &s);
    }
    return true;
}

static void output_truth(double *value, const att_node *node, const double *const *in)
{
    const output *how = node->how;
    int64_t depth = att_node_width(node->in[OUTPUT_X]), classes = classes_of(node);
    double s = (double)how->smoothing;
    value[0] = 0;
    for (int64_t i = 0; i < att_node_rows(node->in[OUTPUT_X]); i++) {
        double total = 0, along = 0;
        for (int64_t j = 0; j < classes; j++) {
            double score = in[OUTPUT_BIAS] ? in[OUTPUT_BIAS][j] : 0;
            for (int64_t k = 0; k < depth; k++)
                score += in[OUTPUT_X][i * depth + k] *
                         in[OUTPUT_W][how->transposed ? j * depth + k : k * classes + j];
            total += att_exp(score);
            along += (s / (double)classes + (j == how->targets[i] ? 1 - s : 0)) * score;
        }
        value[0] += att_log(total) - along;
    }
}

static const int32_t some_targets[] = { 2, 0, 4, 4, 1 };

static const att_op_sample output_samples[] = {
    { "plain",
      3,
      { { 2, { 5, 3 } }, { 2, { 3, 5 } }, { 1, { 5 } } },
      &(const output){ false, some_targets, 0, NULL },
      0,
      0 },
    { "smoothed, transposed, no bias",
      3,
      { { 3, { 1, 5, 7 } }, { 2, { 19, 7 } }, { ATT_NOT_GIVEN, { 0 } } },
      &(const output){ true, some_targets, 0.1f, NULL },
      0,
      0 },
    { "no rows",
      3,
      { { 2, { 0, 3 } }, { 2, { 3, 5 } }, { 1, { 5 } } },
      &(const output){ false, some_targets, 0, NULL },
      0,
      0 },
};

const att_op att_op_output_loss = {
    .name = "output-loss",
    .how_size = sizeof(output),
    .shape = output_shape,
    .forward = output_forward,
    .backward = output_backward,
    .truth = output_truth,
    .rounds = 60,
    .samples = output_samples,
    .sample_count = sizeof output_samples / sizeof *output_samples,
};

att_node *att_output_loss(att_tape *tape, const att_output_inputs *in, const int32_t *targets,
                          float smoothing, att_row_loss *losses)
{
    if (!in->x)
        return NULL;
    att_node *const inputs[OUTPUT_INPUTS] = { in->x, in->w, in->bias };
    const output how = { in->transposed,
                         att_tape_copy(tape, targets, att_node_rows(in->x), sizeof *targets),
                         smoothing, losses };
    return att_op_apply(tape, &att_op_output_loss, inputs, OUTPUT_INPUTS, &how);
}
