/* Validation: evaluates the model, keeps the best parameters and snapshots, averages the snapshots
 * at the end, and writes the best model. */
#include "train/training.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/progress.h"
#include "eval/corpus_eval.h"
#include "eval/caption_eval.h"
#include "eval/classifier_predict.h"
#include "eval/tagger_predict.h"

#include <math.h>
#include <string.h>

/* BLEU of the outputs; left NaN if the evaluation was stopped before all outputs were generated. */
static att_status find_bleu(att_validation *out, const att_training *training,
                            const att_output_texts *texts, att_error *err)
{
    bool captions = training->data.model_type == ATT_MODEL_CAPTION;
    const char *metric = captions ? "bleu-4" : "bleu";
    const att_eval_options options = { .size = sizeof(att_eval_options),
                                       .metrics = &metric,
                                       .metric_count = 1 };
    const att_corpus *valid = &training->data.valid;
    att_metric_scores *scores;
    int64_t outputs = valid->pairs;
    if (captions)
        ATT_TRY(att_caption_eval_image_count(&outputs, valid, err));
    for (int64_t i = 0; i < outputs; i++)
        if (!texts->lines[i])
            return ATT_OK;
    ATT_TRY(att_corpus_eval_texts(&scores, training->model, valid, texts, &options, err));
    out->bleu = att_metric_scores_get(scores, 0)->value;
    att_metric_scores_free(scores);
    return ATT_OK;
}

/* The labels of a tagger are its outputs. */
static att_status eval_tagger(att_validation *out, att_training *training, att_error *err)
{
    const att_tagger_predict_options options = { .group = &training->exchange.group };
    att_span_counts counts = { 0 };
    att_status status =
        att_tagger_predict(&counts, training->model, &training->data.valid, &options, err);
    if (status == ATT_OK) {
        out->f1 = att_span_counts_f1(&counts);
        out->accuracy = (double)counts.correct_tokens / (double)counts.tokens;
        out->token_error_rate = 1 - out->accuracy;
        out->exact_match = (double)counts.correct_sentences / (double)counts.sentences;
    }
    att_span_counts_free(&counts);
    return status;
}

/* Fills in everything except BLEU. */
static att_status eval_tokens(att_training *training, att_validation *out,
                              const att_corpus_eval_options *options, att_error *err)
{
    const att_training_state *state = &training->state;
    bool lm = training->data.model_type == ATT_MODEL_LM;
    att_token_metrics metrics = { 0 };
    ATT_TRY(att_corpus_eval(&metrics, training->model, &training->data.valid, options, err));
    double steps = (double)metrics.steps, trained = (double)state->interval_tokens;
    double scored = steps - (double)metrics.unscored_steps;
    *out = (att_validation){
        .step = state->step,
        .epoch = att_training_state_epoch(state),
        .learning_rate = att_schedule_learning_rate(training->settings, &training->plan,
                                                    &state->plateau, state->step),
        .train_loss = trained > 0 ? state->interval_loss / trained : 0,
        .train_accuracy = trained > 0 ? (double)state->interval_correct / trained : 0,
        .loss = scored > 0 ? metrics.loss / scored : NAN,
        .accuracy = (double)metrics.correct_steps / steps,
        .exact_match = lm ? 0 : att_token_metrics_exact_match(&metrics),
        .token_error_rate = lm ? 0 : att_token_metrics_token_error_rate(&metrics),
        .bleu = NAN,
        .f1 = NAN,
        .bits_per_character =
            lm ? att_bits_per_character(metrics.loss / steps, &training->data.valid) : NAN,
        .truncated_outputs = options->decode ? (double)metrics.truncated : NAN,
    };
    if (training->data.model_type == ATT_MODEL_CLASSIFIER) { /* the prediction is the output */
        out->exact_match = out->accuracy;
        out->token_error_rate = 1 - out->accuracy;
    }
    return training->data.model_type == ATT_MODEL_TAGGER ? eval_tagger(out, training, err) : ATT_OK;
}

/* Evaluates the current parameters, with teacher forcing and with generated outputs. */
static att_status eval_params(att_training *training, att_validation *out,
                              bool (*should_continue)(void *), void *context, att_error *err)
{
    att_model_type type = training->data.model_type;
    att_corpus_eval_options options = { .decode =
                                            type == ATT_MODEL_SEQ2SEQ || type == ATT_MODEL_CAPTION,
                                        .group = &training->exchange.group,
                                        .on_batch = should_continue,
                                        .context = context };
    ATT_TRY(att_params_pack(&training->model->params, err));
    if (training->settings->best_metric != ATT_BEST_METRIC_BLEU)
        return eval_tokens(training, out, &options, err);
    att_output_texts texts = { 0 };
    texts.lines = att_alloc_zero((size_t)training->data.valid.pairs, sizeof *texts.lines);
    if (!texts.lines)
        return att_fail_memory(err);
    options.output_texts = &texts;
    att_status status = eval_tokens(training, out, &options, err);
    if (status == ATT_OK)
        status = find_bleu(out, training, &texts, err);
    att_free(texts.lines);
    att_arena_free(&texts.arena);
    return status;
}

static void snapshot_params(float *to, const att_params *params)
{
    memcpy(to, params->value, params->size * sizeof *to);
}

/* Temperature scaling (Guo et al. 2017): the temperature that calibrates the label probabilities of
 * the best parameters on the validation data. */
static att_status fit_temperature(double *out, att_training *training, att_error *err)
{
    att_params *params = &training->model->params;
    att_corpus_predictions predicted = { 0 };
    float *current = params->value;
    params->value = training->best_params;
    att_params_mark_changed(params);
    att_status status = att_params_pack(params, err);
    if (status == ATT_OK)
        status = att_corpus_predict(&predicted, training->model, NULL, 0, &training->data.valid,
                                    NULL, err);
    params->value = current;
    att_params_mark_changed(params);
    if (status == ATT_OK)
        *out = att_label_predictions_fit_temperature(&predicted.predictions);
    att_corpus_predictions_free(&predicted);
    return status;
}

/* The best model as a bundle. Its temperature is not part of the training state: a resumed run fits
 * it again. */
static att_status bundle_best(att_bundle **out, att_training *training, att_error *err)
{
    double temperature = 1;
    if (att_model_type_get(training->model) == ATT_MODEL_CLASSIFIER)
        ATT_TRY(fit_temperature(&temperature, training, err));
    return att_training_model_bundle(out, training, training->best_params, temperature, err);
}

static att_status write_best(att_training *training, att_error *err)
{
    att_bundle *bundle;
    ATT_TRY(bundle_best(&bundle, training, err));
    att_status status = att_safetensors_save(bundle, training->model_path.data, err);
    att_bundle_free(bundle);
    return status;
}

att_status att_training_save_best(att_training *training, att_error *err)
{
    att_group *group = &training->exchange.group;
    att_progress_pause pause = att_progress_suspend();
    att_status status = group->rank == 0 ? write_best(training, err) : ATT_OK;
    att_progress_continue(pause);
    return att_group_agree(group, status, err);
}

att_status att_training_model(att_model **out, att_training *training, att_error *err)
{
    att_bundle *bundle;
    *out = NULL;
    ATT_TRY(
        training->state.best_validation > 0
            ? bundle_best(&bundle, training, err)
            : att_training_model_bundle(&bundle, training, training->model->params.value, 1, err));
    att_status status = att_model_from_bundle(out, bundle, "the model in training", err);
    att_bundle_free(bundle);
    return status;
}

/* Wraps the callback and remembers that it returned false. */
typedef struct stop_request {
    bool (*on_batch)(void *context);
    void *context;
    bool stopped;
} stop_request;

static bool continue_unless_stopped(void *context)
{
    stop_request *request = context;
    if (!request->stopped && request->on_batch)
        request->stopped = !request->on_batch(request->context);
    return !request->stopped;
}

/* Names the step in an error of the model on the validation data: a value that is not finite. An
 * error of a file, which is a token file, has its name and nothing to do with the step. */
static att_status error_at_step(att_status status, const att_training_state *state, att_error *err)
{
    if (status != ATT_BAD_INPUT || !err || err->place[0])
        return status;
    att_error inner = *err;
    return att_fail(err, status, NULL,
                    "step %lld: validation: %.600s; try a lower learning-rate or clip-norm",
                    (long long)state->step, inner.message);
}

/* Of several processes, all have evaluated all, or all stop. */
static att_status agree_on_validation(att_training *training, att_status status, bool *stopped,
                                      att_error *err)
{
    att_group *group = &training->exchange.group;
    if (group->count == 1 || status == ATT_NO_MEMORY) /* alone: perhaps before it could combine */
        return status;
    if (status == ATT_CANCELLED) {
        training->wants |= ATT_WANTS_CANCEL;
        *stopped = true;
        status = ATT_OK;
    }
    ATT_TRY(att_group_agree(group, status, err));
    training->agreed = training->wants | (*stopped ? ATT_WANTS_STOP : 0);
    ATT_TRY(att_group_or(group, &training->agreed, err));
    *stopped = training->agreed & (ATT_WANTS_STOP | ATT_WANTS_CANCEL);
    return ATT_OK;
}

att_status att_training_validate(att_training *training, bool (*should_continue)(void *context),
                                 void *context, bool *done, bool *better, att_error *err)
{
    att_training_state *state = &training->state;
    const att_settings *settings = training->settings;
    const att_params *params = &training->model->params;
    att_validation validation;
    stop_request request = { should_continue, context, false };
    att_status status = error_at_step(
        eval_params(training, &validation, continue_unless_stopped, &request, err), state, err);
    ATT_TRY(agree_on_validation(training, status, &request.stopped, err));
    *done = !request.stopped;
    if (request.stopped)
        return ATT_OK;
    if (settings->average_checkpoints > 0)
        snapshot_params(training->snapshots +
                            (size_t)(state->history_count % settings->average_checkpoints) *
                                params->size,
                        params);
    ATT_TRY(att_training_state_add_validation(state, &validation,
                                              (att_best_metric)settings->best_metric, better, err));
    att_plateau_update(&state->plateau, settings, validation.loss);
    if (!*better)
        return ATT_OK;
    snapshot_params(training->best_params, params);
    return training->keeps_files ? att_training_save_best(training, err) : ATT_OK;
}

/* ---- checkpoint averaging */

static int64_t snapshot_count(const att_training *training)
{
    return att_min_i64(training->state.history_count, training->settings->average_checkpoints);
}

/* The mean of the snapshots, summed in double precision in the order of the slots. */
static void average_snapshots(float *out, const att_training *training)
{
    size_t size = training->model->params.size;
    int64_t count = snapshot_count(training);
    for (size_t i = 0; i < size; i++) {
        double sum = 0;
        for (int64_t k = 0; k < count; k++)
            sum += training->snapshots[(size_t)k * size + i];
        out[i] = (float)(sum / (double)count);
    }
}

/* Evaluates the mean instead of the parameters and records it as the last validation; it replaces
 * the best model only where it is better. */
static att_status finish_average(att_training *training, float *mean, att_error *err)
{
    att_params *params = &training->model->params;
    att_training_state *state = &training->state;
    att_validation validation;
    bool better;
    average_snapshots(mean, training);
    float *current = params->value;
    params->value = mean;
    att_params_mark_changed(params);
    att_status status = eval_params(training, &validation, NULL, NULL, err);
    if (status != ATT_NO_MEMORY)
        status = att_group_agree(&training->exchange.group, status, err);
    params->value = current;
    att_params_mark_changed(params);
    int64_t count = snapshot_count(training);
    if (status == ATT_OK)
        status = att_training_state_add_validation(
            state, &validation, (att_best_metric)training->settings->best_metric, &better, err);
    if (status != ATT_OK)
        return status;
    state->averaged_checkpoints = count;
    if (better)
        memcpy(training->best_params, mean, params->size * sizeof *mean);
    return ATT_OK;
}

att_status att_training_finish(att_training *training, att_error *err)
{
    if (snapshot_count(training) > 0 && training->state.averaged_checkpoints == 0) {
        float *mean = att_alloc(training->model->params.size, sizeof *mean);
        if (!mean)
            return att_fail_memory(err);
        att_status status = finish_average(training, mean, err);
        att_free(mean);
        if (status != ATT_OK)
            return status;
    }
    return training->keeps_files ? att_training_save_best(training, err) : ATT_OK;
}
