/* Fits a linear projection of the image encoder's features to given target features by ridge
 * regression. Both sides are centered; (XᵀX + r I) W = XᵀY is solved by Cholesky's method, in
 * double precision. */
#include "model/image_encoder.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/progress.h"
#include "nn/squeezenet.h"
#include "tensor/tensor.h"

#include <math.h>
#include <string.h>

typedef struct ridge_regression {
    int64_t rows, C, D;
    double *x, *y;           /* [rows,C], [rows,D], centered */
    double *x_mean, *y_mean; /* [C], [D] */
    double *gram;            /* [C,C] XᵀX + r I, then its Cholesky factor */
    double *weights;         /* [C,D] XᵀY, then W */
} ridge_regression;

static void ridge_regression_free(ridge_regression *l)
{
    double *all[] = { l->x, l->y, l->x_mean, l->y_mean, l->gram, l->weights };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        att_free(all[i]);
}

/* Copies a matrix to double, minus the mean of each column. */
static att_status center(double **out, double **mean, const att_tensor *in, att_error *err)
{
    int64_t rows = in->shape[0], width = in->shape[1];
    *out = att_alloc((size_t)(rows * width), sizeof **out);
    *mean = att_alloc_zero((size_t)width, sizeof **mean);
    if (!*out || !*mean)
        return att_fail_memory(err);
    for (int64_t i = 0; i < rows * width; i++) {
        (*out)[i] = att_tensor_get(in, (int64_t[]){ i / width, i % width });
        (*mean)[i % width] += (*out)[i] / (double)rows;
    }
    for (int64_t i = 0; i < rows * width; i++)
        (*out)[i] -= (*mean)[i % width];
    return ATT_OK;
}

/* sums [a,b] = Σ over rows of x [rows,a] times y [rows,b]. */
static void multiply(double *sums, const double *x, int64_t a, const double *y, int64_t b,
                     int64_t rows)
{
    for (int64_t n = 0; n < rows; n++, att_progress_poll())
        for (int64_t i = 0; i < a; i++) {
            double factor = x[n * a + i];
            for (int64_t j = 0; j < b; j++)
                sums[i * b + j] += factor * y[n * b + j];
        }
}

static void add_ridge(double *square, int64_t C, double ridge)
{
    double sum = 0;
    for (int64_t i = 0; i < C; i++)
        sum += square[i * C + i];
    for (int64_t i = 0; i < C; i++)
        square[i * C + i] += ridge * sum / (double)C;
}

/* Replaces A by its Cholesky factor L, A = L Lᵀ; false where A is not positive definite: the
 * features do not determine a projection. */
static bool cholesky(double *a, int64_t n)
{
    for (int64_t i = 0; i < n; i++, att_progress_poll())
        for (int64_t j = 0; j <= i; j++) {
            double sum = a[i * n + j];
            for (int64_t k = 0; k < j; k++)
                sum -= a[i * n + k] * a[j * n + k];
            if (i == j && !(sum > 0))
                return false;
            a[i * n + j] = i == j ? sqrt(sum) : sum / a[j * n + j];
        }
    return true;
}

/* Solves L Lᵀ W = B in place, B [n,m]: forward, then backward substitution. */
static void solve(const double *root, double *b, int64_t n, int64_t m)
{
    for (int64_t i = 0; i < n; i++, att_progress_poll()) {
        for (int64_t k = 0; k < i; k++)
            for (int64_t j = 0; j < m; j++)
                b[i * m + j] -= root[i * n + k] * b[k * m + j];
        for (int64_t j = 0; j < m; j++)
            b[i * m + j] /= root[i * n + i];
    }
    for (int64_t i = n - 1; i >= 0; i--, att_progress_poll()) {
        for (int64_t k = i + 1; k < n; k++)
            for (int64_t j = 0; j < m; j++)
                b[i * m + j] -= root[k * n + i] * b[k * m + j];
        for (int64_t j = 0; j < m; j++)
            b[i * m + j] /= root[i * n + i];
    }
}

static att_status fit(ridge_regression *l, double ridge, att_error *err)
{
    l->gram = att_alloc_zero((size_t)(l->C * l->C), sizeof *l->gram);
    l->weights = att_alloc_zero((size_t)(l->C * l->D), sizeof *l->weights);
    if (!l->gram || !l->weights)
        return att_fail_memory(err);
    multiply(l->gram, l->x, l->C, l->x, l->C, l->rows);
    ATT_TRY(att_progress_check(err));
    multiply(l->weights, l->x, l->C, l->y, l->D, l->rows);
    ATT_TRY(att_progress_check(err));
    add_ridge(l->gram, l->C, ridge);
    if (!cholesky(l->gram, l->C))
        return att_fail(
            err, ATT_BAD_INPUT, "features",
            "%lld cells are too few, or too similar, to fit a projection of %lld channels",
            (long long)l->rows, (long long)l->C);
    ATT_TRY(att_progress_check(err));
    solve(l->gram, l->weights, l->C, l->D);
    return att_progress_check(err);
}

/* The residual as a fraction of the target: sqrt(Σ (y - xW)² / Σ y²). */
static double residual_ratio(const ridge_regression *l)
{
    double residual = 0, total = 0;
    for (int64_t n = 0; n < l->rows; n++, att_progress_poll())
        for (int64_t j = 0; j < l->D; j++) {
            double predicted = 0, y = l->y[n * l->D + j];
            for (int64_t i = 0; i < l->C; i++)
                predicted += l->x[n * l->C + i] * l->weights[i * l->D + j];
            residual += (y - predicted) * (y - predicted);
            total += y * y;
        }
    return total > 0 ? sqrt(residual / total) : 0;
}

/* Stores W, and the bias that maps the mean of x to the mean of y. */
static void store_projection(att_image_encoder *encoder, const ridge_regression *l)
{
    float *weight = encoder->params.value + encoder->params.items[encoder->projection].offset;
    float *bias = encoder->params.value + encoder->params.items[encoder->projection + 1].offset;
    for (int64_t j = 0; j < l->D; j++) {
        double sum = l->y_mean[j];
        for (int64_t i = 0; i < l->C; i++) {
            sum -= l->x_mean[i] * l->weights[i * l->D + j];
            weight[i * l->D + j] = (float)l->weights[i * l->D + j];
        }
        bias[j] = (float)sum;
    }
    att_params_mark_changed(&encoder->params);
}

static att_status check(const att_image_encoder *encoder, const att_tensor *features,
                        const att_tensor *targets, att_error *err)
{
    char a[ATT_SHAPE_STRING_SIZE], b[ATT_SHAPE_STRING_SIZE];
    if (encoder->projection >= 0)
        return att_fail(err, ATT_BAD_INPUT, "features",
                        "expected an image encoder without a projection, found a fitted one");
    ATT_TRY(att_tensor_check_float("features", "features", features, err));
    ATT_TRY(att_tensor_check_float("features", "targets", targets, err));
    if (features->rank == 2 && targets->rank == 2 && features->shape[0] == targets->shape[0] &&
        features->shape[0] > 0 && features->shape[1] == ATT_SQUEEZENET_CHANNELS &&
        targets->shape[1] > 0)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, "features",
                    "expected features [N,%d] and targets [N,D], found %s and %s",
                    ATT_SQUEEZENET_CHANNELS,
                    att_shape_to_string(a, features->rank, features->shape),
                    att_shape_to_string(b, targets->rank, targets->shape));
}

att_status att_image_encoder_fit(att_image_encoder **out, const att_image_encoder *encoder,
                                 const att_tensor *features, const att_tensor *targets,
                                 double ridge, double *residual, att_error *err)
{
    *out = NULL;
    ATT_TRY(check(encoder, features, targets, err));
    ridge_regression l = { .rows = features->shape[0],
                           .C = features->shape[1],
                           .D = targets->shape[1] };
    att_image_encoder *fitted = NULL;
    att_progress_scope scope;
    att_progress_begin(&scope, "fitting a projection", 0);
    att_status status = center(&l.x, &l.x_mean, features, err);
    if (status == ATT_OK)
        status = center(&l.y, &l.y_mean, targets, err);
    if (status == ATT_OK)
        status = fit(&l, ridge, err);
    if (status == ATT_OK)
        status = att_image_encoder_with_projection(&fitted, encoder, l.D, err);
    if (status == ATT_OK) {
        store_projection(fitted, &l);
        *residual = residual_ratio(&l);
        status = att_params_pack(&fitted->params, err);
    }
    status = att_progress_end(&scope, status, err);
    ridge_regression_free(&l);
    if (status == ATT_OK)
        *out = fitted;
    else
        att_image_encoder_free(fitted);
    return status;
}
