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

#endif
