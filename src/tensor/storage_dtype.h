/* The element types of files and their conversion to float or double. One table serves .npy and
 * .safetensors. */
#ifndef ATT_TENSOR_STORAGE_DTYPE_H
#define ATT_TENSOR_STORAGE_DTYPE_H

#include "attend.h"

typedef struct att_storage_dtype {
    const char *npy;         /* "f4": as in a .npy description, after the byte order; or NULL */
    const char *safetensors; /* "F32" */
    size_t size;             /* bytes */
    att_dtype dtype;         /* in memory */
    /* The value of these bits; false where they are invalid or a double cannot represent the value.
     */
    bool (*decode)(uint64_t bits, double *out);
    /* Why decode() fails: "a boolean other than 0 and 1"; NULL where it never fails. */
    const char *invalid_reason;
} att_storage_dtype;

typedef enum att_byte_order { ATT_LITTLE_ENDIAN, ATT_BIG_ENDIAN } att_byte_order;

/* The byte order of this machine. */
att_byte_order att_byte_order_native(void);

/* The type by its name in the format, or NULL. */
const att_storage_dtype *att_storage_dtype_from_npy(const char *name);
const att_storage_dtype *att_storage_dtype_from_safetensors(const char *name);

/* The type that tensors of `dtype` are written as. */
const att_storage_dtype *att_storage_dtype_of(att_dtype dtype);

/* Converts `count` elements at `bytes` into `out`, an array of element->dtype. Returns -1, or the
 * index of the first invalid element. */
int64_t att_storage_decode(void *out, const att_storage_dtype *element, const void *bytes,
                           int64_t count, att_byte_order order);

/* Appends the bytes of a contiguous tensor to `out` in little-endian order. */
att_status att_storage_encode(att_string *out, const att_tensor *tensor);

#endif
