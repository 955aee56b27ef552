/* The output layer and its loss in one operation: a linear layer to one logit per class, then
 * cross-entropy. Logits are computed for a block of rows at a time and never stored: with large
 * vocabularies they would take most of the memory of a training step. Forward therefore computes
 * the gradients too, while the logits are there; the loss is a sum, so that they are known up to
 * the factor that backward receives. */
#include "base/minmax.h"
#include "base/parallel.h"
#include "reference/linear.h"
#include "reference/loss.h"
#include "tape/consistency.h"
#include "tape/op_util.h"
#include "tape/ops.h"

#include <assert.h>
#include <string.h>

enum { LINEAR_CE_X, LINEAR_CE_W, LINEAR_CE_BIAS, LINEAR_CE_INPUT_COUNT };

enum { MAX_LOGITS = 1 << 22 }; /* in a block of rows: 16 MB */

typedef struct linear_ce {
    bool transposed;
    const int32_t *targets; /* [rows] */
    att_loss_terms terms;
    att_token_loss *losses; /* [rows] or NULL */
} linear_ce;

/* Gradients of the sum of losses, by input; NULL where an input requires none. */
typedef struct linear_ce_saved {
    float *grad[LINEAR_CE_INPUT_COUNT];
} linear_ce_saved;

static int64_t classes_of(const att_node *node)
{
    return node->in[LINEAR_CE_W]->shape[!((const linear_ce *)node->options)->transposed];
}

static bool linear_ce_shape(att_tape *tape, att_node *node)
{
    const linear_ce *options = node->options;
    const att_node *x = node->in[LINEAR_CE_X], *w = node->in[LINEAR_CE_W],
                   *bias = node->in[LINEAR_CE_BIAS];
    const int64_t any[2] = { -1, -1 };
    if (!att_node_check_shape(tape, node, "w", w, 2, any))
        return false;
    int64_t classes = classes_of(node), want[ATT_NODE_MAX_RANK] = { -1, -1, -1, -1 };
    int rank = x->rank > 0 ? x->rank : 1;
    want[rank - 1] = w->shape[options->transposed];
    if (!att_node_check_shape(tape, node, "x", x, rank, want) ||
        (bias && !att_node_check_shape(tape, node, "bias", bias, 1, &classes)))
        return false;
    if (options->terms.consistency != 0 && att_node_rows(x) % 2 != 0) {
        att_tape_fail(tape, node->op->name, "expected pairs of rows for consistency, found %lld",
                      (long long)att_node_rows(x));
        return false;
    }
    for (int64_t i = 0; i < att_node_rows(x); i++)
        if (options->targets[i] < 0 || options->targets[i] >= classes) {
            att_tape_fail(tape, node->op->name,
                          "expected targets from 0 to %lld, found %ld in row %lld",
                          (long long)classes - 1, (long)options->targets[i], (long long)i);
            return false;
        }
    att_node_set_shape(node, 0, NULL);
    return true;
}

/* ---------------------------------------------------------------- rows */

/* A block of rows. */
typedef struct row_block {
    const att_node *node;
    int64_t first, rows;
    float *logits;      /* [rows, classes] */
    float *logit_grads; /* [rows, classes]; NULL where no gradient is required */
    float *lse;         /* [rows] log-sum-exp of the logits */
    double *sums;       /* [rows] losses with label smoothing */
} row_block;

/* The rows that are in memory at once: one block, or for consistency a second one that begins half
 * of all rows later. */
typedef struct row_blocks {
    row_block block[2];
    int count;
    double *consistency; /* [rows] of the pairs */
} row_blocks;

/* Whether the target has the largest logit, and is the first class that has it. */
static bool is_predicted(const float *x, size_t n, size_t target)
{
    if (att_kernels_get()->max(x, n) != x[target])
        return false;
    for (size_t j = 0; j < target; j++)
        if (x[j] == x[target])
            return false;
    return true;
}

/* With smoothing s over n classes: (1 - s) times the plain loss, plus s times the mean over all
 * classes j of lse - logit_j. `total` is the sum of the logits. */
static double smoothed_loss(float plain, float lse, float total, size_t n, float label_smoothing)
{
    double s = (double)label_smoothing;
    return (1 - s) * (double)plain + s * ((double)lse - (double)total / (double)n);
}

static void row_losses(void *context, int64_t begin, int64_t end)
{
    const row_block *b = context;
    const linear_ce *options = b->node->options;
    const att_kernels *kern = att_kernels_get();
    size_t n = (size_t)classes_of(b->node);
    for (int64_t i = begin; i < end; i++) {
        const float *x = b->logits + (size_t)i * n;
        att_cross_entropy_target target = { (size_t)options->targets[b->first + i], 0 };
        float smoothing = options->terms.label_smoothing;
        float plain = kern->cross_entropy(x, n, target, &b->lse[i]);
        b->sums[i] = (double)plain;
        if (smoothing != 0)
            b->sums[i] = smoothed_loss(plain, b->lse[i], kern->sum(x, n), n, smoothing);
        if (options->losses)
            options->losses[b->first + i] =
                (att_token_loss){ plain, is_predicted(x, n, target.class) };
        if (!b->logit_grads)
            continue;
        target.label_smoothing = smoothing;
        memset(b->logit_grads + (size_t)i * n, 0, n * sizeof(float));
        kern->cross_entropy_backward(b->logit_grads + (size_t)i * n, 1, x, n, target, b->lse[i]);
    }
}

static void pair_losses(void *context, int64_t begin, int64_t end)
{
    const row_blocks *b = context;
    const row_block *one = &b->block[0], *other = &b->block[1];
    const linear_ce *options = one->node->options;
    size_t n = (size_t)classes_of(one->node);
    for (int64_t i = begin; i < end; i++) {
        size_t at = (size_t)i * n;
        const att_consistency_rows rows = { .x = one->logits + at,
                                            .y = other->logits + at,
                                            .lse_x = one->lse[i],
                                            .lse_y = other->lse[i],
                                            .classes = n };
        b->consistency[i] = att_consistency_loss(
            &rows, options->terms.consistency, one->logit_grads ? one->logit_grads + at : NULL,
            other->logit_grads ? other->logit_grads + at : NULL);
    }
}

/* ---------------------------------------------------------------- products */

static bool compute_logits(att_tape *tape, const row_block *b, const float *panels)
{
    const att_node *x = b->node->in[LINEAR_CE_X], *bias = b->node->in[LINEAR_CE_BIAS];
    size_t depth = (size_t)att_node_last_dim(x), classes = (size_t)classes_of(b->node);
    if (b->node->in[LINEAR_CE_W]->int8)
        return att_tape_int8_matmul(tape,
                                    &(att_int8_linear){ .b = b->node->in[LINEAR_CE_W]->int8,
                                                        .rows = b->rows,
                                                        .a = x->value + (size_t)b->first * depth,
                                                        .c = b->logits,
                                                        .bias = bias ? bias->value : NULL });
    return att_tape_matmul(tape, &(att_matmul_call){ .batch = 1,
                                                     .rows = (size_t)b->rows,
                                                     .columns = classes,
                                                     .depth = depth,
                                                     .a = x->value + (size_t)b->first * depth,
                                                     .a_row_stride = depth,
                                                     .a_column_stride = 1,
                                                     .panels = panels,
                                                     .c = b->logits,
                                                     .c_row_stride = classes,
                                                     .bias = bias ? bias->value : NULL });
}

/* dx = dlogits wᵀ */
static bool backward_x(att_tape *tape, const row_block *b, float *dx)
{
    const linear_ce *options = b->node->options;
    size_t depth = (size_t)att_node_last_dim(b->node->in[LINEAR_CE_X]);
    size_t classes = (size_t)classes_of(b->node);
    const float *panels =
        att_node_packed_weights(tape, b->node->in[LINEAR_CE_W], !options->transposed);
    return panels && att_tape_matmul(tape, &(att_matmul_call){ .batch = 1,
                                                               .rows = (size_t)b->rows,
                                                               .columns = depth,
                                                               .depth = classes,
                                                               .a = b->logit_grads,
                                                               .a_row_stride = classes,
                                                               .a_column_stride = 1,
                                                               .panels = panels,
                                                               .c = dx + (size_t)b->first * depth,
                                                               .c_row_stride = depth });
}

/* dw += xᵀ dlogits, or dlogitsᵀ x where w is transposed */
static bool backward_w(att_tape *tape, const row_block *b, float *dw)
{
    const linear_ce *options = b->node->options;
    size_t depth = (size_t)att_node_last_dim(b->node->in[LINEAR_CE_X]);
    size_t classes = (size_t)classes_of(b->node);
    const float *x = b->node->in[LINEAR_CE_X]->value + (size_t)b->first * depth;
    size_t rows = options->transposed ? classes : depth,
           columns = options->transposed ? depth : classes;
    return att_tape_matmul(tape, &(att_matmul_call){ .batch = 1,
                                                     .rows = rows,
                                                     .columns = columns,
                                                     .depth = (size_t)b->rows,
                                                     .a = options->transposed ? b->logit_grads : x,
                                                     .a_row_stride = 1,
                                                     .a_column_stride = rows,
                                                     .b = options->transposed ? x : b->logit_grads,
                                                     .b_stride = columns,
                                                     .c = dw,
                                                     .c_row_stride = columns,
                                                     .accumulate = b->first > 0 });
}

static bool backward_rows(att_tape *tape, const row_block *b, const linear_ce_saved *saved)
{
    float *const *grad = saved->grad;
    return (!grad[LINEAR_CE_X] || backward_x(tape, b, grad[LINEAR_CE_X])) &&
           (!grad[LINEAR_CE_W] || backward_w(tape, b, grad[LINEAR_CE_W])) &&
           (!grad[LINEAR_CE_BIAS] ||
            att_sum_rows(tape, grad[LINEAR_CE_BIAS], b->logit_grads, b->rows, classes_of(b->node)));
}

/* ---------------------------------------------------------------- the operation */

/* Memory for the required gradients. Those of biases are sums over blocks and start from zero; so
 * do all where there are no rows. */
static bool alloc_grads(att_tape *tape, const att_node *node, linear_ce_saved *saved)
{
    for (int i = 0; i < LINEAR_CE_INPUT_COUNT; i++) {
        const att_node *in = node->in[i];
        saved->grad[i] = NULL;
        if (!in || !in->requires_grad)
            continue;
        saved->grad[i] = att_tape_alloc(tape, in->count, sizeof(float));
        if (!saved->grad[i])
            return false;
        if (i == LINEAR_CE_BIAS || att_node_rows(node->in[LINEAR_CE_X]) == 0)
            memset(saved->grad[i], 0, (size_t)in->count * sizeof(float));
    }
    return true;
}

static bool alloc_block(att_tape *tape, row_block *b, int64_t rows)
{
    int64_t cells = rows * classes_of(b->node);
    b->logits = att_tape_alloc(tape, cells, sizeof(float));
    b->logit_grads = b->node->requires_grad ? att_tape_alloc(tape, cells, sizeof(float)) : NULL;
    b->lse = att_tape_alloc(tape, rows, sizeof(float));
    b->sums = att_tape_alloc(tape, rows, sizeof(double));
    return b->sums != NULL;
}

/* The rows are in memory: adds their losses to *total, and their gradients to those saved. */
static bool run_blocks(att_tape *tape, row_blocks *b, const float *panels, double *total)
{
    const att_node *node = b->block[0].node;
    const linear_ce *options = node->options;
    int64_t rows = b->block[0].rows, classes = classes_of(node);
    for (int i = 0; i < b->count; i++) {
        if (!compute_logits(tape, &b->block[i], panels))
            return false;
        att_parallel_for(rows, att_row_grain(8 * classes), row_losses, &b->block[i]);
        for (int64_t j = 0; j < rows; j++)
            *total += b->block[i].sums[j];
    }
    if (b->consistency)
        att_parallel_for(rows, att_row_grain(16 * classes), pair_losses, b);
    for (int64_t j = 0; b->consistency && j < rows; j++)
        *total += (double)options->terms.consistency * b->consistency[j];
    for (int i = 0; i < b->count && node->requires_grad; i++)
        if (!backward_rows(tape, &b->block[i], node->saved))
            return false;
    return true;
}

static bool run_rows(att_tape *tape, att_node *node, double *total)
{
    const linear_ce *options = node->options;
    row_blocks b = { .count = options->terms.consistency != 0 ? 2 : 1 };
    int64_t rows = att_node_rows(node->in[LINEAR_CE_X]) / b.count, classes = classes_of(node);
    int64_t max = MAX_LOGITS / classes > 64 ? MAX_LOGITS / classes / 64 * 64 : 64;
    max = att_min_i64(max, rows);
    bool int8 = node->in[LINEAR_CE_W]->int8;
    const float *panels =
        int8 ? NULL : att_node_packed_weights(tape, node->in[LINEAR_CE_W], options->transposed);
    for (int i = 0; i < b.count; i++) {
        b.block[i] = (row_block){ .node = node, .first = i * rows };
        if (!alloc_block(tape, &b.block[i], max))
            return false;
    }
    if (b.count == 2)
        b.consistency = att_tape_alloc(tape, max, sizeof(double));
    if ((!panels && !int8) || (b.count == 2 && !b.consistency))
        return false;
    for (int64_t done = 0; done < rows; done += b.block[0].rows) {
        for (int i = 0; i < b.count; i++) {
            b.block[i].first = i * rows + done;
            b.block[i].rows = att_min_i64(rows - done, max);
        }
        if (!run_blocks(tape, &b, panels, total))
            return false;
    }
    return true;
}

static bool linear_ce_forward(att_tape *tape, att_node *node)
{
    double total = 0;
    if (node->requires_grad) {
        node->saved = att_tape_alloc(tape, 1, sizeof(linear_ce_saved));
        if (!node->saved || !alloc_grads(tape, node, node->saved))
            return false;
    }
    att_memory_pool_mark mark = att_tape_mark(tape);
    if (!run_rows(tape, node, &total))
        return false;
    att_tape_release_to_mark(tape, mark);
    node->value[0] = (float)total;
    return true;
}

typedef struct axpy_job {
    float *to;
    const float *from;
    float factor;
} axpy_job;

static void axpy_range(void *context, int64_t begin, int64_t end)
{
    const axpy_job *s = context;
    att_kernels_get()->axpy(s->to + begin, s->factor, s->from + begin, (size_t)(end - begin));
}

static bool linear_ce_backward(att_tape *tape, att_node *node)
{
    const linear_ce_saved *saved = node->saved;
    for (int i = 0; i < LINEAR_CE_INPUT_COUNT; i++) {
        axpy_job s = { .from = saved->grad[i], .factor = node->grad[0] };
        if (s.from)
            s.to = att_node_grad(tape, node->in[i]);
        if (s.to)
            att_parallel_for(node->in[i]->count, att_row_grain(1), axpy_range, &s);
    }
    return true;
}

static void linear_ce_truth(double *value, const att_node *node, const double *const *in)
{
    enum { MAX_CLASSES = 32, MAX_ROWS = 6 }; /* of a sample */
    const linear_ce *options = node->options;
    double logits[MAX_ROWS * MAX_CLASSES];
    int64_t rows = att_node_rows(node->in[LINEAR_CE_X]), classes = classes_of(node);
    const att_reference_linear_weights weights = { .w = in[LINEAR_CE_W],
                                                   .bias = in[LINEAR_CE_BIAS],
                                                   .depth =
                                                       att_node_last_dim(node->in[LINEAR_CE_X]),
                                                   .columns = classes,
                                                   .transposed = options->transposed };
    assert(classes <= MAX_CLASSES && rows <= MAX_ROWS);
    att_reference_linear(logits, in[LINEAR_CE_X], rows, &weights, ATT_ACTIVATION_NONE);
    value[0] = 0;
    for (int64_t i = 0; i < rows; i++)
        value[0] += att_reference_cross_entropy(logits + i * classes, classes, options->targets[i],
                                                (double)options->terms.label_smoothing);
    for (int64_t i = 0; options->terms.consistency != 0 && i < rows / 2; i++)
        value[0] += (double)options->terms.consistency *
                    att_reference_consistency(logits + i * classes,
                                              logits + (rows / 2 + i) * classes, classes);
}

static const int32_t some_targets[] = { 2, 0, 4, 4, 1 };
static const int32_t paired_targets[] = { 2, 0, 4, 2, 0, 4 };

static const att_op_sample linear_ce_samples[] = {
    { "plain",
      3,
      { { 2, { 5, 3 } }, { 2, { 3, 5 } }, { 1, { 5 } } },
      &(const linear_ce){ false, some_targets, { 0, 0 }, NULL },
      0,
      0 },
    { "smoothed, transposed, no bias",
      3,
      { { 3, { 1, 5, 7 } }, { 2, { 19, 7 } }, { ATT_NOT_GIVEN, { 0 } } },
      &(const linear_ce){ true, some_targets, { 0.1f, 0 }, NULL },
      0,
      0 },
    { "consistent pairs",
      3,
      { { 2, { 6, 3 } }, { 2, { 3, 5 } }, { 1, { 5 } } },
      &(const linear_ce){ false, paired_targets, { 0.1f, 2 }, NULL },
      0,
      0 },
    { "no rows",
      3,
      { { 2, { 0, 3 } }, { 2, { 3, 5 } }, { 1, { 5 } } },
      &(const linear_ce){ false, some_targets, { 0, 0 }, NULL },
      0,
      0 },
};

const att_op att_op_linear_cross_entropy = {
    .name = "linear-cross-entropy",
    .options_size = sizeof(linear_ce),
    .shape = linear_ce_shape,
    .forward = linear_ce_forward,
    .backward = linear_ce_backward,
    .truth = linear_ce_truth,
    .rounding_steps = 60,
    .samples = linear_ce_samples,
    .sample_count = ATT_COUNT(linear_ce_samples),
    .reads_int8 = true,
};

att_node *att_linear_cross_entropy(att_tape *tape, const att_linear_cross_entropy_inputs *in,
                                   const int32_t *targets, att_loss_terms terms,
                                   att_token_loss *losses)
{
    if (!in->x)
        return NULL;
    att_node *const inputs[LINEAR_CE_INPUT_COUNT] = { in->x, in->w, in->bias };
    const linear_ce options = { in->transposed,
                                att_tape_copy(tape, targets, att_node_rows(in->x), sizeof *targets),
                                terms, losses };
    return att_op_apply(tape, &att_op_linear_cross_entropy, inputs, LINEAR_CE_INPUT_COUNT,
                        &options);
}
