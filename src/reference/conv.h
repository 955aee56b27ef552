/* Convolutions in double precision (as in all neural networks: without flipping the kernel). */
#ifndef ATT_REFERENCE_CONV_H
#define ATT_REFERENCE_CONV_H

#include "attend.h"

/* A one-dimensional convolution over the rows of x. Rows outside x count as zeros. */
typedef struct att_reference_conv1d {
    const double *x; /* row r, channel c at x[r * row_stride + c] */
    int64_t rows, row_stride, channels;
    const double *const *taps; /* [tap_count] kernel matrices: channel c, column j at
                                  taps[t][c * tap_stride + j] */
    int64_t tap_count, tap_stride;
} att_reference_conv1d;

/* bias + Σ_t Σ_c x[first + t, c] taps[t][c, j]: the output whose first tap lies on row `first`,
 * which may be negative. */
double att_reference_conv1d_at(const att_reference_conv1d *conv, int64_t first, int64_t j,
                               double bias);

/* The gradient of that output, sent back: adds dy taps[t][c, j] to dx [rows, row_stride] and
 * dy x[first + t, c] to dtaps[t][c, j]. */
void att_reference_conv1d_backward_at(double *dx, double *const *dtaps, double dy,
                                      const att_reference_conv1d *conv, int64_t first, int64_t j);

/* A two-dimensional convolution: x [B,H,W,C], w [kernel_height kernel_width C, N] with rows in the
 * order (y, x, c), y [B,OH,OW,N]. `padding` zeros surround every image. */
typedef struct att_reference_conv2d_shape {
    int64_t batch, height, width, channels;
    int64_t out_height, out_width, out_channels;
    int64_t kernel_height, kernel_width, stride, padding;
} att_reference_conv2d_shape;

/* y = activation(convolution + bias); bias [N] or NULL. */
void att_reference_conv2d(double *y, const att_reference_conv2d_shape *shape, const double *x,
                          const double *w, const double *bias, att_activation activation);

#endif
