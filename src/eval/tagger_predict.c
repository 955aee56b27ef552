/* Runs a tagger over the batches of a corpus and compares its labels with the true ones. */
#include "eval/tagger_predict.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/progress.h"
#include "decode/tagger.h"
#include "eval/shared_results.h"

#include <string.h>

typedef struct prediction_run {
    const att_model *model;
    const att_corpus *corpus;
    const att_tagger_predict_options *options;
    att_tagger *tagger;
    int32_t *predicted; /* [target tokens] labels from 0, beside corpus->target.ids */
    float *log_probs;   /* [target tokens] of the true labels, where the model has them */
} prediction_run;

static void add_loss(const att_tagger_predict_options *options, int64_t pair, double loss)
{
    if (options->loss) {
        *options->loss += loss;
        ++*options->scored;
    }
    if (options->line_stats) {
        double *stats = options->line_stats + pair * ATT_TAGGER_STATS;
        stats[ATT_TAGGER_LOSS] += loss;
        stats[ATT_TAGGER_SCORED]++;
    }
}

static att_status predict_batch(prediction_run *run, const att_batch *batch, att_error *err)
{
    const att_corpus *corpus = run->corpus;
    const att_sources sources = att_batch_sources(batch);
    att_tagger_output rows;
    att_status status = att_tagger_tag(run->tagger, &sources, &rows, err);
    if (status == ATT_BAD_INPUT && err && err->line > 0)
        err->line = (int)corpus->line_numbers[batch->pair_index[err->line - 1]];
    ATT_TRY(status);
    for (int64_t r = 0; r < batch->rows; r++) {
        int64_t first = corpus->target.offsets[batch->pair_index[r]], row = rows.offsets[r];
        for (int64_t t = 0; t < batch->source_lengths[r]; t++) {
            int32_t label = corpus->target.ids[first + t] - ATT_ID_FIRST;
            run->predicted[first + t] = rows.best[row + t];
            run->log_probs[first + t] =
                label >= 0 ? rows.log_probs[(row + t) * rows.labels + label] : 0;
        }
    }
    return ATT_OK;
}

static void add_losses(const prediction_run *run, int64_t pair)
{
    const att_sequences *target = &run->corpus->target;
    for (int64_t i = target->offsets[pair]; i < target->offsets[pair + 1]; i++)
        if (target->ids[i] >= ATT_ID_FIRST)
            add_loss(run->options, pair, -(double)run->log_probs[i]);
}

/* Predicts the batches of this process. */
static att_status predict_own(prediction_run *run, att_batches *batches, att_error *err)
{
    const att_group *group = run->options->group;
    bool shared = att_group_is_shared(group);
    for (int64_t i = 0; i < att_batches_count(batches); i++) {
        if (shared && att_shared_owner(group, i) != group->rank)
            continue;
        ATT_TRY(predict_batch(run, att_batches_get(batches, i), err));
        ATT_TRY(att_progress_check(err));
    }
    return ATT_OK;
}

static size_t pair_tokens(const prediction_run *run, int64_t pair)
{
    const int64_t *offsets = run->corpus->target.offsets;
    return (size_t)(offsets[pair + 1] - offsets[pair]);
}

static att_status put_pair(att_shared_results *shared, const prediction_run *run, int64_t pair,
                           att_error *err)
{
    int64_t first = run->corpus->target.offsets[pair];
    size_t tokens = pair_tokens(run, pair);
    ATT_TRY(att_shared_results_put(shared, run->predicted + first, tokens * sizeof *run->predicted,
                                   err));
    return att_shared_results_put(shared, run->log_probs + first, tokens * sizeof *run->log_probs,
                                  err);
}

static att_status get_pair(att_shared_results *shared, int owner, prediction_run *run, int64_t pair,
                           att_error *err)
{
    int64_t first = run->corpus->target.offsets[pair];
    size_t tokens = pair_tokens(run, pair);
    if (att_shared_results_get(shared, owner, run->predicted + first,
                               tokens * sizeof *run->predicted) &&
        att_shared_results_get(shared, owner, run->log_probs + first,
                               tokens * sizeof *run->log_probs))
        return ATT_OK;
    return att_fail(err, ATT_SYSTEM, NULL, "process %d has sent too few results", owner);
}

/* The predictions of every process in every process. */
static att_status share_predictions(prediction_run *run, att_batches *batches, att_error *err)
{
    att_shared_results shared;
    att_group *group = run->options->group;
    ATT_TRY(att_shared_results_new(&shared, group, err));
    att_status status = predict_own(run, batches, err);
    for (int64_t i = group->rank; status == ATT_OK && i < att_batches_count(batches);
         i += group->count) {
        const att_batch *batch = att_batches_get(batches, i);
        for (int64_t r = 0; r < batch->rows && status == ATT_OK; r++)
            status = put_pair(&shared, run, batch->pair_index[r], err);
    }
    status = att_shared_results_gather(&shared, status, err);
    for (int64_t i = 0; status == ATT_OK && i < att_batches_count(batches); i++) {
        const att_batch *batch = att_batches_get(batches, i);
        for (int64_t r = 0; r < batch->rows && status == ATT_OK; r++)
            status = get_pair(&shared, att_shared_owner(group, i), run, batch->pair_index[r], err);
    }
    att_shared_results_free(&shared);
    return status;
}

static att_status predict_batches(prediction_run *run, att_error *err)
{
    const att_settings *settings = run->model->settings;
    att_batches *batches;
    ATT_TRY(att_data_batches(&batches, run->corpus, settings, settings->batch_tokens, 0, err));
    att_batches_start_sequential(batches);
    att_status status = att_group_is_shared(run->options->group)
                            ? share_predictions(run, batches, err)
                            : predict_own(run, batches, err);
    for (int64_t i = 0; status == ATT_OK && i < att_batches_count(batches); i++) {
        const att_batch *batch = att_batches_get(batches, i);
        for (int64_t r = 0; r < batch->rows; r++)
            add_losses(run, batch->pair_index[r]);
    }
    att_batches_free(batches);
    return status;
}

/* ---- metrics of the statistics */

static double ratio(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

double att_tagger_f1(const double *sums)
{
    return ratio(2 * sums[ATT_TAGGER_CORRECT],
                 sums[ATT_TAGGER_SUPPORT] + sums[ATT_TAGGER_PREDICTED]);
}

double att_tagger_token_accuracy(const double *sums)
{
    return ratio(sums[ATT_TAGGER_CORRECT_TOKENS], sums[ATT_TAGGER_TOKENS]);
}

double att_tagger_sentence_accuracy(const double *sums)
{
    return ratio(sums[ATT_TAGGER_CORRECT_SENTENCES], sums[ATT_TAGGER_SENTENCES]);
}

double att_tagger_loss(const double *sums)
{
    return ratio(sums[ATT_TAGGER_LOSS], sums[ATT_TAGGER_SCORED]);
}

/* ---- comparing texts */

static void store_stats(double *out, const att_span_counts *before, const att_span_counts *after)
{
    out[ATT_TAGGER_SUPPORT] = (double)(after->all.support - before->all.support);
    out[ATT_TAGGER_PREDICTED] = (double)(after->all.predicted - before->all.predicted);
    out[ATT_TAGGER_CORRECT] = (double)(after->all.correct - before->all.correct);
    out[ATT_TAGGER_TOKENS] = (double)(after->tokens - before->tokens);
    out[ATT_TAGGER_CORRECT_TOKENS] = (double)(after->correct_tokens - before->correct_tokens);
    out[ATT_TAGGER_SENTENCES] = 1;
    out[ATT_TAGGER_CORRECT_SENTENCES] =
        (double)(after->correct_sentences - before->correct_sentences);
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The words of `text`, which is changed, in labels [count]. */
static void split_words(const char **labels, int64_t count, char *text)
{
    for (int64_t i = 0; i < count; i++) {
        while (is_space(*text))
            text++;
        labels[i] = text;
        while (*text && !is_space(*text))
            text++;
        if (*text)
            *text++ = '\0';
    }
}

/* `labels` has room for the true and the predicted labels of the longest sentence. */
static att_status compare_sentence(att_span_counts *counts, const prediction_run *run, int64_t pair,
                                   const char **labels, att_string *text, att_error *err)
{
    const att_corpus *corpus = run->corpus;
    const char *from = att_corpus_target_text(corpus, pair);
    int64_t first = corpus->target.offsets[pair], count = corpus->target.offsets[pair + 1] - first;
    const char **predicted = labels + count;
    const att_span_counts before = *counts;
    text->length = 0;
    if (att_string_append(text, from, strlen(from) + 1) != ATT_OK)
        return att_fail_memory(err);
    split_words(labels, count, text->data);
    for (int64_t t = 0; t < count; t++) {
        int32_t id = corpus->target.ids[first + t];
        predicted[t] = att_model_label(run->model, (size_t)run->predicted[first + t]);
        if (id >= ATT_ID_FIRST) /* the text of the vocabulary: normalized */
            labels[t] = att_model_label(run->model, (size_t)(id - ATT_ID_FIRST));
    }
    if (att_span_counts_add(counts, labels, predicted, (size_t)count) != ATT_OK)
        return att_fail_memory(err);
    if (run->options->line_stats)
        store_stats(run->options->line_stats + pair * ATT_TAGGER_STATS, &before, counts);
    return ATT_OK;
}

static att_status compare_all(att_span_counts *counts, const prediction_run *run, att_error *err)
{
    const att_corpus *corpus = run->corpus;
    const char **labels = att_alloc(2 * (size_t)corpus->stats.target.max_length, sizeof *labels);
    att_string text = { 0 };
    att_status status = labels ? ATT_OK : att_fail_memory(err);
    for (int64_t p = 0; p < corpus->pairs && status == ATT_OK; p++)
        status = compare_sentence(counts, run, p, labels, &text, err);
    att_string_free(&text);
    att_free(labels);
    return status;
}

att_status att_tagger_predict(att_span_counts *counts, const att_model *model,
                              const att_corpus *corpus, const att_tagger_predict_options *options,
                              att_error *err)
{
    prediction_run run = { .model = model, .corpus = corpus, .options = options };
    size_t tokens = (size_t)corpus->target.offsets[corpus->pairs];
    run.predicted = att_alloc(tokens, sizeof *run.predicted);
    run.log_probs = att_alloc(tokens, sizeof *run.log_probs);
    att_status status = run.predicted && run.log_probs ? ATT_OK : att_fail_memory(err);
    if (status == ATT_OK)
        status =
            att_tagger_new(&run.tagger, model, options->ensemble, options->ensemble_count, err);
    if (status == ATT_OK)
        status = predict_batches(&run, err);
    if (status == ATT_OK)
        status = compare_all(counts, &run, err);
    att_tagger_free(run.tagger);
    att_free(run.predicted);
    att_free(run.log_probs);
    return status;
}
