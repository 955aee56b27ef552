/* Rows of tensors for the kernels; see head_rows.h. */
#include "attention/head_rows.h"

#include "attention/tensor_element.h"

enum { CACHE_LINE_FLOATS = 64 / sizeof(float) };

bool att_tensor_rows_in_place(const att_tensor *tensor)
{
    return tensor->stride[3] == 1 || tensor->shape[3] <= 1;
}

static const float *row_at(const att_tensor *tensor, int64_t b, int64_t row, int64_t head)
{
    return (const float *)tensor->data + att_element_offset(tensor, b, row, head, 0);
}

att_matrix_view att_tensor_head_rows(const att_tensor *tensor, int64_t b, int64_t first,
                                     int64_t head, size_t count, float *buffer)
{
    const float *at = row_at(tensor, b, first, head);
    size_t width = (size_t)tensor->shape[3];
    if (att_tensor_rows_in_place(tensor))
        return (att_matrix_view){ at, (ptrdiff_t)tensor->stride[1], count, width };
    for (size_t r = 0; r < count; r++, at += tensor->stride[1])
        for (size_t c = 0; c < width; c++)
            buffer[r * width + c] = at[(int64_t)c * tensor->stride[3]];
    return (att_matrix_view){ buffer, (ptrdiff_t)width, count, width };
}

void att_tensor_prefetch_rows(const att_tensor *tensor, int64_t b, int64_t first, int64_t head,
                              int64_t count)
{
    if (!att_tensor_rows_in_place(tensor))
        return;
    for (int64_t r = 0; r < count; r++) {
        const float *row = row_at(tensor, b, first + r, head);
        for (int64_t c = 0; c < tensor->shape[3]; c += CACHE_LINE_FLOATS)
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
