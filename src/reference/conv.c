/* Convolutions in double precision. */
#include "reference/conv.h"

#include "reference/activation.h"

double att_reference_conv1d_at(const att_reference_conv1d *conv, int64_t first, int64_t j,
                               double bias)
{
    double sum = bias;
    for (int64_t t = 0; t < conv->tap_count; t++) {
        int64_t row = first + t;
        if (row < 0 || row >= conv->rows)
            continue;
        for (int64_t c = 0; c < conv->channels; c++)
            sum += conv->x[row * conv->row_stride + c] * conv->taps[t][c * conv->tap_stride + j];
    }
    return sum;
}

void att_reference_conv1d_backward_at(double *dx, double *const *dtaps, double dy,
                                      const att_reference_conv1d *conv, int64_t first, int64_t j)
{
    for (int64_t t = 0; t < conv->tap_count; t++) {
        int64_t row = first + t;
        if (row < 0 || row >= conv->rows)
            continue;
        for (int64_t c = 0; c < conv->channels; c++) {
            int64_t at = row * conv->row_stride + c, tap = c * conv->tap_stride + j;
            dx[at] += dy * conv->taps[t][tap];
            dtaps[t][tap] += dy * conv->x[at];
        }
    }
}

/* Output channel n at row oy, column ox of image b, without bias and activation. */
static double conv2d_at(const att_reference_conv2d_shape *s, const double *x, const double *w,
                        int64_t b, int64_t oy, int64_t ox, int64_t n)
{
    double sum = 0;
    for (int64_t ky = 0; ky < s->kernel_height; ky++)
        for (int64_t kx = 0; kx < s->kernel_width; kx++) {
            int64_t iy = oy * s->stride - s->padding + ky, ix = ox * s->stride - s->padding + kx;
            if (iy < 0 || iy >= s->height || ix < 0 || ix >= s->width)
                continue;
            const double *pixel = x + ((b * s->height + iy) * s->width + ix) * s->channels;
            const double *tap = w + (ky * s->kernel_width + kx) * s->channels * s->out_channels;
            for (int64_t c = 0; c < s->channels; c++)
                sum += pixel[c] * tap[c * s->out_channels + n];
        }
    return sum;
}

void att_reference_conv2d(double *y, const att_reference_conv2d_shape *shape, const double *x,
                          const double *w, const double *bias, att_activation activation)
{
    const att_reference_conv2d_shape *s = shape;
    for (int64_t b = 0; b < s->batch; b++)
        for (int64_t oy = 0; oy < s->out_height; oy++)
            for (int64_t ox = 0; ox < s->out_width; ox++)
                for (int64_t n = 0; n < s->out_channels; n++) {
                    double sum = conv2d_at(s, x, w, b, oy, ox, n) + (bias ? bias[n] : 0);
                    *y++ = att_reference_activation(activation, sum);
                }
}
