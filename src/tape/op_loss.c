/* Losses: single numbers, summed over rows in a fixed order in double precision. */
#include "base/math.h"
#include "base/parallel.h"
#include "tape/help.h"
#include "tape/ops.h"

#include <math.h>
#include <string.h>

static bool number_shape(att_tape *tape, att_node *node)
{
    (void)tape;
    att_node_set_shape(node, 0, NULL);
    return true;
}

/* ---------------------------------------------------------------- cross-entropy */

typedef struct entropy {
    const int32_t *targets; /* [rows] */
    float smoothing;
    float *losses; /* [rows] or NULL */
} entropy;

/* What each row comes to. */
typedef struct entropy_rows {
    float *loss; /* [rows] */
    float *lse;  /* [rows] log(sum(exp(scores))) */
} entropy_rows;

/* The loss of row i without smoothing. Not log-sum-exp less score, which loses the digits of a
 * small loss: by the kernel, and so the very bits of the negative log-softmax. */
static float plain_loss(const entropy_rows *rows, int64_t i, const float *x, size_t width,
                        att_target target)
{
    float lse;
    if (target.smoothing == 0)
        return rows->loss[i];
    return att_kernels_get()->cross_entropy(x, width, (att_target){ target.class, 0 }, &lse);
}

static void entropy_range(void *context, int64_t begin, int64_t end)
{
    const att_node *node = context;
    const entropy *how = node->how;
    const entropy_rows *rows = node->kept;
    size_t width = (size_t)att_node_width(node->in[0]);
    for (int64_t i = begin; i < end; i++) {
        rows->loss[i] = 0;
        if (how->losses)
            how->losses[i] = 0;
        if (how->targets[i] < 0)
            continue;
        const float *x = node->in[0]->value + (size_t)i * width;
        att_target target = { (size_t)how->targets[i], how->smoothing };
        rows->loss[i] = att_kernels_get()->cross_entropy(x, width, target, &rows->lse[i]);
        if (how->losses)
            how->losses[i] = plain_loss(rows, i, x, width, target);
    }
}

static bool entropy_shape(att_tape *tape, att_node *node)
{
    const entropy *how = node->how;
    int64_t rows = att_node_rows(node->in[0]), width = att_node_width(node->in[0]);
    for (int64_t i = 0; i < rows; i++)
        if (how->targets[i] >= width) {
            att_tape_fail(tape, node->op->name, "target %lld is %ld, but there are %lld classes",
                          (long long)i, (long)how->targets[i], (long long)width);
            return false;
        }
    return number_shape(tape, node);
}

static bool entropy_forward(att_tape *tape, att_node *node)
{
    int64_t rows = att_node_rows(node->in[0]);
    entropy_rows *kept = att_tape_take(tape, 1, sizeof *kept);
    if (!kept)
        return false;
    kept->loss = att_tape_take(tape, rows, sizeof(float));
    kept->lse = att_tape_take(tape, rows, sizeof(float));
    if (!kept->loss || !kept->lse)
        return false;
    node->kept = kept;
    int64_t width = att_node_width(node->in[0]);
    att_parallel_for(rows, att_rows_grain(4 * width), entropy_range, node);
    double sum = 0;
    for (int64_t i = 0; i < rows; i++)
        sum += (double)kept->loss[i];
    node->value[0] = (float)sum;
    return true;
}

typedef struct entropy_grad {
    const att_node *node;
    float *dx;
    bool add;
} entropy_grad;

static void entropy_range_back(void *context, int64_t begin, int64_t end)
{
    const entropy_grad *g = context;
    const entropy *how = g->node->how;
    const entropy_rows *rows = g->node->kept;
    size_t width = (size_t)att_node_width(g->node->in[0]);
    for (int64_t i = begin; i < end; i++) {
        size_t at = (size_t)i * width;
        if (!g->add)
            memset(g->dx + at, 0, width * sizeof(float));
        att_target target = { (size_t)how->targets[i], how->smoothing };
        if (how->targets[i] >= 0)
            att_kernels_get()->cross_entropy_back(g->dx + at, g->node->grad[0],
                                                  g->node->in[0]->value + at, width, target,
                                                  rows->lse[i]);
    }
}

static bool entropy_backward(att_tape *tape, att_node *node)
{
    entropy_grad g = { .node = node };
    g.dx = att_node_grad_whole(tape, node->in[0], &g.add);
    int64_t width = att_node_width(node->in[0]);
    if (g.dx)
        att_parallel_for(att_node_rows(node->in[0]), att_rows_grain(4 * width), entropy_range_back,
                         &g);
    return true;
}

/* -sum(t log softmax(x)), t the target with `smoothing` of its mass spread over all classes. */
static void entropy_truth(double *value, const att_node *node, const double *const *in)
{
    const entropy *how = node->how;
    int64_t width = att_node_width(node->in[0]);
    double smoothing = (double)how->smoothing;
    value[0] = 0;
    for (int64_t i = 0; i < att_node_rows(node->in[0]); i++) {
        if (how->targets[i] < 0)
            continue;
        const double *x = in[0] + i * width;
        double total = 0;
        for (int64_t j = 0; j < width; j++)
            total += att_exp(x[j]);
        for (int64_t j = 0; j < width; j++) {
            double t = smoothing / (double)width + (j == how->targets[i] ? 1 - smoothing : 0);
            value[0] -= t * (x[j] - att_log(total));
        }
    }
}

static const int32_t some_targets[] = { 2, -1, 0, 4, 4 };
static const int32_t only_class[] = { 0, 0 };

static const att_op_sample entropy_samples[] = {
    { "one row skipped", 1, { { 2, { 5, 5 } } }, &(const entropy){ some_targets, 0, NULL }, -3, 3 },
    { "smoothed", 1, { { 3, { 1, 5, 17 } } }, &(const entropy){ some_targets, 0.1f, NULL }, -3, 3 },
    { "one class", 1, { { 2, { 2, 1 } } }, &(const entropy){ only_class, 0, NULL }, -3, 3 },
    { "no rows", 1, { { 2, { 0, 5 } } }, &(const entropy){ some_targets, 0, NULL }, 0, 0 },
};

const att_op att_op_cross_entropy = {
    .name = "cross-entropy",
    .how_size = sizeof(entropy),
    .shape = entropy_shape,
    .forward = entropy_forward,
    .backward = entropy_backward,
    .truth = entropy_truth,
    .rounds = 40,
    .samples = entropy_samples,
    .sample_count = sizeof entropy_samples / sizeof *entropy_samples,
};

att_node *att_cross_entropy(att_tape *tape, att_node *scores, const int32_t *targets,
                            float smoothing, float *losses)
{
    if (!scores)
        return NULL;
    const int32_t *copy = att_tape_copy(tape, targets, att_node_rows(scores), sizeof *targets);
    return att_op_apply(tape, &att_op_cross_entropy, &scores, 1,
                        &(entropy){ copy, smoothing, losses });
}

/* ---------------------------------------------------------------- alignments */

typedef struct alignment {
    const int32_t *keys; /* [B,T] */
} alignment;

/* A weight of 0, as sparsemax gives, costs no more than this one, and pulls no harder. */
static const float LEAST_WEIGHT = 1e-6f;

static bool alignment_shape(att_tape *tape, att_node *node)
{
    const alignment *how = node->how;
    const att_node *weights = node->in[0];
    const int64_t any[3] = { -1, -1, -1 };
    if (!att_node_fits(tape, node, "weights", weights, 3, any))
        return false;
    for (int64_t i = 0; i < att_node_rows(weights); i++)
        if (how->keys[i] >= weights->shape[2]) {
            att_tape_fail(tape, node->op->name, "query %lld is aligned to key %ld of %lld",
                          (long long)i, (long)how->keys[i], (long long)weights->shape[2]);
            return false;
        }
    return number_shape(tape, node);
}

static bool alignment_forward(att_tape *tape, att_node *node)
{
    (void)tape;
    const alignment *how = node->how;
    int64_t width = att_node_width(node->in[0]);
    double sum = 0;
    for (int64_t i = 0; i < att_node_rows(node->in[0]); i++)
        if (how->keys[i] >= 0) {
            float logarithm, weight = node->in[0]->value[i * width + how->keys[i]];
            weight = fmaxf(weight, LEAST_WEIGHT);
            att_kernels_get()->log(&logarithm, &weight, 1);
            sum -= (double)logarithm;
        }
    node->value[0] = (float)sum;
    return true;
}

static bool alignment_backward(att_tape *tape, att_node *node)
{
    const alignment *how = node->how;
    int64_t width = att_node_width(node->in[0]);
    float *dw = att_node_grad(tape, node->in[0]);
    for (int64_t i = 0; dw && i < att_node_rows(node->in[0]); i++)
        if (how->keys[i] >= 0) {
            int64_t at = i * width + how->keys[i];
            dw[at] -= node->grad[0] / fmaxf(node->in[0]->value[at], LEAST_WEIGHT);
        }
    return true;
}

static void alignment_truth(double *value, const att_node *node, const double *const *in)
{
    const alignment *how = node->how;
    int64_t width = att_node_width(node->in[0]);
    value[0] = 0;
    for (int64_t i = 0; i < att_node_rows(node->in[0]); i++)
        if (how->keys[i] >= 0)
            value[0] -= att_log(in[0][i * width + how->keys[i]]);
}

static const att_op_sample alignment_samples[] = {
    { "one skipped", 1, { { 3, { 1, 5, 5 } } }, &(const alignment){ some_targets }, 0.05f, 1 },
    { "two sentences", 1, { { 3, { 2, 2, 17 } } }, &(const alignment){ some_targets }, 0.05f, 1 },
    { "no queries", 1, { { 3, { 2, 0, 3 } } }, &(const alignment){ some_targets }, 0.05f, 1 },
};

const att_op att_op_alignment_loss = {
    .name = "alignment-loss",
    .how_size = sizeof(alignment),
    .shape = alignment_shape,
    .forward = alignment_forward,
    .backward = alignment_backward,
    .truth = alignment_truth,
    .rounds = 12,
    .samples = alignment_samples,
    .sample_count = sizeof alignment_samples / sizeof *alignment_samples,
};

att_node *att_alignment_loss(att_tape *tape, att_node *weights, const int32_t *keys)
{
    if (!weights)
        return NULL;
    const int32_t *copy = att_tape_copy(tape, keys, att_node_rows(weights), sizeof *keys);
    return att_op_apply(tape, &att_op_alignment_loss, &weights, 1, &(alignment){ copy });
}
