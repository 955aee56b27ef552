/* Linear layer and batched matrix product in double precision. */
#include "reference/linear.h"

#include "reference/activation.h"

double att_reference_linear_at(const double *x, const att_reference_linear_weights *weights,
                               int64_t j)
{
    const att_reference_linear_weights *p = weights;
    double sum = 0;
    for (int64_t k = 0; k < p->depth; k++)
        sum += x[k] * p->w[p->transposed ? j * p->depth + k : k * p->columns + j];
    return sum + (p->bias ? p->bias[j] : 0);
}

void att_reference_linear(double *y, const double *x, int64_t rows,
                          const att_reference_linear_weights *weights, att_activation activation)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < weights->columns; j++)
            y[i * weights->columns + j] = att_reference_activation(
                activation, att_reference_linear_at(x + i * weights->depth, weights, j));
}

static void linear_row_backward(double *dx, double *dw, const double *dy, const double *x,
                                const att_reference_linear_weights *weights)
{
    for (int64_t d = 0; d < weights->depth; d++)
        for (int64_t j = 0; j < weights->columns; j++) {
            int64_t at = weights->transposed ? j * weights->depth + d : d * weights->columns + j;
            if (dx)
                dx[d] += dy[j] * weights->w[at];
            if (dw)
                dw[at] += x[d] * dy[j];
        }
}

void att_reference_linear_backward(double *dx, double *dw, double *dbias, const double *dy,
                                   const double *x, int64_t rows,
                                   const att_reference_linear_weights *weights)
{
    for (int64_t i = 0; i < rows; i++) {
        linear_row_backward(dx ? dx + i * weights->depth : NULL, dw, dy + i * weights->columns,
                            x + i * weights->depth, weights);
        for (int64_t j = 0; dbias && j < weights->columns; j++)
            dbias[j] += dy[i * weights->columns + j];
    }
}

void att_reference_bmm(double *c, const double *a, const double *b, int64_t batch, int64_t rows,
                       int64_t depth, int64_t columns)
{
    for (int64_t i = 0; i < batch; i++) {
        const att_reference_linear_weights item = { .w = b + i * depth * columns,
                                                    .depth = depth,
                                                    .columns = columns };
        att_reference_linear(c + i * rows * columns, a + i * rows * depth, rows, &item,
                             ATT_ACTIVATION_NONE);
    }
}
