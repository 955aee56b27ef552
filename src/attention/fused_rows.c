/* Rows of tensors for the kernels, which want the elements of a row next to each other. */
#include "attention/element.h"
#include "attention/fused.h"

att_rows att_tensor_rows(const att_tensor *tensor, int64_t b, int64_t first, int64_t head,
                         size_t count, float *buffer)
{
    const float *at = (const float *)tensor->data + att_element_at(tensor, b, first, head, 0);
    size_t width = (size_t)tensor->shape[3];
    int64_t step = tensor->stride[3];
    if (step == 1 || width <= 1)
        return (att_rows){ at, (ptrdiff_t)tensor->stride[1], count, width };
    for (size_t r = 0; r < count; r++)
        for (size_t c = 0; c < width; c++)
            buffer[r * width + c] = at[(int64_t)r * tensor->stride[1] + (int64_t)c * step];
    return (att_rows){ buffer, (ptrdiff_t)width, count, width };
}
