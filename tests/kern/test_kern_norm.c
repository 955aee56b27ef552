/* Layer norm and RMS norm against double precision; gradients against central differences of the
 * double function. */
#include "kern/check.h"

static const double epsilon = 1e-5f;

/* u = (x - mean) / sqrt(variance + epsilon), with the mean left out for the RMS norm. */
static void normalize(double *u, const double *x, size_t n, bool centered)
{
    double mean = 0, square = 0;
    for (size_t i = 0; i < n && centered; i++)
        mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        square += (x[i] - mean) * (x[i] - mean) / (double)n;
    for (size_t i = 0; i < n; i++)
        u[i] = (x[i] - mean) / sqrt(square + epsilon);
}

/* One row with its parameters. */
typedef struct row {
    float x[ROW_MAX], gain[ROW_MAX], bias[ROW_MAX], dy[ROW_MAX], y[ROW_MAX];
    float dx[ROW_MAX], dgain[ROW_MAX], dbias[ROW_MAX];
    double wide[ROW_MAX], u[ROW_MAX];
    size_t n;
    bool centered;
} row;

static row row_of(size_t n, bool centered, double low, double high)
{
    row r = { .n = n, .centered = centered };
    fill(r.x, n, 61 + n, low, high);
    fill(r.gain, n, 62 + n, 0.5, 2);
    fill(r.bias, n, 63 + n, -1, 1);
    fill(r.dy, n, 64 + n, -1, 1);
    for (size_t i = 0; i < n; i++)
        r.wide[i] = r.x[i];
    return r;
}

static double loss(row *r)
{
    double sum = 0;
    normalize(r->u, r->wide, r->n, r->centered);
    for (size_t i = 0; i < r->n; i++)
        sum += r->dy[i] * r->u[i] * r->gain[i];
    return sum;
}

/* The mean errs by its depth times EPS times the row's size, and 1/sqrt(variance) carries that on;
 * `spread` is the row's largest element over its standard deviation. */
static double bound_of(const row *r, double spread)
{
    return EPS * ((double)r->n / 16 + 16) * (1 + spread) * 4;
}

static void check_forward(const att_kernels *kernels, row *r, double spread)
{
    att_norm_stats stats;
    att_kern_norm *kernel = r->centered ? kernels->layer_norm : kernels->rms_norm;
    kernel(r->y, &stats, r->x, r->gain, r->bias, r->n, (float)epsilon);
    normalize(r->u, r->wide, r->n, r->centered);
    for (size_t i = 0; i < r->n; i++)
        check_near(r->y[i], r->u[i] * r->gain[i] + (r->centered ? r->bias[i] : 0),
                   bound_of(r, spread), r->centered ? "layer_norm" : "rms_norm", kernels->name,
                   r->n, i);
}

static void norms_are_near_the_truth(void **state)
{
    (void)state;
    FOR_EACH_SET(kernels)
    FOR_EACH_LENGTH(n)
    for (int centered = 0; centered < 2; centered++) {
        row r = row_of(n, centered, -3, 5);
        check_forward(kernels, &r, 3);
    }
}

/* The mean of squares less the square of the mean would be all noise here. */
static void a_large_mean_does_not_drown_the_variance(void **state)
{
    (void)state;
    FOR_EACH_SET(kernels)
    {
        row r = row_of(256, true, 999, 1001);
        check_forward(kernels, &r, 1000 / 0.577);
    }
}

static void a_constant_row_becomes_the_bias(void **state)
{
    (void)state;
    FOR_EACH_SET(kernels)
    {
        row r = row_of(64, true, 3, 3);
        att_norm_stats stats;
        kernels->layer_norm(r.y, &stats, r.x, r.gain, r.bias, r.n, (float)epsilon);
        for (size_t i = 0; i < r.n; i++)
            assert_true(r.y[i] == r.bias[i]);
    }
}

static void check_back(const att_kernels *kernels, row *r)
{
    att_norm_stats stats;
    (r->centered ? kernels->layer_norm : kernels->rms_norm)(r->y, &stats, r->x, r->gain, r->bias,
                                                            r->n, (float)epsilon);
    (r->centered ? kernels->layer_norm_backward : kernels->rms_norm_backward)(
        r->dx, r->dgain, r->dbias, r->dy, r->x, r->gain, &stats, r->n);
    const char *name = r->centered ? "layer_norm_backward" : "rms_norm_backward";
    for (size_t i = 0; i < r->n; i++) {
        const double h = 1e-5, at = r->wide[i];
        r->wide[i] = at + h;
        double up = loss(r);
        r->wide[i] = at - h;
        double down = loss(r);
        r->wide[i] = at;
        loss(r);
        double bound = bound_of(r, 3);
        check_near(r->dx[i], (up - down) / (2 * h), 2 * bound + 1e-8, name, kernels->name, r->n, i);
        check_near(r->dgain[i], r->dy[i] * r->u[i], bound, "dgain", kernels->name, r->n, i);
        check_near(r->dbias[i], r->centered ? r->dy[i] : 0, 0, "dbias", kernels->name, r->n, i);
    }
}

static void gradients_are_those_of_central_differences(void **state)
{
    (void)state;
    FOR_EACH_SET(kernels)
    for (size_t l = 1; l < CHECK_LENGTHS; l++) /* one element alone has no variance */
        for (int centered = 0; centered < 2; centered++) {
            row r = row_of(check_lengths[l], centered, -3, 5);
            check_back(kernels, &r);
        }
}

static void gradients_are_added_to_what_is_there(void **state)
{
    (void)state;
    FOR_EACH_SET(kernels)
    {
        row once = row_of(48, true, -3, 5), twice = once;
        att_norm_stats stats = { 1, 0.5f };
        kernels->layer_norm_backward(once.dx, once.dgain, once.dbias, once.dy, once.x, once.gain,
                                     &stats, 48);
        for (int i = 0; i < 2; i++)
            kernels->layer_norm_backward(twice.dx, twice.dgain, twice.dbias, twice.dy, twice.x,
                                         twice.gain, &stats, 48);
        for (size_t i = 0; i < 48; i++) {
            check_near(twice.dx[i], 2.0 * once.dx[i], 2 * EPS * 2 * fabs((double)once.dx[i]) + 1e-7,
                       "dx twice", kernels->name, 48, i);
            assert_true(twice.dbias[i] == 2 * once.dbias[i]);
        }
    }
}

/* The square of 1e30 is no float. A scale of 0 would make a row of zeros of it. */
static void a_row_whose_mean_square_overflows_is_not_hidden(void **state)
{
    (void)state;
    FOR_EACH_SET(kernels)
    {
        row r = row_of(19, true, -1e30, 1e30);
        att_norm_stats stats;
        kernels->layer_norm(r.y, &stats, r.x, r.gain, r.bias, r.n, (float)epsilon);
        for (size_t i = 0; i < r.n; i++)
            assert_true(isnan(r.y[i]));
        kernels->rms_norm(r.y, &stats, r.x, r.gain, r.bias, r.n, (float)epsilon);
        for (size_t i = 0; i < r.n; i++)
            assert_true(isnan(r.y[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norms_are_near_the_truth),
        cmocka_unit_test(a_large_mean_does_not_drown_the_variance),
        cmocka_unit_test(a_constant_row_becomes_the_bias),
        cmocka_unit_test(a_row_whose_mean_square_overflows_is_not_hidden),
        cmocka_unit_test(gradients_are_those_of_central_differences),
        cmocka_unit_test(gradients_are_added_to_what_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
