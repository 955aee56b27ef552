/* Elements and rows of tensors, read and written as double whatever their dtype. */
#ifndef ATT_ATTENTION_TENSOR_ELEMENT_H
#define ATT_ATTENTION_TENSOR_ELEMENT_H

#include "tensor/tensor.h"

/* The offset of element [a,b,c,d] in elements; pass 0 for dimensions beyond the rank. */
static inline int64_t att_element_offset(const att_tensor *tensor, int64_t a, int64_t b, int64_t c,
                                         int64_t d)
{
    const int64_t index[4] = { a, b, c, d };
    int64_t at = 0;
    for (int dim = 0; dim < tensor->rank && dim < 4; dim++)
        at += index[dim] * tensor->stride[dim];
    return at;
}

static inline void att_element_add(const att_tensor *tensor, int64_t at, double value)
{
    att_element_set(tensor, at, att_element_get(tensor, at) + value);
}

/* The row along the last dimension that starts at offset `at`. */
static inline void att_row_get(double *to, const att_tensor *tensor, int64_t at)
{
    int last = tensor->rank - 1;
    for (int64_t n = 0; n < tensor->shape[last]; n++)
        to[n] = att_element_get(tensor, at + n * tensor->stride[last]);
}

static inline void att_row_set(const att_tensor *tensor, int64_t at, const double *from)
{
    int last = tensor->rank - 1;
    for (int64_t n = 0; n < tensor->shape[last]; n++)
        att_element_set(tensor, at + n * tensor->stride[last], from[n]);
}

static inline void att_row_fill(const att_tensor *tensor, int64_t at, double value)
{
    int last = tensor->rank - 1;
    for (int64_t n = 0; n < tensor->shape[last]; n++)
        att_element_set(tensor, at + n * tensor->stride[last], value);
}

static inline void att_row_add(const att_tensor *tensor, int64_t at, const double *from)
{
    int last = tensor->rank - 1;
    for (int64_t n = 0; n < tensor->shape[last]; n++)
        att_element_add(tensor, at + n * tensor->stride[last], from[n]);
}

/* grad += total, row by row; both have the same shape, of rank 1 to 4, and `total` is in double. */
static inline void att_grad_accumulate(const att_tensor *grad, const att_tensor *total)
{
    int64_t size[3] = { 1, 1, 1 };
    for (int d = 0; d < grad->rank - 1; d++)
        size[d] = grad->shape[d];
    for (int64_t a = 0; a < size[0]; a++)
        for (int64_t b = 0; b < size[1]; b++)
            for (int64_t c = 0; c < size[2]; c++)
                att_row_add(grad, att_element_offset(grad, a, b, c, 0),
                            (const double *)total->data + att_element_offset(total, a, b, c, 0));
}

#endif
