/* One step of learning: forward and backward over some batches, the exchange, the norm, the update.
 */
#include "train/training.h"

#include "base/error.h"

#include <math.h>
#include <string.h>

/* Forward and backward of one batch, from where `carried` says if given; gradients are added up in
 * the parameters' block. */
static att_status forward_backward(att_training *training, const att_batch *batch, double own,
                                   att_carried_state *carried, att_loss_result *result,
                                   att_error *err)
{
    const att_settings *settings = training->settings;
    att_tape *tape = training->tape;
    att_loss_options lesson = {
        .label_smoothing = (float)settings->label_smoothing,
        .scheduled_sampling = (float)own,
        .seed = (uint64_t)settings->seed,
        .step = (uint64_t)training->state.batches,
        .carried_state = carried,
    };
    att_tape_begin(tape, true, lesson.seed, lesson.step);
    att_node *loss = att_model_loss(training->model, tape, batch, &lesson, result);
    ATT_TRY(att_tape_status(tape, err));
    return att_tape_backward(tape, loss, 1, err);
}

static void start_epoch(att_training *training)
{
    if (training->arranged_epoch == training->state.epoch)
        return;
    att_batches_start_epoch(training->batches, training->state.epoch);
    training->arranged_epoch = training->state.epoch;
}

/* What was learnt in a step; the sums go through the exchange, so they are doubles. */
enum { SUM_LOSS, SUM_TOKENS, SUM_CORRECT, SUM_COUNT };

/* Learns from up to `accumulate` batches of this epoch. */
static att_status accumulate_gradients(att_training *training, double sums[SUM_COUNT],
                                       att_error *err)
{
    att_training_state *state = &training->state;
    start_epoch(training);
    double own =
        att_schedule_sampling_probability(training->settings, &training->plan, state->step + 1);
    int64_t count = att_batches_count(training->batches);
    att_carried_state *carried =
        training->carried_state.width > 0 ? &training->carried_state : NULL;
    for (int64_t i = 0; i < training->settings->accumulate && state->epoch_batches < count; i++) {
        att_loss_result result = { 0 };
        const att_batch *batch = att_batches_get(training->batches, state->epoch_batches);
        ATT_TRY(forward_backward(training, batch, own, carried, &result, err));
        sums[SUM_LOSS] += result.loss;
        sums[SUM_TOKENS] += (double)result.tokens;
        sums[SUM_CORRECT] += (double)result.correct;
        state->epoch_batches++;
        state->batches++;
    }
    if (state->epoch_batches >= count) {
        state->epoch++;
        state->epoch_batches = 0;
    }
    return ATT_OK;
}

/* The gradient is that of the mean over target tokens, its norm at most `clip`. */
static void update_params(att_training *training, double tokens, double norm)
{
    const att_settings *settings = training->settings;
    att_params *params = &training->model->params;
    int64_t step = training->state.step + 1;
    double clip =
        settings->clip_norm > 0 && norm > settings->clip_norm ? settings->clip_norm / norm : 1;
    att_optimizer_step_options how = {
        .step = step,
        .learning_rate =
            att_schedule_learning_rate(settings, &training->plan, &training->state.plateau, step),
        .gradient_scale = clip / tokens,
    };
    att_optimizer_step(&training->optimizer, settings, params->value, params->grad, &how);
    att_params_mark_changed(params);
    training->state.step = step;
}

static void clear_gradients(att_params *params)
{
    memset(params->grad, 0, params->size * sizeof *params->grad);
}

att_status att_training_step(att_training *training, double *norm, att_error *err)
{
    att_training_state *state = &training->state;
    att_params *params = &training->model->params;
    double sums[SUM_COUNT] = { 0 };
    clear_gradients(params);
    ATT_TRY(accumulate_gradients(training, sums, err));
    if (training->allreduce)
        ATT_TRY(training->allreduce(training->allreduce_context, params->grad, params->size, sums,
                                    SUM_COUNT, err));
    *norm = att_l2_norm(params->grad, params->size, training->norm_sums) / sums[SUM_TOKENS];
    if (!isfinite(*norm) || !isfinite(sums[SUM_LOSS]))
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "step %lld: the %s is no longer a number; a lower rate or clip may help",
                        (long long)state->step + 1, isfinite(sums[SUM_LOSS]) ? "gradient" : "loss");
    update_params(training, sums[SUM_TOKENS], *norm);
    state->tokens += (int64_t)sums[SUM_TOKENS];
    state->interval_loss += sums[SUM_LOSS];
    state->interval_tokens += (int64_t)sums[SUM_TOKENS];
    state->interval_correct += (int64_t)sums[SUM_CORRECT];
    return ATT_OK;
}

att_status att_training_dry_run(att_training *training, att_error *err)
{
    att_batches_start_epoch(training->batches, 0);
    training->arranged_epoch = 0;
    int64_t largest = 0, most = 0;
    for (int64_t i = 0; i < att_batches_count(training->batches); i++) {
        const att_batch *batch = att_batches_get(training->batches, i);
        int64_t cells = batch->rows * (batch->source_length + batch->target_length);
        if (cells > most) {
            most = cells;
            largest = i;
        }
    }
    const att_batch *batch = att_batches_get(training->batches, largest);
    ATT_TRY(
        forward_backward(training, batch, training->settings->scheduled_sampling, NULL, NULL, err));
    clear_gradients(&training->model->params);
    return ATT_OK;
}
