/* The extended vocabularies of sources, and the mixture of generating and copying; see copying.h.
 */
#include "model/copying.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/parallel.h"
#include "data/extended_vocab.h"
#include "kern/kern.h"
#include "model/log_softmax.h"
#include "tape/copy_mixture.h"
#include "tape/op.h"

#include <math.h>
#include <string.h>

/* ---- the tokens of the sources */

/* Ids by the vocabularies alone: unknown tokens stay unknown. */
static att_status ids_without_text(int32_t *out, const att_model *model, const att_sources *sources,
                                   att_error *err)
{
    att_extended_vocab vocab = { .source = model->source_vocab, .target = model->target_vocab };
    att_ids ids = { 0 };
    att_status status = ATT_OK;
    for (int64_t r = 0; r < sources->rows && status == ATT_OK; r++) {
        size_t length = (size_t)sources->lengths[r];
        ids.count = 0;
        status = att_extended_vocab_source(&vocab, &ids, sources->ids + r * sources->length, length,
                                           NULL, 0, err);
        for (int64_t i = 0; status == ATT_OK && i < sources->length; i++)
            out[r * sources->length + i] = (size_t)i < length ? ids.items[i] : ATT_ID_PAD;
    }
    att_ids_free(&ids);
    att_extended_vocab_free(&vocab);
    return status;
}

static void find_first_tokens(att_copy_index *index)
{
    for (int64_t r = 0; r < index->sources; r++) {
        const int32_t *ids = index->ids + r * index->length;
        int32_t *first = index->first + r * index->length;
        for (int32_t i = 0; i < index->length; i++)
            for (first[i] = 0; ids[first[i]] != ids[i];)
                first[i]++;
    }
}

/* Fills an index whose arrays have room for the sources. */
static att_status fill_index(att_copy_index *index, const att_model *model,
                             const att_sources *sources, att_error *err)
{
    int64_t count = sources->rows * sources->length;
    index->sources = sources->rows;
    index->length = sources->length;
    index->vocab_size = att_vocab_size(model->target_vocab);
    if (sources->copy_ids)
        memcpy(index->ids, sources->copy_ids, (size_t)count * sizeof *index->ids);
    else
        ATT_TRY(ids_without_text(index->ids, model, sources, err));
    index->extended_size = att_extended_size(index->vocab_size, index->ids, count);
    find_first_tokens(index);
    return ATT_OK;
}

void att_copy_index_free(att_copy_index *index)
{
    att_free(index->ids);
    att_free(index->first);
    *index = (att_copy_index){ 0 };
}

att_status att_copy_index_set(att_copy_index *index, const att_model *model,
                              const att_sources *sources, att_error *err)
{
    size_t rows = (size_t)sources->rows, length = (size_t)sources->length;
    att_copy_index_free(index);
    index->ids = att_alloc(rows, length * sizeof *index->ids);
    index->first = att_alloc(rows, length * sizeof *index->first);
    if (!index->ids || !index->first)
        return att_fail_memory(err);
    return fill_index(index, model, sources, err);
}

const att_copy_index *att_copy_index_on_tape(att_tape *tape, const att_model *model,
                                             const att_sources *sources)
{
    int64_t count = sources->rows * sources->length;
    att_copy_index *index = att_tape_alloc(tape, 1, sizeof *index);
    int32_t *ids = att_tape_alloc(tape, count, sizeof *ids);
    int32_t *first = att_tape_alloc(tape, count, sizeof *first);
    if (!index || !ids || !first)
        return NULL;
    *index = (att_copy_index){ .ids = ids, .first = first };
    if (fill_index(index, model, sources, NULL) == ATT_OK)
        return index;
    att_fail_memory(att_tape_error(tape));
    return NULL;
}

const int32_t *att_copy_decoder_input(att_tape *tape, const att_copy_index *index,
                                      const int32_t *tokens, int64_t count)
{
    int32_t *out = att_tape_alloc(tape, count, sizeof *out);
    for (int64_t i = 0; out && i < count; i++)
        out[i] = tokens[i] < index->vocab_size ? tokens[i] : ATT_ID_UNK;
    return out;
}

/* ---- mixtures */

/* Rows of mixtures, from row `begin` of the logits on. */
typedef struct mixture_job {
    const att_copy_inputs *in;
    const att_copy_index *index;
    const int64_t *source_of;
    int64_t begin;
    float *log_probs; /* [rows,extended_size] */
    float *copied;    /* [rows,S] */
    double *sums;     /* [rows,S] scratch: the weight of each token, at the first of equal ones */
    float *finite;    /* [rows] not finite where a logit, the gate or a weight is not */
} mixture_job;

/* The log-probabilities of generating. */
static void generate_row(const mixture_job *job, float *log_probs, int64_t r)
{
    const att_copy_inputs *in = job->in;
    int64_t row = job->begin + r, V = job->index->vocab_size, S = job->index->length;
    float lse = att_kernels_get()->log_softmax(log_probs, in->logits->value + row * V, (size_t)V);
    float total = att_kernels_get()->sum(in->weights->value + row * S, (size_t)S);
    job->finite[r] = isfinite(in->gate->value[row]) && isfinite(total) ? lse : NAN;
    for (int64_t k = V; k < job->index->extended_size; k++)
        log_probs[k] = -INFINITY;
}

/* Mixes in the probability of copying: log_probs are first those of generating, without the gate.
 */
static void mix_row(const mixture_job *job, float *log_probs, int64_t r)
{
    const att_copy_index *index = job->index;
    int64_t S = index->length, row = job->begin + r, source = job->source_of[row];
    const int32_t *ids = index->ids + source * S, *first = index->first + source * S;
    const float *weights = job->in->weights->value + row * S;
    double *sums = job->sums + r * S, gate = (double)job->in->gate->value[row];
    double log_gate = att_log_sigmoid(gate);
    memset(sums, 0, (size_t)S * sizeof *sums);
    for (int64_t j = 0; j < S; j++)
        sums[first[j]] += ids[j] < 0 ? 0 : (double)weights[j];
    for (int64_t j = 0; j < S; j++) {
        if (ids[j] < 0 || first[j] != j)
            continue;
        double weight = att_copy_weight_raise(sums[j]);
        att_copy_mixture mixture = att_copy_mixture_get((double)log_probs[ids[j]], weight, gate);
        sums[j] = mixture.log_prob;
        job->copied[r * S + j] = (float)mixture.copied;
    }
    for (int64_t k = 0; k < index->vocab_size; k++)
        log_probs[k] = (float)((double)log_probs[k] + log_gate);
    for (int64_t j = 0; j < S; j++) {
        if (ids[j] >= 0 && first[j] == j)
            log_probs[ids[j]] = (float)sums[j];
        job->copied[r * S + j] = ids[j] < 0 ? 0 : job->copied[r * S + first[j]];
    }
}

static void mix_range(void *context, int64_t begin, int64_t end)
{
    const mixture_job *job = context;
    for (int64_t r = begin; r < end; r++) {
        float *log_probs = job->log_probs + r * job->index->extended_size;
        generate_row(job, log_probs, r);
        mix_row(job, log_probs, r);
    }
}

/* Allocates the arrays of `rows` rows in the memory of the tape. */
static bool alloc_rows(mixture_job *job, att_tape *tape, int64_t rows)
{
    int64_t S = job->index->length;
    job->log_probs = att_tape_alloc(tape, rows * job->index->extended_size, sizeof(float));
    job->copied = att_tape_alloc(tape, rows * S, sizeof(float));
    job->sums = att_tape_alloc(tape, rows * S, sizeof(double));
    job->finite = att_tape_alloc(tape, rows, sizeof(float));
    return job->log_probs && job->copied && job->sums && job->finite;
}

static void run_rows(mixture_job *job, int64_t rows)
{
    enum { GRAIN = 1 << 14 }; /* log-probabilities per parallel task */
    att_parallel_for(rows, 1 + GRAIN / job->index->extended_size, mix_range, job);
}

void att_copy_output(att_tape *tape, const att_copy_inputs *in, const att_copy_index *index,
                     const int64_t *source_of, att_decoder_output *out)
{
    if (!in->logits || !in->gate || !in->weights)
        return;
    int64_t rows = att_node_rows(in->logits);
    mixture_job job = { .in = in, .index = index, .source_of = source_of };
    if (!alloc_rows(&job, tape, rows))
        return;
    run_rows(&job, rows);
    if (!att_log_softmax_check(tape, in->logits, job.finite))
        return;
    out->log_probs = job.log_probs;
    out->copied = job.copied;
    out->sources = source_of;
}

/* ---- training */

const int32_t *att_copy_argmax(att_tape *tape, const att_copy_inputs *in,
                               const att_copy_index *index, const int64_t *source_of)
{
    enum { MAX_LOG_PROBS = 1 << 18 }; /* at a time */
    if (!in->logits || !in->gate || !in->weights)
        return NULL;
    int64_t rows = att_node_rows(in->logits), width = index->extended_size;
    int64_t block = att_min_i64(rows, 1 + MAX_LOG_PROBS / width);
    mixture_job job = { .in = in, .index = index, .source_of = source_of };
    int32_t *out = att_tape_alloc(tape, rows, sizeof *out);
    att_memory_pool_mark mark = att_tape_mark(tape);
    if (!out || !alloc_rows(&job, tape, block))
        return NULL;
    for (; job.begin < rows; job.begin += block) {
        int64_t count = att_min_i64(rows - job.begin, block);
        run_rows(&job, count);
        for (int64_t r = 0; r < count; r++)
            out[job.begin + r] = att_argmax(job.log_probs + r * width, width);
    }
    att_tape_release_to_mark(tape, mark);
    return out;
}

att_node *att_copy_loss(att_tape *tape, const att_copy_inputs *in, const att_copy_index *index,
                        const int64_t *source_of, const int32_t *targets, float label_smoothing,
                        float *losses, bool *predicted)
{
    const att_copy_sources sources = { index->sources, index->length, index->ids, source_of };
    att_node *loss = att_copy_cross_entropy(tape, in, &sources, targets, label_smoothing, losses);
    const int32_t *best = loss && predicted ? att_copy_argmax(tape, in, index, source_of) : NULL;
    for (int64_t i = 0; best && i < att_node_rows(in->logits); i++)
        predicted[i] = best[i] == targets[i];
    return loss;
}
