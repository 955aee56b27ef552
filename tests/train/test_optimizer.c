/* Optimizers on whole blocks: the settings reach the kernels, and results do not depend on threads.
 */
#include "train/optimizer.h"

#include "base/alloc.h"
#include "base/random.h"
#include "failing_memory.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { SIZE = 100003, STEPS = 3 };

static void fill(float *x, uint64_t stream)
{
    for (size_t i = 0; i < SIZE; i++)
        x[i] = att_random_float(7, stream, i) - 0.5f;
}

static att_settings *settings_with(const char *key, const char *value)
{
    att_settings *settings;
    assert_int_equal(att_settings_new(&settings, "reverse", NULL), ATT_OK);
    assert_int_equal(att_settings_set(settings, key, value, NULL), ATT_OK);
    return settings;
}

/* Runs a few steps from the same start; the result is in `value`. */
static void run(float *value, const att_settings *settings)
{
    att_optimizer optimizer;
    float *grad = att_alloc(SIZE, sizeof *grad);
    assert_int_equal(
        att_optimizer_new(&optimizer, (att_optimizer_kind)settings->optimizer, SIZE, NULL), ATT_OK);
    fill(value, 0);
    for (int t = 1; t <= STEPS; t++) {
        fill(grad, (uint64_t)t);
        att_optimizer_step(&optimizer, settings, value, grad,
                           &(att_optimizer_step_options){ t, 0.01, 0.5 });
    }
    att_optimizer_free(&optimizer);
    att_free(grad);
}

static void results_do_not_depend_on_the_number_of_threads(void **state)
{
    (void)state;
    static const char *const names[] = { "sgd", "adam", "adamw", "adadelta" };
    static float one[SIZE], many[SIZE];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        att_settings *settings = settings_with("optimizer", names[i]);
        att_threads_set(1);
        run(one, settings);
        att_threads_set(3);
        run(many, settings);
        assert_memory_equal(one, many, sizeof one);
        att_settings_free(settings);
    }
}

/* The effect of weight decay on one step, at element 0, whose gradient is 1. */
static float change_by_decay(const char *optimizer, double learning_rate)
{
    static float with[SIZE], without[SIZE], grad[SIZE];
    att_settings *settings = settings_with("optimizer", optimizer);
    float *const results[] = { without, with };
    for (int k = 0; k < 2; k++) {
        att_optimizer made;
        assert_int_equal(att_settings_set(settings, "weight-decay", k ? "0.1" : "0", NULL), ATT_OK);
        assert_int_equal(
            att_optimizer_new(&made, (att_optimizer_kind)settings->optimizer, SIZE, NULL), ATT_OK);
        fill(results[k], 0);
        grad[0] = 1;
        att_optimizer_step(&made, settings, results[k], grad,
                           &(att_optimizer_step_options){ 1, learning_rate, 1 });
        att_optimizer_free(&made);
    }
    att_settings_free(settings);
    return with[0] - without[0];
}

static void adamw_decays_weights_and_adam_adds_decay_to_gradients(void **state)
{
    (void)state;
    float value = att_random_float(7, 0, 0) - 0.5f;
    /* The first step of Adam depends only on the sign of the gradient, so decay has no effect. */
    assert_true(fabsf(change_by_decay("adam", 0.5)) < 1e-5f);
    assert_true(fabsf(change_by_decay("adamw", 0.5) + 0.5f * 0.1f * value) < 1e-6f);
    assert_true(fabsf(change_by_decay("sgd", 0.5) + 0.5f * 0.1f * value) < 1e-6f);
}

static void the_first_step_of_adam_has_the_size_of_the_learning_rate(void **state)
{
    (void)state;
    static float value[SIZE], before[SIZE], grad[SIZE];
    att_settings *settings = settings_with("optimizer", "adam");
    att_optimizer made;
    assert_int_equal(att_optimizer_new(&made, ATT_OPTIMIZER_ADAM, SIZE, NULL), ATT_OK);
    fill(value, 0);
    memcpy(before, value, sizeof value);
    fill(grad, 1);
    att_optimizer_step(&made, settings, value, grad, &(att_optimizer_step_options){ 1, 0.01, 1 });
    for (size_t i = 0; i < SIZE; i++)
        if (fabsf(grad[i]) > 1e-3f) /* epsilon is 1e-8: no more than 1e-5 of it */
            assert_true(fabsf(fabsf(value[i] - before[i]) - 0.01f) < 1e-6f);
    att_optimizer_free(&made);
    att_settings_free(settings);
}

static void every_moment_has_a_name(void **state)
{
    (void)state;
    att_optimizer made;
    assert_int_equal(att_optimizer_new(&made, ATT_OPTIMIZER_SGD, 16, NULL), ATT_OK);
    assert_string_equal(att_optimizer_moment_name(&made, 0), "velocity");
    assert_null(att_optimizer_moment_name(&made, 1));
    att_optimizer_free(&made);
    assert_int_equal(att_optimizer_new(&made, ATT_OPTIMIZER_ADAMW, 16, NULL), ATT_OK);
    assert_string_equal(att_optimizer_moment_name(&made, 0), "exp_avg");
    assert_string_equal(att_optimizer_moment_name(&made, 1), "exp_avg_sq");
    assert_null(att_optimizer_moment_name(&made, 2));
    att_optimizer_free(&made);
    assert_int_equal(att_optimizer_new(&made, ATT_OPTIMIZER_ADADELTA, 16, NULL), ATT_OK);
    assert_string_equal(att_optimizer_moment_name(&made, 0), "square_avg");
    assert_string_equal(att_optimizer_moment_name(&made, 1), "acc_delta");
    att_optimizer_free(&made);
}

static void the_norm_agrees_with_its_formula_for_any_number_of_threads(void **state)
{
    (void)state;
    static float x[SIZE];
    double sums[SIZE / ATT_NORM_BLOCK + 1], exact = 0;
    fill(x, 5);
    for (size_t i = 0; i < SIZE; i++)
        exact += (double)x[i] * x[i];
    att_threads_set(1);
    double norm = att_l2_norm(x, SIZE, sums);
    assert_true(fabs(norm * norm - exact) <= SIZE * 0x1p-53 * exact);
    for (int threads = 2; threads <= 5; threads++) {
        att_threads_set(threads);
        assert_true(att_l2_norm(x, SIZE, sums) == norm);
    }
}

static void the_norm_is_finite_only_if_every_element_is(void **state)
{
    (void)state;
    static float x[SIZE];
    double sums[SIZE / ATT_NORM_BLOCK + 1];
    for (size_t i = 0; i < SIZE; i++)
        x[i] = 3e38f;
    assert_true(att_l2_norm(x, SIZE, sums) < INFINITY);
    x[SIZE - 2] = NAN;
    assert_false(att_l2_norm(x, SIZE, sums) < INFINITY);
    x[SIZE - 2] = -INFINITY;
    assert_false(att_l2_norm(x, SIZE, sums) < INFINITY);
    assert_true(att_l2_norm(x, 0, sums) == 0);
}

static att_status make_adam(void *context)
{
    (void)context;
    att_optimizer made;
    att_status status = att_optimizer_new(&made, ATT_OPTIMIZER_ADAM, 100, NULL);
    att_optimizer_free(&made);
    return status;
}

static void failing_memory_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    assert_true(every_allocation_fails(make_adam, NULL, 10) > 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_do_not_depend_on_the_number_of_threads),
        cmocka_unit_test(adamw_decays_weights_and_adam_adds_decay_to_gradients),
        cmocka_unit_test(the_first_step_of_adam_has_the_size_of_the_learning_rate),
        cmocka_unit_test(every_moment_has_a_name),
        cmocka_unit_test(the_norm_agrees_with_its_formula_for_any_number_of_threads),
        cmocka_unit_test(the_norm_is_finite_only_if_every_element_is),
        cmocka_unit_test(failing_memory_is_reported_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
