/* Models that decode together; see ensemble.h. */
#include "decode/ensemble.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/parallel.h"
#include "kern/kern.h"

#include <float.h>
#include <string.h>

struct att_ensemble {
    size_t count;
    int64_t vocabulary;
    att_decoder **decoders;      /* [count] */
    att_decoder_output *outputs; /* [count] */
    float *averaged;             /* [rows,V], where there are several */
    size_t capacity;             /* floats in it */
};

/* ---- vocabularies */

static att_status same_tokens(const att_vocab *a, const att_vocab *b, const char *side,
                              size_t which, att_error *err)
{
    if (att_vocab_equal(a, b))
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, NULL,
                    "model %zu has other %s tokens than the first: models that decode together "
                    "must have the same",
                    which, side);
}

att_status att_ensemble_check(const att_model *model, att_model *const *with, size_t count,
                              att_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (att_model_type_get(model) != att_model_type_get(with[i]))
            return att_fail(err, ATT_BAD_INPUT, NULL,
                            "model %zu is of another kind than the first: it was trained for "
                            "another task",
                            i + 2);
        if (model->source_vocab)
            ATT_TRY(same_tokens(model->source_vocab, with[i]->source_vocab, "source", i + 2, err));
        ATT_TRY(same_tokens(model->target_vocab, with[i]->target_vocab, "target", i + 2, err));
    }
    return ATT_OK;
}

/* ---- life */

static att_status open_decoders(att_ensemble *e, const att_model *model, att_model *const *with,
                                size_t count, att_error *err)
{
    e->decoders = att_alloc_zero(count, sizeof(att_decoder *));
    e->outputs = att_alloc_zero(count, sizeof *e->outputs);
    if (!e->decoders || !e->outputs)
        return att_fail_memory(err);
    e->count = count;
    for (size_t i = 0; i < count; i++)
        ATT_TRY(att_decoder_new(&e->decoders[i], i == 0 ? model : with[i - 1], err));
    return ATT_OK;
}

att_status att_ensemble_new(att_ensemble **out, const att_model *model, att_model *const *with,
                            size_t with_count, att_error *err)
{
    *out = NULL;
    ATT_TRY(att_ensemble_check(model, with, with_count, err));
    att_ensemble *e = att_alloc_zero(1, sizeof *e);
    if (!e)
        return att_fail_memory(err);
    e->vocabulary = att_vocab_size(model->target_vocab);
    att_status status = open_decoders(e, model, with, 1 + with_count, err);
    if (status == ATT_OK)
        *out = e;
    else
        att_ensemble_free(e);
    return status;
}

void att_ensemble_free(att_ensemble *ensemble)
{
    if (!ensemble)
        return;
    for (size_t i = 0; i < ensemble->count; i++)
        att_decoder_free(ensemble->decoders[i]);
    att_free(ensemble->decoders);
    att_free(ensemble->outputs);
    att_free(ensemble->averaged);
    att_free(ensemble);
}

int64_t att_ensemble_vocabulary(const att_ensemble *ensemble)
{
    return ensemble->vocabulary;
}

/* ---- decoding */

att_status att_ensemble_start(att_ensemble *ensemble, const att_sources *sources, bool want_weights,
                              att_error *err)
{
    for (size_t i = 0; i < ensemble->count; i++) {
        ensemble->decoders[i]->want_attention = want_weights;
        ATT_TRY(att_decoder_start(ensemble->decoders[i], sources, err));
    }
    return ATT_OK;
}

enum { BLOCK = 256 };

/* out = log(mean of exp(x_k)) over `count` tokens from `at` on, the largest x_k of each token taken
 * off before and put back after: log-probabilities far below what exp() can hold keep their
 * digits, and equal ones their bits. */
static void average_block(const att_ensemble *e, int64_t at, size_t count)
{
    const att_kernels *kern = att_kernels_get();
    float most[BLOCK], part[BLOCK], sum[BLOCK] = { 0 };
    for (size_t i = 0; i < count; i++) {
        most[i] = -FLT_MAX;
        for (size_t k = 0; k < e->count; k++)
            if (e->outputs[k].log_probs[at + (int64_t)i] > most[i])
                most[i] = e->outputs[k].log_probs[at + (int64_t)i];
    }
    for (size_t k = 0; k < e->count; k++) {
        for (size_t i = 0; i < count; i++)
            part[i] = e->outputs[k].log_probs[at + (int64_t)i] - most[i];
        kern->exp(part, part, count);
        for (size_t i = 0; i < count; i++)
            sum[i] += part[i];
    }
    for (size_t i = 0; i < count; i++)
        sum[i] /= (float)e->count;
    kern->log(sum, sum, count);
    for (size_t i = 0; i < count; i++)
        e->averaged[at + (int64_t)i] = sum[i] + most[i];
}

typedef struct average_job {
    const att_ensemble *ensemble;
    int64_t count;
} average_job;

static void average_range(void *context, int64_t begin, int64_t end)
{
    const average_job *job = context;
    for (int64_t block = begin; block < end; block++) {
        int64_t at = block * BLOCK, left = job->count - at;
        average_block(job->ensemble, at, (size_t)(left < BLOCK ? left : BLOCK));
    }
}

static att_status average_log_probs(att_ensemble *e, int64_t rows, att_error *err)
{
    size_t wanted = (size_t)rows * (size_t)e->vocabulary;
    if (wanted > e->capacity) {
        att_free(e->averaged);
        e->averaged = att_alloc(wanted, sizeof *e->averaged);
        e->capacity = e->averaged ? wanted : 0;
        if (!e->averaged)
            return att_fail_memory(err);
    }
    const average_job job = { e, (int64_t)wanted };
    att_parallel_for((job.count + BLOCK - 1) / BLOCK, 64, average_range, (void *)(uintptr_t)&job);
    return ATT_OK;
}

att_status att_ensemble_step(att_ensemble *ensemble, int64_t rows, const int32_t *tokens,
                             const int64_t *order, att_decoder_output *out, att_error *err)
{
    for (size_t i = 0; i < ensemble->count; i++)
        ATT_TRY(att_decoder_step(ensemble->decoders[i], rows, tokens, order, &ensemble->outputs[i],
                                 err));
    size_t looks = 0;
    while (looks + 1 < ensemble->count && !ensemble->outputs[looks].attention)
        looks++;
    *out = ensemble->outputs[looks];
    if (ensemble->count == 1)
        return ATT_OK;
    ATT_TRY(average_log_probs(ensemble, rows, err));
    out->log_probs = ensemble->averaged;
    return ATT_OK;
}
