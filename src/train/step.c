/* One step of learning: forward and backward over some batches, the exchange, the norm, the update.
 */
#include "train/training.h"

#include "base/error.h"

#include <math.h>
#include <string.h>

/* Forward and backward of one batch, from where `carried` says if given; gradients are added up in
 * the parameters' block. */
static att_status learn_batch(att_training *training, const att_batch *batch, double own,
                              att_carried *carried, att_lesson_result *result, att_error *err)
{
    const att_settings *settings = training->settings;
    att_tape *tape = training->tape;
    att_lesson lesson = {
        .smoothing = (float)settings->label_smoothing,
        .own = (float)own,
        .seed = (uint64_t)settings->seed,
        .step = (uint64_t)training->state.batches,
        .carried = carried,
    };
    att_tape_begin(tape, true, lesson.seed, lesson.step);
    att_node *loss = att_model_loss(training->model, tape, batch, &lesson, result);
    ATT_TRY(att_tape_status(tape, err));
    return att_tape_backward(tape, loss, 1, err);
}

static void start_epoch(att_training *training)
{
    if (training->started == training->state.epoch)
        return;
    att_batches_start(training->batches, training->state.epoch);
    training->started = training->state.epoch;
}

/* What was learnt in a step; the sums go through the exchange, so they are doubles. */
enum { SUM_LOSS, SUM_TOKENS, SUM_RIGHT, SUM_COUNT };

/* Learns from up to `accumulate` batches of this epoch. */
static att_status gather(att_training *training, double sums[SUM_COUNT], att_error *err)
{
    att_run_state *state = &training->state;
    start_epoch(training);
    double own = att_schedule_own(training->settings, &training->plan, state->step + 1);
    int64_t count = att_batches_count(training->batches);
    att_carried *carried = training->carried.width > 0 ? &training->carried : NULL;
    for (int64_t i = 0; i < training->settings->accumulate && state->position < count; i++) {
        att_lesson_result result = { 0 };
        const att_batch *batch = att_batches_get(training->batches, state->position);
        ATT_TRY(learn_batch(training, batch, own, carried, &result, err));
        sums[SUM_LOSS] += result.loss;
        sums[SUM_TOKENS] += (double)result.tokens;
        sums[SUM_RIGHT] += (double)result.right;
        state->position++;
        state->batches++;
    }
    if (state->position >= count) {
        state->epoch++;
        state->position = 0;
    }
    return ATT_OK;
}

/* The gradient is that of the mean over target tokens, its norm at most `clip`. */
static void update(att_training *training, double tokens, double norm)
{
    const att_settings *settings = training->settings;
    att_params *params = &training->model->params;
    int64_t step = training->state.step + 1;
    double clip = settings->clip > 0 && norm > settings->clip ? settings->clip / norm : 1;
    att_optimiser_step how = {
        .step = step,
        .rate = att_schedule_rate(settings, &training->plan, &training->state.plateau, step),
        .scale = clip / tokens,
    };
    att_optimiser_apply(&training->optimiser, settings, params->value, params->grad, &how);
    att_params_changed(params);
    training->state.step = step;
}

static void clear_gradients(att_params *params)
{
    memset(params->grad, 0, params->size * sizeof *params->grad);
}

att_status att_training_step(att_training *training, double *norm, att_error *err)
{
    att_run_state *state = &training->state;
    att_params *params = &training->model->params;
    double sums[SUM_COUNT] = { 0 };
    clear_gradients(params);
    ATT_TRY(gather(training, sums, err));
    if (training->exchange)
        ATT_TRY(training->exchange(training->exchange_context, params->grad, params->size, sums,
                                   SUM_COUNT, err));
    *norm = att_block_norm(params->grad, params->size, training->norm_sums) / sums[SUM_TOKENS];
    if (!isfinite(*norm) || !isfinite(sums[SUM_LOSS]))
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "step %lld: the %s is no longer a number; a lower rate or clip may help",
                        (long long)state->step + 1, isfinite(sums[SUM_LOSS]) ? "gradient" : "loss");
    update(training, sums[SUM_TOKENS], *norm);
    state->tokens += (int64_t)sums[SUM_TOKENS];
    state->since_loss += sums[SUM_LOSS];
    state->since_tokens += (int64_t)sums[SUM_TOKENS];
    state->since_right += (int64_t)sums[SUM_RIGHT];
    return ATT_OK;
}

att_status att_training_rehearse(att_training *training, att_error *err)
{
    att_batches_start(training->batches, 0);
    training->started = 0;
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
    ATT_TRY(learn_batch(training, batch, training->settings->own, NULL, NULL, err));
    clear_gradients(&training->model->params);
    return ATT_OK;
}
