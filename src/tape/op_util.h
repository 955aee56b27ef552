/* What operations share: cutting work into ranges, products in the tape's memory, activations. */
#ifndef ATT_TAPE_OP_UTIL_H
#define ATT_TAPE_OP_UTIL_H

#include "kern/matmul.h"
#include "tape/op.h"

/* Rows of `width` numbers in a range of att_parallel_for() that is worth a thread. */
int64_t att_row_grain(int64_t width);

/* y += x, or y = x where not `add`; by several threads where that pays. */
void att_add_arrays(float *y, const float *x, int64_t count, bool add);

/* sums[j] += the sum over all rows i of x[i, j], in the order of i. */
bool att_sum_rows(att_tape *tape, float *sums, const float *x, int64_t rows, int64_t width);

/* A matrix product that packs B, where it has to, in the tape's memory; a failure is the tape's. */
bool att_tape_matmul(att_tape *tape, const att_matmul_call *product);

/* `w`, a matrix, or its transpose, in panels: from the parameters if it is one, else packed in the
 * tape's memory. */
const float *att_node_packed_weights(att_tape *tape, const att_node *w, bool transposed);

/* An activation and its gradient. */
typedef struct att_activation_kernels {
    att_kern_elementwise *forward;
    att_kern_elementwise_backward *backward; /* NULL: the gradient passes unchanged */
    bool saves_input;                        /* backward takes what went in, else what came out */
} att_activation_kernels;

att_activation_kernels att_activation_kernels_get(att_activation activation);

/* The gradient of what went into the activation that `node` ends with; `kept` of the node is what
 * went in, where the activation keeps that. In the tape's memory, or where it came. */
const float *att_activation_backward(att_tape *tape, const att_node *node,
                                     att_activation activation);

double att_reference_activation(att_activation activation, double x);

#endif
