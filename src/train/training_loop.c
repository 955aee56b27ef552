/* The loop: steps and validations until the run is over or is told to stop, and checkpoints on the
 * way. What comes next is decided by the state alone, so a run that is taken up again goes on as if
 * it had never stopped. */
#include "train/training.h"

#include "base/error.h"
#include "base/file.h"

#include <math.h>
#include <time.h>

/* ---- what comes next */

static bool is_patience_exhausted(const att_training *training)
{
    const att_training_state *state = &training->state;
    int64_t patience = training->settings->patience;
    return patience > 0 && state->best_validation > 0 &&
           state->history_count - state->best_validation >= patience;
}

static bool are_steps_over(const att_training *training)
{
    const att_training_state *state = &training->state;
    const att_settings *settings = training->settings;
    return state->epoch >= settings->epochs ||
           (settings->steps > 0 && state->step >= settings->steps) ||
           is_patience_exhausted(training);
}

/* After an epoch, or every so many steps; and in any case at the end. */
static bool is_validation_due(const att_training *training)
{
    const att_training_state *state = &training->state;
    const att_validation *last = att_training_state_last(state);
    int64_t every = training->settings->validate_every;
    if (state->step == 0 || (last && last->step == state->step))
        return false;
    bool regular = every > 0 ? state->step % every == 0 : state->epoch_batches == 0;
    return regular || are_steps_over(training);
}

bool att_training_finished(const att_training *training)
{
    return are_steps_over(training) && !is_validation_due(training);
}

/* ---- telling */

typedef struct training_loop {
    att_training *training;
    att_training_callback *on_progress;
    void *context;
    double start_time, save_time;    /* when, in seconds of a clock that only goes forward */
    int64_t first_step, first_token; /* where this run took up */
    double norm;
    bool better, stopped;
} training_loop;

static double monotonic_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static att_training_progress progress_of(const training_loop *at, att_training_event event)
{
    const att_training *training = at->training;
    const att_training_state *state = &training->state;
    double seconds = monotonic_seconds() - at->start_time;
    double made = (double)(state->step - at->first_step);
    int64_t left = training->plan.total_steps - state->step;
    return (att_training_progress){
        .event = event,
        .step = state->step,
        .steps = training->plan.total_steps,
        .epoch = att_training_state_epoch(state),
        .epochs = training->settings->epochs,
        .loss = state->interval_tokens > 0 ? state->interval_loss / (double)state->interval_tokens
                                           : NAN,
        .learning_rate =
            att_schedule_learning_rate(training->settings, &training->plan, &state->plateau,
                                       state->step > 0 ? state->step : 1),
        .gradient_norm = at->norm,
        .tokens_per_second = (double)(state->tokens - at->first_token) / seconds,
        .seconds = seconds,
        .seconds_left = made > 0 ? seconds / made * (double)(left > 0 ? left : 0) : NAN,
        .last = att_training_state_last(state),
        .best = att_training_state_best(state),
        .improved = at->better,
    };
}

static void report_progress(training_loop *at, att_training_event event)
{
    if (!at->on_progress)
        return;
    att_training_progress progress = progress_of(at, event);
    if (!at->on_progress(at->context, &progress))
        at->stopped = true;
}

static bool should_continue(void *context)
{
    training_loop *at = context;
    report_progress(at, ATT_TRAINING_VALIDATING);
    return !at->stopped;
}

/* ---- the loop */

static att_status save(training_loop *at, att_error *err)
{
    ATT_TRY(att_checkpoint_save(at->training, err));
    at->save_time = monotonic_seconds();
    return ATT_OK;
}

/* A step or a validation, whichever is next. */
static att_status advance(training_loop *at, att_error *err)
{
    if (!is_validation_due(at->training)) {
        ATT_TRY(att_training_step(at->training, &at->norm, err));
        report_progress(at, ATT_TRAINING_STEP);
        return ATT_OK;
    }
    bool done;
    ATT_TRY(att_training_validate(at->training, should_continue, at, &done, &at->better, err));
    if (done)
        report_progress(at, ATT_TRAINING_VALIDATED);
    return ATT_OK;
}

/* The first checkpoint is written before the first step: a place that cannot be written to shows
 * then, not after an hour. */
att_status att_training_run(att_training *training, att_training_callback *watch, void *context,
                            att_error *err)
{
    training_loop at = { .training = training,
                         .on_progress = watch,
                         .context = context,
                         .start_time = monotonic_seconds(),
                         .first_step = training->state.step,
                         .first_token = training->state.tokens,
                         .norm = NAN };
    if (training->state.averaged_checkpoints > 0)
        return ATT_OK; /* finished, and what a checkpoint would hold is no longer here */
    att_file_remove_stale_temps(training->model_path.data);
    ATT_TRY(save(&at, err));
    while (!at.stopped && !att_training_finished(training)) {
        ATT_TRY(advance(&at, err));
        if (monotonic_seconds() - at.save_time >= training->settings->save_every)
            ATT_TRY(save(&at, err));
    }
    ATT_TRY(save(&at, err));
    return att_training_finished(training) ? att_training_finish(training, err) : ATT_OK;
}
