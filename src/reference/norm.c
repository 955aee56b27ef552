/* Layer norm and RMS norm in double precision. */
#include "reference/norm.h"

#include <math.h>
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
