/* The loss of a linear-chain CRF, -log of the probability of the labels of each sequence, summed
 * over sequences: forward-backward as one operation. */
#include "base/minmax.h"
#include "base/parallel.h"
#include "reference/crf.h"
#include "tape/crf.h"
#include "tape/op_util.h"
#include "tape/ops.h"

#include <math.h>
#include <string.h>

enum { EMISSIONS, TRANSITIONS, START, END, INPUTS };

typedef struct crf_options {
    int64_t sequences;
    const int64_t *offsets; /* [sequences] first row of each in the emissions */
    const int64_t *lengths; /* [sequences] */
    const int32_t *labels;  /* [rows] */
    float *losses;          /* [sequences] or NULL */
} crf_options;

/* What forward leaves for backward. */
typedef struct crf_saved {
    att_crf_lattice lattice;
    double *losses; /* [sequences] */
    bool *counted;  /* [sequences] not empty, and every label is known */
} crf_saved;

static bool crf_shape(att_tape *tape, att_node *node)
{
    const crf_options *options = node->options;
    int64_t rows = att_node_rows(node->in[EMISSIONS]),
            labels = att_node_last_dim(node->in[EMISSIONS]);
    const int64_t square[] = { labels, labels };
    if (labels < 1) {
        att_tape_fail(tape, node->op->name, "expected at least one label");
        return false;
    }
    if (!att_node_check_shape(tape, node, "transitions", node->in[TRANSITIONS], 2, square) ||
        !att_node_check_shape(tape, node, "start", node->in[START], 1, square) ||
        !att_node_check_shape(tape, node, "end", node->in[END], 1, square))
        return false;
    for (int64_t b = 0; b < options->sequences; b++) {
        int64_t first = options->offsets[b], length = options->lengths[b];
        bool within = first >= 0 && length >= 0 && first <= rows - length;
        for (int64_t i = first; within && i < first + length; i++)
            within = options->labels[i] < labels;
        if (!within) {
            att_tape_fail(tape, node->op->name,
                          "expected labels below %lld within %lld rows, found %lld rows from row "
                          "%lld on or another label",
                          (long long)labels, (long long)rows, (long long)length, (long long)first);
            return false;
        }
    }
    att_node_set_shape(node, 0, NULL);
    return true;
}

static bool is_counted(const crf_options *options, int64_t b)
{
    for (int64_t t = 0; t < options->lengths[b]; t++)
        if (options->labels[options->offsets[b] + t] < 0)
            return false;
    return options->lengths[b] > 0;
}

static void forward_range(void *context, int64_t begin, int64_t end)
{
    const att_node *node = context;
    const crf_options *options = node->options;
    crf_saved *saved = node->saved;
    for (int64_t b = begin; b < end; b++) {
        int64_t first = options->offsets[b], length = options->lengths[b];
        saved->losses[b] = 0;
        saved->counted[b] = is_counted(options, b);
        if (!saved->counted[b])
            continue;
        double loss =
            att_crf_lattice_forward(&saved->lattice, first, length) -
            att_crf_path_score(&saved->lattice.scores, first, length, options->labels + first);
        saved->losses[b] = loss < 0 ? 0 : loss; /* rounding may yield less; NaN stays */
    }
}

static int64_t grain_of(const att_node *node)
{
    const crf_options *options = node->options;
    int64_t labels = att_node_last_dim(node->in[EMISSIONS]),
            rows = att_node_rows(node->in[EMISSIONS]);
    int64_t mean = options->sequences > 0 ? 1 + rows / options->sequences : 1;
    return att_row_grain(mean * labels * labels);
}

static bool crf_forward(att_tape *tape, att_node *node)
{
    const crf_options *options = node->options;
    const att_crf_scores scores = { .labels = att_node_last_dim(node->in[EMISSIONS]),
                                    .emissions = node->in[EMISSIONS]->value,
                                    .transitions = node->in[TRANSITIONS]->value,
                                    .start = node->in[START]->value,
                                    .end = node->in[END]->value };
    crf_saved *saved = att_tape_alloc(tape, 1, sizeof *saved);
    if (!saved)
        return false;
    saved->losses = att_tape_alloc(tape, options->sequences, sizeof *saved->losses);
    saved->counted = att_tape_alloc(tape, options->sequences, sizeof *saved->counted);
    if (!saved->losses || !saved->counted ||
        !att_crf_lattice_init(&saved->lattice, tape, &scores, att_node_rows(node->in[EMISSIONS])))
        return false;
    node->saved = saved;
    att_parallel_for(options->sequences, grain_of(node), forward_range, node);
    double sum = 0;
    for (int64_t b = 0; b < options->sequences; b++) {
        sum += saved->losses[b];
        if (options->losses)
            options->losses[b] = (float)saved->losses[b];
    }
    node->value[0] = (float)sum;
    return true;
}

/* ---- backward */

typedef struct crf_grad {
    const att_node *node;
    float *emissions, *transitions; /* NULL: not required */
    double *pairs;                  /* [L,L] working memory */
} crf_grad;

/* d loss / d emission = probability of the label - 1 where it is the true one. */
static void backward_range(void *context, int64_t begin, int64_t end)
{
    const crf_grad *g = context;
    const crf_options *options = g->node->options;
    crf_saved *saved = g->node->saved;
    att_crf_lattice *lattice = &saved->lattice;
    int64_t labels = lattice->scores.labels;
    double grad = (double)g->node->grad[0];
    for (int64_t b = begin; b < end; b++) {
        int64_t first = options->offsets[b];
        if (!saved->counted[b])
            continue;
        att_crf_lattice_backward(lattice, first, options->lengths[b]);
        for (int64_t row = first; g->emissions && row < first + options->lengths[b]; row++)
            for (int64_t j = 0; j < labels; j++) {
                double p = lattice->forward[row * labels + j] * lattice->backward[row * labels + j];
                g->emissions[row * labels + j] += (float)(grad * (p - (options->labels[row] == j)));
            }
    }
}

/* Adds the pairs of labels (i, j) of one step to sums [L], without the factor of the transition. */
static void add_pairs(double *sums, const att_crf_lattice *lattice, int64_t row, int64_t i)
{
    int64_t labels = lattice->scores.labels;
    const double *own = lattice->emissions + row * labels,
                 *after = lattice->backward + row * labels;
    double factor = lattice->forward[(row - 1) * labels + i] / lattice->scale[row];
    for (int64_t j = 0; j < labels; j++)
        sums[j] += factor * (own[j] * after[j]);
}

/* Rows of the transitions: each sums over all sequences in order. */
static void transitions_range(void *context, int64_t begin, int64_t end)
{
    const crf_grad *g = context;
    const crf_options *options = g->node->options;
    const crf_saved *saved = g->node->saved;
    const att_crf_lattice *lattice = &saved->lattice;
    int64_t labels = lattice->scores.labels;
    for (int64_t i = begin; i < end; i++) {
        double *sums = g->pairs + i * labels;
        memset(sums, 0, (size_t)labels * sizeof *sums);
        for (int64_t b = 0; b < options->sequences; b++)
            for (int64_t t = 1; saved->counted[b] && t < options->lengths[b]; t++)
                add_pairs(sums, lattice, options->offsets[b] + t, i);
        for (int64_t j = 0; j < labels; j++)
            sums[j] *= lattice->transitions[i * labels + j];
        for (int64_t b = 0; b < options->sequences; b++)
            for (int64_t t = 1; saved->counted[b] && t < options->lengths[b]; t++) {
                const int32_t *label = options->labels + options->offsets[b] + t;
                if (label[-1] == i)
                    sums[*label] -= 1;
            }
        for (int64_t j = 0; j < labels; j++)
            g->transitions[i * labels + j] += (float)((double)g->node->grad[0] * sums[j]);
    }
}

/* The gradient of the start or end scores, from the first or last row of each sequence. */
static void add_border(float *grad, const att_node *node, bool end)
{
    const crf_options *options = node->options;
    const crf_saved *saved = node->saved;
    int64_t labels = saved->lattice.scores.labels;
    for (int64_t j = 0; grad && j < labels; j++) {
        double sum = 0;
        for (int64_t b = 0; b < options->sequences; b++) {
            int64_t row = options->offsets[b] + (end ? options->lengths[b] - 1 : 0);
            if (saved->counted[b])
                sum += saved->lattice.forward[row * labels + j] *
                           saved->lattice.backward[row * labels + j] -
                       (options->labels[row] == j);
        }
        grad[j] += (float)((double)node->grad[0] * sum);
    }
}

static bool crf_backward(att_tape *tape, att_node *node)
{
    const crf_options *options = node->options;
    int64_t labels = att_node_last_dim(node->in[EMISSIONS]);
    crf_grad g = { .node = node,
                   .emissions = att_node_grad(tape, node->in[EMISSIONS]),
                   .transitions = att_node_grad(tape, node->in[TRANSITIONS]) };
    float *start = att_node_grad(tape, node->in[START]), *end = att_node_grad(tape, node->in[END]);
    att_memory_pool_mark mark = att_tape_mark(tape);
    g.pairs = att_tape_alloc(tape, labels * labels, sizeof *g.pairs);
    if (!g.pairs)
        return false;
    att_parallel_for(options->sequences, grain_of(node), backward_range, &g);
    if (g.transitions)
        att_parallel_for(labels, att_row_grain(labels * (1 + att_node_rows(node->in[EMISSIONS]))),
                         transitions_range, &g);
    add_border(start, node, false);
    add_border(end, node, true);
    att_tape_release_to_mark(tape, mark);
    return true;
}

static void crf_truth(double *value, const att_node *node, const double *const *in)
{
    const crf_options *options = node->options;
    int64_t labels = att_node_last_dim(node->in[EMISSIONS]);
    value[0] = 0;
    for (int64_t b = 0; b < options->sequences; b++) {
        const att_reference_crf crf = {
            options->lengths[b], labels,    in[EMISSIONS] + options->offsets[b] * labels,
            in[TRANSITIONS],     in[START], in[END]
        };
        if (is_counted(options, b))
            value[0] += att_reference_crf_loss(&crf, options->labels + options->offsets[b]);
    }
}

/* Padded rows with an empty sequence, packed sequences of which one has an unknown label. */
static const int64_t row_first[] = { 0, 4, 8 }, row_lengths[] = { 4, 0, 2 };
static const int32_t row_labels[] = { 0, 2, 1, 1, -1, -1, -1, -1, 2, 0, -1, -1 };
static const int64_t packed_first[] = { 0, 3, 4 }, packed_lengths[] = { 3, 1, 2 };
static const int32_t packed_labels[] = { 4, 0, 4, 3, 1, -1 };

static const att_op_sample crf_samples[] = {
    { "rows with padding",
      INPUTS,
      { { 3, { 3, 4, 3 } }, { 2, { 3, 3 } }, { 1, { 3 } }, { 1, { 3 } } },
      &(const crf_options){ 3, row_first, row_lengths, row_labels, NULL },
      -3,
      3 },
    { "packed sequences, one with an unknown label",
      INPUTS,
      { { 3, { 1, 6, 5 } }, { 2, { 5, 5 } }, { 1, { 5 } }, { 1, { 5 } } },
      &(const crf_options){ 3, packed_first, packed_lengths, packed_labels, NULL },
      -3,
      3 },
    { "no rows",
      INPUTS,
      { { 2, { 0, 3 } }, { 2, { 3, 3 } }, { 1, { 3 } }, { 1, { 3 } } },
      &(const crf_options){ 0, row_first, row_lengths, row_labels, NULL },
      0,
      0 },
    { "one label",
      INPUTS,
      { { 2, { 1, 1 } }, { 2, { 1, 1 } }, { 1, { 1 } }, { 1, { 1 } } },
      &(const crf_options){ 1, row_first, packed_lengths + 1, row_labels, NULL },
      -3,
      3 },
};

const att_op att_op_crf = {
    .name = "crf",
    .options_size = sizeof(crf_options),
    .shape = crf_shape,
    .forward = crf_forward,
    .backward = crf_backward,
    .truth = crf_truth,
    .rounding_steps = 8,
    .samples = crf_samples,
    .sample_count = ATT_COUNT(crf_samples),
};

att_node *att_crf_loss(att_tape *tape, const att_crf_inputs *in, int64_t sequences,
                       const int64_t *offsets, const int64_t *lengths, const int32_t *labels,
                       float *losses)
{
    if (!in->emissions)
        return NULL;
    const crf_options options = {
        sequences, att_tape_copy(tape, offsets, sequences, sizeof *offsets),
        att_tape_copy(tape, lengths, sequences, sizeof *lengths),
        att_tape_copy(tape, labels, att_node_rows(in->emissions), sizeof *labels), losses
    };
    att_node *const inputs[] = { in->emissions, in->transitions, in->start, in->end };
    return att_op_apply(tape, &att_op_crf, inputs, INPUTS, &options);
}
