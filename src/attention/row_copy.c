/* Copies of keys and values; see row_copy.h. */
#include "attention/row_copy.h"

#include "attention/tensor_element.h"
#include "base/minmax.h"

#include <string.h>

enum {
    CACHE_LINE_FLOATS = 16,
    COLLISION_FLOATS = 128, /* the sets of a first-level cache repeat after 4096 bytes: of rows
                             * a multiple of this apart, at most eight have different sets */
    MIN_SHARING_TILES = 8   /* below, copying costs more than it saves */
};

bool att_rows_collide(const att_tensor *tensor)
{
    int64_t stride = tensor->stride[1], width = tensor->shape[3];
    return width > 0 && stride != 0 && stride % COLLISION_FLOATS == 0;
}

att_row_copy att_row_copy_alloc(att_workspace *workspace, const att_tensor *tensor, int64_t keys,
                                int64_t sharing)
{
    bool pays = sharing >= MIN_SHARING_TILES && att_rows_collide(tensor);
    if (att_tensor_rows_in_place(tensor) && !pays)
        return (att_row_copy){ .first = -1 };
    size_t lines = att_ceil_div((size_t)tensor->shape[3], CACHE_LINE_FLOATS) | 1;
    size_t stride = lines * CACHE_LINE_FLOATS;
    return (att_row_copy){ .rows =
                               att_workspace_alloc(workspace, (size_t)keys * stride, sizeof(float)),
                           .stride = stride,
                           .keys = keys,
                           .first = -1 };
}

static void copy_block(att_row_copy *copy, const att_tensor *tensor, const att_sequence_head *head,
                       int64_t first)
{
    const att_kernels *kernels = att_kernels_get();
    bool in_place = att_tensor_rows_in_place(tensor);
    size_t width = (size_t)tensor->shape[3];
    int64_t rows = att_min_i64(copy->keys, head->key_start + head->keys - first);
    int64_t at = att_element_offset(tensor, head->b, first, head->g, 0);
    for (int64_t r = 0; r < rows; r++, at += tensor->stride[1]) {
        float *to = copy->rows + (size_t)r * copy->stride;
        if (in_place)
            memcpy(to, (const float *)tensor->data + at, width * sizeof *to);
        else
            att_floats_get(kernels, to, tensor, at, tensor->stride[3], width);
    }
    copy->b = head->b;
    copy->g = head->g;
    copy->first = first;
}

att_matrix_view att_row_copy_get(att_row_copy *copy, const att_tensor *tensor,
                                 const att_sequence_head *head, int64_t from, size_t count)
{
    if (!copy->rows)
        return att_tensor_head_rows(tensor, head->b, from, head->g, count, NULL);
    int64_t first = from - (from - head->key_start) % copy->keys;
    if (copy->first != first || copy->b != head->b || copy->g != head->g)
        copy_block(copy, tensor, head, first);
    return (att_matrix_view){ copy->rows + (size_t)(from - first) * copy->stride,
                              (ptrdiff_t)copy->stride, count, (size_t)tensor->shape[3] };
}
