/* Helpers that operations share: work sizes for threads, sums, matrix products in the tape's
 * memory, activations. */
#ifndef ATT_TAPE_OP_UTIL_H
#define ATT_TAPE_OP_UTIL_H

#include "kern/matmul.h"
#include "tape/op.h"

/* Rows of `width` numbers that make a range of att_parallel_for() worth a thread. */
int64_t att_row_grain(int64_t width);

/* y += x where `add`, else y = x; in parallel where that pays. */
void att_add_arrays(float *y, const float *x, int64_t count, bool add);

/* sums[j] += Σ_i x[i, j] over all rows i, in order. */
bool att_sum_rows(att_tape *tape, float *sums, const float *x, int64_t rows, int64_t width);

/* A matrix product. Where B has to be packed, it is packed in the tape's memory. False on failure,
 * which fails the tape. */
bool att_tape_matmul(att_tape *tape, const att_matmul_call *product);

/* The matrix `w`, or its transpose, in panels (kern/matmul.h): from the parameters where it is
 * packed there, else packed in the tape's memory. NULL on failure. */
const float *att_node_packed_weights(att_tape *tape, const att_node *w, bool transposed);

/* C = activation(A B + bias) with int8 weights B; A is quantized in the tape's memory. False on
 * failure, which fails the tape. */
typedef struct att_int8_linear {
    const att_int8_matrix *b;
    int64_t rows;
    const float *a; /* [rows, b->depth] */
    float *c;       /* [rows, b->columns] */
    const float *bias;
    att_activation activation;
} att_int8_linear;

bool att_tape_int8_matmul(att_tape *tape, const att_int8_linear *product);

/* c [rows, columns] = a [rows, depth] w + bias, for a matrix w of floats or of int8. False on
 * failure, which fails the tape. */
bool att_node_weights_matmul(att_tape *tape, const att_node *w, int64_t rows, const float *a,
                             float *c, const float *bias);

/* c [rows, columns] = a [rows, depth] panels + bias, on the calling thread. */
typedef struct att_panel_matmul {
    float *c;
    const float *a, *panels, *bias;
    int64_t rows, columns, depth;
    bool accumulate;
} att_panel_matmul;

void att_panel_matmul_run(const att_kernels *kernels, const att_panel_matmul *product);

/* The kernels of an activation. */
typedef struct att_activation_kernels {
    att_kern_elementwise *forward;
    att_kern_elementwise_backward *backward; /* NULL: the gradient passes unchanged */
    bool saves_input;                        /* backward reads the input, else the output */
} att_activation_kernels;

att_activation_kernels att_activation_kernels_get(att_activation activation);

/* For a node that ends with an activation: the gradient before the activation, from node->grad.
 * node->saved is the activation's input, where `saves_input`. The result is in the tape's memory,
 * or node->grad itself. */
const float *att_activation_backward(att_tape *tape, const att_node *node,
                                     att_activation activation);

#endif
