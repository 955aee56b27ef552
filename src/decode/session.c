/* Step-wise decoding with one model or an ensemble: the decoders of all models take the same steps,
 * and their probabilities are averaged. */
#include "decode/session.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/math.h"
#include "base/parallel.h"
#include "data/extended_vocab.h"
#include "kern/kern.h"

#include <float.h>
#include <string.h>

/* ---- ensembles */

static att_status check_vocabulary(const att_vocab *first, const att_vocab *other, const char *side,
                                   size_t number, att_error *err)
{
    if (att_vocab_equal(first, other))
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, NULL,
                    "ensemble: the %s vocabulary of model %zu differs from that of model 1", side,
                    number);
}

static att_status check_copying(const att_model *first, const att_model *other, size_t number,
                                att_error *err)
{
    bool copies = att_settings_copies(first->settings);
    if (att_settings_copies(other->settings) == copies)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, NULL,
                    "ensemble: model %zu %s, expected one that %s like model 1", number,
                    copies ? "does not copy" : "copies", copies ? "copies" : "does not copy");
}

att_status att_ensemble_check(const att_model *model, att_model *const *ensemble, size_t count,
                              att_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (att_model_type_get(model) != att_model_type_get(ensemble[i]))
            return att_fail(err, ATT_BAD_INPUT, NULL,
                            "ensemble: model %zu is %s, expected %s like model 1", i + 2,
                            att_model_type_phrase(att_model_type_get(ensemble[i])),
                            att_model_type_phrase(att_model_type_get(model)));
        ATT_TRY(check_copying(model, ensemble[i], i + 2, err));
        if (model->source_vocab)
            ATT_TRY(check_vocabulary(model->source_vocab, ensemble[i]->source_vocab, "source",
                                     i + 2, err));
        ATT_TRY(
            check_vocabulary(model->target_vocab, ensemble[i]->target_vocab, "target", i + 2, err));
    }
    return ATT_OK;
}

bool att_ensemble_reads_words(const att_model *model, att_model *const *ensemble, size_t count)
{
    bool reads = model->settings->char_features != ATT_CHAR_FEATURES_NONE;
    for (size_t i = 0; i < count; i++)
        reads |= ensemble[i]->settings->char_features != ATT_CHAR_FEATURES_NONE;
    return reads;
}

att_status att_ensemble_error(att_status status, size_t index, att_error *err)
{
    if (status != ATT_BAD_INPUT || !err)
        return status;
    att_error inner = *err;
    att_fail(err, status, NULL, "model %zu: %.700s", index + 1, inner.message);
    err->line = inner.line;
    return status;
}

/* An error of layers (model/layer_check.h) in an ensemble names the model. */
static att_status name_model(att_status status, const att_session *session, size_t index,
                             att_error *err)
{
    return session->count > 1 ? att_ensemble_error(status, index, err) : status;
}

/* ---- opening and closing */

static att_status open_decoders(att_session *session, const att_model *model,
                                att_model *const *ensemble, size_t count, att_error *err)
{
    session->decoders = att_alloc_zero(count, sizeof(att_decoder *));
    session->outputs = att_alloc_zero(count, sizeof *session->outputs);
    if (!session->decoders || !session->outputs)
        return att_fail_memory(err);
    session->count = count;
    for (size_t i = 0; i < count; i++) {
        ATT_TRY(att_decoder_new(&session->decoders[i], i == 0 ? model : ensemble[i - 1], err));
        /* The mean is less confident than the models: that of calibrated ones much too little. */
        session->decoders[i]->uncalibrated = count > 1;
    }
    return ATT_OK;
}

att_status att_session_open(att_session **out, const att_model *model, att_model *const *ensemble,
                            size_t ensemble_count, att_error *err)
{
    *out = NULL;
    ATT_TRY(att_ensemble_check(model, ensemble, ensemble_count, err));
    att_session *session = att_alloc_zero(1, sizeof *session);
    if (!session)
        return att_fail_memory(err);
    session->model = model;
    session->vocab_size = att_vocab_size(model->target_vocab);
    att_status status = open_decoders(session, model, ensemble, 1 + ensemble_count, err);
    if (status == ATT_OK)
        *out = session;
    else
        att_session_free(session);
    return status;
}

void att_session_free(att_session *session)
{
    if (!session)
        return;
    for (size_t i = 0; session->decoders && i < session->count; i++)
        att_decoder_free(session->decoders[i]);
    att_free(session->decoders);
    att_free(session->outputs);
    att_free(session->averaged);
    att_free(session->copied);
    att_free(session->source_ids);
    att_free(session->source_lengths);
    att_ids_free(&session->copy_ids);
    att_ids_free(&session->copy_counts);
    att_string_free(&session->copy_words);
    att_tokenizer_state_free(&session->tokenizer);
    att_free(session);
}

/* ---- steps */

att_status att_session_start(att_session *session, const att_sources *sources, bool want_attention,
                             att_error *err)
{
    for (size_t i = 0; i < session->count; i++) {
        session->decoders[i]->want_attention = want_attention;
        ATT_TRY(name_model(att_decoder_start(session->decoders[i], sources, err), session, i, err));
    }
    if (att_settings_copies(session->model->settings))
        session->vocab_size = session->decoders[0]->copy.extended_size;
    return ATT_OK;
}

int64_t att_session_extended_size(const att_session *session, int64_t source)
{
    const att_copy_index *copy = &session->decoders[0]->copy;
    if (!copy->ids)
        return session->vocab_size;
    return att_extended_size(copy->vocab_size, copy->ids + source * copy->length, copy->length);
}

float att_session_copied(const att_session *session, const att_decoder_output *out, int64_t row,
                         int64_t source, int32_t token)
{
    const att_copy_index *copy = &session->decoders[0]->copy;
    for (int64_t j = 0; out->copied && j < copy->length; j++)
        if (copy->ids[source * copy->length + j] == token)
            return out->copied[row * copy->length + j];
    return 0;
}

enum { BLOCK = 256 };

/* averaged = log(mean of exp(x_k)) over the models k, for `count` tokens from `at` on. Subtracting
 * the largest x_k of each token first and adding it afterwards (log-sum-exp) keeps the digits of
 * log-probabilities that exp() would underflow, and the bits of equal ones. */
static void average_block(const att_session *e, int64_t at, size_t count)
{
    const att_kernels *kern = att_kernels_get();
    float largest[BLOCK], part[BLOCK], sum[BLOCK] = { 0 };
    for (size_t i = 0; i < count; i++) {
        largest[i] = -FLT_MAX;
        for (size_t k = 0; k < e->count; k++)
            if (e->outputs[k].log_probs[at + (int64_t)i] > largest[i])
                largest[i] = e->outputs[k].log_probs[at + (int64_t)i];
    }
    for (size_t k = 0; k < e->count; k++) {
        for (size_t i = 0; i < count; i++)
            part[i] = e->outputs[k].log_probs[at + (int64_t)i] - largest[i];
        kern->exp(part, part, count);
        for (size_t i = 0; i < count; i++)
            sum[i] += part[i];
    }
    for (size_t i = 0; i < count; i++)
        sum[i] /= (float)e->count;
    kern->log(sum, sum, count);
    for (size_t i = 0; i < count; i++)
        e->averaged[at + (int64_t)i] = sum[i] + largest[i];
}

typedef struct average_job {
    const att_session *session;
    int64_t count;
} average_job;

static void average_range(void *context, int64_t begin, int64_t end)
{
    const average_job *job = context;
    for (int64_t block = begin; block < end; block++) {
        int64_t at = block * BLOCK;
        average_block(job->session, at, (size_t)att_min_i64(job->count - at, BLOCK));
    }
}

static att_status reserve_floats(float **floats, size_t *capacity, size_t needed, att_error *err)
{
    if (needed <= *capacity)
        return ATT_OK;
    att_free(*floats);
    *floats = att_alloc(needed, sizeof **floats);
    *capacity = *floats ? needed : 0;
    return *floats ? ATT_OK : att_fail_memory(err);
}

static att_status average_log_probs(att_session *e, int64_t rows, att_error *err)
{
    size_t needed = (size_t)rows * (size_t)e->vocab_size;
    ATT_TRY(reserve_floats(&e->averaged, &e->averaged_capacity, needed, err));
    const average_job job = { e, (int64_t)needed };
    att_parallel_for(att_ceil_div_i64(job.count, BLOCK), 64, average_range,
                     (void *)(uintptr_t)&job);
    return ATT_OK;
}

/* The part of copying in the mean of the probabilities of source token `at` of [rows,S]. */
static float average_copied(const att_session *e, int64_t at, int64_t of_token)
{
    double copied = 0, all = 0;
    float largest = e->averaged[of_token];
    for (size_t k = 0; k < e->count; k++) {
        double p = att_exp((double)e->outputs[k].log_probs[of_token] - (double)largest);
        copied += p * (double)e->outputs[k].copied[at];
        all += p;
    }
    return (float)(copied / all);
}

/* After average_log_probs(). `sources` has the source of each row. */
static att_status average_copying(att_session *e, int64_t rows, att_decoder_output *out,
                                  att_error *err)
{
    const att_copy_index *copy = &e->decoders[0]->copy;
    if (!copy->ids)
        return ATT_OK;
    int64_t S = copy->length;
    ATT_TRY(reserve_floats(&e->copied, &e->copied_capacity, (size_t)(rows * S), err));
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < S; j++) {
            int32_t id = copy->ids[e->outputs[0].sources[r] * S + j];
            e->copied[r * S + j] =
                id < 0 ? 0 : average_copied(e, r * S + j, r * e->vocab_size + id);
        }
    out->copied = e->copied;
    return ATT_OK;
}

att_status att_session_advance(att_session *session, int64_t rows, const int32_t *tokens,
                               const int64_t *order, att_decoder_output *out, att_error *err)
{
    for (size_t i = 0; i < session->count; i++) {
        att_status status =
            att_decoder_step(session->decoders[i], rows, tokens, order, &session->outputs[i], err);
        ATT_TRY(name_model(status, session, i, err));
    }
    size_t attending = 0;
    while (attending + 1 < session->count && !session->outputs[attending].attention)
        attending++;
    *out = session->outputs[attending];
    out->hidden = session->outputs[0].hidden;
    out->hidden_size = session->outputs[0].hidden_size;
    if (session->count == 1)
        return ATT_OK;
    ATT_TRY(average_log_probs(session, rows, err));
    out->log_probs = session->averaged;
    return average_copying(session, rows, out, err);
}
