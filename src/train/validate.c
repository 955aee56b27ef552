/* Validation: how good the model is, which parameters are kept, and which become the model. */
#include "train/training.h"

#include "base/alloc.h"
#include "base/error.h"
#include "metrics/evaluate.h"
#include "metrics/gallery.h"
#include "metrics/judge_corpus.h"

#include <math.h>
#include <string.h>

/* The BLEU of the answers, unless the evaluation was ended before it had all of them. */
static att_status find_bleu(att_validation *out, const att_training *training,
                            const att_answer_texts *texts, att_error *err)
{
    bool pictures = training->data.kind == ATT_KIND_PICTURE;
    const char *metric = pictures ? "bleu-4" : "bleu";
    const att_measuring how = { .metrics = &metric, .metric_count = 1 };
    const att_corpus *valid = &training->data.valid;
    att_metric_score score;
    int64_t answers = valid->pairs;
    if (pictures)
        ATT_TRY(att_gallery_size(&answers, valid, err));
    for (int64_t i = 0; i < answers; i++)
        if (!texts->lines[i])
            return ATT_OK;
    ATT_TRY(att_evaluate_texts(&score, training->model, valid, texts, &how, err));
    out->bleu = score.value;
    return ATT_OK;
}

/* Fills in all but BLEU. */
static att_status measure_tokens(att_training *training, att_validation *out,
                                 const att_evaluate_how *how, att_error *err)
{
    const att_run_state *state = &training->state;
    bool text = training->data.kind == ATT_KIND_TEXT;
    att_tally tally = { 0 };
    ATT_TRY(att_evaluate(&tally, training->model, &training->data.valid, how, err));
    double steps = (double)tally.steps, learnt = (double)state->since_tokens;
    *out = (att_validation){
        .step = state->step,
        .epoch = att_run_state_epoch(state),
        .rate =
            att_schedule_rate(training->settings, &training->plan, &state->plateau, state->step),
        .train_loss = learnt > 0 ? state->since_loss / learnt : 0,
        .train_accuracy = learnt > 0 ? (double)state->since_right / learnt : 0,
        .loss = tally.loss / steps,
        .accuracy = (double)tally.right_steps / steps,
        .exact = text ? 0 : att_tally_exact(&tally),
        .errors = text ? 0 : att_tally_token_error_rate(&tally),
        .bleu = NAN,
        .bits = text ? att_text_bits(tally.loss / steps, &training->data.valid) : NAN,
    };
    if (training->data.kind == ATT_KIND_LABEL) { /* what is foreseen is the answer */
        out->exact = out->accuracy;
        out->errors = 1 - out->accuracy;
    }
    return ATT_OK;
}

/* Measures the parameters as they are, with answers of its own. */
static att_status measure(att_training *training, att_validation *out, bool (*go_on)(void *),
                          void *context, att_error *err)
{
    att_kind kind = training->data.kind;
    att_evaluate_how how = { .answers = kind != ATT_KIND_LABEL && kind != ATT_KIND_TEXT,
                             .go_on = go_on,
                             .context = context };
    if (training->settings->best_by != ATT_BEST_BY_BLEU)
        return measure_tokens(training, out, &how, err);
    att_answer_texts texts = { 0 };
    texts.lines = att_alloc_zero((size_t)training->data.valid.pairs, sizeof *texts.lines);
    if (!texts.lines)
        return att_fail_memory(err);
    how.texts = &texts;
    att_status status = measure_tokens(training, out, &how, err);
    if (status == ATT_OK)
        status = find_bleu(out, training, &texts, err);
    att_free(texts.lines);
    att_arena_free(&texts.arena);
    return status;
}

static void keep(float *to, const att_params *params)
{
    memcpy(to, params->value, params->size * sizeof *to);
}

/* The temperature that the probabilities of labels are most true with, for the parameters kept as
 * the best. */
static att_status calibrate(double *out, att_training *training, att_error *err)
{
    att_params *params = &training->model->params;
    att_judged_corpus judged;
    float *own = params->value;
    params->value = training->best;
    att_params_changed(params);
    att_status status =
        att_judge_corpus(&judged, training->model, NULL, 0, &training->data.valid, err);
    params->value = own;
    att_params_changed(params);
    if (status == ATT_OK)
        *out = att_judged_fit(&judged.judged);
    att_judged_corpus_free(&judged);
    return status;
}

/* Writes the best model. Its temperature is none of the run's: it is found again where the run is
 * taken up. */
static att_status save_best(att_training *training, att_error *err)
{
    att_model *model = training->model;
    double temperature = 1;
    if (att_model_kind(model) == ATT_KIND_LABEL)
        ATT_TRY(calibrate(&temperature, training, err));
    model->temperature = temperature;
    att_status status = att_training_save_model(training, training->best, err);
    model->temperature = 1;
    return status;
}

/* Whoever asked to go on is asked through this, so that a no is remembered. */
typedef struct asking {
    bool (*go_on)(void *context);
    void *context;
    bool stopped;
} asking;

static bool ask(void *context)
{
    asking *asked = context;
    if (!asked->stopped && asked->go_on)
        asked->stopped = !asked->go_on(asked->context);
    return !asked->stopped;
}

att_status att_training_validate(att_training *training, bool (*go_on)(void *context),
                                 void *context, bool *done, bool *better, att_error *err)
{
    att_run_state *state = &training->state;
    const att_settings *settings = training->settings;
    const att_params *params = &training->model->params;
    att_validation validation;
    asking asked = { go_on, context, false };
    ATT_TRY(measure(training, &validation, ask, &asked, err));
    *done = !asked.stopped;
    if (asked.stopped)
        return ATT_OK;
    if (!isfinite(validation.loss))
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "step %lld: the loss in validation is no longer a number; a lower rate or "
                        "clip may help",
                        (long long)state->step);
    if (settings->average > 0)
        keep(training->snapshots +
                 (size_t)(state->history_count % settings->average) * params->size,
             params);
    ATT_TRY(att_run_state_note(state, &validation, (att_best_by)settings->best_by, better, err));
    att_plateau_note(&state->plateau, settings, validation.loss);
    if (!*better)
        return ATT_OK;
    keep(training->best, params);
    return save_best(training, err);
}

/* ---- the end */

static int64_t snapshot_count(const att_training *training)
{
    int64_t taken = training->state.history_count, most = training->settings->average;
    return taken < most ? taken : most;
}

/* The mean of the snapshots, added up in double precision from the oldest place to the newest. */
static void average(float *out, const att_training *training)
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

/* Measures the average in the place of the parameters and records it as the last validation. */
static att_status finish_average(att_training *training, float *mean, att_error *err)
{
    att_params *params = &training->model->params;
    att_run_state *state = &training->state;
    att_validation validation;
    bool better;
    average(mean, training);
    float *own = params->value;
    params->value = mean;
    att_params_changed(params);
    att_status status = measure(training, &validation, NULL, NULL, err);
    params->value = own;
    att_params_changed(params);
    int64_t count = snapshot_count(training);
    if (status == ATT_OK)
        status = att_run_state_note(state, &validation, ATT_BEST_BY_LOSS, &better, err);
    if (status != ATT_OK)
        return status;
    state->averaged = count;
    state->best = state->history_count;
    memcpy(training->best, mean, params->size * sizeof *mean);
    return ATT_OK;
}

att_status att_training_finish(att_training *training, att_error *err)
{
    if (snapshot_count(training) > 0 && training->state.averaged == 0) {
        float *mean = att_alloc(training->model->params.size, sizeof *mean);
        if (!mean)
            return att_fail_memory(err);
        att_status status = finish_average(training, mean, err);
        att_free(mean);
        if (status != ATT_OK)
            return status;
    }
    return save_best(training, err);
}
