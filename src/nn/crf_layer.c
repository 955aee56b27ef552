/* The CRF layer of taggers; see crf_layer.h. */
#include "nn/crf_layer.h"

#include "base/math.h"
#include "base/parallel.h"
#include "tape/crf.h"
#include "tape/op_util.h"

#include <math.h>
#include <string.h>

void att_crf_layer_build(att_crf_layer *out, att_param_builder *builder, int64_t labels)
{
    out->labels = labels;
    out->transitions = att_build_matrix_packed(builder, labels, labels, 0, "crf", "transitions");
    out->start = att_build_zeros(builder, labels, "crf", "start");
    out->end = att_build_zeros(builder, labels, "crf", "end");
}

static att_crf_inputs inputs_of(const att_crf_layer *layer, att_tape *tape, att_node *emissions)
{
    return (att_crf_inputs){ emissions, att_tape_param(tape, layer->transitions),
                             att_tape_param(tape, layer->start), att_tape_param(tape, layer->end) };
}

att_node *att_crf_layer_loss(const att_crf_layer *layer, att_tape *tape, att_node *emissions,
                             const att_encoded_batch *batch, const int32_t *labels, float *losses)
{
    const att_crf_inputs in = inputs_of(layer, tape, emissions);
    return att_crf_loss(tape, &in, batch->sequences, batch->offsets, batch->lengths, labels,
                        losses);
}

/* ---- decoding */

/* The values of the scores; false where the tape has failed. */
static bool scores_of(att_crf_scores *out, const att_crf_layer *layer, att_tape *tape,
                      att_node *emissions)
{
    const att_crf_inputs in = inputs_of(layer, tape, emissions);
    if (!in.emissions || !in.transitions || !in.start || !in.end)
        return false;
    *out = (att_crf_scores){ layer->labels, emissions->value, in.transitions->value,
                             in.start->value, in.end->value };
    return true;
}

typedef struct path_job {
    const att_crf_scores *scores;
    const att_encoded_batch *batch;
    int32_t *best, *from; /* [rows], [rows,L] */
    double *totals;       /* [sequences,2,L] */
} path_job;

static void find_paths(void *context, int64_t begin, int64_t end)
{
    const path_job *job = context;
    int64_t labels = job->scores->labels;
    for (int64_t b = begin; b < end; b++) {
        int64_t first = job->batch->offsets[b];
        if (job->batch->lengths[b] > 0)
            att_crf_best_path(job->best + first, job->scores, first, job->batch->lengths[b],
                              job->totals + b * 2 * labels, job->from + first * labels);
    }
}

const int32_t *att_crf_layer_best(const att_crf_layer *layer, att_tape *tape, att_node *emissions,
                                  const att_encoded_batch *batch)
{
    att_crf_scores scores;
    if (!scores_of(&scores, layer, tape, emissions))
        return NULL;
    int64_t rows = att_node_rows(emissions), labels = layer->labels;
    path_job job = { .scores = &scores, .batch = batch };
    job.best = att_tape_alloc(tape, rows, sizeof *job.best);
    job.from = att_tape_alloc(tape, rows * labels, sizeof *job.from);
    job.totals = att_tape_alloc(tape, batch->sequences * 2 * labels, sizeof *job.totals);
    if (!job.best || !job.from || !job.totals)
        return NULL;
    memset(job.best, 0, (size_t)rows * sizeof *job.best);
    att_parallel_for(batch->sequences, att_row_grain(labels * labels), find_paths, &job);
    return job.best;
}

typedef struct probability_job {
    att_crf_lattice lattice;
    const att_encoded_batch *batch;
    float *log_probs; /* [rows,L] */
} probability_job;

static void find_probabilities(void *context, int64_t begin, int64_t end)
{
    probability_job *job = context;
    int64_t labels = job->lattice.scores.labels;
    for (int64_t b = begin; b < end; b++) {
        int64_t first = job->batch->offsets[b], length = job->batch->lengths[b];
        if (length == 0)
            continue;
        att_crf_lattice_forward(&job->lattice, first, length);
        att_crf_lattice_backward(&job->lattice, first, length);
        for (int64_t i = first * labels; i < (first + length) * labels; i++) {
            double p = job->lattice.forward[i] * job->lattice.backward[i];
            job->log_probs[i] = p > 0 ? (float)att_log(p < 1 ? p : 1) : -INFINITY;
        }
    }
}

/* The first sentence without a path, or -1. */
static int64_t find_failed(const probability_job *job)
{
    for (int64_t b = 0; b < job->batch->sequences; b++) {
        int64_t first = job->batch->offsets[b], length = job->batch->lengths[b];
        for (int64_t row = first; row < first + length; row++) {
            double sum = 0;
            for (int64_t j = 0; j < job->lattice.scores.labels; j++) {
                int64_t at = row * job->lattice.scores.labels + j;
                sum += job->lattice.forward[at] * job->lattice.backward[at];
            }
            if (!(sum > 0.5 && sum < 2)) /* 1 but for rounding */
                return b;
        }
    }
    return -1;
}

const float *att_crf_layer_log_probs(const att_crf_layer *layer, att_tape *tape,
                                     att_node *emissions, const att_encoded_batch *batch,
                                     int64_t *failed)
{
    att_crf_scores scores;
    *failed = -1;
    if (!scores_of(&scores, layer, tape, emissions))
        return NULL;
    int64_t rows = att_node_rows(emissions), labels = layer->labels;
    probability_job job = { .batch = batch };
    job.log_probs = att_tape_alloc(tape, rows * labels, sizeof *job.log_probs);
    if (!job.log_probs || !att_crf_lattice_init(&job.lattice, tape, &scores, rows))
        return NULL;
    att_parallel_for(batch->sequences, att_row_grain(labels * labels), find_probabilities, &job);
    *failed = find_failed(&job);
    return job.log_probs;
}
