/* Layer norm and RMS norm in double precision. */
#ifndef ATT_REFERENCE_NORM_H
#define ATT_REFERENCE_NORM_H

#include <stdint.h>

/* y = (x - mean) / sqrt(variance + epsilon) gain + bias for one row of `width` numbers (Ba et al.
 * 2016). gain NULL: ones; bias NULL: zeros. */
void att_reference_layer_norm(double *y, const double *x, int64_t width, double epsilon,
                              const double *gain, const double *bias);

/* y = x / sqrt(mean of x² + epsilon) gain (Zhang and Sennrich 2019). */
void att_reference_rms_norm(double *y, const double *x, int64_t width, double epsilon,
                            const double *gain);

/* The gradient of one row from that of y: dx [width] is written; dgain and dbias [width] are added
 * to, NULL: not wanted. With n = (x - mean) / s (mean 0 for the RMS norm) and g = gain dy:
 * layer norm dx = (g - mean(g) - n mean(g n)) / s, RMS norm dx = (g - n mean(g n)) / s. */
void att_reference_layer_norm_backward(double *dx, double *dgain, double *dbias, const double *dy,
                                       const double *x, int64_t width, double epsilon,
                                       const double *gain);
void att_reference_rms_norm_backward(double *dx, double *dgain, const double *dy, const double *x,
                                     int64_t width, double epsilon, const double *gain);

#endif
