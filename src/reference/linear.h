/* Linear layer and batched matrix product in double precision. */
#ifndef ATT_REFERENCE_LINEAR_H
#define ATT_REFERENCE_LINEAR_H

#include "attend.h"

/* A weight matrix [depth, columns], or with `transposed` [columns, depth], and its bias. */
typedef struct att_reference_linear_weights {
    const double *w;
    const double *bias; /* [columns] or NULL */
    int64_t depth, columns;
    bool transposed;
} att_reference_linear_weights;

/* Column j of x w + bias for one row x [depth]: products in index order, then the bias. */
double att_reference_linear_at(const double *x, const att_reference_linear_weights *weights,
                               int64_t j);

/* y [rows, columns] = activation(x w + bias) for x [rows, depth]. */
void att_reference_linear(double *y, const double *x, int64_t rows,
                          const att_reference_linear_weights *weights, att_activation activation);

/* Gradients of y = x w + bias from dy [rows, columns], each added to and NULL where not wanted:
 * dx = dy wᵀ [rows, depth], dw = xᵀ dy in the layout of w, dbias = column sums of dy. */
void att_reference_linear_backward(double *dx, double *dw, double *dbias, const double *dy,
                                   const double *x, int64_t rows,
                                   const att_reference_linear_weights *weights);

/* c [batch, rows, columns] = a [batch, rows, depth] b [batch, depth, columns], item by item. */
void att_reference_bmm(double *c, const double *a, const double *b, int64_t batch, int64_t rows,
                       int64_t depth, int64_t columns);

#endif
