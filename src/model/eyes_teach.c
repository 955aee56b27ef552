/* Eyes taught to give features as others have made them: a linear map by least squares. Both sides
 * are taken less their means; (XᵀX + r I) W = XᵀY is solved by Cholesky's method, in double. */
#include "model/eyes.h"

#include "base/alloc.h"
#include "base/error.h"
#include "nn/squeezenet.h"
#include "tensor/tensor.h"

#include <math.h>
#include <string.h>

typedef struct lesson {
    int64_t rows, C, D;
    double *x, *y;           /* [rows,C], [rows,D]: less their means */
    double *x_mean, *y_mean; /* [C], [D] */
    double *square;          /* [C,C] XᵀX + r I, then its lower root */
    double *map;             /* [C,D] XᵀY, then W */
} lesson;

static void lesson_free(lesson *l)
{
    double *all[] = { l->x, l->y, l->x_mean, l->y_mean, l->square, l->map };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        att_free(all[i]);
}

/* A matrix in double without its columns' means. */
static att_status centre(double **out, double **mean, const att_tensor *in, att_error *err)
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
static bool take_root(double *a, int64_t n)
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

static att_status fit(lesson *l, double ridge, att_error *err)
{
    l->square = att_alloc_zero((size_t)(l->C * l->C), sizeof *l->square);
    l->map = att_alloc_zero((size_t)(l->C * l->D), sizeof *l->map);
    if (!l->square || !l->map)
        return att_fail_memory(err);
    multiply(l->square, l->x, l->C, l->x, l->C, l->rows);
    multiply(l->map, l->x, l->C, l->y, l->D, l->rows);
    add_ridge(l->square, l->C, ridge);
    if (!take_root(l->square, l->C))
        return att_fail(err, ATT_BAD_INPUT, "features",
                        "%lld cells are too few, or too alike, to learn a map of %lld numbers from",
                        (long long)l->rows, (long long)l->C);
    solve(l->square, l->map, l->C, l->D);
    return ATT_OK;
}

/* The deviation that is left, as a part of that which there was. */
static double error_left(const lesson *l)
{
    double left = 0, all = 0;
    for (int64_t n = 0; n < l->rows; n++)
        for (int64_t j = 0; j < l->D; j++) {
            double said = 0, y = l->y[n * l->D + j];
            for (int64_t i = 0; i < l->C; i++)
                said += l->x[n * l->C + i] * l->map[i * l->D + j];
            left += (y - said) * (y - said);
            all += y * y;
        }
    return all > 0 ? sqrt(left / all) : 0;
}

/* W, and the bias that brings means to means. */
static void put_map(att_eyes *eyes, const lesson *l)
{
    float *weight = eyes->params.value + eyes->params.items[eyes->map].offset;
    float *bias = eyes->params.value + eyes->params.items[eyes->map + 1].offset;
    for (int64_t j = 0; j < l->D; j++) {
        double sum = l->y_mean[j];
        for (int64_t i = 0; i < l->C; i++) {
            sum -= l->x_mean[i] * l->map[i * l->D + j];
            weight[i * l->D + j] = (float)l->map[i * l->D + j];
        }
        bias[j] = (float)sum;
    }
    att_params_changed(&eyes->params);
}

static att_status check(const att_eyes *eyes, const att_tensor *seen, const att_tensor *wanted,
                        att_error *err)
{
    char a[ATT_SHAPE_TEXT], b[ATT_SHAPE_TEXT];
    if (eyes->map >= 0)
        return att_fail(err, ATT_BAD_INPUT, "features", "the eyes have been taught already");
    if (seen->rank == 2 && wanted->rank == 2 && seen->shape[0] == wanted->shape[0] &&
        seen->shape[0] > 0 && seen->shape[1] == ATT_SQUEEZENET_DEPTH && wanted->shape[1] > 0)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, "features",
                    "cells seen are %s and those wanted %s, expected [N,%d] and [N,D]",
                    att_shape_text(a, seen->rank, seen->shape),
                    att_shape_text(b, wanted->rank, wanted->shape), ATT_SQUEEZENET_DEPTH);
}

att_status att_eyes_teach(att_eyes *eyes, const att_tensor *seen, const att_tensor *wanted,
                          double ridge, double *error, att_error *err)
{
    ATT_TRY(check(eyes, seen, wanted, err));
    lesson l = { .rows = seen->shape[0], .C = seen->shape[1], .D = wanted->shape[1] };
    att_status status = centre(&l.x, &l.x_mean, seen, err);
    if (status == ATT_OK)
        status = centre(&l.y, &l.y_mean, wanted, err);
    if (status == ATT_OK)
        status = fit(&l, ridge, err);
    if (status == ATT_OK)
        status = att_eyes_add_map(eyes, l.D, err);
    if (status == ATT_OK) {
        put_map(eyes, &l);
        *error = error_left(&l);
    }
    lesson_free(&l);
    return status;
}
