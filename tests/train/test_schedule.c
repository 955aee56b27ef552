/* Schedules of the learning rate and of scheduled sampling. */
#include "train/schedule.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const att_training_plan plan = { .epoch_steps = 100, .total_steps = 1000 };

static att_settings *make(const char *const (*pairs)[2])
{
    att_settings *settings;
    assert_int_equal(att_settings_new(&settings, "reverse", NULL), ATT_OK);
    for (; (*pairs)[0]; pairs++)
        assert_int_equal(att_settings_set(settings, (*pairs)[0], (*pairs)[1], NULL), ATT_OK);
    return settings;
}

#define MAKE(...) make((const char *const[][2]){ __VA_ARGS__, { NULL, NULL } })

static double learning_rate_at(const att_settings *settings, int64_t step)
{
    return att_schedule_learning_rate(settings, &plan, &(att_plateau){ 0 }, step);
}

static void check(double actual, double expected)
{
    if (fabs(actual - expected) > 4e-16 * fabs(expected)) /* a few rounding errors */
        fail_msg("%.17g, expected %.17g", actual, expected);
}

static void every_schedule_starts_with_a_linear_warm_up(void **state)
{
    (void)state;
    static const char *const names[] = { "constant", "inverse-sqrt", "cosine", "plateau" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        att_settings *settings =
            MAKE({ "schedule", names[i] }, { "learning-rate", "0.5" }, { "warmup", "40" });
        check(learning_rate_at(settings, 1), 0.5 / 40);
        check(learning_rate_at(settings, 10), 0.125);
        check(learning_rate_at(settings, 40), 0.5);
        att_settings_free(settings);
    }
}

/* Half of the way was done in 500 of 1000 steps when the end became step 700: the rest is done in
 * 200 steps. */
static void a_changed_plan_continues_from_where_it_was(void **state)
{
    (void)state;
    const att_training_plan changed = { .epoch_steps = 100,
                                        .total_steps = 700,
                                        .pieces = { { 0, 1000 }, { 500, 700 } },
                                        .piece_count = 2 };
    att_settings *settings =
        MAKE({ "schedule", "cosine" }, { "learning-rate", "0.5" }, { "scheduled-sampling", "0.4" });
    const att_plateau plateau = { 0 };
    for (int64_t step = 1; step <= 500; step++)
        assert_true(att_schedule_learning_rate(settings, &changed, &plateau, step) ==
                    att_schedule_learning_rate(settings, &plan, &plateau, step));
    check(att_schedule_learning_rate(settings, &changed, &plateau, 600),
          att_schedule_learning_rate(settings, &plan, &plateau, 750));
    assert_true(att_schedule_learning_rate(settings, &changed, &plateau, 700) < 1e-15);
    check(att_schedule_sampling_probability(settings, &changed, 600), 0.4 * 0.75);
    check(att_schedule_sampling_probability(settings, &changed, 700), 0.4);
    att_settings_free(settings);
}

static void a_constant_learning_rate_does_not_change(void **state)
{
    (void)state;
    att_settings *settings = MAKE({ "schedule", "constant" }, { "learning-rate", "0.25" });
    check(learning_rate_at(settings, 1), 0.25);
    check(learning_rate_at(settings, 100000), 0.25);
    att_settings_free(settings);
}

static void inverse_sqrt_halves_when_the_steps_quadruple(void **state)
{
    (void)state;
    att_settings *settings =
        MAKE({ "schedule", "inverse-sqrt" }, { "learning-rate", "1" }, { "warmup", "50" });
    check(learning_rate_at(settings, 200), 0.5);
    check(learning_rate_at(settings, 800), 0.25);
    att_settings_free(settings);
}

static void cosine_falls_to_the_minimum_at_the_end_and_stays(void **state)
{
    (void)state;
    att_settings *settings = MAKE({ "schedule", "cosine" }, { "learning-rate", "1" },
                                  { "min-learning-rate", "0.2" }, { "warmup", "200" });
    const double pi = acos(-1);
    for (int64_t step = 200; step <= 1000; step += 50) {
        double t = (double)(step - 200) / 800;
        double want = 0.2 + 0.8 * (1 + cos(pi * t)) / 2;
        assert_true(fabs(learning_rate_at(settings, step) - want) < 1e-15);
    }
    assert_true(fabs(learning_rate_at(settings, 5000) - 0.2) < 1e-15);
    att_settings_free(settings);
}

static void plateau_reduces_after_its_patience_down_to_the_minimum(void **state)
{
    (void)state;
    att_settings *settings =
        MAKE({ "schedule", "plateau" }, { "learning-rate", "1" }, { "plateau-factor", "0.5" },
             { "plateau-patience", "2" }, { "min-learning-rate", "0.2" });
    att_plateau plateau = { 0 };
    static const struct {
        double loss, rate;
    } course[] = { { 5, 1 },     { 4, 1 },   { 4, 1 },   { 4.5, 0.5 }, { 3, 0.5 },
                   { 3.5, 0.5 }, { 2, 0.5 }, { 2, 0.5 }, { 2, 0.25 },  { 2, 0.25 },
                   { 2, 0.2 },   { 2, 0.2 }, { 2, 0.2 }, { NAN, 0.2 } };
    for (size_t i = 0; i < sizeof course / sizeof *course; i++) {
        att_plateau_update(&plateau, settings, course[i].loss);
        check(att_schedule_learning_rate(settings, &plan, &plateau, 10), course[i].rate);
    }
    att_settings_free(settings);
}

static void scheduled_sampling_rises_from_its_start_epoch_to_the_end(void **state)
{
    (void)state;
    att_settings *settings =
        MAKE({ "scheduled-sampling", "0.4" }, { "scheduled-sampling-start", "3" });
    check(att_schedule_sampling_probability(settings, &plan, 1), 0);
    check(att_schedule_sampling_probability(settings, &plan, 200), 0);
    check(att_schedule_sampling_probability(settings, &plan, 600), 0.2);
    check(att_schedule_sampling_probability(settings, &plan, 1000), 0.4);
    check(att_schedule_sampling_probability(settings, &plan, 1010), 0.4);
    att_settings_free(settings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_schedule_starts_with_a_linear_warm_up),
        cmocka_unit_test(a_changed_plan_continues_from_where_it_was),
        cmocka_unit_test(a_constant_learning_rate_does_not_change),
        cmocka_unit_test(inverse_sqrt_halves_when_the_steps_quadruple),
        cmocka_unit_test(cosine_falls_to_the_minimum_at_the_end_and_stays),
        cmocka_unit_test(plateau_reduces_after_its_patience_down_to_the_minimum),
        cmocka_unit_test(scheduled_sampling_rises_from_its_start_epoch_to_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
