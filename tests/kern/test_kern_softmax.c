/* Softmax, log-softmax and cross-entropy against double precision; gradients against central
 * differences of the double function. */
#include "kern/check.h"

static double log_sum_exp(const double *x, size_t n)
{
    double most = -INFINITY, sum = 0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, x[i]);
    for (size_t i = 0; i < n; i++)
        sum += exp(x[i] - most);
    return most + log(sum);
}

static void widen(double *out, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = x[i];
}

/* exp(x - max): the difference rounds (EPS |x - max| in the exponent, at most EPS 8 here), exp adds
 * 2 units, the sum its depth, the inverse and the product one rounding each. */
static void softmax_is_near_the_truth_and_sums_to_one(void **state)
{
    (void)state;
    float x[ROW_MAX], y[ROW_MAX];
    double wide[ROW_MAX];
    FOR_EACH_SET(kernels)
    FOR_EACH_LENGTH(n)
    {
        fill(x, n, 31 + n, -4, 4);
        widen(wide, x, n);
        double lse = log_sum_exp(wide, n), relative = (8 + 2 + 2 + (double)n / 16 + 7) * EPS;
        double got = kernels->softmax(y, x, n), sum = 0;
        check_near(got, lse, 12 * EPS * (1 + fabs(lse)) + relative, "log-sum-exp", kernels->name, n,
                   0);
        for (size_t i = 0; i < n; i++) {
            double want = exp(x[i] - lse);
            check_near(y[i], want, relative * want, "softmax", kernels->name, n, i);
            sum += y[i];
        }
        check_near(sum, 1, relative, "sum of softmax", kernels->name, n, 0);
        kernels->log_softmax(y, x, n);
        for (size_t i = 0; i < n; i++)
            check_near(y[i], x[i] - lse, relative + 16 * EPS, "log_softmax", kernels->name, n, i);
    }
}

/* What a decoder does with its logits. */
static void a_row_may_be_replaced_by_its_own_result(void **state)
{
    (void)state;
    float x[ROW_MAX], y[ROW_MAX], own[ROW_MAX];
    FOR_EACH_SET(kernels)
    FOR_EACH_LENGTH(n)
    {
        att_kern_softmax *const functions[] = { kernels->softmax, kernels->log_softmax };
        for (int f = 0; f < 2; f++) {
            fill(x, n, 41 + n, -4, 4);
            fill(own, n, 41 + n, -4, 4);
            float want = functions[f](y, x, n);
            assert_true(functions[f](own, own, n) == want);
            assert_memory_equal(own, y, n * sizeof *y);
        }
    }
}

static void huge_scores_neither_overflow_nor_vanish(void **state)
{
    (void)state;
    FOR_EACH_SET(kernels)
    {
        float x[3] = { 3e38f, 3e38f, -3e38f }, y[3];
        kernels->softmax(y, x, 3);
        assert_true(y[0] == 0.5f && y[1] == 0.5f && y[2] == 0);
        float low[2] = { -3e38f, -3e38f };
        kernels->softmax(y, low, 2);
        assert_true(y[0] == 0.5f && y[1] == 0.5f);
    }
}

static void a_row_of_minus_infinity_has_weight_zero(void **state)
{
    (void)state;
    FOR_EACH_SET(kernels)
    for (size_t n = 0; n < 40; n++) {
        float x[40], y[40];
        for (size_t i = 0; i < n; i++)
            x[i] = -INFINITY;
        assert_true(kernels->softmax(y, x, n) == -INFINITY);
        for (size_t i = 0; i < n; i++)
            assert_true(y[i] == 0);
        assert_true(kernels->log_softmax(y, x, n) == -INFINITY);
        for (size_t i = 0; i < n; i++)
            assert_true(y[i] == -INFINITY);
    }
}

static void nan_anywhere_shows_in_the_whole_row(void **state)
{
    (void)state;
    FOR_EACH_SET(kernels)
    for (size_t at = 0; at < 37; at++) {
        float x[37], y[37];
        fill(x, 37, at, -1, 1);
        x[at] = NAN;
        float lse = kernels->softmax(y, x, 37);
        assert_true(lse != lse);
        for (size_t i = 0; i < 37; i++)
            assert_true(y[i] != y[i]);
    }
}

typedef double row_loss(const double *x, const float *dy, size_t n);

/* sum(dy softmax(x)) and sum(dy log_softmax(x)): their slopes are what the backward gives. */
static double softmax_loss(const double *x, const float *dy, size_t n)
{
    double lse = log_sum_exp(x, n), sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += dy[i] * exp(x[i] - lse);
    return sum;
}

static double log_softmax_loss(const double *x, const float *dy, size_t n)
{
    double lse = log_sum_exp(x, n), sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += dy[i] * (x[i] - lse);
    return sum;
}

static double slope_at(row_loss *loss, double *x, const float *dy, size_t n, size_t i)
{
    const double h = 1e-5, at = x[i];
    x[i] = at + h;
    double up = loss(x, dy, n);
    x[i] = at - h;
    double down = loss(x, dy, n);
    x[i] = at;
    return (up - down) / (2 * h);
}

static void check_back(const att_kernels *kernels, const char *name,
                       att_kern_elementwise_backward *back, att_kern_softmax *forward,
                       row_loss *loss, size_t n)
{
    float x[ROW_MAX] = { 0 }, y[ROW_MAX], dy[ROW_MAX], dx[ROW_MAX];
    double wide[ROW_MAX], size = 0;
    fill(x, n, 41 + n, -2, 2);
    fill(dy, n, 42 + n, -1, 1);
    fill(dx, n, 43 + n, -1, 1);
    widen(wide, x, n);
    forward(y, x, n);
    float before[ROW_MAX];
    memcpy(before, dx, sizeof *dx * n);
    back(dx, dy, y, n);
    for (size_t i = 0; i < n; i++)
        size += fabs((double)dy[i]);
    for (size_t i = 0; i < n; i++)
        check_near(dx[i], before[i] + slope_at(loss, wide, dy, n, i),
                   EPS * (8 + ((double)n / 16 + 20) * (1 + size / (double)n * 4)) + 1e-8, name,
                   kernels->name, n, i);
}

static void gradients_are_those_of_central_differences(void **state)
{
    (void)state;
    FOR_EACH_SET(kernels)
    FOR_EACH_LENGTH(n)
    {
        check_back(kernels, "softmax_backward", kernels->softmax_backward, kernels->softmax,
                   softmax_loss, n);
        check_back(kernels, "log_softmax_backward", kernels->log_softmax_backward,
                   kernels->log_softmax, log_softmax_loss, n);
    }
}

/* The smoothed target's cross-entropy, straight from its definition. */
static double cross_entropy(const double *x, size_t n, att_cross_entropy_target target)
{
    double lse = log_sum_exp(x, n), loss = 0;
    for (size_t i = 0; i < n; i++) {
        double t = target.label_smoothing / (double)n +
                   (i == target.class ? 1 - target.label_smoothing : 0);
        loss -= t * (x[i] - lse);
    }
    return loss;
}

static void check_cross_entropy(const att_kernels *kernels, size_t n,
                                att_cross_entropy_target target)
{
    float x[ROW_MAX] = { 0 }, dx[ROW_MAX] = { 0 }, lse;
    double wide[ROW_MAX];
    fill(x, n, 51 + n, -6, 6);
    widen(wide, x, n);
    float loss = kernels->cross_entropy(x, n, target, &lse);
    double bound = EPS * ((double)n / 16 + 20) * 2 + EPS * 12 * 4;
    check_near(loss, cross_entropy(wide, n, target), bound, "cross_entropy", kernels->name, n, 0);
    check_near(lse, log_sum_exp(wide, n), bound, "lse", kernels->name, n, 0);
    kernels->cross_entropy_backward(dx, 0.5f, x, n, target, lse);
    for (size_t i = 0; i < n; i++) {
        const double h = 1e-5, at = wide[i];
        wide[i] = at + h;
        double up = cross_entropy(wide, n, target);
        wide[i] = at - h;
        double down = cross_entropy(wide, n, target);
        wide[i] = at;
        check_near(dx[i], 0.5 * (up - down) / (2 * h), bound + 1e-9, "cross_entropy_backward",
                   kernels->name, n, i);
    }
}

static void cross_entropy_and_its_gradient_are_near_the_truth(void **state)
{
    (void)state;
    FOR_EACH_SET(kernels)
    FOR_EACH_LENGTH(n)
    {
        check_cross_entropy(kernels, n, (att_cross_entropy_target){ .class = n / 2 });
        check_cross_entropy(kernels, n, (att_cross_entropy_target){ n - 1, 0.1f });
    }
}

static void a_sure_answer_costs_nothing_however_large_the_scores(void **state)
{
    (void)state;
    FOR_EACH_SET(kernels)
    {
        float x[2] = { 1e6f, 0 }, lse;
        assert_true(kernels->cross_entropy(x, 2, (att_cross_entropy_target){ .class = 0 }, &lse) ==
                    0);
        assert_true(kernels->cross_entropy(x, 2, (att_cross_entropy_target){ .class = 1 }, &lse) ==
                    1e6f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(softmax_is_near_the_truth_and_sums_to_one),
        cmocka_unit_test(a_row_may_be_replaced_by_its_own_result),
        cmocka_unit_test(huge_scores_neither_overflow_nor_vanish),
        cmocka_unit_test(a_row_of_minus_infinity_has_weight_zero),
        cmocka_unit_test(nan_anywhere_shows_in_the_whole_row),
        cmocka_unit_test(gradients_are_those_of_central_differences),
        cmocka_unit_test(cross_entropy_and_its_gradient_are_near_the_truth),
        cmocka_unit_test(a_sure_answer_costs_nothing_however_large_the_scores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
