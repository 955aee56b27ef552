/* Elementwise parts of layers in double precision: SwiGLU and dropout. */
#ifndef ATT_REFERENCE_FEEDFORWARD_H
#define ATT_REFERENCE_FEEDFORWARD_H

#include <stdint.h>

/* y [rows, width] = silu(a) b for x = [a, b], [rows, 2 width] (Shazeer 2020). */
void att_reference_swiglu(double *y, const double *x, int64_t rows, int64_t width);

/* One row of dropout: element i is 0 where att_random_float(seed, stream, i) < probability, else
 * x / (1 - probability). `probability` is in [0, 1). */
void att_reference_dropout(double *y, const double *x, int64_t width, uint64_t seed,
                           uint64_t stream, float probability);

#endif
