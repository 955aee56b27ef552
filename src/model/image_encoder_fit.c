/* Eyes taught to give features as others have made them: a linear map by least squares. Both sides
 * are taken less their means; (XᵀX + r I) W = XᵀY is solved by Cholesky's method, in double. */
#include "model/image_encoder.h"

#include "base/alloc.h"
#include "base/error.h"
#include "nn/squeezenet.h"
#include "tensor/tensor.h"

#include <math.h>
#include <string.h>

typedef struct ridge_regression {
    int64_t rows, C, D;
    double *x, *y;           /* [rows,C], [rows,D]: less their means */
    double *x_mean, *y_mean; /* [C], [D] */
    double *gram;            /* [C,C] XᵀX + r I, then its lower root */
    double *weights;         /* [C,D] XᵀY, then W */
} ridge_regression;

static void ridge_regression_free(ridge_regression *l)
{
    double *all[] = { l->x, l->y, l->x_mean, l->y_mean, l->gram, l->weights };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        att_free(all[i]);
}

/* A matrix in double without its columns' means. */
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
    for (int64_t n = 0; n < rows; n++)
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

/* The lower root L of A = L Lᵀ, in its place; false where A has none: the numbers seen do not
 * determine a map. */
static bool cholesky(double *a, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
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

/* L Lᵀ W = B, B [n,m] becoming W: forth, and back. */
static void solve(const double *root, double *b, int64_t n, int64_t m)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < i; k++)
            for (int64_t j = 0; j < m; j++)
                b[i * m + j] -= root[i * n + k] * b[k * m + j];
        for (int64_t j = 0; j < m; j++)
            b[i * m + j] /= root[i * n + i];
    }
    for (int64_t i = n - 1; i >= 0; i--) {
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
    multiply(l->weights, l->x, l->C, l->y, l->D, l->rows);
    add_ridge(l->gram, l->C, ridge);
    if (!cholesky(l->gram, l->C))
        return att_fail(err, ATT_BAD_INPUT, "features",
                        "%lld cells are too few, or too alike, to learn a map of %lld numbers from",
                        (long long)l->rows, (long long)l->C);
    solve(l->gram, l->weights, l->C, l->D);
    return ATT_OK;
}

/* The deviation that is left, as a part of that which there was. */
static double residual_ratio(const ridge_regression *l)
{
    double left = 0, all = 0;
    for (int64_t n = 0; n < l->rows; n++)
        for (int64_t j = 0; j < l->D; j++) {
            double said = 0, y = l->y[n * l->D + j];
            for (int64_t i = 0; i < l->C; i++)
                said += l->x[n * l->C + i] * l->weights[i * l->D + j];
            left += (y - said) * (y - said);
            all += y * y;
        }
    return all > 0 ? sqrt(left / all) : 0;
}

/* W, and the bias that brings means to means. */
static void store_projection(att_image_encoder *eyes, const ridge_regression *l)
{
    float *weight = eyes->params.value + eyes->params.items[eyes->projection].offset;
    float *bias = eyes->params.value + eyes->params.items[eyes->projection + 1].offset;
    for (int64_t j = 0; j < l->D; j++) {
        double sum = l->y_mean[j];
        for (int64_t i = 0; i < l->C; i++) {
            sum -= l->x_mean[i] * l->weights[i * l->D + j];
            weight[i * l->D + j] = (float)l->weights[i * l->D + j];
        }
        bias[j] = (float)sum;
    }
    att_params_mark_changed(&eyes->params);
}

static att_status check(const att_image_encoder *eyes, const att_tensor *seen,
                        const att_tensor *wanted, att_error *err)
{
    char a[ATT_SHAPE_STRING_SIZE], b[ATT_SHAPE_STRING_SIZE];
    if (eyes->projection >= 0)
        return att_fail(err, ATT_BAD_INPUT, "features", "the eyes have been taught already");
    if (seen->rank == 2 && wanted->rank == 2 && seen->shape[0] == wanted->shape[0] &&
        seen->shape[0] > 0 && seen->shape[1] == ATT_SQUEEZENET_CHANNELS && wanted->shape[1] > 0)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, "features",
                    "cells seen are %s and those wanted %s, expected [N,%d] and [N,D]",
                    att_shape_to_string(a, seen->rank, seen->shape),
                    att_shape_to_string(b, wanted->rank, wanted->shape), ATT_SQUEEZENET_CHANNELS);
}

att_status att_image_encoder_fit(att_image_encoder *eyes, const att_tensor *seen,
                                 const att_tensor *wanted, double ridge, double *error,
                                 att_error *err)
{
    ATT_TRY(check(eyes, seen, wanted, err));
    ridge_regression l = { .rows = seen->shape[0], .C = seen->shape[1], .D = wanted->shape[1] };
    att_status status = center(&l.x, &l.x_mean, seen, err);
    if (status == ATT_OK)
        status = center(&l.y, &l.y_mean, wanted, err);
    if (status == ATT_OK)
        status = fit(&l, ridge, err);
    if (status == ATT_OK)
        status = att_image_encoder_add_projection(eyes, l.D, err);
    if (status == ATT_OK) {
        store_projection(eyes, &l);
        status = att_params_pack(&eyes->params, err);
        *error = residual_ratio(&l);
    }
    ridge_regression_free(&l);
    return status;
}
