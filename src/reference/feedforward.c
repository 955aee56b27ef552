/* SwiGLU and dropout in double precision. */
#include "reference/feedforward.h"

#include "base/random.h"
#include "reference/activation.h"

void att_reference_swiglu(double *y, const double *x, int64_t rows, int64_t width)
{
    for (int64_t i = 0; i < rows; i++) {
        const double *a = x + i * 2 * width, *b = a + width;
        for (int64_t j = 0; j < width; j++)
            y[i * width + j] = att_reference_silu(a[j]) * b[j];
    }
}

void att_reference_dropout(double *y, const double *x, int64_t width, uint64_t seed,
                           uint64_t stream, float probability)
{
    double scale = 1 / (1 - (double)probability);
    for (int64_t i = 0; i < width; i++)
        y[i] = att_random_float(seed, stream, (uint64_t)i) < probability ? 0 : x[i] * scale;
}
