/* Tensors: creation, views, element access and copies. Views share the data; slicing and
 * transposing change only shape, strides and the data pointer. */
#include "tensor/tensor.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/progress.h"
#include "base/minmax.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const struct {
    size_t size;
    const char *name;
} dtypes[] = {
    [ATT_F32] = { sizeof(float), "float32" },    [ATT_F64] = { sizeof(double), "float64" },
    [ATT_F16] = { sizeof(uint16_t), "float16" }, [ATT_BF16] = { sizeof(uint16_t), "bfloat16" },
    [ATT_I8] = { sizeof(int8_t), "int8" },
};

size_t att_dtype_size(att_dtype dtype)
{
    size_t index = (size_t)dtype;
    return index < ATT_COUNT(dtypes) ? dtypes[index].size : 0;
}

const char *att_dtype_name(att_dtype dtype)
{
    return att_dtype_size(dtype) ? dtypes[dtype].name : "unknown type";
}

att_status att_tensor_check_float(const char *call, const char *name, const att_tensor *tensor,
                                  att_error *err)
{
    if (tensor->dtype == ATT_F32 || tensor->dtype == ATT_F64)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, call, "%s: expected float32 or float64, found %s", name,
                    att_dtype_name(tensor->dtype));
}

int64_t att_shape_count(int rank, const int64_t *shape, int64_t max)
{
    if (rank < 0 || rank > ATT_MAX_RANK)
        return -1;
    int64_t product = 1;
    bool empty = false;
    for (int i = 0; i < rank; i++) {
        if (shape[i] < 0)
            return -1;
        if (shape[i] == 0) {
            empty = true;
            continue;
        }
        if (product > max / shape[i])
            return -1;
        product *= shape[i];
    }
    return empty ? 0 : product;
}

const char *att_shape_to_string(char out[ATT_SHAPE_STRING_SIZE], int rank, const int64_t *shape)
{
    size_t used = 0;
    out[used++] = '[';
    for (int i = 0; i < rank && i < ATT_MAX_RANK; i++)
        used += (size_t)snprintf(out + used, ATT_SHAPE_STRING_SIZE - used, i ? ", %lld" : "%lld",
                                 (long long)shape[i]);
    snprintf(out + used, ATT_SHAPE_STRING_SIZE - used, "]");
    return out;
}

/* False where a stride overflows. Strides of an empty tensor, or one of negative size, which every
 * call refuses, mean nothing. */
static bool set_row_major(att_tensor *tensor)
{
    int64_t stride = 1;
    for (int i = tensor->rank - 1; i >= 0; i--) {
        int64_t size = tensor->shape[i] > 0 ? tensor->shape[i] : 1;
        tensor->stride[i] = stride;
        if (stride > INT64_MAX / size)
            return false;
        stride *= size;
    }
    return true;
}

att_tensor att_tensor_view(const void *data, att_dtype dtype, int rank, const int64_t *shape)
{
    if (rank < 0 || rank > ATT_MAX_RANK)
        return (att_tensor){ 0 };
    att_tensor view = { .data = (void *)data, .dtype = dtype, .rank = rank };
    for (int i = 0; i < rank; i++)
        view.shape[i] = shape[i];
    return set_row_major(&view) ? view : (att_tensor){ 0 };
}

/* Creates a tensor; its elements are 0 or uninitialized. */
static att_status create(att_tensor *out, att_dtype dtype, int rank, const int64_t *shape,
                         bool zero, att_error *err)
{
    *out = (att_tensor){ 0 };
    size_t size = att_dtype_size(dtype);
    if (size == 0)
        return att_fail(err, ATT_BAD_INPUT, "tensor", "element type %d is not an att_dtype",
                        (int)dtype);
    if (rank < 0 || rank > ATT_MAX_RANK)
        return att_fail(err, ATT_BAD_INPUT, "tensor", "has %d dimensions, expected 0 to %d", rank,
                        ATT_MAX_RANK);
    char text[ATT_SHAPE_STRING_SIZE];
    int64_t count = att_shape_count(rank, shape, INT64_MAX / (int64_t)size);
    if (count < 0)
        return att_fail(err, ATT_BAD_INPUT, "tensor",
                        "shape %s is negative or too large to address",
                        att_shape_to_string(text, rank, shape));
    void *block = NULL;
    if ((uint64_t)count <= SIZE_MAX / size) /* always, where size_t has 64 bits */
        block = zero ? att_alloc_zero((size_t)count, size) : att_alloc((size_t)count, size);
    if (!block)
        return att_fail_memory(err);
    *out = att_tensor_view(block, dtype, rank, shape);
    out->owned = block;
    return ATT_OK;
}

att_status att_tensor_new(att_tensor *out, att_dtype dtype, int rank, const int64_t *shape,
                          att_error *err)
{
    att_progress_scope scope;
    att_progress_begin_operation(&scope, "allocating");
    att_status status = create(out, dtype, rank, shape, true, err);
    status = att_progress_end(&scope, status, err);
    if (status != ATT_OK)
        att_tensor_free(out);
    return status;
}

att_status att_tensor_new_uninitialized(att_tensor *out, att_dtype dtype, int rank,
                                        const int64_t *shape, att_error *err)
{
    return create(out, dtype, rank, shape, false, err);
}

void att_tensor_free(att_tensor *tensor)
{
    if (!tensor)
        return;
    att_free(tensor->owned);
    *tensor = (att_tensor){ 0 };
}

int64_t att_tensor_count(const att_tensor *tensor)
{
    return att_shape_count(tensor->rank, tensor->shape, INT64_MAX);
}

bool att_tensor_is_contiguous(const att_tensor *tensor)
{
    int64_t stride = 1;
    for (int i = tensor->rank - 1; i >= 0; i--) {
        if (tensor->shape[i] == 0)
            return true;
        if (tensor->shape[i] != 1 && tensor->stride[i] != stride)
            return false;
        if (__builtin_mul_overflow(stride, tensor->shape[i], &stride))
            return false;
    }
    return true;
}

/* ---- views */

static att_status check_dim(const att_tensor *in, int dim, const char *call, att_error *err)
{
    if (dim >= 0 && dim < in->rank)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, call, "found dimension %d, expected 0 to %d", dim,
                    in->rank - 1);
}

static att_status slice(att_tensor *out, const att_tensor *in, int dim, int64_t start,
                        int64_t count, att_error *err)
{
    ATT_TRY(check_dim(in, dim, "att_tensor_slice", err));
    int64_t length = in->shape[dim];
    if (start < 0 || count < 0 || start > length || count > length - start)
        return att_fail(err, ATT_BAD_INPUT, "att_tensor_slice",
                        "%lld entries from %lld on exceed dimension %d of size %lld",
                        (long long)count, (long long)start, dim, (long long)length);
    att_tensor view = *in;
    view.owned = NULL;
    view.shape[dim] = count;
    if (att_tensor_count(&view) != 0) /* an empty view must not point outside the block */
        view.data = (char *)in->data + start * in->stride[dim] * (int64_t)att_dtype_size(in->dtype);
    *out = view;
    return ATT_OK;
}

static att_status transpose(att_tensor *out, const att_tensor *in, int a, int b, att_error *err)
{
    ATT_TRY(check_dim(in, a, "att_tensor_transpose", err));
    ATT_TRY(check_dim(in, b, "att_tensor_transpose", err));
    att_tensor view = *in;
    view.owned = NULL;
    view.shape[a] = in->shape[b];
    view.shape[b] = in->shape[a];
    view.stride[a] = in->stride[b];
    view.stride[b] = in->stride[a];
    *out = view;
    return ATT_OK;
}

static att_status reshape(att_tensor *out, const att_tensor *in, int rank, const int64_t *shape,
                          att_error *err)
{
    char from[ATT_SHAPE_STRING_SIZE], to[ATT_SHAPE_STRING_SIZE];
    att_shape_to_string(from, in->rank, in->shape);
    if (rank < 0 || rank > ATT_MAX_RANK)
        return att_fail(err, ATT_BAD_INPUT, "att_tensor_reshape",
                        "found %d dimensions, expected 0 to %d", rank, ATT_MAX_RANK);
    if (!att_tensor_is_contiguous(in))
        return att_fail(err, ATT_BAD_INPUT, "att_tensor_reshape",
                        "the tensor of shape %s is not contiguous: copy it first", from);
    int64_t count = att_shape_count(rank, shape, INT64_MAX);
    if (count < 0 || count != att_tensor_count(in))
        return att_fail(err, ATT_BAD_INPUT, "att_tensor_reshape",
                        "shape %s does not have as many elements as %s",
                        att_shape_to_string(to, rank, shape), from);
    *out = att_tensor_view(in->data, in->dtype, rank, shape);
    return ATT_OK;
}

/* A failed call clears *out. */
static att_status clear_on_failure(att_status status, att_tensor *out)
{
    if (status != ATT_OK)
        *out = (att_tensor){ 0 };
    return status;
}

att_status att_tensor_slice(att_tensor *out, const att_tensor *in, int dim, int64_t start,
                            int64_t count, att_error *err)
{
    return clear_on_failure(slice(out, in, dim, start, count, err), out);
}

att_status att_tensor_transpose(att_tensor *out, const att_tensor *in, int a, int b, att_error *err)
{
    return clear_on_failure(transpose(out, in, a, b, err), out);
}

att_status att_tensor_reshape(att_tensor *out, const att_tensor *in, int rank, const int64_t *shape,
                              att_error *err)
{
    return clear_on_failure(reshape(out, in, rank, shape, err), out);
}

/* ---- elements */

int64_t att_tensor_offset(const att_tensor *tensor, const int64_t *index)
{
    int64_t offset = 0;
    for (int i = 0; i < tensor->rank; i++) {
        assert(index[i] >= 0 && index[i] < tensor->shape[i]);
        offset += index[i] * tensor->stride[i];
    }
    return offset;
}

double att_tensor_get(const att_tensor *tensor, const int64_t *index)
{
    return att_element_get(tensor, att_tensor_offset(tensor, index));
}

void att_tensor_set(att_tensor *tensor, const int64_t *index, double value)
{
    att_element_set(tensor, att_tensor_offset(tensor, index), value);
}

/* Moves `index` to the next element in row-major order and returns its offset, given the present
 * one. */
static int64_t advance(const att_tensor *in, int64_t *index, int64_t offset)
{
    for (int d = in->rank - 1; d >= 0; d--) {
        offset += in->stride[d];
        if (++index[d] < in->shape[d])
            return offset;
        offset -= index[d] * in->stride[d];
        index[d] = 0;
    }
    return offset;
}

void att_tensor_copy_to_array(void *out, att_dtype dtype, const att_tensor *in)
{
    int64_t count = att_tensor_count(in);
    if (count > 0 && in->dtype == dtype && att_tensor_is_contiguous(in)) {
        memcpy(out, in->data, (size_t)count * att_dtype_size(dtype));
        return;
    }
    att_tensor to = { .data = out, .dtype = dtype };
    int64_t index[ATT_MAX_RANK] = { 0 };
    int64_t offset = 0;
    for (int64_t i = 0; i < count; i++) {
        att_element_set(&to, i, att_element_get(in, offset));
        offset = advance(in, index, offset);
    }
}

att_status att_tensor_copy(att_tensor *out, const att_tensor *in, att_dtype dtype, att_error *err)
{
    att_tensor copy = { 0 };
    att_status status = att_dtype_size(in->dtype) > 0
                            ? att_tensor_new_uninitialized(&copy, dtype, in->rank, in->shape, err)
                            : att_fail(err, ATT_BAD_INPUT, "tensor",
                                       "element type %d is not an att_dtype", (int)in->dtype);
    if (status == ATT_OK)
        att_tensor_copy_to_array(copy.data, dtype, in);
    *out = copy; /* cleared on failure */
    return status;
}
