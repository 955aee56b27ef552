/* Dropout and Adam: what is dropped is what the counter says, and steps are those of the paper. */
#include "kern/check.h"

static void each_element_is_dropped_as_its_own_number_says(void **state)
{
    (void)state;
    float x[ROW_MAX], y[ROW_MAX];
    FOR_EACH_SET(kernels)
    {
        att_drop drop = { UINT64_C(0x123456789abcdef), UINT64_C(0xfedcba9876543), 0.25f };
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
        att_drop drop = { 5, 6, 0.1f };
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
        att_drop drop = { 1, 2, 0.5f };
        for (size_t i = 0; i < 200; i++) {
            ones[i] = dx[i] = 1;
            dy[i] = 3;
        }
        kernels->dropout(y, ones, 200, &drop);
        for (size_t i = 0; i < 200; i++)
            if (y[i] == 0)
                dy[i] = NAN;
        kernels->dropout_back(dx, dy, 200, &drop);
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
        kernels->dropout(y, x, 100, &(att_drop){ 1, 1, 0 });
        assert_memory_equal(x, y, sizeof x);
    }
}

/* Algorithm 1 of the paper in double precision, with decoupled decay. */
static void adam_follows_the_paper(void **state)
{
    (void)state;
    enum { N = 53, STEPS = 20 };
    FOR_EACH_SET(kernels)
    {
        float p[N], m[N] = { 0 }, v[N] = { 0 }, g[N];
        double p2[N], m2[N] = { 0 }, v2[N] = { 0 };
        fill(p, N, 93, -1, 1);
        for (size_t i = 0; i < N; i++)
            p2[i] = p[i];
        for (int t = 1; t <= STEPS; t++) {
            fill(g, N, 94 + (uint64_t)t, -1, 1);
            att_adam_step step = { 0.01f, 0.9f, 0.98f, 1e-8f, 0.1f, 0, 0 };
            double first = 1 - pow(step.beta1, t), second = 1 - pow(step.beta2, t);
            step.first = (float)first;
            step.second = (float)second;
            kernels->adam(p, m, v, g, N, &step);
            for (size_t i = 0; i < N; i++) {
                double b1 = step.beta1, b2 = step.beta2, rate = step.rate;
                m2[i] = b1 * m2[i] + (1 - b1) * g[i];
                v2[i] = b2 * v2[i] + (1 - b2) * g[i] * g[i];
                p2[i] -= rate * (m2[i] / first / (sqrt(v2[i] / second) + 1e-8) +
                                 (double)step.decay * p2[i]);
            }
        }
        /* ten roundings a step, of numbers up to 1 in the parameter and up to 0.01 in the change */
        for (size_t i = 0; i < N; i++)
            check_near(p[i], p2[i], STEPS * 4 * EPS, "parameter", kernels->name, N, i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_element_is_dropped_as_its_own_number_says),
        cmocka_unit_test(about_the_asked_share_is_dropped),
        cmocka_unit_test(what_was_dropped_gets_no_gradient_not_even_nan),
        cmocka_unit_test(nothing_is_dropped_at_probability_zero),
        cmocka_unit_test(adam_follows_the_paper),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
