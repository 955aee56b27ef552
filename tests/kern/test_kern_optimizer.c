/* The kernels of dropout and optimizers: the counter decides which elements are dropped, and update
 * steps follow the formulas of the papers. */
#include "kern/check.h"

static void each_element_is_dropped_as_its_own_number_says(void **state)
{
    (void)state;
    float x[ROW_MAX], y[ROW_MAX];
    FOR_EACH_SET(kernels)
    {
        att_dropout_options drop = { UINT64_C(0x123456789abcdef), UINT64_C(0xfedcba9876543),
                                     0.25f };
        fill(x, ROW_MAX, 91, 1, 2);
        kernels->dropout(y, x, ROW_MAX, &drop);
        for (size_t i = 0; i < ROW_MAX; i++) {
            bool dropped = att_random_float(drop.seed, drop.stream, i) < 0.25f;
            assert_true(y[i] == (dropped ? 0 : x[i] * (1 / 0.75f)));
        }
    }
}

static void about_the_asked_share_is_dropped(void **state)
{
    (void)state;
    static float x[100000], y[100000];
    for (size_t i = 0; i < 100000; i++)
        x[i] = 1;
    FOR_EACH_SET(kernels)
    {
        att_dropout_options drop = { 5, 6, 0.1f };
        size_t zeros = 0;
        kernels->dropout(y, x, 100000, &drop);
        for (size_t i = 0; i < 100000; i++)
            zeros += y[i] == 0;
        /* five standard deviations of the binomial: sqrt(1e5 * 0.1 * 0.9) = 95 */
        assert_in_range(zeros, 10000 - 475, 10000 + 475);
    }
}

static void what_was_dropped_gets_no_gradient_not_even_nan(void **state)
{
    (void)state;
    FOR_EACH_SET(kernels)
    {
        float ones[200], y[200], dy[200], dx[200];
        att_dropout_options drop = { 1, 2, 0.5f };
        for (size_t i = 0; i < 200; i++) {
            ones[i] = dx[i] = 1;
            dy[i] = 3;
        }
        kernels->dropout(y, ones, 200, &drop);
        for (size_t i = 0; i < 200; i++)
            if (y[i] == 0)
                dy[i] = NAN;
        kernels->dropout_backward(dx, dy, 200, &drop);
        for (size_t i = 0; i < 200; i++)
            assert_true(dx[i] == (y[i] == 0 ? 1 : 7));
    }
}

static void nothing_is_dropped_at_probability_zero(void **state)
{
    (void)state;
    float x[100], y[100];
    FOR_EACH_SET(kernels)
    {
        fill(x, 100, 92, -1, 1);
        kernels->dropout(y, x, 100, &(att_dropout_options){ 1, 1, 0 });
        assert_memory_equal(x, y, sizeof x);
    }
}

enum { N = 53, STEPS = 20 };

/* A parameter in float and in double, and up to two moments of each. */
typedef struct pair_of_runs {
    float p[N], m[N], v[N], g[N];
    double p2[N], m2[N], v2[N];
} pair_of_runs;

static const att_gradient_options use = { 0.5f, 0.02f };

static void start(pair_of_runs *run)
{
    *run = (pair_of_runs){ 0 };
    fill(run->p, N, 93, -1, 1);
    for (size_t i = 0; i < N; i++)
        run->p2[i] = run->p[i];
}

/* The gradient that a step uses, in double precision. */
static double gradient_at(const pair_of_runs *run, size_t i)
{
    return use.scale * (double)run->g[i] + use.l2_penalty * run->p2[i];
}

/* About ten roundings a step, of numbers up to 1 in the parameter and smaller ones in the change.
 */
static void check_run(const pair_of_runs *run, const att_kernels *kernels)
{
    for (size_t i = 0; i < N; i++)
        check_near(run->p[i], run->p2[i], STEPS * 4 * EPS, "parameter", kernels->name, N, i);
}

static void sgd_gathers_momentum(void **state)
{
    (void)state;
    FOR_EACH_SET(kernels)
    {
        pair_of_runs run;
        start(&run);
        for (int t = 1; t <= STEPS; t++) {
            fill(run.g, N, 94 + (uint64_t)t, -1, 1);
            att_sgd_step step = { use, 0.01f, 0.9f };
            double rate = step.learning_rate, momentum = step.momentum;
            for (size_t i = 0; i < N; i++) {
                run.v2[i] = momentum * run.v2[i] + gradient_at(&run, i);
                run.p2[i] -= rate * run.v2[i];
            }
            kernels->sgd(run.p, run.v, run.g, N, &step);
        }
        check_run(&run, kernels);
    }
}

/* Algorithm 1 of the paper in double precision, with decoupled decay. */
static void adam_follows_the_paper(void **state)
{
    (void)state;
    FOR_EACH_SET(kernels)
    {
        pair_of_runs run;
        start(&run);
        for (int t = 1; t <= STEPS; t++) {
            fill(run.g, N, 94 + (uint64_t)t, -1, 1);
            att_adam_step step = { use, 0.01f, 0.9f, 0.98f, 1e-8f, 0.1f, 0, 0 };
            double b1 = step.beta1, b2 = step.beta2, rate = step.learning_rate;
            double first = 1 - pow(b1, t), second = 1 - pow(b2, t);
            step.bias_correction1 = (float)first;
            step.bias_correction2 = (float)second;
            for (size_t i = 0; i < N; i++) {
                double g = gradient_at(&run, i);
                run.m2[i] = b1 * run.m2[i] + (1 - b1) * g;
                run.v2[i] = b2 * run.v2[i] + (1 - b2) * g * g;
                run.p2[i] -= rate * (run.m2[i] / first / (sqrt(run.v2[i] / second) + 1e-8) +
                                     (double)step.weight_decay * run.p2[i]);
            }
            kernels->adam(run.p, run.m, run.v, run.g, N, &step);
        }
        check_run(&run, kernels);
    }
}

static void adadelta_follows_the_paper(void **state)
{
    (void)state;
    FOR_EACH_SET(kernels)
    {
        pair_of_runs run;
        start(&run);
        for (int t = 1; t <= STEPS; t++) {
            fill(run.g, N, 94 + (uint64_t)t, -1, 1);
            att_adadelta_step step = { use, 0.8f, 0.95f, 1e-6f };
            double rho = step.rho, epsilon = step.epsilon, rate = step.learning_rate;
            for (size_t i = 0; i < N; i++) {
                double g = gradient_at(&run, i);
                run.m2[i] = rho * run.m2[i] + (1 - rho) * g * g;
                double change = sqrt(run.v2[i] + epsilon) / sqrt(run.m2[i] + epsilon) * g;
                run.v2[i] = rho * run.v2[i] + (1 - rho) * change * change;
                run.p2[i] -= rate * change;
            }
            kernels->adadelta(run.p, run.m, run.v, run.g, N, &step);
        }
        check_run(&run, kernels);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_element_is_dropped_as_its_own_number_says),
        cmocka_unit_test(about_the_asked_share_is_dropped),
        cmocka_unit_test(what_was_dropped_gets_no_gradient_not_even_nan),
        cmocka_unit_test(nothing_is_dropped_at_probability_zero),
        cmocka_unit_test(sgd_gathers_momentum),
        cmocka_unit_test(adam_follows_the_paper),
        cmocka_unit_test(adadelta_follows_the_paper),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
