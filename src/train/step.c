/* One training step: forward and backward over `accumulate` batches with teacher forcing or
 * scheduled sampling, all-reduce, gradient clipping, and the optimizer update. */
#include "train/training.h"

#include "base/error.h"
#include "base/random.h"

#include <math.h>
#include <string.h>

/* Some rows start from the zero state, as generated text does. */
static void reset_states(const att_training *training, att_carried_state *carried)
{
    const att_settings *settings = training->settings;
    uint64_t stream = ATT_STREAM_LM_RESET + (uint64_t)training->state.batches;
    for (int64_t row = 0; row < carried->rows; row++)
        if (att_random_double((uint64_t)settings->seed, stream, (uint64_t)row) <
            settings->state_reset)
            memset(carried->states + row * carried->width, 0,
                   (size_t)carried->width * sizeof *carried->states);
}

/* Forward and backward of one batch; gradients are added to those of the parameters. `carried`,
 * unless NULL, is the RNN state at the start of the batch and is replaced by that at its end
 * (truncated BPTT). */
static att_status forward_backward(att_training *training, const att_batch *batch, double sampling,
                                   att_carried_state *carried, att_loss_result *result,
                                   att_error *err)
{
    const att_settings *settings = training->settings;
    att_tape *tape = training->tape;
    att_loss_options options = {
        .label_smoothing = (float)settings->label_smoothing,
        .scheduled_sampling = (float)sampling,
        .seed = (uint64_t)settings->seed,
        .step = (uint64_t)training->state.batches,
        .carried_state = carried,
    };
    att_tape_begin(tape, true, options.seed, options.step);
    att_node *loss = att_model_loss(training->model, tape, batch, &options, result);
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

/* The sums of a step. They are doubles because the all-reduce adds them too. */
enum { SUM_LOSS, SUM_TOKENS, SUM_CORRECT, SUM_COUNT };

/* Adds the gradients of up to `accumulate` batches of this epoch. */
static att_status accumulate_gradients(att_training *training, double sums[SUM_COUNT],
                                       att_error *err)
{
    att_training_state *state = &training->state;
    start_epoch(training);
    double sampling =
        att_schedule_sampling_probability(training->settings, &training->plan, state->step + 1);
    int64_t count = att_batches_count(training->batches);
    att_carried_state *carried =
        training->carried_state.width > 0 ? &training->carried_state : NULL;
    for (int64_t i = 0; i < training->settings->accumulate && state->epoch_batches < count; i++) {
        att_loss_result result = { 0 };
        const att_batch *batch = att_batches_get(training->batches, state->epoch_batches);
        if (carried)
            reset_states(training, carried);
        ATT_TRY(forward_backward(training, batch, sampling, carried, &result, err));
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

/* Updates by the gradient of the mean loss per target token, clipped to the norm `clip-norm`. */
static void update_params(att_training *training, double tokens, double norm)
{
    const att_settings *settings = training->settings;
    att_params *params = &training->model->params;
    int64_t step = training->state.step + 1;
    double clip =
        settings->clip_norm > 0 && norm > settings->clip_norm ? settings->clip_norm / norm : 1;
    att_optimizer_step_options options = {
        .step = step,
        .learning_rate =
            att_schedule_learning_rate(settings, &training->plan, &training->state.plateau, step),
        .gradient_scale = clip / tokens,
    };
    att_training_freeze_values(training, false);
    att_optimizer_step(&training->optimizer, settings, params->value, params->grad, &options);
    att_training_freeze_values(training, true);
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
    att_training_freeze_gradient(training);
    *norm = att_l2_norm(params->grad, params->size, training->norm_sums) / sums[SUM_TOKENS];
    if (!isfinite(*norm) || !isfinite(sums[SUM_LOSS]))
        return att_fail(
            err, ATT_BAD_INPUT, NULL,
            "step %lld: the %s is NaN or infinite; try a lower learning-rate or clip-norm",
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
    int64_t largest = att_batches_largest(training->batches);
    const att_batch *batch = att_batches_get(training->batches, largest);
    ATT_TRY(
        forward_backward(training, batch, training->settings->scheduled_sampling, NULL, NULL, err));
    clear_gradients(&training->model->params);
    return ATT_OK;
}
