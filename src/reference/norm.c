/* Layer norm and RMS norm in double precision. */
#include "reference/norm.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

static void norm_row(double *y, const double *x, int64_t width, double mean, double epsilon,
                     const double *gain, const double *bias)
{
    double squares = 0;
    for (int64_t j = 0; j < width; j++)
        squares += (x[j] - mean) * (x[j] - mean);
    double scale = 1 / sqrt(squares / (double)width + epsilon);
    for (int64_t j = 0; j < width; j++)
        y[j] = (x[j] - mean) * scale * (gain ? gain[j] : 1) + (bias ? bias[j] : 0);
}

void att_reference_layer_norm(double *y, const double *x, int64_t width, double epsilon,
                              const double *gain, const double *bias)
{
    double sum = 0;
    for (int64_t j = 0; j < width; j++)
        sum += x[j];
    norm_row(y, x, width, sum / (double)width, epsilon, gain, bias);
}

void att_reference_rms_norm(double *y, const double *x, int64_t width, double epsilon,
                            const double *gain)
{
    norm_row(y, x, width, 0, epsilon, gain, NULL);
}

static double mean_of(const double *x, int64_t width)
{
    double sum = 0;
    for (int64_t j = 0; j < width; j++)
        sum += x[j];
    return sum / (double)width;
}

/* `centered`: the mean of x was subtracted, so that of the gradient is too. */
static void norm_row_backward(double *dx, double *dgain, const double *dy, const double *x,
                              int64_t width, double epsilon, const double *gain, bool centered)
{
    double mean = centered ? mean_of(x, width) : 0;
    double squares = 0;
    for (int64_t j = 0; j < width; j++)
        squares += (x[j] - mean) * (x[j] - mean);
    double scale = 1 / sqrt(squares / (double)width + epsilon);
    double sum = 0, along = 0;
    for (int64_t j = 0; j < width; j++) {
        double n = (x[j] - mean) * scale;
        dx[j] = dy[j] * (gain ? gain[j] : 1);
        sum += dx[j];
        along += dx[j] * n;
        if (dgain)
            dgain[j] += dy[j] * n;
    }
    sum = centered ? sum / (double)width : 0;
    along /= (double)width;
    for (int64_t j = 0; j < width; j++)
        dx[j] = (dx[j] - sum - (x[j] - mean) * scale * along) * scale;
}

void att_reference_layer_norm_backward(double *dx, double *dgain, double *dbias, const double *dy,
                                       const double *x, int64_t width, double epsilon,
                                       const double *gain)
{
    norm_row_backward(dx, dgain, dy, x, width, epsilon, gain, true);
    for (int64_t j = 0; dbias && j < width; j++)
        dbias[j] += dy[j];
}

void att_reference_rms_norm_backward(double *dx, double *dgain, const double *dy, const double *x,
                                     int64_t width, double epsilon, const double *gain)
{
    norm_row_backward(dx, dgain, dy, x, width, epsilon, gain, false);
}
