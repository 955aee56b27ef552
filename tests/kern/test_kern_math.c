/* The elementary functions against libm in double precision: every special value, and floats all
 * over the range. With ATTEND_EXHAUSTIVE set, all floats (about ten minutes). */
#include "kern/check.h"

#include <stdint.h>
#include <stdlib.h>

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static const struct function {
    const char *name;
    size_t kernel; /* its place in att_kernels */
    double (*truth)(double x);
} functions[] = {
    { "exp", offsetof(att_kernels, exp), exp },
    { "log", offsetof(att_kernels, log), log },
    { "tanh", offsetof(att_kernels, tanh), tanh },
    { "sigmoid", offsetof(att_kernels, sigmoid), sigmoid },
    { "erf", offsetof(att_kernels, erf), erf },
};
enum { FUNCTIONS = sizeof functions / sizeof *functions, CHUNK = 4096 };

static att_kern_elementwise *kernel_of(const att_kernels *kernels, const struct function *f)
{
    att_kern_elementwise *kernel;
    memcpy(&kernel, (const char *)kernels + f->kernel, sizeof kernel);
    return kernel;
}

static float from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The distance of `got` from the truth in units of the last place that a float has there. Below the
 * normal range the unit is the smallest float; beyond the largest float, infinity is right. */
static double ulps(float got, double truth)
{
    if (isnan(truth) || isnan(got))
        return isnan(truth) && isnan(got) ? 0 : INFINITY;
    if (isinf(got) || isinf((float)truth))
        return (double)got == truth || got == (float)truth ? 0 : INFINITY;
    int exponent;
    frexp(truth, &exponent);
    return fabs(got - truth) / ldexp(1, (exponent < -125 ? -125 : exponent) - 24);
}

/* The worst distance over the floats whose bits are first, first + step, … */
static double worst_of(const struct function *f, const att_kernels *kernels, uint64_t step,
                       float *where)
{
    static float x[CHUNK], y[CHUNK];
    double worst = 0;
    for (uint64_t bits = 0; bits <= UINT32_MAX;) {
        size_t n = 0;
        for (; n < CHUNK && bits <= UINT32_MAX; bits += step)
            x[n++] = from_bits((uint32_t)bits);
        kernel_of(kernels, f)(y, x, n);
        for (size_t i = 0; i < n; i++) {
            double distance = ulps(y[i], f->truth(x[i]));
            if (distance > worst) {
                worst = distance;
                *where = x[i];
            }
        }
    }
    return worst;
}

static void functions_stay_within_two_units_over_the_whole_range(void **state)
{
    (void)state;
    uint64_t step = getenv("ATTEND_EXHAUSTIVE") ? 1 : 1009; /* prime: all low bits appear */
    for (size_t k = 0; k < FUNCTIONS; k++) {
        float where = 0;
        double worst = worst_of(&functions[k], att_kernels_get(), step, &where);
        print_message("# %s: %.3f units, at %a\n", functions[k].name, worst, (double)where);
        if (worst > 2)
            fail_msg("%s is %.3f units off at %a", functions[k].name, worst, (double)where);
    }
}

/* Where methods change: powers of two, the splits of tanh and erf, the ends of exp. */
static void functions_stay_within_two_units_around_the_seams(void **state)
{
    (void)state;
    static const float seams[] = { 0.6f,       0.93f,      4.0f,     9.5f,
                                   88.72284f,  -87.33655f, -103.97f, -103.27893f,
                                   0.3465f,    0x1p-126f,  1.0f,     0.70710678f,
                                   1.4142135f, 0x1p-149f,  16.6f,    -16.6f };
    for (size_t k = 0; k < FUNCTIONS; k++)
        FOR_EACH_SET(kernels)
    for (size_t s = 0; s < sizeof seams / sizeof *seams; s++) {
        float x[401], y[401];
        uint32_t center;
        memcpy(&center, &seams[s], sizeof center);
        for (uint32_t i = 0; i < 401; i++)
            x[i] = from_bits(center - 200 + i);
        kernel_of(kernels, &functions[k])(y, x, 401);
        for (size_t i = 0; i < 401; i++)
            if (!(ulps(y[i], functions[k].truth(x[i])) <= 2))
                fail_msg("%s(%a) = %a on %s", functions[k].name, (double)x[i], (double)y[i],
                         kernels->name);
    }
}

static void special_values_give_what_mathematics_gives(void **state)
{
    (void)state;
    static const struct {
        size_t kernel;
        float x, y;
    } known[] = {
        { offsetof(att_kernels, exp), 0.0f, 1.0f },
        { offsetof(att_kernels, exp), -INFINITY, 0.0f },
        { offsetof(att_kernels, exp), INFINITY, INFINITY },
        { offsetof(att_kernels, exp), 3e38f, INFINITY },
        { offsetof(att_kernels, log), 0.0f, -INFINITY },
        { offsetof(att_kernels, log), -0.0f, -INFINITY },
        { offsetof(att_kernels, log), 1.0f, 0.0f },
        { offsetof(att_kernels, log), INFINITY, INFINITY },
        { offsetof(att_kernels, tanh), -0.0f, -0.0f },
        { offsetof(att_kernels, tanh), INFINITY, 1.0f },
        { offsetof(att_kernels, tanh), -INFINITY, -1.0f },
        { offsetof(att_kernels, tanh), 0x1p-149f, 0x1p-149f },
        { offsetof(att_kernels, sigmoid), 0.0f, 0.5f },
        { offsetof(att_kernels, sigmoid), INFINITY, 1.0f },
        { offsetof(att_kernels, sigmoid), -INFINITY, 0.0f },
        { offsetof(att_kernels, erf), -0.0f, -0.0f },
        { offsetof(att_kernels, erf), INFINITY, 1.0f },
        { offsetof(att_kernels, erf), -INFINITY, -1.0f },
        { offsetof(att_kernels, relu), -INFINITY, 0.0f },
        { offsetof(att_kernels, relu), INFINITY, INFINITY },
        { offsetof(att_kernels, gelu), INFINITY, INFINITY },
        { offsetof(att_kernels, gelu), -INFINITY, 0.0f },
        { offsetof(att_kernels, silu), INFINITY, INFINITY },
        { offsetof(att_kernels, silu), -INFINITY, -0.0f },
    };
    FOR_EACH_SET(kernels)
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        float y;
        kernel_of(kernels, &(struct function){ .kernel = known[i].kernel })(&y, &known[i].x, 1);
        if (memcmp(&y, &known[i].y, sizeof y) != 0)
            fail_msg("row %zu on %s: f(%g) = %g, expected %g", i, kernels->name, (double)known[i].x,
                     (double)y, (double)known[i].y);
    }
}

static void nan_goes_through_every_map(void **state)
{
    (void)state;
    FOR_EACH_SET(kernels)
    {
        att_kern_elementwise *const maps[] = { kernels->exp,     kernels->log, kernels->tanh,
                                               kernels->sigmoid, kernels->erf, kernels->relu,
                                               kernels->gelu,    kernels->silu };
        for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
            float x[3] = { 1, NAN, 2 }, y[3];
            maps[i](y, x, 3);
            assert_true(y[0] == y[0]);
            assert_true(y[1] != y[1]);
            assert_true(y[2] == y[2]);
        }
    }
}

static void the_logarithm_of_a_negative_number_is_nan(void **state)
{
    (void)state;
    FOR_EACH_SET(kernels)
    {
        float x[4] = { -1.0f, -0x1p-149f, -INFINITY, -3e38f }, y[4];
        kernels->log(y, x, 4);
        for (int i = 0; i < 4; i++)
            assert_true(y[i] != y[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_stay_within_two_units_over_the_whole_range),
        cmocka_unit_test(functions_stay_within_two_units_around_the_seams),
        cmocka_unit_test(special_values_give_what_mathematics_gives),
        cmocka_unit_test(nan_goes_through_every_map),
        cmocka_unit_test(the_logarithm_of_a_negative_number_is_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
