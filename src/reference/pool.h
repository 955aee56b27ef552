/* Pooling in double precision: of images by windows, of sequences into one row. */
#ifndef ATT_REFERENCE_POOL_H
#define ATT_REFERENCE_POOL_H

#include <stdint.h>

/* Windows of window_height x window_width, `stride` apart in both directions, over images
 * [B,H,W,C]. A window that reaches beyond the border ends there. */
typedef struct att_reference_pool2d_shape {
    int64_t batch, height, width, channels;
    int64_t out_height, out_width;
    int64_t window_height, window_width;
    int64_t stride_y, stride_x;
} att_reference_pool2d_shape;

/* The maximum, or the mean, of each window: y [B,OH,OW,C]. The mean is over the pixels that the
 * window has inside the image. */
void att_reference_max_pool2d(double *y, const att_reference_pool2d_shape *shape, const double *x);
void att_reference_avg_pool2d(double *y, const att_reference_pool2d_shape *shape, const double *x);

/* One row y [width] from a sequence x [length, width]: column means, column maxima, or the last
 * row. Zeros for length 0. */
void att_reference_sequence_mean(double *y, const double *x, int64_t length, int64_t width);
void att_reference_sequence_max(double *y, const double *x, int64_t length, int64_t width);
void att_reference_sequence_last(double *y, const double *x, int64_t length, int64_t width);

#endif
