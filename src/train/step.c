/* One training step: forward and backward of up to `accumulate` micro-batches with teacher forcing
 * or scheduled sampling, the sum of their gradients (gradient_tree.h), gradient clipping, and the
 * optimizer update; shared by the processes of the run (exchange.h). */
#include "train/training.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/progress.h"
#include "base/random.h"
#include "model/batch_twice.h"

#include <math.h>
#include <string.h>

/* ---- states carried from batch to batch */

att_status att_training_new_states(att_training *training, att_error *err)
{
    const att_model *model = training->model;
    int64_t rows = att_batches_limits(training->batches).rows;
    int64_t groups = training->settings->accumulate;
    if (!model->architecture->carried_state_size ||
        model->architecture->carried_state_size(model) == 0)
        return ATT_OK;
    training->carried_states = att_alloc_zero((size_t)groups, sizeof *training->carried_states);
    if (!training->carried_states)
        return att_fail_memory(err);
    training->states_before = att_alloc_zero((size_t)groups, sizeof *training->states_before);
    if (!training->states_before)
        return att_fail_memory(err);
    for (int64_t g = 0; g < groups; g++) {
        ATT_TRY(att_carried_state_new(&training->carried_states[g], model, rows, err));
        ATT_TRY(att_carried_state_new(&training->states_before[g], model, rows, err));
    }
    return ATT_OK;
}

void att_training_free_states(att_training *training)
{
    for (int64_t g = 0; g < training->settings->accumulate; g++) {
        if (training->carried_states)
            att_carried_state_free(&training->carried_states[g]);
        if (training->states_before)
            att_carried_state_free(&training->states_before[g]);
    }
    att_free(training->carried_states);
    att_free(training->states_before);
    training->carried_states = training->states_before = NULL;
}

static void copy_states(const att_training *training, att_carried_state *to,
                        const att_carried_state *from)
{
    for (int64_t g = 0; to && g < training->settings->accumulate; g++) {
        to[g].rows = from[g].rows;
        memcpy(to[g].states, from[g].states,
               (size_t)(from[g].max_rows * from[g].width) * sizeof *from[g].states);
    }
}

/* Some rows start from the zero state, as generated text does. */
static void reset_states(const att_training *training, int64_t batch, att_carried_state *carried)
{
    const att_settings *settings = training->settings;
    uint64_t stream = ATT_STREAM_LM_RESET + (uint64_t)batch;
    for (int64_t row = 0; row < carried->rows; row++)
        if (att_random_double((uint64_t)settings->seed, stream, (uint64_t)row) <
            settings->state_reset)
            memset(carried->states + row * carried->width, 0,
                   (size_t)carried->width * sizeof *carried->states);
}

/* With the consistency loss a batch is made twice as large, and the loss of a pair is the mean over
 * its two predictions. */
static bool runs_twice(const att_training *training)
{
    return training->settings->consistency > 0;
}

/* Forward and backward of one batch; gradients are added to those of the parameters. `number`
 * counts the batches of the run from 0: it seeds dropout. `carried`, unless NULL, is the RNN state
 * at the start of the batch and is replaced by that at its end (truncated BPTT). */
static att_status forward_backward(att_training *training, const att_batch *batch, int64_t number,
                                   double sampling, att_carried_state *carried,
                                   att_loss_result *result, att_error *err)
{
    const att_settings *settings = training->settings;
    att_tape *tape = training->tape;
    att_loss_options options = {
        .label_smoothing = (float)settings->label_smoothing,
        .consistency = (float)settings->consistency,
        .scheduled_sampling = (float)sampling,
        .seed = (uint64_t)settings->seed,
        .step = (uint64_t)number,
        .carried_state = carried,
    };
    att_tape_begin(tape, true, options.seed, options.step);
    if (runs_twice(training))
        batch = att_batch_twice(tape, batch);
    att_node *loss = batch ? att_model_loss(training->model, tape, batch, &options, result) : NULL;
    ATT_TRY(att_tape_status(tape, err));
    return att_tape_backward(tape, loss, runs_twice(training) ? 0.5f : 1, err);
}

static void start_epoch(att_training *training)
{
    if (training->arranged_epoch == training->state.epoch)
        return;
    att_batches_start_epoch(training->batches, training->state.epoch);
    training->arranged_epoch = training->state.epoch;
}

/* Micro-batch `index` of the step. Micro-batches of a language model that carries its state are
 * groups of streams, each with a state of its own. */
static att_status add_micro_batch(att_training *training, int64_t index, bool is_last,
                                  double sampling, att_error *err)
{
    const att_training_state *state = &training->state;
    att_params *params = &training->model->params;
    att_loss_result result = { 0 };
    att_carried_state *carried = training->carried_states ? &training->carried_states[index] : NULL;
    const att_batch *batch = att_batches_get(training->batches, state->epoch_batches + index);
    if (carried)
        reset_states(training, state->batches + index, carried);
    ATT_TRY(att_gradient_tree_leaf(&training->tree, params, index, err));
    att_exchange_begin_leaf(&training->exchange, is_last);
    ATT_TRY(
        forward_backward(training, batch, state->batches + index, sampling, carried, &result, err));
    const double part = runs_twice(training) ? 0.5 : 1;
    const double sums[ATT_SUM_COUNT] = { [ATT_SUM_LOSS] = part * result.loss,
                                         [ATT_SUM_TOKENS] = part * (double)result.tokens,
                                         [ATT_SUM_CORRECT] = part * (double)result.correct };
    return att_exchange_end_leaf(&training->exchange, sums, err);
}

/* The same for all micro-batches in `own`. A run of one process leaves them half done when it is
 * cancelled, and starts the step anew if it goes on; several must stay together. */
static att_status add_micro_batches(att_training *training, att_range own, double sampling,
                                    att_error *err)
{
    bool alone = training->exchange.group.count == 1;
    att_status status = ATT_OK;
    if (alone)
        copy_states(training, training->states_before, training->carried_states);
    att_progress_set_discardable(alone);
    for (int64_t i = own.begin; i < own.end && status == ATT_OK; i++)
        status = add_micro_batch(training, i, i + 1 == own.end, sampling, err);
    att_progress_set_discardable(false);
    if (alone && status != ATT_OK) {
        copy_states(training, training->carried_states, training->states_before);
        att_params_mark_changed(&training->model->params); /* they may be packed in part */
    }
    return status;
}

/* Sums the gradients of the next micro-batches of this epoch, up to `accumulate`. */
static att_status sum_gradients(att_training *training, att_error *err)
{
    att_training_state *state = &training->state;
    att_params *params = &training->model->params;
    att_range own;
    start_epoch(training);
    double sampling =
        att_schedule_sampling_probability(training->settings, &training->plan, state->step + 1);
    int64_t left = att_batches_count(training->batches) - state->epoch_batches;
    int64_t count = att_min_i64(training->settings->accumulate, left);
    ATT_TRY(att_exchange_begin(&training->exchange, params, &training->tree, count, &own, err));
    ATT_TRY(add_micro_batches(training, own, sampling, err));
    state->epoch_batches += count;
    state->batches += count;
    if (count == left) {
        state->epoch++;
        state->epoch_batches = 0;
    }
    return att_exchange_sum(&training->exchange, err);
}

/* Updates the own slice by the gradient of the mean loss per target token, clipped to the norm
 * `clip-norm`, and takes the other slices from their owners. */
static att_status update_params(att_training *training, double tokens, double norm, att_error *err)
{
    const att_settings *settings = training->settings;
    att_params *params = &training->model->params;
    int64_t step = training->state.step + 1, begin = training->exchange.slice.begin;
    double clip =
        settings->clip_norm > 0 && norm > settings->clip_norm ? settings->clip_norm / norm : 1;
    att_optimizer_step_options options = {
        .step = step,
        .learning_rate =
            att_schedule_learning_rate(settings, &training->plan, &training->state.plateau, step),
        .gradient_scale = clip / tokens,
    };
    att_training_freeze_values(training, false);
    att_optimizer_step(&training->optimizer, settings, params->value + begin, params->grad + begin,
                       &options);
    att_training_freeze_values(training, true);
    ATT_TRY(att_exchange_slices(&training->exchange, params->value, err));
    att_params_mark_changed(params);
    training->state.step = step;
    return ATT_OK;
}

att_status att_training_step(att_training *training, double *norm, att_error *err)
{
    att_training_state *state = &training->state;
    att_step_totals totals;
    ATT_TRY(sum_gradients(training, err));
    att_training_freeze_gradient(training);
    ATT_TRY(att_exchange_totals(&training->exchange, &totals, training->wants, err));
    training->agreed = totals.flags;
    const double *sums = totals.sums;
    *norm = totals.norm / sums[ATT_SUM_TOKENS];
    if (!isfinite(*norm) || !isfinite(sums[ATT_SUM_LOSS]))
        return att_group_agree(
            &training->exchange.group,
            att_fail(err, ATT_BAD_INPUT, NULL,
                     "step %lld: the %s is NaN or infinite; try a lower learning-rate or clip-norm",
                     (long long)state->step + 1,
                     isfinite(sums[ATT_SUM_LOSS]) ? "gradient" : "loss"),
            err);
    ATT_TRY(update_params(training, sums[ATT_SUM_TOKENS], *norm, err));
    state->tokens += (int64_t)sums[ATT_SUM_TOKENS];
    state->interval_loss += sums[ATT_SUM_LOSS];
    state->interval_tokens += (int64_t)sums[ATT_SUM_TOKENS];
    state->interval_correct += (int64_t)sums[ATT_SUM_CORRECT];
    return ATT_OK;
}

att_status att_training_dry_run(att_training *training, att_error *err)
{
    att_batches_start_epoch(training->batches, 0);
    training->arranged_epoch = 0;
    int64_t largest = att_batches_largest(training->batches);
    const att_batch *batch = att_batches_get(training->batches, largest);
    att_progress_set_discardable(training->exchange.group.count == 1);
    att_status status = forward_backward(training, batch, training->state.batches,
                                         training->settings->scheduled_sampling, NULL, NULL, err);
    att_progress_set_discardable(false);
    if (status != ATT_OK)
        att_params_mark_changed(&training->model->params);
    return status;
}
