/* Functions on shapes and tensors beyond those in attend.h. */
#ifndef ATT_TENSOR_TENSOR_H
#define ATT_TENSOR_TENSOR_H

#include "attend.h"
#include "kern/half.h"

/* Bytes per element; 0 for an invalid type. */
size_t att_dtype_size(att_dtype dtype);

/* "float32", "float64", "float16", "bfloat16", "int8". */
const char *att_dtype_name(att_dtype dtype);

/* The number of elements of a shape, or -1 where the rank is not 0 to 8, a dimension is negative,
 * or the product of the nonzero dimensions exceeds `max`. (A dimension of 0 makes the tensor empty,
 * but strides are products of the others and must not overflow either.) */
int64_t att_shape_count(int rank, const int64_t *shape, int64_t max);

/* Formats a shape, "[2, 3]"; returns `out`. */
enum { ATT_SHAPE_STRING_SIZE = ATT_MAX_RANK * 22 + 3 };
const char *att_shape_to_string(char out[ATT_SHAPE_STRING_SIZE], int rank, const int64_t *shape);

/* Whether some dimension is 0. */
static inline bool att_tensor_is_empty(const att_tensor *tensor)
{
    for (int i = 0; i < tensor->rank; i++)
        if (tensor->shape[i] == 0)
            return true;
    return false;
}

/* Whether the elements are row-major without gaps. */
bool att_tensor_is_contiguous(const att_tensor *tensor);

/* The offset of an element from `data`, in elements. */
int64_t att_tensor_offset(const att_tensor *tensor, const int64_t *index);

/* att_tensor_new() without filling in zeros, for tensors that are overwritten at once. */
att_status att_tensor_new_uninitialized(att_tensor *out, att_dtype dtype, int rank,
                                        const int64_t *shape, att_error *err);

/* Copies the elements in row-major order to the array `out` of type `dtype`. */
void att_tensor_copy_to_array(void *out, att_dtype dtype, const att_tensor *in);

/* To nearest, halves away from zero; limited to -128 and 127, and 0 for NaN. */
static inline int8_t att_float64_to_int8(double value)
{
    if (!(value > -128.5))
        return value <= -128.5 ? -128 : 0;
    return value >= 127 ? 127 : (int8_t)(value < 0 ? value - 0.5 : value + 0.5);
}

/* The element at an offset from `data`, as double; a value set is rounded once, to nearest. */
static inline double att_element_get(const att_tensor *tensor, int64_t at)
{
    switch (tensor->dtype) {
    case ATT_F32:
        return (double)((const float *)tensor->data)[at];
    case ATT_F16:
        return (double)att_float16_to_float32(((const uint16_t *)tensor->data)[at]);
    case ATT_BF16:
        return (double)att_bfloat16_to_float32(((const uint16_t *)tensor->data)[at]);
    case ATT_I8:
        return (double)((const int8_t *)tensor->data)[at];
    default:
        return ((const double *)tensor->data)[at];
    }
}

static inline void att_element_set(const att_tensor *tensor, int64_t at, double value)
{
    switch (tensor->dtype) {
    case ATT_F32:
        ((float *)tensor->data)[at] = (float)value;
        break;
    case ATT_F16:
        ((uint16_t *)tensor->data)[at] = att_float64_to_float16(value);
        break;
    case ATT_BF16:
        ((uint16_t *)tensor->data)[at] = att_float64_to_bfloat16(value);
        break;
    case ATT_I8:
        ((int8_t *)tensor->data)[at] = att_float64_to_int8(value);
        break;
    default:
        ((double *)tensor->data)[at] = value;
    }
}

/* Fails unless the elements are float32 or float64; messages begin with `name`. */
att_status att_tensor_check_float(const char *call, const char *name, const att_tensor *tensor,
                                  att_error *err);

#endif
