/* Rows of tensors for the kernels; see head_rows.h. */
#include "attention/head_rows.h"

#include "attention/tensor_element.h"

enum { CACHE_LINE_BYTES = 64 };

bool att_tensor_rows_in_place(const att_tensor *tensor)
{
    return tensor->dtype == ATT_F32 && (tensor->stride[3] == 1 || tensor->shape[3] <= 1);
}

void att_floats_get(const att_kernels *kernels, float *to, const att_tensor *tensor, int64_t at,
                    int64_t step, size_t count)
{
    const uint16_t *half = (const uint16_t *)tensor->data + at;
    if (step == 1 && tensor->dtype == ATT_F16)
        kernels->float16_to_float32(to, half, count);
    else if (step == 1 && tensor->dtype == ATT_BF16)
        kernels->bfloat16_to_float32(to, half, count);
    else
        for (size_t n = 0; n < count; n++)
            to[n] = (float)att_element_get(tensor, at + (int64_t)n * step);
}

att_matrix_view att_tensor_head_rows(const att_tensor *tensor, int64_t b, int64_t first,
                                     int64_t head, size_t count, float *buffer)
{
    int64_t at = att_element_offset(tensor, b, first, head, 0);
    size_t width = (size_t)tensor->shape[3];
    if (att_tensor_rows_in_place(tensor))
        return (att_matrix_view){ (const float *)tensor->data + at, (ptrdiff_t)tensor->stride[1],
                                  count, width };
    const att_kernels *kernels = att_kernels_get();
    for (size_t r = 0; r < count; r++, at += tensor->stride[1])
        att_floats_get(kernels, buffer + r * width, tensor, at, tensor->stride[3], width);
    return (att_matrix_view){ buffer, (ptrdiff_t)width, count, width };
}

void att_tensor_prefetch_rows(const att_tensor *tensor, int64_t b, int64_t first, int64_t head,
                              int64_t count)
{
    if (tensor->stride[3] != 1)
        return;
    int64_t size = (int64_t)att_dtype_size(tensor->dtype);
    for (int64_t r = 0; r < count; r++) {
        const char *row =
            (const char *)tensor->data + att_element_offset(tensor, b, first + r, head, 0) * size;
        for (int64_t c = 0; c < tensor->shape[3] * size; c += CACHE_LINE_BYTES)
            __builtin_prefetch(row + c, 0, 2); /* second level: the first holds the current tile */
    }
}

void att_tensor_row_axpy(const att_kernels *kernels, const att_tensor *to, int64_t at, float factor,
                         const float *from)
{
    int64_t width = to->shape[to->rank - 1], step = to->stride[to->rank - 1];
    float *row = (float *)to->data + at;
    if (step == 1)
        kernels->axpy(row, factor, from, (size_t)width);
    else
        for (int64_t n = 0; n < width; n++)
            kernels->axpy(row + n * step, factor, from + n, 1);
}
