/* The search for settings (att_search_run) by successive halving (Jamieson and Talwalkar 2016,
 * "Non-stochastic best arm identification and hyperparameter optimization"). Each try is a training
 * run with files of its own; a round resumes the runs that are left from their checkpoints, so a
 * try ends in the bits of a run that was never interrupted. */
#include "train/search.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/minmax.h"
#include "base/progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- rounds */

/* The number of rounds of `tries` tries: in the last, one is left. */
static int64_t count_rounds(int64_t tries)
{
    int64_t rounds = 1;
    for (int64_t left = tries; left > 1; left = (left + 1) / 2)
        rounds++;
    return rounds;
}

/* The steps of all tries together, in runs of full length: those of a round double those before. */
static double search_cost(int64_t tries)
{
    double cost = 0, before = 0;
    int64_t rounds = count_rounds(tries), left = tries;
    for (int64_t r = 0; r < rounds; r++, left = (left + 1) / 2) {
        double part = 1 / (double)(INT64_C(1) << (rounds - 1 - r));
        cost += (double)left * (part - before);
        before = part;
    }
    return cost;
}

/* ---- files */

static att_status move_file(const char *from, const char *to, att_error *err)
{
    if (rename(from, to) == 0)
        return ATT_OK;
    return att_fail(err, ATT_SYSTEM, to, "cannot rename %s to it", from);
}

/* Data are read once for each round of each try. */
static att_status check_data_files(const att_settings *settings, att_error *err)
{
    const char *const files[] = { settings->train, settings->source,       settings->target,
                                  settings->valid, settings->valid_source, settings->valid_target };
    for (size_t i = 0; i < ATT_COUNT(files); i++)
        if (files[i] && (strcmp(files[i], "-") == 0 || att_file_is_special(files[i])))
            return att_fail(err, ATT_BAD_INPUT, att_file_display_name(files[i]),
                            "try reads the data several times: expected a file, found a stream");
    return ATT_OK;
}

/* ---- one slice of a try */

typedef struct slice {
    att_search *search;
    att_search_progress progress;
    att_search_callback *on_event;
    void *context;
    bool stopped;
} slice;

static bool on_training_event(void *context, const att_training_progress *progress)
{
    slice *at = context;
    at->progress.training = progress;
    if (at->on_event && !at->on_event(at->context, &at->progress))
        at->stopped = true;
    return !at->stopped;
}

/* New in the first round, later from its checkpoint. */
static att_status open_try(att_training **out, att_settings **settings, const att_search_try *one,
                           att_error *err)
{
    *out = NULL;
    *settings = NULL;
    if (one->result.steps == 0)
        return att_training_new(out, one->settings, NULL, err);
    ATT_TRY(att_settings_new(settings, NULL, err));
    ATT_TRY(att_settings_set(*settings, "resume", one->checkpoint.data, err));
    return att_training_new(out, *settings, NULL, err);
}

/* The last round has what is left of the time; its plan adapts to it. */
static void set_deadline(att_training *training, const att_search *search)
{
    if (search->deadline <= 0)
        return;
    training->budget = (att_budget){ .start = search->start,
                                     .deadline = search->deadline,
                                     .step_seconds = search->step_seconds,
                                     .validation_seconds = search->validation_seconds };
}

static void record(att_search_try *one, const att_training *training, double seconds)
{
    const att_validation *best = att_training_best(training);
    one->result.steps = att_training_steps(training);
    one->result.seconds += seconds;
    if (best) {
        one->best = *best;
        one->result.best = &one->best;
    }
}

/* After the last round: how to train the same again without a search. */
static att_status keep_plan(att_search_try *one, const att_settings *settings, att_error *err)
{
    static const char *const keys[] = { "steps", "epochs", "step-plan" };
    for (size_t i = 0; i < ATT_COUNT(keys); i++) {
        att_string value = { 0 };
        att_status status = att_settings_get(&value, settings, keys[i], err);
        if (status == ATT_OK && value.length > 0)
            status = att_settings_set_from(one->settings, keys[i], value.data, ATT_FROM_MODEL, err);
        att_string_free(&value);
        ATT_TRY(status);
    }
    return ATT_OK;
}

static att_status train_slice(slice *at, att_search_try *one, att_training *training, int64_t steps,
                              bool last, att_error *err)
{
    if (last) {
        set_deadline(training, at->search);
        ATT_TRY(att_training_run(training, on_training_event, at, err));
        return at->stopped ? ATT_CANCELLED : keep_plan(one, training->settings, err);
    }
    int64_t more = steps - att_training_steps(training);
    att_status status =
        more > 0 ? att_training_advance(training, more, on_training_event, at, err) : ATT_OK;
    if (status == ATT_OK || status == ATT_CANCELLED) {
        att_error unused;
        ATT_TRY(att_training_save(training, status == ATT_OK ? err : &unused));
    }
    return at->stopped ? ATT_CANCELLED : status;
}

static att_status run_slice(slice *at, att_search_try *one, bool last, att_error *err)
{
    att_training *training;
    att_settings *settings;
    double start = att_clock_seconds();
    /* rounds double the steps; the last has all of them */
    int64_t part = INT64_C(1) << (at->progress.rounds - at->progress.round);
    att_status status = open_try(&training, &settings, one, err);
    if (status == ATT_OK)
        status = train_slice(at, one, training, one->steps / part, last, err);
    if (training)
        record(one, training, att_clock_seconds() - start);
    if (training && status == ATT_BAD_INPUT && !last) {
        one->failed = true;
        one->result.best = NULL;
        one->result.steps = att_max_i64(one->result.steps, 1);
        status = ATT_OK;
    }
    att_training_free(training);
    att_settings_free(settings);
    return status;
}

/* ---- rounds of tries */

/* Better first; tries without a validation last. */
static int by_rank(const void *left, const void *right)
{
    const att_search_try *a = *(att_search_try *const *)left, *b = *(att_search_try *const *)right;
    if (!a->result.best || !b->result.best)
        return (b->result.best != NULL) - (a->result.best != NULL);
    att_best_metric by = a->metric;
    double x = att_validation_metric(&a->best, by), y = att_validation_metric(&b->best, by);
    if (a->round != b->round)
        return a->round > b->round ? -1 : 1;
    if (x != y)
        return x < y ? -1 : 1;
    if (a->best.loss != b->best.loss && !isnan(a->best.loss)) /* both are or none is */
        return a->best.loss < b->best.loss ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

/* With a time budget, a round ends with the tries that its part of the time allows. */
static bool is_round_late(const att_search *search, double part)
{
    if (search->deadline <= 0)
        return false;
    double whole = search->deadline - search->start;
    return att_clock_seconds() - search->start > part * whole;
}

static att_status run_round(slice *at, size_t left, double part, att_error *err)
{
    att_search *search = at->search;
    bool last = at->progress.round == at->progress.rounds;
    for (size_t i = 0; i < left; i++) {
        if (i > 0 && !last && is_round_late(search, part))
            break;
        if (search->ranks[i]->failed)
            continue;
        at->progress.index = (int64_t)i;
        at->progress.count = (int64_t)left;
        search->ranks[i]->round = at->progress.round;
        ATT_TRY(run_slice(at, search->ranks[i], last, err));
    }
    qsort(search->ranks, left, sizeof *search->ranks, by_rank);
    if (!search->ranks[0]->failed)
        return ATT_OK;
    att_error last_error = err ? *err : (att_error){ 0 };
    return att_fail(err, ATT_BAD_INPUT, NULL, "every try failed; the last: %.600s",
                    last_error.message);
}

static att_status run_rounds(slice *at, att_error *err)
{
    att_search *search = at->search;
    size_t left = search->count;
    int64_t rounds = count_rounds((int64_t)left);
    double cost = search_cost((int64_t)left), spent = 0, before = 0;
    at->progress.rounds = rounds;
    for (int64_t r = 1; r <= rounds; r++, left = (left + 1) / 2) {
        double part = 1 / (double)(INT64_C(1) << (rounds - r));
        spent += (double)left * (part - before) / cost;
        before = part;
        at->progress.round = r;
        ATT_TRY(run_round(at, left, spent, err));
    }
    return ATT_OK;
}

/* ---- the whole */

static void remove_files(const att_search *search, size_t first)
{
    for (size_t i = first; search->ranks && i < search->count; i++)
        for (int k = 0; k < 2; k++) {
            const att_string *path =
                k == 0 ? &search->ranks[i]->model : &search->ranks[i]->checkpoint;
            if (path->length > 0)
                (void)remove(path->data);
        }
}

/* Gives the best its name, and removes the files of the others. */
static att_status finish_files(att_search *search, att_error *err)
{
    const att_search_try *best = search->ranks[0];
    ATT_TRY(move_file(best->model.data, search->model_path.data, err));
    ATT_TRY(move_file(best->checkpoint.data, search->checkpoint_path.data, err));
    remove_files(search, 1);
    return ATT_OK;
}

static att_status search_and_train(att_search *search, const att_settings *settings,
                                   att_search_callback *on_event, void *context, att_error *err)
{
    att_file_lock lock = { 0 };
    slice at = { .search = search, .on_event = on_event, .context = context };
    if (settings->resume)
        return att_fail(err, ATT_BAD_INPUT, NULL, "try and resume cannot be used together");
    ATT_TRY(check_data_files(settings, err));
    ATT_TRY(att_search_plan(search, settings, search_cost(settings->tries),
                            count_rounds(settings->tries), err));
    ATT_TRY(att_file_lock_take(&lock, search->model_path.data, err));
    at.progress.report = search->report.data;
    att_status status = run_rounds(&at, err);
    if (status == ATT_OK)
        status = finish_files(search, err);
    if (status != ATT_OK && status != ATT_CANCELLED)
        remove_files(search, 0);
    att_file_lock_release(&lock);
    return status == ATT_OK ? att_search_write_command(search, settings, err) : status;
}

att_status att_search_run(att_search **out, const att_settings *settings,
                          att_search_callback *on_event, void *context, att_error *err)
{
    *out = NULL;
    if (settings->tries < 1)
        return att_fail(err, ATT_BAD_INPUT, NULL, "try expects a number of tries, found 0");
    att_search *search = att_alloc_zero(1, sizeof *search);
    if (!search)
        return att_fail_memory(err);
    search->start = att_clock_seconds();
    att_status status = search_and_train(search, settings, on_event, context, err);
    if (status == ATT_OK)
        *out = search;
    else
        att_search_free(search);
    return status;
}

void att_search_free(att_search *search)
{
    if (!search)
        return;
    for (size_t i = 0; search->tries && i < search->count; i++) {
        att_settings_free(search->tries[i].settings);
        att_string_free(&search->tries[i].options);
        att_string_free(&search->tries[i].model);
        att_string_free(&search->tries[i].checkpoint);
    }
    att_free(search->tries);
    att_free(search->ranks);
    att_string_free(&search->model_path);
    att_string_free(&search->checkpoint_path);
    att_string_free(&search->report);
    att_string_free(&search->command);
    att_free(search);
}

const att_try *att_search_get(const att_search *search, size_t index)
{
    return index < search->count ? &search->ranks[index]->result : NULL;
}

const char *att_search_model_path(const att_search *search)
{
    return search->model_path.data;
}

const char *att_search_command(const att_search *search)
{
    return search->command.data;
}
