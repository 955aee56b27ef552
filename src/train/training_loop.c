/* The training loop: steps, validations and checkpoints until the run is finished or stopped. What
 * comes next depends on the state only, so a resumed run continues exactly as if it had never
 * stopped. */
#include "train/training.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/minmax.h"
#include "base/progress.h"

#include <math.h>

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

/* After each epoch, or every `validate-every` steps; and at the end of the run. */
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

/* Only the mean of the snapshots, if any, and the files may be left to do. */
static bool is_loop_over(const att_training *training)
{
    return are_steps_over(training) && !is_validation_due(training);
}

/* A run that was cancelled while it averaged has made all of its steps, but has no result yet. */
bool att_training_finished(const att_training *training)
{
    const att_training_state *state = &training->state;
    bool average_due = training->settings->average_checkpoints > 0 && state->history_count > 0 &&
                       state->averaged_checkpoints == 0;
    return is_loop_over(training) && !average_due;
}

/* ---- progress */

typedef struct training_loop {
    att_training *training;
    att_training_callback *on_progress;
    void *context;
    double start_time, save_time;    /* att_clock_seconds() */
    int64_t first_step, first_token; /* at the start of this call */
    double norm;
    bool improved, stopped;
} training_loop;

static att_training_progress current_progress(const training_loop *at, att_training_event event)
{
    const att_training *training = at->training;
    const att_training_state *state = &training->state;
    double seconds = att_clock_seconds() - at->start_time;
    double steps_done = (double)(state->step - at->first_step);
    int64_t left = training->plan.total_steps - state->step;
    return (att_training_progress){
        .event = event,
        .step = state->step,
        .steps = training->plan.total_steps,
        .epoch = att_training_state_epoch(state),
        .epochs = training->settings->epochs,
        .loss = state->interval_tokens > 0 ? state->interval_loss / (double)state->interval_tokens
                                           : NAN,
        .learning_rate = att_schedule_learning_rate(training->settings, &training->plan,
                                                    &state->plateau, att_max_i64(state->step, 1)),
        .gradient_norm = at->norm,
        .tokens_per_second = (double)(state->tokens - at->first_token) / seconds,
        .seconds = seconds,
        .seconds_left = steps_done > 0 ? seconds / steps_done * (double)att_max_i64(left, 0) : NAN,
        .last = att_training_state_last(state),
        .best = att_training_state_best(state),
        .improved = at->improved,
        .processes = training->exchange.group.count,
        .host =
            training->exchange.group.count > 1 ? training->exchange.group.transport->host : NULL,
        .overlapped_bytes = training->exchange.group.overlap_bytes,
        .sent_bytes = training->exchange.group.sent_bytes,
        .wait_seconds = training->exchange.group.wait_seconds,
    };
}

static void report_progress(training_loop *at, att_training_event event)
{
    if (!at->on_progress)
        return;
    att_training_progress progress = current_progress(at, event);
    if (!at->on_progress(at->context, &progress))
        at->stopped = true;
}

static bool should_continue(void *context)
{
    training_loop *at = context;
    report_progress(at, ATT_TRAINING_VALIDATING);
    return !at->stopped && !att_progress_cancelled();
}

/* ---- the loop */

/* A cancelled run saves too: writing a file would otherwise end at its first look at the callback.
 */
static att_status save(training_loop *at, att_error *err)
{
    att_progress_pause pause = att_progress_suspend();
    att_status status = att_checkpoint_save(at->training, err);
    att_progress_continue(pause);
    ATT_TRY(status);
    at->training->wants &= ~(unsigned)ATT_WANTS_SAVE;
    at->save_time = att_clock_seconds();
    return ATT_OK;
}

/* Does a validation if it is due, else a step. */
static att_status advance(training_loop *at, att_error *err)
{
    bool has_budget = at->training->budget.deadline > 0;
    double start = has_budget ? att_clock_seconds() : 0;
    if (!is_validation_due(at->training)) {
        ATT_TRY(att_training_step(at->training, &at->norm, err));
        ATT_TRY(att_batches_status(at->training->batches, err));
        if (has_budget)
            ATT_TRY(att_budget_step_done(at->training, err));
        report_progress(at, ATT_TRAINING_STEP);
        return ATT_OK;
    }
    bool done;
    ATT_TRY(att_training_validate(at->training, should_continue, at, &done, &at->improved, err));
    if (done && has_budget)
        ATT_TRY(att_budget_validation_done(at->training, att_clock_seconds() - start, err));
    if (done)
        report_progress(at, ATT_TRAINING_VALIDATED);
    return ATT_OK;
}

/* The state of the loop at the start of a public call. */
static training_loop begin_loop(att_training *training, att_training_callback *on_event,
                                void *context)
{
    return (training_loop){ .training = training,
                            .on_progress = on_event,
                            .context = context,
                            .start_time = att_clock_seconds(),
                            .first_step = training->state.step,
                            .first_token = training->state.tokens,
                            .norm = NAN };
}

static bool is_save_due(const training_loop *at)
{
    return att_clock_seconds() - at->save_time >= at->training->settings->save_every;
}

/* One step or validation of several processes. What one of them was asked by its caller, it asks
 * of all; process 0 says when to save. All do what the last step or validation agreed on. */
static att_status advance_together(training_loop *at, att_error *err)
{
    att_training *training = at->training;
    training->wants |= att_progress_cancelled() ? ATT_WANTS_CANCEL : 0;
    training->wants |= training->exchange.group.rank == 0 && is_save_due(at) ? ATT_WANTS_SAVE : 0;
    ATT_TRY(advance(at, err));
    att_progress_step(training->state.step, NULL);
    training->wants |= at->stopped ? ATT_WANTS_STOP : 0; /* the next step asks for it */
    at->stopped = training->agreed & ATT_WANTS_STOP;
    return training->agreed & ATT_WANTS_CANCEL
               ? att_fail(err, ATT_CANCELLED, NULL, "cancelled by the caller of a process")
               : ATT_OK;
}

/* Steps, validations and regular checkpoints, until the run is finished, stopped or cancelled. A
 * step or validation that was cancelled has not changed the state: it is made again when the run
 * resumes. */
static att_status run_to_end(training_loop *at, att_error *err)
{
    att_training *training = at->training;
    bool together = training->exchange.group.count > 1;
    att_status status = ATT_OK;
    while (status == ATT_OK && !at->stopped && !is_loop_over(training)) {
        status = together ? advance_together(at, err) : advance(at, err);
        if (status == ATT_OK && !together)
            status = att_progress_step(training->state.step, err);
        if (status != ATT_OK && status != ATT_CANCELLED)
            return status;
        if (together ? (training->agreed & ATT_WANTS_SAVE) != 0 : is_save_due(at))
            ATT_TRY(save(at, err));
    }
    att_error unused;
    ATT_TRY(save(at, status == ATT_OK ? err : &unused));
    if (status == ATT_OK && is_loop_over(training))
        return att_training_finish(training, err);
    return status;
}

/* Locks the outputs by the model's path; the checkpoint's path follows from it. A device is shared
 * by all who write to it. */
static att_status lock_outputs(att_training *training, att_error *err)
{
    const char *model = training->model_path.data;
    const char *path = att_file_is_special(model) ? training->checkpoint_path.data : model;
    att_group *group = &training->exchange.group;
    att_status status = group->rank > 0 || att_file_is_special(path)
                            ? ATT_OK
                            : att_file_lock_take(&training->output_lock, path, err);
    return att_group_agree(group, status, err);
}

/* The first checkpoint is written before the first step: a path that cannot be written to is
 * reported then, not after an hour. */
att_status att_training_run(att_training *training, att_training_callback *on_event, void *context,
                            att_error *err)
{
    training_loop at = begin_loop(training, on_event, context);
    if (training->state.averaged_checkpoints > 0)
        return ATT_OK; /* finished: the averaged parameters replaced those of a checkpoint */
    bool was_locked = training->output_lock.held;
    ATT_TRY(lock_outputs(training, err));
    training->keeps_files = true;
    training->wants = training->agreed = 0;
    if (training->exchange.group.rank == 0)
        att_file_remove_stale_temps(training->model_path.data);
    att_status status = save(&at, err);
    if (status == ATT_OK) {
        att_progress_scope scope;
        att_progress_begin(&scope, "training", training->plan.total_steps);
        status = run_to_end(&at, err);
        status = att_progress_end(&scope, status, err);
    }
    if (!was_locked)
        att_file_lock_release(&training->output_lock);
    return status;
}

/* ---- slices */

static att_status run_slice(training_loop *at, int64_t steps, att_error *err)
{
    att_training *training = at->training;
    int64_t last = training->state.step + att_min_i64(steps, INT64_MAX - training->state.step);
    while (!at->stopped && !is_loop_over(training) &&
           (training->state.step < last || is_validation_due(training))) {
        if (training->exchange.group.count > 1) {
            ATT_TRY(advance_together(at, err));
            continue;
        }
        ATT_TRY(advance(at, err));
        ATT_TRY(att_progress_step(training->state.step, err));
    }
    return is_loop_over(training) ? att_training_finish(training, err) : ATT_OK;
}

att_status att_training_advance(att_training *training, int64_t steps,
                                att_training_callback *on_event, void *context, att_error *err)
{
    if (steps < 1)
        return att_fail(err, ATT_BAD_INPUT, NULL, "expected at least one step, found %lld",
                        (long long)steps);
    training_loop at = begin_loop(training, on_event, context);
    if (training->state.averaged_checkpoints > 0)
        return ATT_OK;
    training->keeps_files = false;
    training->wants = training->agreed = 0;
    att_progress_scope scope;
    att_progress_begin(&scope, "training", training->plan.total_steps);
    att_status status = run_slice(&at, steps, err);
    return att_progress_end(&scope, status, err);
}

att_status att_training_save(att_training *training, att_error *err)
{
    ATT_TRY(att_batches_status(training->batches, err));
    ATT_TRY(lock_outputs(training, err));
    if (training->state.averaged_checkpoints == 0)
        ATT_TRY(att_checkpoint_save(training, err));
    return training->state.best_validation > 0 ? att_training_save_best(training, err) : ATT_OK;
}
