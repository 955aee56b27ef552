/* Rows of tensors as the kernels take them: float32, the elements of a row contiguous. Rows of
 * float16 and bfloat16 are converted here, a tile or a block at a time, never a whole tensor. */
#ifndef ATT_ATTENTION_HEAD_ROWS_H
#define ATT_ATTENTION_HEAD_ROWS_H

#include "attend.h"
#include "kern/kern.h"

/* Whether the rows of a tensor [B,N,heads,width] can be used in place, without a buffer. */
bool att_tensor_rows_in_place(const att_tensor *tensor);

/* to[n] = the element at offset at + n * step of a float32, float16 or bfloat16 tensor. */
void att_floats_get(const att_kernels *kernels, float *to, const att_tensor *tensor, int64_t at,
                    int64_t step, size_t count);

/* Rows first … first+count-1 of one head of a tensor [B,N,heads,width]: in place, or copied into
 * `buffer` [count][width] where they cannot be used in place. */
att_matrix_view att_tensor_head_rows(const att_tensor *tensor, int64_t b, int64_t first,
                                     int64_t head, size_t count, float *buffer);

/* Starts loading rows of a head into the second-level cache. */
void att_tensor_prefetch_rows(const att_tensor *tensor, int64_t b, int64_t first, int64_t head,
                              int64_t count);

/* Adds factor * from to the row (the last dimension) at element offset `at` of a float tensor of
 * any strides, one fused multiply-add per element. */
void att_tensor_row_axpy(const att_kernels *kernels, const att_tensor *to, int64_t at, float factor,
                         const float *from);

#endif
