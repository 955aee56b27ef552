/* Sinusoidal positions, RoPE and the window of local attention in double precision. */
#include "reference/positions.h"

#include "base/math.h"

double att_reference_sinusoid_divisor(int64_t column, int64_t width, double base)
{
    return att_pow(base, (double)(column - column % 2) / (double)width);
}

double att_reference_sinusoid(int64_t position, int64_t column, double divisor)
{
    double angle = (double)position / divisor;
    return column % 2 == 0 ? att_sin(angle) : att_cos(angle);
}

void att_reference_sinusoids(double *out, int64_t first, int64_t count, int64_t width, double base)
{
    for (int64_t j = 0; j < width; j++) {
        double divisor = att_reference_sinusoid_divisor(j, width, base);
        for (int64_t t = 0; t < count; t++)
            out[t * width + j] = att_reference_sinusoid(first + t, j, divisor);
    }
}

double att_reference_rope_angle(int64_t position, int64_t pair, int64_t head_size, double base)
{
    return (double)position / att_pow(base, 2 * (double)pair / (double)head_size);
}

/* One head of one row. */
static void rope_head(double *y, const double *x, int64_t head_size, int64_t position, double base)
{
    int64_t half = head_size / 2;
    for (int64_t j = 0; j < half; j++) {
        double angle = att_reference_rope_angle(position, j, head_size, base);
        y[j] = x[j] * att_cos(angle) - x[half + j] * att_sin(angle);
        y[half + j] = x[half + j] * att_cos(angle) + x[j] * att_sin(angle);
    }
}

void att_reference_rope(double *y, const double *x, int64_t rows, int64_t width, int64_t heads,
                        int64_t head_size, const int32_t *positions, double base)
{
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t h = 0; h < heads; h++)
            rope_head(y + i * width + h * head_size, x + i * width + h * head_size, head_size,
                      positions[i], base);
        for (int64_t j = heads * head_size; j < width; j++)
            y[i * width + j] = x[i * width + j];
    }
}

void att_reference_local_window(double *bias, int64_t keys, double place, int64_t length,
                                double deviation)
{
    double center = (double)length * place;
    for (int64_t s = 0; s < keys; s++) {
        double distance = (double)s - center;
        bias[s] = -distance * distance / (2 * deviation * deviation);
    }
}
