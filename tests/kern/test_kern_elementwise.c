/* The activations and their gradients against double precision. Gradients are compared with central
 * differences of the double function, which do not use the formulas of the kernels. */
#include "kern/check.h"

static double relu(double x)
{
    return x > 0 ? x : 0;
}

static double gelu(double x)
{
    return x * 0.5 * erfc(-x * sqrt(0.5));
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double silu(double x)
{
    return x * sigmoid(x);
}

static double slope(double (*f)(double), double x)
{
    const double h = 1e-6;
    return (f(x + h) - f(x - h)) / (2 * h);
}

/* The error of 1 + erf is 2 ulp of a number up to 2, and x scales it; the products round. */
static void activations_are_within_a_few_roundings_of_x(void **state)
{
    (void)state;
    float x[ROW_MAX], y[ROW_MAX];
    FOR_EACH_SET(kernels)
    {
        const struct {
            const char *name;
            att_kern_elementwise *kernel;
            double (*truth)(double);
        } all[] = {
            { "relu", kernels->relu, relu },
            { "gelu", kernels->gelu, gelu },
            { "silu", kernels->silu, silu },
        };
        fill(x, ROW_MAX, 5, -12, 12);
        for (size_t k = 0; k < 3; k++) {
            all[k].kernel(y, x, ROW_MAX);
            for (size_t i = 0; i < ROW_MAX; i++)
                check_near(y[i], all[k].truth(x[i]), 6 * EPS * fabs((double)x[i]), all[k].name,
                           kernels->name, ROW_MAX, i);
        }
    }
}

static void gradients_are_those_of_central_differences(void **state)
{
    (void)state;
    float x[ROW_MAX], y[ROW_MAX], dy[ROW_MAX], dx[ROW_MAX];
    FOR_EACH_SET(kernels)
    {
        const struct {
            const char *name;
            att_kern_elementwise_backward *kernel;
            att_kern_elementwise
                *keeps; /* computes the `kept` input of the kernel; NULL where that is x */
            double (*truth)(double);
        } all[] = {
            { "tanh_backward", kernels->tanh_backward, kernels->tanh, tanh },
            { "sigmoid_backward", kernels->sigmoid_backward, kernels->sigmoid, sigmoid },
            { "relu_backward", kernels->relu_backward, NULL, relu },
            { "gelu_backward", kernels->gelu_backward, NULL, gelu },
            { "silu_backward", kernels->silu_backward, NULL, silu },
        };
        fill(x, ROW_MAX, 6, -9, 9);
        fill(dy, ROW_MAX, 7, -2, 2);
        for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
            if (all[k].keeps)
                all[k].keeps(y, x, ROW_MAX);
            fill(dx, ROW_MAX, 8, -1, 1);
            float before[ROW_MAX];
            memcpy(before, dx, sizeof dx);
            all[k].kernel(dx, dy, all[k].keeps ? y : x, ROW_MAX);
            for (size_t i = 0; i < ROW_MAX; i++) {
                double want = before[i] + dy[i] * slope(all[k].truth, x[i]);
                /* central differences give about 1e-9; |dy| <= 2 and |dx| <= 4 set the rest */
                check_near(dx[i], want, 16 * EPS * (1 + fabs((double)x[i])) + 1e-8, all[k].name,
                           kernels->name, ROW_MAX, i);
            }
        }
    }
}

static void a_closed_relu_lets_not_even_nan_through(void **state)
{
    (void)state;
    FOR_EACH_SET(kernels)
    {
        float dx[2] = { 1, 1 }, dy[2] = { NAN, INFINITY }, x[2] = { -1, 0 };
        kernels->relu_backward(dx, dy, x, 2);
        assert_true(dx[0] == 1 && dx[1] == 1);
    }
}

static void add_scaled_rounds_once(void **state)
{
    (void)state;
    float x[ROW_MAX], y[ROW_MAX];
    FOR_EACH_SET(kernels)
    {
        fill(x, ROW_MAX, 11, -1, 1);
        fill(y, ROW_MAX, 12, -1, 1);
        float before[ROW_MAX];
        memcpy(before, y, sizeof y);
        kernels->axpy(y, 0.7f, x, ROW_MAX);
        for (size_t i = 0; i < ROW_MAX; i++)
            assert_true(y[i] == fmaf(0.7f, x[i], before[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(activations_are_within_a_few_roundings_of_x),
        cmocka_unit_test(gradients_are_those_of_central_differences),
        cmocka_unit_test(a_closed_relu_lets_not_even_nan_through),
        cmocka_unit_test(add_scaled_rounds_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
