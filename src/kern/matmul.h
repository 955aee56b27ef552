/* Matrix multiplication on raw arrays: blocks, packing and threads around the kernels. Results do
 * not depend on threads, packing, the number of rows, or the instruction set. */
#ifndef ATT_KERN_MATMUL_H
#define ATT_KERN_MATMUL_H

#include "kern/kern.h"

/* C = activation(A B + bias), or activation(C + A B + bias) where `add`, for each item of a batch.
 */
typedef struct att_matmul_call {
    size_t batch, rows, columns, depth;

    const float *a; /* element [i, k] is at a[i * a_row + k * a_step] */
    size_t a_row_stride, a_column_stride;
    size_t a_batch_stride; /* from one batch item to the next; 0: shared by all */

    const float *b;  /* element [k, j] is at b[k * b_stride + j], */
    size_t b_stride; /* or at b[j * b_stride + k] where transposed */
    bool b_transposed;
    size_t b_batch_stride;
    const float *panels; /* B packed with att_matmul_pack(), the same for all items; b is unused */

    float *c; /* element [i, j] is at c[i * c_row + j]; overlaps neither a nor b */
    size_t c_row_stride;
    size_t c_batch_stride;

    bool accumulate;
    const float *bias; /* [columns], or NULL */
    att_activation activation;
} att_matmul_call;

/* Fails only when out of memory, where B has to be packed first or operands are copied. */
att_status att_matmul_run(const att_matmul_call *product, att_error *err);

/* The number of floats of a packed B. */
size_t att_matmul_packed_size(size_t depth, size_t columns);

/* Packs B for use as `panels`. */
void att_matmul_pack(float *panels, const float *b, size_t b_stride, bool b_transposed,
                     size_t depth, size_t columns);

#endif
