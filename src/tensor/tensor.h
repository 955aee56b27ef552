/* What the library's own code needs to know of tensors beyond attend.h. */
#ifndef ATT_TENSOR_TENSOR_H
#define ATT_TENSOR_TENSOR_H

#include "attend.h"

/* Bytes of one element; 0 for what is no element type. */
size_t att_dtype_size(att_dtype dtype);

/* "float" or "double". */
const char *att_dtype_name(att_dtype dtype);

/* The number of elements of a shape, or -1 where the rank is not 0 to 8, a dimension is negative,
 * or the dimensions that are not 0 multiply to more than `most`. (A 0 among them makes the tensor
 * empty, but strides are products of the others and must not overflow either.) */
int64_t att_shape_count(int rank, const int64_t *shape, int64_t max);

/* A shape as text, "[2, 3]"; returns `out`, which has room for any. */
enum { ATT_SHAPE_STRING_SIZE = ATT_MAX_RANK * 22 + 3 };
const char *att_shape_to_string(char out[ATT_SHAPE_STRING_SIZE], int rank, const int64_t *shape);

/* Whether the elements lie row-major without gaps. */
bool att_tensor_is_contiguous(const att_tensor *tensor);

/* Where an element is, counted in elements from `data`. */
int64_t att_tensor_offset(const att_tensor *tensor, const int64_t *index);

/* att_tensor_new() without the zeros, for what is filled at once. */
att_status att_tensor_new_uninitialized(att_tensor *out, att_dtype dtype, int rank,
                                        const int64_t *shape, att_error *err);

/* Writes the elements, row-major and as that type, to `out`, which has room for them. */
void att_tensor_copy_to_array(void *out, att_dtype dtype, const att_tensor *in);

#endif
