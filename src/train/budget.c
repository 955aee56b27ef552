/* A run with a time budget. Before the run, steps of throw-away models are timed, and from their
 * speed follow the size of the model and the number of steps; both become settings, so that the
 * model file has the plan, a resumed run keeps it, and the same settings without a budget give the
 * same bits. During the run, steps and validations are timed, and a change of the number of steps
 * becomes a piece of the setting step-plan. */
#include "train/training.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/string.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Parts of the budget: to time one size of model (and limits in seconds), for validations at most,
 * what stays free at the end, and between two checks of the plan. */
static const double PROBE_PART = 0.02, PROBE_LEAST = 0.05, PROBE_MOST = 3;
static const double VALIDATION_PART = 0.15, FREE_PART = 0.02, CHECK_PART = 0.02;
enum { MAX_PROBE_STEPS = 40, MAX_VALIDATIONS = 12 };

/* A run is worth its size if it makes ten epochs, but never fewer or more steps than these. */
enum { WORTH_EPOCHS = 10, WORTH_MIN_STEPS = 500, WORTH_MAX_STEPS = 20000 };

/* A larger model than the default needs this many target tokens, and time to spare. */
static const double LARGE_DATA_TOKENS = 300000, LARGE_SPARE = 4;

/* ---- choosing settings */

static att_status choose(att_training *training, const char *key, const char *value,
                         const char *why, att_error *err)
{
    ATT_TRY(att_settings_set_from(training->settings, key, value, ATT_FROM_DATA, err));
    return att_string_printf(&training->choices, "%-12s%s %s: %s\n", "chosen", key, value, why) ==
                   ATT_OK
               ? ATT_OK
               : att_fail_memory(err);
}

static att_status choose_number(att_training *training, const char *key, int64_t value,
                                const char *why, att_error *err)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, value);
    return choose(training, key, text, why, err);
}

/* ---- speed */

/* What a run of the current settings would be like. */
typedef struct run_speed {
    double step_seconds, validation_seconds;
    int64_t epoch_steps;
} run_speed;

/* Times steps of a model that is then thrown away. The first step also allocates and packs. */
static att_status time_steps(run_speed *out, att_training *probe, double seconds, att_error *err)
{
    double norm, start = att_clock_seconds(), elapsed = 0;
    int64_t steps = 0;
    ATT_TRY(att_training_step(probe, &norm, err));
    out->step_seconds = att_clock_seconds() - start;
    start = att_clock_seconds();
    while (out->step_seconds + elapsed < seconds && steps < MAX_PROBE_STEPS &&
           probe->state.epoch == 0) {
        ATT_TRY(att_training_step(probe, &norm, err));
        steps++;
        elapsed = att_clock_seconds() - start;
    }
    if (steps > 0)
        out->step_seconds = elapsed / (double)steps;
    return ATT_OK;
}

/* A guess until the first validation: generating takes about as long as a step and a half on as
 * many tokens, teacher forcing half a step. */
static double guess_validation(const att_training *probe, const run_speed *speed)
{
    const att_data *data = &probe->data;
    bool decodes = data->model_type == ATT_MODEL_SEQ2SEQ || data->model_type == ATT_MODEL_CAPTION;
    double tokens = (double)data->train.stats.target.tokens / (double)speed->epoch_steps;
    double steps = (double)data->valid.stats.target.tokens / fmax(tokens, 1);
    return steps * speed->step_seconds * (decodes ? 1.5 : 0.5);
}

static att_status measure(run_speed *out, const att_training *training, double budget,
                          att_error *err)
{
    att_training probe = { .settings = training->settings,
                           .data = training->data,
                           .arranged_epoch = -1 };
    double seconds = fmin(fmax(PROBE_PART * budget, PROBE_LEAST), PROBE_MOST);
    att_status status = att_exchange_new(&probe.exchange, NULL, err);
    if (status == ATT_OK)
        status = att_training_build(&probe, err);
    if (status == ATT_OK)
        status = time_steps(out, &probe, seconds, err);
    if (status == ATT_OK) {
        out->epoch_steps = probe.plan.epoch_steps;
        out->validation_seconds = guess_validation(&probe, out);
    }
    att_training_release(&probe);
    return status;
}

/* ---- the number of steps */

typedef struct step_count {
    int64_t steps, validate_every;
} step_count;

/* Steps that fit into `seconds` with the validations between them; 0: none. The last validation,
 * and that of the mean of checkpoints, come after the steps. */
static step_count count_steps(const att_settings *settings, const run_speed *speed, double seconds)
{
    double v = speed->validation_seconds, last = settings->average_checkpoints > 0 ? 2 * v : v;
    double left = seconds - last;
    if (att_settings_is_given(settings, "validate-every") && settings->validate_every > 0) {
        double each = speed->step_seconds + v / (double)settings->validate_every;
        return (step_count){ left > 0 ? (int64_t)(left / each) : 0, settings->validate_every };
    }
    double validations =
        fmin(fmax(floor(VALIDATION_PART * seconds / fmax(v, 1e-9)), 2), MAX_VALIDATIONS);
    left -= (validations - 1) * v;
    int64_t steps = left > 0 ? (int64_t)(left / speed->step_seconds) : 0;
    return (step_count){ steps, att_max_i64(att_ceil_div_i64(steps, (int64_t)validations), 1) };
}

/* ---- the size of the model */

static const char *const size_keys[] = { "hidden-size", "embedding-size", "ffn-size" };

/* Settings that determine the size; if one is given, the size is. */
static const char *const size_settings[] = { "hidden-size", "embedding-size", "ffn-size",
                                             "layers",      "decoder-layers", "heads",
                                             "kv-heads",    "preset",         "char-size",
                                             "pool-heads",  "init-from" };

static bool is_size_given(const att_settings *settings)
{
    for (size_t i = 0; i < ATT_COUNT(size_settings); i++)
        if (att_settings_is_given(settings, size_settings[i]))
            return true;
    return false;
}

static att_status set_size(att_settings *settings, const int64_t *defaults, double factor,
                           att_error *err)
{
    for (size_t i = 0; i < ATT_COUNT(size_keys); i++) {
        char value[32];
        if (!att_settings_applies(settings, att_setting_find(size_keys[i])))
            continue;
        /* a multiple of 8, which the default number of heads divides */
        int64_t size = att_max_i64((int64_t)((double)defaults[i] * factor / 8) * 8, 8);
        snprintf(value, sizeof value, "%" PRId64, factor == 1 ? defaults[i] : size);
        ATT_TRY(att_settings_set_from(settings, size_keys[i], value, ATT_FROM_DATA, err));
    }
    return ATT_OK;
}

static int64_t worth_steps(const run_speed *speed)
{
    return att_min_i64(att_max_i64(WORTH_EPOCHS * speed->epoch_steps, WORTH_MIN_STEPS),
                       WORTH_MAX_STEPS);
}

static double seconds_left(const att_training *training)
{
    return training->budget.deadline - att_clock_seconds();
}

/* Says which size was chosen, and what the default would have meant. */
static att_status report_size(att_training *training, const int64_t *defaults, double factor,
                              int64_t default_steps, const run_speed *speed, att_error *err)
{
    char why[160];
    double epochs = (double)default_steps / (double)speed->epoch_steps;
    if (factor == 1)
        return ATT_OK;
    if (factor < 1)
        snprintf(why, sizeof why,
                 "the default, %" PRId64 ", would make only %" PRId64 " steps (%.1f epochs)",
                 defaults[0], default_steps, epochs);
    else
        snprintf(why, sizeof why,
                 "the default, %" PRId64 ", would make %" PRId64
                 " steps (%.0f epochs), more than it needs",
                 defaults[0], default_steps, epochs);
    ATT_TRY(choose_number(training, "hidden-size", training->settings->hidden_size, why, err));
    for (size_t i = 1; i < ATT_COUNT(size_keys); i++) {
        const int64_t sizes[] = { 0, training->settings->embedding_size,
                                  training->settings->ffn_size };
        if (att_settings_applies(training->settings, att_setting_find(size_keys[i])))
            ATT_TRY(choose_number(training, size_keys[i], sizes[i], "it follows hidden-size", err));
    }
    return ATT_OK;
}

/* Measures the default size, then smaller ones until one makes enough steps, or a larger one where
 * there are data and time to spare. */
static att_status choose_size(att_training *training, run_speed *speed, double budget,
                              att_error *err)
{
    att_settings *settings = training->settings;
    const int64_t defaults[] = { settings->hidden_size, settings->embedding_size,
                                 settings->ffn_size };
    double factor = 1;
    ATT_TRY(measure(speed, training, budget, err));
    if (is_size_given(settings))
        return ATT_OK;
    const run_speed normal = *speed;
    int64_t default_steps = count_steps(settings, speed, seconds_left(training)).steps;
    int64_t steps = default_steps;
    while (steps < worth_steps(speed) && factor > 0.25) {
        factor /= 2;
        ATT_TRY(set_size(settings, defaults, factor, err));
        ATT_TRY(measure(speed, training, budget, err));
        steps = count_steps(settings, speed, seconds_left(training)).steps;
    }
    if (factor == 1 && (double)steps >= LARGE_SPARE * (double)worth_steps(speed) &&
        (double)training->data.train.stats.target.tokens >= LARGE_DATA_TOKENS) {
        factor = 2;
        ATT_TRY(set_size(settings, defaults, factor, err));
        ATT_TRY(measure(speed, training, budget, err));
        if (count_steps(settings, speed, seconds_left(training)).steps < worth_steps(speed)) {
            factor = 1;
            *speed = normal;
            ATT_TRY(set_size(settings, defaults, factor, err));
        }
    }
    return report_size(training, defaults, factor, default_steps, &normal, err);
}

/* ---- the plan */

static att_status refuse_short(const run_speed *speed, double used, att_error *err)
{
    return att_fail(
        err, ATT_BAD_INPUT, NULL,
        "time is too short: reading the data and timing took %.1f s, a step takes about "
        "%.2g s and a validation %.2g s",
        used, speed->step_seconds, speed->validation_seconds);
}

/* Warm-up takes a tenth of the run at most, and the learning rate falls to its end. */
static att_status choose_schedule(att_training *training, int64_t steps, att_error *err)
{
    const att_settings *settings = training->settings;
    if (att_settings_is_open(settings, "schedule"))
        ATT_TRY(choose(training, "schedule", "cosine", "it ends with the time", err));
    if (att_settings_is_open(settings, "warmup") && settings->warmup > steps / 10)
        ATT_TRY(choose_number(training, "warmup", steps / 10, "a tenth of the steps", err));
    return ATT_OK;
}

static att_status choose_length(att_training *training, const run_speed *speed, double seconds,
                                att_error *err)
{
    char why[160];
    const att_settings *settings = training->settings;
    double used = att_clock_seconds() - training->budget.start;
    step_count count = count_steps(settings, speed, seconds_left(training) - FREE_PART * seconds);
    if (count.steps < 1)
        return refuse_short(speed, used, err);
    snprintf(why, sizeof why,
             "%s at %.3g steps per second; %.1f s were used to read the data and to time steps",
             settings->time, 1 / speed->step_seconds, used);
    ATT_TRY(choose_number(training, "steps", count.steps, why, err));
    /* epochs differ by a few batches, and the plan may grow */
    ATT_TRY(choose_number(training, "epochs", count.steps / speed->epoch_steps + 2,
                          "the steps end before them", err));
    if (!att_settings_is_given(settings, "validate-every")) {
        snprintf(why, sizeof why, "a validation takes about %.2g s", speed->validation_seconds);
        ATT_TRY(choose_number(training, "validate-every", count.validate_every, why, err));
    }
    return choose_schedule(training, count.steps, err);
}

att_status att_budget_choose(att_training *training, double seconds, att_error *err)
{
    att_budget *budget = &training->budget;
    run_speed speed = { 0 };
    budget->deadline = budget->start + seconds;
    ATT_TRY(choose_size(training, &speed, seconds, err));
    budget->step_seconds = speed.step_seconds;
    budget->validation_seconds = speed.validation_seconds;
    return choose_length(training, &speed, seconds, err);
}

/* ---- planning anew */

/* Seconds for the steps that are left and the validations between them, until now + result. */
static double seconds_for(const att_training *training, int64_t steps)
{
    const att_budget *budget = &training->budget;
    const att_settings *settings = training->settings;
    int64_t every = att_max_i64(
        settings->validate_every > 0 ? settings->validate_every : training->plan.epoch_steps, 1);
    int64_t at = training->state.step;
    int64_t between = steps > 0 ? (at + steps - 1) / every - at / every : 0;
    int64_t last = settings->average_checkpoints > 0 ? 2 : 1;
    return (double)steps * budget->step_seconds +
           (double)(between + last) * budget->validation_seconds;
}

/* The most steps that end in time; 0: end now. */
static int64_t steps_within(const att_training *training, double seconds)
{
    int64_t low = 0, high = att_max_i64((int64_t)(seconds / training->budget.step_seconds), 0);
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;
        if (seconds_for(training, middle) <= seconds)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Changes the number of steps, in the settings too. */
static att_status change_plan(att_training *training, int64_t total, att_error *err)
{
    att_training_plan *plan = &training->plan;
    att_settings *settings = training->settings;
    if (total == plan->total_steps || plan->piece_count + 2 > ATT_MAX_STEP_PLAN)
        return ATT_OK;
    if (plan->piece_count == 0)
        plan->pieces[plan->piece_count++] = (att_step_plan_piece){ 0, plan->total_steps };
    att_step_plan_piece *last = &plan->pieces[plan->piece_count - 1];
    if (last->from == training->state.step) /* no step was made with it */
        last->steps = total;
    else
        plan->pieces[plan->piece_count++] = (att_step_plan_piece){ training->state.step, total };
    plan->total_steps = total;
    att_string text = { 0 };
    char steps[32], epochs[32];
    att_status status = ATT_OK;
    for (size_t i = 0; i < plan->piece_count && status == ATT_OK; i++)
        status = att_string_printf(&text, "%s%" PRId64 ":%" PRId64, i > 0 ? "," : "",
                                   plan->pieces[i].from, plan->pieces[i].steps);
    status = status == ATT_OK ? ATT_OK : att_fail_memory(err);
    snprintf(steps, sizeof steps, "%" PRId64, total);
    snprintf(epochs, sizeof epochs, "%" PRId64,
             att_max_i64(settings->epochs, total / plan->epoch_steps + 2));
    if (status == ATT_OK)
        status = att_settings_set_from(settings, "step-plan", text.data, ATT_FROM_MODEL, err);
    if (status == ATT_OK)
        status = att_settings_set_from(settings, "steps", steps, ATT_FROM_MODEL, err);
    if (status == ATT_OK)
        status = att_settings_set_from(settings, "epochs", epochs, ATT_FROM_MODEL, err);
    att_string_free(&text);
    return status;
}

/* Steps are timed with all that comes between them, such as checkpoints. */
static void time_steps_until(att_budget *budget, double end)
{
    if (budget->timed_steps > 0 && budget->timed_since > 0)
        budget->step_seconds = (end - budget->timed_since) / (double)budget->timed_steps;
    budget->timed_since = end;
    budget->timed_steps = 0;
}

/* Too late is always corrected, too early if it is a lot: speed varies. */
static att_status check_plan(att_training *training, double now, att_error *err)
{
    att_budget *budget = &training->budget;
    double whole = budget->deadline - budget->start;
    budget->next_check = now + CHECK_PART * whole;
    int64_t steps = training->plan.total_steps - training->state.step;
    double spare = fmax(FREE_PART / 2 * whole, budget->step_seconds);
    double left = budget->deadline - now - spare;
    double needed = seconds_for(training, steps);
    bool late = needed > left, early = needed < 0.85 * left;
    if (steps <= 0 || (!late && !early))
        return ATT_OK;
    int64_t within = steps_within(training, left - spare);
    return change_plan(training, training->state.step + within, err);
}

att_status att_budget_step_done(att_training *training, att_error *err)
{
    att_budget *budget = &training->budget;
    double now = att_clock_seconds();
    budget->timed_steps += budget->timed_since > 0;
    if (budget->timed_since > 0 && now < budget->next_check)
        return ATT_OK;
    time_steps_until(budget, now);
    return check_plan(training, now, err);
}

att_status att_budget_validation_done(att_training *training, double seconds, att_error *err)
{
    att_budget *budget = &training->budget;
    double now = att_clock_seconds();
    time_steps_until(budget, now - seconds);
    budget->timed_since = now;
    budget->validation_seconds = seconds;
    return check_plan(training, now, err);
}
