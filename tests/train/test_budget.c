/* Runs with a time budget, by a clock of the test's own: the plan, planning anew when the speed
 * changes, and the same bits from the same plan without a budget. */
#include "train/small_run.h"

#include "base/clock.h"
#include "train/training.h"

#include <math.h>

/* ---- a clock that moves by `tick` whenever it is read, and from `slow_at` on by more */

static double now, tick, slow_at, slow_factor;

static double read_clock(void)
{
    return now += now >= slow_at ? slow_factor * tick : tick;
}

static void start_clock(double seconds_per_read)
{
    now = 1000;
    tick = seconds_per_read;
    slow_at = INFINITY;
    slow_factor = 1;
    att_clock_replace(read_clock);
}

static int stop_clock(void **state)
{
    (void)state;
    att_clock_replace(NULL);
    return 0;
}

/* ---- runs */

static const char *const run_settings[][2] = {
    { "train-count", "60" },  { "valid-count", "12" }, { "max-string-length", "6" },
    { "batch-tokens", "64" }, { "dropout", "0.3" },    { "save-every", "1000000" },
};

static att_settings *make(const char *folder, const char *time)
{
    char path[256];
    att_settings *settings;
    assert_int_equal(att_settings_new(&settings, "reverse", NULL), ATT_OK);
    for (size_t i = 0; i < sizeof run_settings / sizeof *run_settings; i++)
        small_set(settings, run_settings[i][0], run_settings[i][1]);
    if (time)
        small_set(settings, "time", time);
    snprintf(path, sizeof path, "%s/m.safetensors", folder);
    small_set(settings, "out", path);
    return settings;
}

static att_training *open_run(att_settings *settings)
{
    att_training *training;
    att_error err = { 0 };
    if (att_training_new(&training, settings, NULL, &err) != ATT_OK)
        fail_msg("%s", err.message);
    return training;
}

static void finish_run(att_training *training)
{
    att_error err = { 0 };
    if (att_training_run(training, NULL, NULL, &err) != ATT_OK)
        fail_msg("%s", err.message);
    assert_true(att_training_finished(training));
}

static int64_t get_number(const att_settings *settings, const char *key)
{
    att_string text = { 0 };
    assert_int_equal(att_settings_get(&text, settings, key, NULL), ATT_OK);
    int64_t value = atoll(text.data);
    att_string_free(&text);
    return value;
}

/* Settings without a budget that have the plan of a run with one. */
static att_settings *copy_plan(const char *folder, const att_settings *from)
{
    static const char *const keys[] = { "hidden-size", "embedding-size", "schedule",
                                        "warmup",      "epochs",         "steps",
                                        "step-plan",   "validate-every" };
    att_settings *settings = make(folder, NULL);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        att_string value = { 0 };
        assert_int_equal(att_settings_get(&value, from, keys[i], NULL), ATT_OK);
        if (value.length > 0)
            small_set(settings, keys[i], value.data);
        att_string_free(&value);
    }
    return settings;
}

/* ---- the plan */

static void the_plan_fills_the_time_and_is_reported(void **state)
{
    (void)state;
    char folder[64];
    folder_new(folder);
    start_clock(0.01);
    att_settings *settings = make(folder, "20s");
    small_set(settings, "hidden-size", "12");
    att_training *training = open_run(settings);
    att_string report = { 0 };
    assert_int_equal(att_training_report(&report, training, NULL), ATT_OK);
    assert_non_null(strstr(report.data, "chosen      steps "));
    assert_non_null(strstr(report.data, "chosen      schedule cosine: "));
    assert_null(strstr(report.data, "chosen      hidden-size")); /* it was given */
    att_string_free(&report);
    int64_t steps = get_number(settings, "steps");
    /* a read of the clock is a step of the probe: 0.01 s a step */
    assert_in_range(steps, 1500, 2000);
    int64_t validations = steps / get_number(settings, "validate-every");
    assert_in_range(validations, 2, 13);
    att_training_free(training);
    att_settings_free(settings);
    folder_remove(folder);
}

static void less_time_makes_a_smaller_model(void **state)
{
    (void)state;
    char folder[64];
    folder_new(folder);
    start_clock(0.05);
    att_settings *settings = make(folder, "5s");
    att_training *training = open_run(settings);
    assert_true(settings->hidden_size < 64); /* the default */
    assert_true(settings->embedding_size < 32);
    att_string report = { 0 };
    assert_int_equal(att_training_report(&report, training, NULL), ATT_OK);
    assert_non_null(strstr(report.data, "chosen      hidden-size "));
    assert_non_null(strstr(report.data, "the default, 64, would make only "));
    att_string_free(&report);
    att_training_free(training);
    att_settings_free(settings);
    start_clock(0.001);
    settings = make(folder, "5s");
    training = open_run(settings);
    assert_int_equal(settings->hidden_size, 64);
    att_training_free(training);
    att_settings_free(settings);
    folder_remove(folder);
}

static void more_time_and_data_make_a_larger_model(void **state)
{
    (void)state;
    static const char *const more[][2] = { { "train-count", "3100" },
                                           { "min-string-length", "100" },
                                           { "max-string-length", "101" },
                                           { "batch-tokens", "256" } };
    char folder[64];
    folder_new(folder);
    for (int seconds = 10000; seconds <= 100000; seconds *= 10) {
        char time[32];
        snprintf(time, sizeof time, "%ds", seconds);
        start_clock(0.5);
        att_settings *settings = make(folder, time);
        for (size_t i = 0; i < sizeof more / sizeof *more; i++)
            small_set(settings, more[i][0], more[i][1]);
        att_training *training = open_run(settings);
        assert_int_equal(settings->hidden_size, seconds == 10000 ? 64 : 128);
        att_training_free(training);
        att_settings_free(settings);
    }
    folder_remove(folder);
}

static void warm_up_takes_a_tenth_of_the_steps_at_most(void **state)
{
    (void)state;
    char folder[64];
    folder_new(folder);
    start_clock(0.01);
    att_settings *settings = make(folder, "4s");
    small_set(settings, "architecture", "transformer");
    small_set(settings, "hidden-size", "8");
    att_training *training = open_run(settings);
    assert_int_equal(settings->warmup, settings->steps / 10); /* 1000 by default */
    assert_int_equal(settings->schedule, ATT_SCHEDULE_COSINE);
    att_training_free(training);
    att_settings_free(settings);
    folder_remove(folder);
}

/* ---- the run */

/* Runs with a slowdown at `slow` seconds and checks that it ends in time; then trains the same plan
 * without a budget, and without the clock. */
static void check_run(double slow, double factor, bool planned_anew)
{
    char folder[64], again[64];
    folder_new(folder);
    folder_new(again);
    start_clock(0.02);
    slow_at = 1000 + slow;
    slow_factor = factor;
    att_settings *settings = make(folder, "30s");
    small_set(settings, "hidden-size", "8");
    att_training *training = open_run(settings);
    int64_t planned = settings->steps;
    finish_run(training);
    assert_true(now <= 1030);
    assert_true(now >= 1030 - 0.2 * 30); /* the time is used */
    assert_int_equal(att_training_steps(training), settings->steps);
    if (planned_anew) {
        assert_non_null(settings->step_plan);
        assert_true(factor > 1 ? settings->steps < planned : settings->steps > planned);
    }
    att_clock_replace(NULL);
    att_settings *explicit = copy_plan(again, settings);
    att_training *other = open_run(explicit);
    finish_run(other);
    folders_equal(folder, again, "the plan of a budget, given explicitly");
    att_training_free(training);
    att_training_free(other);
    att_settings_free(settings);
    att_settings_free(explicit);
    folder_remove(folder);
    folder_remove(again);
}

static void a_run_ends_in_time_and_its_plan_trains_the_same_bits(void **state)
{
    (void)state;
    check_run(1e9, 1, false);
}

static void a_run_that_becomes_slower_is_planned_anew_and_ends_in_time(void **state)
{
    (void)state;
    check_run(10, 4, true);
}

static void a_run_that_becomes_faster_uses_its_time(void **state)
{
    (void)state;
    check_run(6, 0.25, true);
}

/* Stops ten steps after the plan has changed. */
static bool stop_after_change(void *context, const att_training_progress *progress)
{
    const att_settings *settings = context;
    static int64_t changed_at;
    changed_at = settings->step_plan ? changed_at : progress->step;
    return progress->step < changed_at + 10;
}

/* A run that is stopped after the plan changed, and resumed without a budget, keeps the plan: it
 * ends in the bytes of an uninterrupted run of that plan. */
static void a_resumed_run_keeps_its_plan(void **state)
{
    (void)state;
    char folder[64], again[64], path[256];
    folder_new(folder);
    folder_new(again);
    start_clock(0.02);
    slow_at = 1005;
    slow_factor = 4;
    att_settings *settings = make(folder, "30s");
    small_set(settings, "hidden-size", "8");
    att_training *training = open_run(settings);
    assert_int_equal(att_training_run(training, stop_after_change, settings, NULL), ATT_OK);
    assert_false(att_training_finished(training));
    assert_non_null(settings->step_plan);
    att_clock_replace(NULL);
    att_settings *plan = copy_plan(again, settings);
    att_training *whole = open_run(plan);
    finish_run(whole);
    snprintf(path, sizeof path, "%s", att_training_checkpoint_path(training));
    att_training_free(training);
    att_settings_free(settings);
    assert_int_equal(att_settings_new(&settings, NULL, NULL), ATT_OK);
    small_set(settings, "resume", path);
    training = open_run(settings);
    assert_int_equal(settings->steps, plan->steps);
    finish_run(training);
    folders_equal(folder, again, "resumed with its plan");
    att_training_free(training);
    att_training_free(whole);
    att_settings_free(settings);
    att_settings_free(plan);
    folder_remove(folder);
    folder_remove(again);
}

/* A finished run goes on if it gets more steps: the plan has one more piece. */
static void a_resumed_run_may_get_more_steps(void **state)
{
    (void)state;
    char folder[64], path[256], steps[32];
    folder_new(folder);
    start_clock(0.05);
    slow_at = 1005;
    slow_factor = 4;
    att_settings *settings = make(folder, "30s");
    small_set(settings, "hidden-size", "8");
    att_training *training = open_run(settings);
    finish_run(training);
    assert_non_null(settings->step_plan);
    att_clock_replace(NULL);
    int64_t made = att_training_steps(training);
    snprintf(path, sizeof path, "%s", att_training_checkpoint_path(training));
    snprintf(steps, sizeof steps, "%d", (int)made + 20);
    att_training_free(training);
    att_settings_free(settings);
    assert_int_equal(att_settings_new(&settings, NULL, NULL), ATT_OK);
    small_set(settings, "resume", path);
    small_set(settings, "steps", steps);
    training = open_run(settings);
    finish_run(training);
    assert_int_equal(att_training_steps(training), made + 20);
    att_training_free(training);
    att_settings_free(settings);
    folder_remove(folder);
}

/* ---- errors */

static void a_time_that_no_step_fits_into_is_refused(void **state)
{
    (void)state;
    char folder[64];
    att_training *training;
    att_error err = { 0 };
    folder_new(folder);
    start_clock(0.5);
    att_settings *settings = make(folder, "1s");
    assert_int_equal(att_training_new(&training, settings, NULL, &err), ATT_BAD_INPUT);
    assert_non_null(strstr(err.message, "time is too short: reading the data and timing took "));
    att_settings_free(settings);
    folder_remove(folder);
}

static void bad_times_and_contradictions_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *settings[2][2];
        const char *message;
    } rows[] = {
        { { { "time", "30" } }, "time expects a time from 1s to 720h" },
        { { { "time", "0s" } }, "time expects a time from 1s to 720h" },
        { { { "time", "5m2h" } }, "time expects a time from 1s to 720h" },
        { { { "time", "1h30m5x" } }, "time expects a time from 1s to 720h" },
        { { { "time", "9999999h" } }, "time expects a time from 1s to 720h" },
        { { { "time", "5m" }, { "steps", "10" } }, "time and steps cannot be used together" },
        { { { "time", "5m" }, { "epochs", "10" } }, "time and epochs cannot be used together" },
        { { { "step-plan", "0:5" } }, "step-plan also needs steps" },
        { { { "step-plan", "0:5" }, { "steps", "6" } }, "step-plan expects STEP:STEPS" },
        { { { "step-plan", "1:6" }, { "steps", "6" } }, "step-plan expects STEP:STEPS" },
        { { { "step-plan", "0:9,4:6," }, { "steps", "6" } }, "step-plan expects STEP:STEPS" },
        { { { "step-plan", "0:9,4:3" }, { "steps", "3" } }, "step-plan expects STEP:STEPS" },
        { { { "step-plan", "0:9,10:12" }, { "steps", "12" } }, "step-plan expects STEP:STEPS" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        att_settings *settings;
        att_error err = { 0 };
        assert_int_equal(att_settings_new(&settings, "reverse", NULL), ATT_OK);
        for (int k = 0; k < 2 && rows[i].settings[k][0]; k++)
            small_set(settings, rows[i].settings[k][0], rows[i].settings[k][1]);
        assert_int_equal(att_settings_check(settings, &err), ATT_BAD_INPUT);
        if (!strstr(err.message, rows[i].message))
            fail_msg("'%s' instead of '%s'", err.message, rows[i].message);
        att_settings_free(settings);
    }
}

static void times_are_sums_of_hours_minutes_and_seconds(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double seconds;
    } rows[] = {
        { "90s", 90 }, { "30m", 1800 }, { "2h", 7200 }, { "1h30m", 5400 }, { "1h5s", 3605 }
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        att_settings *settings;
        double found;
        assert_int_equal(att_settings_new(&settings, "reverse", NULL), ATT_OK);
        small_set(settings, "time", rows[i].text);
        assert_int_equal(att_settings_seconds(&found, settings, NULL), ATT_OK);
        assert_true(found == rows[i].seconds);
        att_settings_free(settings);
    }
}

/* ---- what more time would bring */

/* `losses` NULL: all are 0. */
static void expect_outlook(const double *rates, const double *losses, int64_t count,
                           const char *expected)
{
    att_validation history[16] = { 0 };
    att_settings *settings;
    att_string text = { 0 };
    assert_int_equal(att_settings_new(&settings, "reverse", NULL), ATT_OK);
    for (int64_t i = 0; i < count; i++)
        history[i] = (att_validation){ .step = 10 * (i + 1),
                                       .token_error_rate = rates[i],
                                       .loss = losses ? losses[i] : 0 };
    const att_training training = {
        .settings = settings,
        .state = { .step = 10 * count, .history = history, .history_count = count }
    };
    assert_int_equal(att_training_outlook(&text, &training, NULL), ATT_OK);
    assert_string_equal(text.data, expected);
    att_string_free(&text);
    att_settings_free(settings);
}

static void the_outlook_follows_from_the_last_third(void **state)
{
    (void)state;
    expect_outlook(
        (double[]){ 0.5, 0.4, 0.3, 0.25, 0.245, 0.24 }, NULL, 6,
        "the last third of the run gained 1.00 points; twice the time may bring about as "
        "much again\n");
    expect_outlook((double[]){ 0.5, 0.2, 0.3, 0.25, 0.245, 0.24 }, NULL, 6,
                   "no gain since step 20 of 60: more time alone would likely bring nothing\n");
    expect_outlook((double[]){ 0.5 }, NULL, 1,
                   "too few validations to say what more time would bring\n");
}

/* Language models have no other metric than the loss; their token error rate is 0. */
static void the_outlook_compares_losses_where_the_metric_is_the_same(void **state)
{
    (void)state;
    expect_outlook((double[6]){ 0 }, (double[]){ 3, 2.5, 2.25, 2, 1.9, 1.875 }, 6,
                   "the last third of the run gained 0.1250 nats of loss; twice the time may bring "
                   "about as much again\n");
    expect_outlook((double[]){ 1, 1, 1, 1, 1, 1 }, (double[]){ 3, 1.5, 1.75, 2, 1.9, 1.8 }, 6,
                   "no gain since step 20 of 60: more time alone would likely bring nothing\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_plan_fills_the_time_and_is_reported, stop_clock),
        cmocka_unit_test_teardown(less_time_makes_a_smaller_model, stop_clock),
        cmocka_unit_test_teardown(more_time_and_data_make_a_larger_model, stop_clock),
        cmocka_unit_test_teardown(warm_up_takes_a_tenth_of_the_steps_at_most, stop_clock),
        cmocka_unit_test_teardown(a_run_ends_in_time_and_its_plan_trains_the_same_bits, stop_clock),
        cmocka_unit_test_teardown(a_run_that_becomes_slower_is_planned_anew_and_ends_in_time,
                                  stop_clock),
        cmocka_unit_test_teardown(a_run_that_becomes_faster_uses_its_time, stop_clock),
        cmocka_unit_test_teardown(a_resumed_run_keeps_its_plan, stop_clock),
        cmocka_unit_test_teardown(a_resumed_run_may_get_more_steps, stop_clock),
        cmocka_unit_test_teardown(a_time_that_no_step_fits_into_is_refused, stop_clock),
        cmocka_unit_test(bad_times_and_contradictions_are_refused),
        cmocka_unit_test(times_are_sums_of_hours_minutes_and_seconds),
        cmocka_unit_test(the_outlook_follows_from_the_last_third),
        cmocka_unit_test(the_outlook_compares_losses_where_the_metric_is_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
