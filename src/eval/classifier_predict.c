/* Runs a classifier over the batches of a corpus and stores the log-probabilities by pair. */
#include "eval/classifier_predict.h"

#include "base/alloc.h"
#include "base/error.h"
#include "decode/classifier.h"
#include "eval/shared_results.h"

#include <math.h>
#include <string.h>

/* Finite logits can still be so far apart that the log-probability of the true label is -inf, and
 * with it the loss. */
static att_status check_labels(const att_corpus_predictions *out, const att_batch *batch,
                               const att_classifier_output *rows, att_error *err)
{
    for (int64_t r = 0; r < batch->rows; r++) {
        int64_t truth = out->truth[batch->pair_index[r]];
        if (truth < 0) /* a label that the model lacks: it has no loss */
            continue;
        float log_prob = rows->log_probs[r * rows->labels + truth];
        if (isfinite(log_prob))
            continue;
        att_fail(err, ATT_BAD_INPUT, NULL,
                 "output layer: the log-probability of a label is not finite (%g); the weights of "
                 "the model are too large or damaged",
                 (double)log_prob);
        if (err)
            err->line = (int)r + 1;
        return ATT_BAD_INPUT;
    }
    return ATT_OK;
}

static att_status predict_batch(att_corpus_predictions *out, att_classifier *classifier,
                                const att_batch *batch, const int64_t *line_numbers, att_error *err)
{
    const att_sources sources = att_batch_sources(batch);
    att_classifier_output rows;
    att_status status = att_classifier_run(classifier, &sources, false, &rows, err);
    if (status == ATT_OK)
        status = check_labels(out, batch, &rows, err);
    if (status == ATT_BAD_INPUT && err && err->line > 0)
        err->line = line_numbers ? (int)line_numbers[batch->pair_index[err->line - 1]] : 0;
    ATT_TRY(status);
    for (int64_t r = 0; r < batch->rows; r++)
        memcpy(out->log_probs + batch->pair_index[r] * rows.labels,
               rows.log_probs + r * rows.labels, (size_t)rows.labels * sizeof *out->log_probs);
    return ATT_OK;
}

/* Predicts the batches of this process. */
static att_status predict_own(att_corpus_predictions *out, att_classifier *classifier,
                              att_batches *batches, const att_corpus *corpus, att_group *group,
                              att_error *err)
{
    int64_t first = group ? group->rank : 0, step = group ? group->count : 1;
    for (int64_t i = first; i < att_batches_count(batches); i += step)
        ATT_TRY(
            predict_batch(out, classifier, att_batches_get(batches, i), corpus->line_numbers, err));
    return ATT_OK;
}

/* The log-probabilities of every process in every process; `status` is that of the own ones. */
static att_status share_predictions(att_corpus_predictions *out, att_batches *batches,
                                    att_group *group, att_status status, att_error *err)
{
    att_shared_results shared;
    size_t labels = (size_t)out->predictions.labels, bytes = labels * sizeof *out->log_probs;
    ATT_TRY(att_shared_results_new(&shared, group, err));
    for (int64_t i = group->rank; status == ATT_OK && i < att_batches_count(batches);
         i += group->count) {
        const att_batch *batch = att_batches_get(batches, i);
        for (int64_t r = 0; r < batch->rows && status == ATT_OK; r++)
            status = att_shared_results_put(
                &shared, out->log_probs + (size_t)batch->pair_index[r] * labels, bytes, err);
    }
    status = att_shared_results_gather(&shared, status, err);
    for (int64_t i = 0; status == ATT_OK && i < att_batches_count(batches); i++) {
        const att_batch *batch = att_batches_get(batches, i);
        int owner = att_shared_owner(group, i);
        for (int64_t r = 0; r < batch->rows && status == ATT_OK; r++)
            if (!att_shared_results_get(
                    &shared, owner, out->log_probs + (size_t)batch->pair_index[r] * labels, bytes))
                status =
                    att_fail(err, ATT_SYSTEM, NULL, "process %d has sent too few results", owner);
    }
    att_shared_results_free(&shared);
    return status;
}

static att_status alloc_predictions(att_corpus_predictions *out, const att_corpus *corpus,
                                    int64_t labels, att_error *err)
{
    size_t pairs = (size_t)corpus->pairs;
    out->log_probs = att_alloc(pairs, (size_t)labels * sizeof *out->log_probs);
    out->truth = att_alloc(pairs, sizeof *out->truth);
    if (!out->log_probs || !out->truth)
        return att_fail_memory(err);
    for (int64_t p = 0; p < corpus->pairs; p++) {
        int64_t length;
        const int32_t *label = att_sequences_get(&corpus->target, p, &length);
        bool unknown = length == 1 && *label == ATT_ID_UNK; /* counted as wrong */
        if (!unknown && (length < 1 || *label < ATT_ID_FIRST || *label - ATT_ID_FIRST >= labels))
            return att_fail(err, ATT_BAD_INPUT, NULL,
                            "sentence %lld has the token id %ld as its label, expected one of %d "
                            "to %lld",
                            (long long)p + 1, length < 1 ? -1L : (long)*label, ATT_ID_FIRST,
                            (long long)labels + ATT_ID_FIRST - 1);
        out->truth[p] = unknown ? -1 : *label - ATT_ID_FIRST;
    }
    out->predictions = (att_label_predictions){ corpus->pairs, labels, out->log_probs, out->truth };
    return ATT_OK;
}

att_status att_corpus_predict(att_corpus_predictions *out, const att_model *model,
                              att_model *const *ensemble, size_t ensemble_count,
                              const att_corpus *corpus, att_group *group, att_error *err)
{
    *out = (att_corpus_predictions){ 0 };
    const att_settings *settings = model->settings;
    att_classifier *classifier = NULL;
    att_batches *batches = NULL;
    att_status status = alloc_predictions(out, corpus, (int64_t)att_model_label_count(model), err);
    if (status == ATT_OK)
        status = att_classifier_new(&classifier, model, ensemble, ensemble_count, err);
    if (status == ATT_OK)
        status = att_data_batches(&batches, corpus, settings, settings->batch_tokens, 0, err);
    if (status == ATT_OK) {
        att_batches_start_sequential(batches);
        status = predict_own(out, classifier, batches, corpus, group, err);
        if (att_group_is_shared(group))
            status = share_predictions(out, batches, group, status, err);
    }
    att_batches_free(batches);
    att_classifier_free(classifier);
    return status;
}

void att_corpus_predictions_free(att_corpus_predictions *predictions)
{
    att_free(predictions->log_probs);
    att_free(predictions->truth);
    *predictions = (att_corpus_predictions){ 0 };
}
