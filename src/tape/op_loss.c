/* Losses: cross-entropy with label smoothing, and guided alignment. Scalars, summed over rows in a
 * fixed order in double precision. */
#include "base/minmax.h"
#include "base/parallel.h"
#include "reference/loss.h"
#include "tape/consistency.h"
#include "tape/op_util.h"
#include "tape/ops.h"

#include <math.h>
#include <string.h>

static bool scalar_shape(att_tape *tape, att_node *node)
{
    (void)tape;
    att_node_set_shape(node, 0, NULL);
    return true;
}

/* ---------------------------------------------------------------- cross-entropy */

typedef struct cross_entropy_options {
    const int32_t *targets; /* [rows] */
    att_loss_terms terms;
    float *losses; /* [rows] or NULL */
} cross_entropy_options;

/* The result of each row. */
typedef struct cross_entropy_rows {
    float *loss;         /* [rows] */
    float *lse;          /* [rows] log-sum-exp of the logits */
    double *consistency; /* [rows / 2] the consistency loss of each pair of rows; or NULL */
} cross_entropy_rows;

/* The loss of row i without label smoothing. By the kernel, which has the bits of the negative
 * log-softmax: log-sum-exp minus logit would lose the digits of a small loss. */
static float unsmoothed_loss(const cross_entropy_rows *rows, int64_t i, const float *x,
                             size_t width, att_cross_entropy_target target)
{
    float lse;
    if (target.label_smoothing == 0)
        return rows->loss[i];
    return att_kernels_get()->cross_entropy(x, width, (att_cross_entropy_target){ target.class, 0 },
                                            &lse);
}

static void cross_entropy_range(void *context, int64_t begin, int64_t end)
{
    const att_node *node = context;
    const cross_entropy_options *options = node->options;
    const cross_entropy_rows *rows = node->saved;
    size_t width = (size_t)att_node_last_dim(node->in[0]);
    for (int64_t i = begin; i < end; i++) {
        rows->loss[i] = 0;
        if (options->losses)
            options->losses[i] = 0;
        if (options->targets[i] < 0)
            continue;
        const float *x = node->in[0]->value + (size_t)i * width;
        att_cross_entropy_target target = { (size_t)options->targets[i],
                                            options->terms.label_smoothing };
        rows->loss[i] = att_kernels_get()->cross_entropy(x, width, target, &rows->lse[i]);
        if (options->losses)
            options->losses[i] = unsmoothed_loss(rows, i, x, width, target);
    }
}

static att_consistency_rows consistency_rows(const att_node *node, int64_t i)
{
    const cross_entropy_rows *rows = node->saved;
    int64_t width = att_node_last_dim(node->in[0]), twin = att_node_rows(node->in[0]) / 2 + i;
    return (att_consistency_rows){ .x = node->in[0]->value + i * width,
                                   .y = node->in[0]->value + twin * width,
                                   .lse_x = rows->lse[i],
                                   .lse_y = rows->lse[twin],
                                   .classes = (size_t)width };
}

static void consistency_range(void *context, int64_t begin, int64_t end)
{
    const att_node *node = context;
    const cross_entropy_options *options = node->options;
    const cross_entropy_rows *rows = node->saved;
    for (int64_t i = begin; i < end; i++) {
        rows->consistency[i] = 0;
        if (options->targets[i] < 0)
            continue;
        const att_consistency_rows pair = consistency_rows(node, i);
        rows->consistency[i] = att_consistency_loss(&pair, 0, NULL, NULL);
    }
}

static bool cross_entropy_shape(att_tape *tape, att_node *node)
{
    const cross_entropy_options *options = node->options;
    int64_t rows = att_node_rows(node->in[0]), width = att_node_last_dim(node->in[0]);
    if (options->terms.consistency != 0 && rows % 2 != 0) {
        att_tape_fail(tape, node->op->name, "expected pairs of rows for consistency, found %lld",
                      (long long)rows);
        return false;
    }
    for (int64_t i = 0; i < rows; i++)
        if (options->targets[i] >= width) {
            att_tape_fail(tape, node->op->name,
                          "expected targets below %lld, found %ld in row %lld", (long long)width,
                          (long)options->targets[i], (long long)i);
            return false;
        }
    return scalar_shape(tape, node);
}

/* Adds the consistency loss of all pairs of rows to *sum, if it is wanted. */
static bool add_consistency(att_tape *tape, const att_node *node, double *sum)
{
    const cross_entropy_options *options = node->options;
    cross_entropy_rows *saved = node->saved;
    int64_t pairs = att_node_rows(node->in[0]) / 2, width = att_node_last_dim(node->in[0]);
    saved->consistency = NULL;
    if (options->terms.consistency == 0)
        return true;
    saved->consistency = att_tape_alloc(tape, pairs, sizeof *saved->consistency);
    if (!saved->consistency)
        return false;
    att_parallel_for(pairs, att_row_grain(8 * width), consistency_range, (void *)node);
    for (int64_t i = 0; i < pairs; i++)
        *sum += (double)options->terms.consistency * saved->consistency[i];
    return true;
}

static bool cross_entropy_forward(att_tape *tape, att_node *node)
{
    int64_t rows = att_node_rows(node->in[0]);
    cross_entropy_rows *saved = att_tape_alloc(tape, 1, sizeof *saved);
    if (!saved)
        return false;
    saved->loss = att_tape_alloc(tape, rows, sizeof(float));
    saved->lse = att_tape_alloc(tape, rows, sizeof(float));
    if (!saved->loss || !saved->lse)
        return false;
    node->saved = saved;
    int64_t width = att_node_last_dim(node->in[0]);
    att_parallel_for(rows, att_row_grain(4 * width), cross_entropy_range, node);
    double sum = 0;
    for (int64_t i = 0; i < rows; i++)
        sum += (double)saved->loss[i];
    if (!add_consistency(tape, node, &sum))
        return false;
    node->value[0] = (float)sum;
    return true;
}

typedef struct cross_entropy_grad {
    const att_node *node;
    float *dx;
    bool add;
} cross_entropy_grad;

static void cross_entropy_range_backward(void *context, int64_t begin, int64_t end)
{
    const cross_entropy_grad *g = context;
    const cross_entropy_options *options = g->node->options;
    const cross_entropy_rows *rows = g->node->saved;
    size_t width = (size_t)att_node_last_dim(g->node->in[0]);
    for (int64_t i = begin; i < end; i++) {
        size_t at = (size_t)i * width;
        if (!g->add)
            memset(g->dx + at, 0, width * sizeof(float));
        att_cross_entropy_target target = { (size_t)options->targets[i],
                                            options->terms.label_smoothing };
        if (options->targets[i] >= 0)
            att_kernels_get()->cross_entropy_backward(g->dx + at, g->node->grad[0],
                                                      g->node->in[0]->value + at, width, target,
                                                      rows->lse[i]);
    }
}

static void consistency_range_backward(void *context, int64_t begin, int64_t end)
{
    const cross_entropy_grad *g = context;
    const cross_entropy_options *options = g->node->options;
    int64_t width = att_node_last_dim(g->node->in[0]), half = att_node_rows(g->node->in[0]) / 2;
    float weight = g->node->grad[0] * options->terms.consistency;
    for (int64_t i = begin; i < end; i++) {
        const att_consistency_rows pair = consistency_rows(g->node, i);
        if (options->targets[i] >= 0)
            att_consistency_loss(&pair, weight, g->dx + i * width, g->dx + (half + i) * width);
    }
}

static bool cross_entropy_backward(att_tape *tape, att_node *node)
{
    const cross_entropy_options *options = node->options;
    cross_entropy_grad g = { .node = node };
    g.dx = att_node_grad_overwrite(tape, node->in[0], &g.add);
    int64_t rows = att_node_rows(node->in[0]), width = att_node_last_dim(node->in[0]);
    if (!g.dx)
        return true;
    att_parallel_for(rows, att_row_grain(4 * width), cross_entropy_range_backward, &g);
    if (options->terms.consistency != 0)
        att_parallel_for(rows / 2, att_row_grain(16 * width), consistency_range_backward, &g);
    return true;
}

static void cross_entropy_truth(double *value, const att_node *node, const double *const *in)
{
    const cross_entropy_options *options = node->options;
    int64_t classes = att_node_last_dim(node->in[0]);
    value[0] = 0;
    for (int64_t i = 0; i < att_node_rows(node->in[0]); i++)
        if (options->targets[i] >= 0)
            value[0] +=
                att_reference_cross_entropy(in[0] + i * classes, classes, options->targets[i],
                                            (double)options->terms.label_smoothing);
    int64_t half = att_node_rows(node->in[0]) / 2;
    for (int64_t i = 0; options->terms.consistency != 0 && i < half; i++)
        if (options->targets[i] >= 0)
            value[0] += (double)options->terms.consistency *
                        att_reference_consistency(in[0] + i * classes, in[0] + (half + i) * classes,
                                                  classes);
}

static const int32_t some_targets[] = { 2, -1, 0, 4, 4 };
static const int32_t paired_targets[] = { 2, -1, 0, 2, -1, 0 };
static const int32_t only_class[] = { 0, 0 };

static const att_op_sample cross_entropy_samples[] = {
    { "one row skipped",
      1,
      { { 2, { 5, 5 } } },
      &(const cross_entropy_options){ some_targets, { 0, 0 }, NULL },
      -3,
      3 },
    { "smoothed",
      1,
      { { 3, { 1, 5, 17 } } },
      &(const cross_entropy_options){ some_targets, { 0.1f, 0 }, NULL },
      -3,
      3 },
    { "consistent pairs, one skipped",
      1,
      { { 2, { 6, 17 } } },
      &(const cross_entropy_options){ paired_targets, { 0.1f, 2 }, NULL },
      -3,
      3 },
    { "consistent, more classes than a block",
      1,
      { { 2, { 2, 301 } } },
      &(const cross_entropy_options){ only_class, { 0, 1 }, NULL },
      -3,
      3 },
    { "one class",
      1,
      { { 2, { 2, 1 } } },
      &(const cross_entropy_options){ only_class, { 0, 0 }, NULL },
      -3,
      3 },
    { "no rows",
      1,
      { { 2, { 0, 5 } } },
      &(const cross_entropy_options){ some_targets, { 0, 0 }, NULL },
      0,
      0 },
};

const att_op att_op_cross_entropy = {
    .name = "cross-entropy",
    .options_size = sizeof(cross_entropy_options),
    .shape = cross_entropy_shape,
    .forward = cross_entropy_forward,
    .backward = cross_entropy_backward,
    .truth = cross_entropy_truth,
    .rounding_steps = 40,
    .samples = cross_entropy_samples,
    .sample_count = ATT_COUNT(cross_entropy_samples),
};

att_node *att_cross_entropy(att_tape *tape, att_node *logits, const int32_t *targets,
                            att_loss_terms terms, float *losses)
{
    if (!logits)
        return NULL;
    const int32_t *copy = att_tape_copy(tape, targets, att_node_rows(logits), sizeof *targets);
    return att_op_apply(tape, &att_op_cross_entropy, &logits, 1,
                        &(cross_entropy_options){ copy, terms, losses });
}

/* ---------------------------------------------------------------- guided alignment */

typedef struct alignment {
    const int32_t *keys; /* [B,T] */
} alignment;

static const float MIN_WEIGHT = (float)ATT_GUIDED_ALIGNMENT_MIN_WEIGHT;

static bool alignment_shape(att_tape *tape, att_node *node)
{
    const alignment *options = node->options;
    const att_node *weights = node->in[0];
    const int64_t any[3] = { -1, -1, -1 };
    if (!att_node_check_shape(tape, node, "weights", weights, 3, any))
        return false;
    for (int64_t i = 0; i < att_node_rows(weights); i++)
        if (options->keys[i] >= weights->shape[2]) {
            att_tape_fail(tape, node->op->name,
                          "expected keys below %lld, found %ld for query %lld",
                          (long long)weights->shape[2], (long)options->keys[i], (long long)i);
            return false;
        }
    return scalar_shape(tape, node);
}

static bool alignment_forward(att_tape *tape, att_node *node)
{
    (void)tape;
    const alignment *options = node->options;
    int64_t width = att_node_last_dim(node->in[0]);
    double sum = 0;
    for (int64_t i = 0; i < att_node_rows(node->in[0]); i++)
        if (options->keys[i] >= 0) {
            float logarithm, weight = node->in[0]->value[i * width + options->keys[i]];
            weight = fmaxf(weight, MIN_WEIGHT);
            att_kernels_get()->log(&logarithm, &weight, 1);
            sum -= (double)logarithm;
        }
    node->value[0] = (float)sum;
    return true;
}

static bool alignment_backward(att_tape *tape, att_node *node)
{
    const alignment *options = node->options;
    int64_t width = att_node_last_dim(node->in[0]);
    float *dw = att_node_grad(tape, node->in[0]);
    for (int64_t i = 0; dw && i < att_node_rows(node->in[0]); i++)
        if (options->keys[i] >= 0) {
            int64_t at = i * width + options->keys[i];
            dw[at] -= node->grad[0] / fmaxf(node->in[0]->value[at], MIN_WEIGHT);
        }
    return true;
}

static void alignment_truth(double *value, const att_node *node, const double *const *in)
{
    const alignment *options = node->options;
    int64_t width = att_node_last_dim(node->in[0]);
    value[0] = 0;
    for (int64_t i = 0; i < att_node_rows(node->in[0]); i++)
        if (options->keys[i] >= 0)
            value[0] += att_reference_guided_alignment(in[0] + i * width, options->keys[i]);
}

static const att_op_sample alignment_samples[] = {
    { "one skipped", 1, { { 3, { 1, 5, 5 } } }, &(const alignment){ some_targets }, 0.05f, 1 },
    { "two sentences", 1, { { 3, { 2, 2, 17 } } }, &(const alignment){ some_targets }, 0.05f, 1 },
    { "no queries", 1, { { 3, { 2, 0, 3 } } }, &(const alignment){ some_targets }, 0.05f, 1 },
};

const att_op att_op_guided_alignment_loss = {
    .name = "guided-alignment-loss",
    .options_size = sizeof(alignment),
    .shape = alignment_shape,
    .forward = alignment_forward,
    .backward = alignment_backward,
    .truth = alignment_truth,
    .rounding_steps = 12,
    .samples = alignment_samples,
    .sample_count = ATT_COUNT(alignment_samples),
};

att_node *att_guided_alignment_loss(att_tape *tape, att_node *weights, const int32_t *keys)
{
    if (!weights)
        return NULL;
    const int32_t *copy = att_tape_copy(tape, keys, att_node_rows(weights), sizeof *keys);
    return att_op_apply(tape, &att_op_guided_alignment_loss, &weights, 1, &(alignment){ copy });
}
