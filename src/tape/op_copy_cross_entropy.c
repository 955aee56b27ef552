/* The cross-entropy of a pointer-generator: -log of the mixture of generating a token and copying
 * it from the source, summed over rows in a fixed order in double precision.
 *
 * With q = g P_vocab(y) / P(y), the part of generating, and A the summed weight of the copies of y:
 *
 *   d loss / d logit_k  = q (P_vocab(k) - [k = y])
 *   d loss / d gate     = g - q
 *   d loss / d weight_j = -(1 - q) / A where token j is a copy of y
 */
#include "base/math.h"
#include "base/minmax.h"
#include "base/parallel.h"
#include "reference/loss.h"
#include "tape/copy_mixture.h"
#include "tape/op_util.h"
#include "tape/ops.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { LOGITS, GATE, WEIGHTS, INPUTS };

typedef struct copy_options {
    att_copy_sources sources;
    const int32_t *targets; /* [rows] */
    float label_smoothing;
    float *losses; /* [rows] or NULL */
} copy_options;

/* What forward leaves for backward, by row. */
typedef struct copy_row {
    double loss;      /* with label smoothing */
    double generated; /* q */
    double per_copy;  /* (1 - q) / A */
    float lse;        /* log-sum-exp of the logits */
} copy_row;

static const int32_t *ids_of(const copy_options *options, int64_t row)
{
    return options->sources.ids + options->sources.source_of[row] * options->sources.length;
}

static bool is_among(const int32_t *ids, int64_t length, int32_t id)
{
    for (int64_t j = 0; j < length; j++)
        if (ids[j] == id)
            return true;
    return false;
}

static bool copy_shape(att_tape *tape, att_node *node)
{
    const copy_options *options = node->options;
    const att_node *logits = node->in[LOGITS];
    int64_t rows = att_node_rows(logits), classes = att_node_last_dim(logits);
    const int64_t length = options->sources.length;
    if (att_node_rows(node->in[GATE]) != rows || att_node_last_dim(node->in[GATE]) != 1 ||
        att_node_rows(node->in[WEIGHTS]) != rows ||
        att_node_last_dim(node->in[WEIGHTS]) != length) {
        att_tape_fail(tape, node->op->name,
                      "expected one gate and %lld weights in each of %lld rows", (long long)length,
                      (long long)rows);
        return false;
    }
    for (int64_t i = 0; i < rows; i++) {
        int32_t target = options->targets[i];
        int64_t source = options->sources.source_of[i];
        if (source < 0 || source >= options->sources.count) {
            att_tape_fail(tape, node->op->name,
                          "expected sources below %lld, found %lld in row %lld",
                          (long long)options->sources.count, (long long)source, (long long)i);
            return false;
        }
        if (target >= classes && !is_among(ids_of(options, i), length, target)) {
            att_tape_fail(tape, node->op->name,
                          "expected a target below %lld or of the source, found %ld in row %lld",
                          (long long)classes, (long)target, (long long)i);
            return false;
        }
    }
    att_node_set_shape(node, 0, NULL);
    return true;
}

static copy_row row_loss(const att_node *node, int64_t i)
{
    const copy_options *options = node->options;
    const att_kernels *kern = att_kernels_get();
    size_t classes = (size_t)att_node_last_dim(node->in[LOGITS]);
    int64_t length = options->sources.length;
    int32_t target = options->targets[i];
    const float *x = node->in[LOGITS]->value + (size_t)i * classes;
    bool known = (size_t)target < classes;
    copy_row row;
    float plain = kern->cross_entropy(
        x, classes, (att_cross_entropy_target){ known ? (size_t)target : 0, 0 }, &row.lse);
    double weight =
        att_copy_weight(node->in[WEIGHTS]->value + i * length, ids_of(options, i), length, target);
    att_copy_mixture mixture = att_copy_mixture_get(known ? -(double)plain : -INFINITY, weight,
                                                    (double)node->in[GATE]->value[i]);
    row.loss = -mixture.log_prob;
    row.generated = 1 - mixture.copied;
    row.per_copy = weight > 0 ? mixture.copied / weight : 0;
    if (options->losses)
        options->losses[i] = (float)row.loss;
    double s = (double)options->label_smoothing;
    if (s != 0)
        row.loss = (1 - s) * row.loss +
                   s * ((double)row.lse - (double)kern->sum(x, classes) / (double)classes);
    return row;
}

static void forward_range(void *context, int64_t begin, int64_t end)
{
    const att_node *node = context;
    const copy_options *options = node->options;
    copy_row *rows = node->saved;
    for (int64_t i = begin; i < end; i++) {
        rows[i] = (copy_row){ 0 };
        if (options->losses)
            options->losses[i] = 0;
        if (options->targets[i] >= 0)
            rows[i] = row_loss(node, i);
    }
}

static int64_t grain_of(const att_node *node)
{
    return att_row_grain(4 * att_node_last_dim(node->in[LOGITS]) +
                         att_node_last_dim(node->in[WEIGHTS]));
}

static bool copy_forward(att_tape *tape, att_node *node)
{
    int64_t count = att_node_rows(node->in[LOGITS]);
    copy_row *rows = att_tape_alloc(tape, count, sizeof *rows);
    if (!rows)
        return false;
    node->saved = rows;
    att_parallel_for(count, grain_of(node), forward_range, node);
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += rows[i].loss;
    node->value[0] = (float)sum;
    return true;
}

typedef struct copy_grad {
    const att_node *node;
    float *logits, *gate, *weights; /* NULL: not required */
} copy_grad;

/* The smoothed gradient (1 - s) q (P_vocab - [k = y]) + s (P_vocab - 1/n) is that of the kernel for
 * a target of smoothing s / w, times w = (1 - s) q + s. */
static void add_logit_grad(const copy_grad *g, const copy_row *row, int64_t i)
{
    const copy_options *options = g->node->options;
    size_t classes = (size_t)att_node_last_dim(g->node->in[LOGITS]), at = (size_t)i * classes;
    double s = (double)options->label_smoothing, w = (1 - s) * row->generated + s;
    size_t target = (size_t)options->targets[i];
    if (!(w > 0))
        return;
    const att_cross_entropy_target smoothed = { target < classes ? target : 0, (float)(s / w) };
    att_kernels_get()->cross_entropy_backward(g->logits + at, g->node->grad[0] * (float)w,
                                              g->node->in[LOGITS]->value + at, classes, smoothed,
                                              row->lse);
}

static void backward_range(void *context, int64_t begin, int64_t end)
{
    const copy_grad *g = context;
    const copy_options *options = g->node->options;
    const copy_row *rows = g->node->saved;
    int64_t length = options->sources.length;
    double scale = (double)g->node->grad[0] * (1 - (double)options->label_smoothing);
    for (int64_t i = begin; i < end; i++) {
        const int32_t *ids = ids_of(options, i);
        if (options->targets[i] < 0)
            continue;
        if (g->logits)
            add_logit_grad(g, &rows[i], i);
        double gate = att_exp(att_log_sigmoid((double)g->node->in[GATE]->value[i]));
        if (g->gate)
            g->gate[i] += (float)(scale * (gate - rows[i].generated));
        for (int64_t j = 0; g->weights && j < length; j++)
            if (ids[j] == options->targets[i])
                g->weights[i * length + j] -= (float)(scale * rows[i].per_copy);
    }
}

static bool copy_backward(att_tape *tape, att_node *node)
{
    copy_grad g = { .node = node,
                    .logits = att_node_grad(tape, node->in[LOGITS]),
                    .gate = att_node_grad(tape, node->in[GATE]),
                    .weights = att_node_grad(tape, node->in[WEIGHTS]) };
    if (att_tape_status(tape, NULL) != ATT_OK)
        return false;
    att_parallel_for(att_node_rows(node->in[LOGITS]), grain_of(node), backward_range, &g);
    return true;
}

static void copy_truth(double *value, const att_node *node, const double *const *in)
{
    const copy_options *options = node->options;
    int64_t classes = att_node_last_dim(node->in[LOGITS]), length = options->sources.length;
    value[0] = 0;
    for (int64_t i = 0; i < att_node_rows(node->in[LOGITS]); i++) {
        const att_reference_copy_row row = { .logits = in[LOGITS] + i * classes,
                                             .classes = classes,
                                             .gate = in[GATE][i],
                                             .weights = in[WEIGHTS] + i * length,
                                             .key_ids = ids_of(options, i),
                                             .keys = length };
        if (options->targets[i] >= 0)
            value[0] += att_reference_copy_cross_entropy(&row, options->targets[i],
                                                         (double)options->label_smoothing);
    }
}

/* Of five rows one is skipped; the targets of the others are generated alone, copied twice, copied
 * alone (7: the vocabulary has 5 tokens), and either. */
static const int32_t some_ids[] = { 3, 7, 3, 0, 2, 5, 7, -1 };
static const int32_t some_targets[] = { 4, -1, 3, 7, 2 };
static const int64_t some_sources[] = { 0, 0, 0, 0, 1 };

static const att_op_sample copy_samples[] = {
    { "two sources",
      INPUTS,
      { { 2, { 5, 5 } }, { 2, { 5, 1 } }, { 2, { 5, 4 } } },
      &(const copy_options){ { 2, 4, some_ids, some_sources }, some_targets, 0, NULL },
      0.05f,
      1 },
    { "smoothed",
      INPUTS,
      { { 3, { 1, 5, 5 } }, { 3, { 1, 5, 1 } }, { 3, { 1, 5, 4 } } },
      &(const copy_options){ { 2, 4, some_ids, some_sources }, some_targets, 0.1f, NULL },
      0.05f,
      1 },
    { "no rows",
      INPUTS,
      { { 2, { 0, 5 } }, { 2, { 0, 1 } }, { 2, { 0, 4 } } },
      &(const copy_options){ { 2, 4, some_ids, some_sources }, some_targets, 0, NULL },
      0,
      0 },
};

const att_op att_op_copy_cross_entropy = {
    .name = "copy-cross-entropy",
    .options_size = sizeof(copy_options),
    .shape = copy_shape,
    .forward = copy_forward,
    .backward = copy_backward,
    .truth = copy_truth,
    .rounding_steps = 40,
    .samples = copy_samples,
    .sample_count = ATT_COUNT(copy_samples),
};

att_node *att_copy_cross_entropy(att_tape *tape, const att_copy_inputs *in,
                                 const att_copy_sources *sources, const int32_t *targets,
                                 float label_smoothing, float *losses)
{
    if (!in->logits || !in->gate || !in->weights)
        return NULL;
    int64_t rows = att_node_rows(in->logits);
    const copy_options options = {
        { sources->count, sources->length,
          att_tape_copy(tape, sources->ids, sources->count * sources->length, sizeof(int32_t)),
          att_tape_copy(tape, sources->source_of, rows, sizeof(int64_t)) },
        att_tape_copy(tape, targets, rows, sizeof *targets),
        label_smoothing,
        losses,
    };
    att_node *const inputs[] = { in->logits, in->gate, in->weights };
    return att_op_apply(tape, &att_op_copy_cross_entropy, inputs, INPUTS, &options);
}
