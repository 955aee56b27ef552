/* Activations and other elementwise layers in double precision: the definition that worksheets show
 * and that kernels and tape operations are tested against. All folders state these formulas by
 * calling this one. */
#ifndef ATT_REFERENCE_ACTIVATION_H
#define ATT_REFERENCE_ACTIVATION_H

#include "attend.h"

double att_reference_relu(double x);    /* max(x, 0); NaN stays NaN */
double att_reference_sigmoid(double x); /* 1 / (1 + e^-x) */
double att_reference_gelu(double x);    /* x Φ(x), by erf, not by the tanh approximation */
double att_reference_silu(double x);    /* x sigmoid(x) */

/* Any of them by its name in attend.h; ATT_ACTIVATION_NONE returns x. */
double att_reference_activation(att_activation activation, double x);

/* Its derivative. At the kink of relu it is 0. */
double att_reference_activation_derivative(att_activation activation, double x);

/* y [rows, width] = silu(a) b for x = [a, b], [rows, 2 width] (Shazeer 2020). */
void att_reference_swiglu(double *y, const double *x, int64_t rows, int64_t width);

/* One row of dropout: element i is 0 where att_random_float(seed, stream, i) < probability, else
 * x / (1 - probability). `probability` is in [0, 1). */
void att_reference_dropout(double *y, const double *x, int64_t width, uint64_t seed,
                           uint64_t stream, float probability);

#endif
