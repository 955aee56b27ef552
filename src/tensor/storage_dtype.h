/* The element types that files may hold, and how each becomes float or double. One table serves
 * .npy and .safetensors. */
#ifndef ATT_TENSOR_STORAGE_DTYPE_H
#define ATT_TENSOR_STORAGE_DTYPE_H

#include "attend.h"

typedef struct att_storage_dtype {
    const char *npy;         /* "f4": as in a .npy description, after the byte order; or NULL */
    const char *safetensors; /* "F32" */
    size_t size;             /* bytes */
    att_dtype dtype;
    /* The value of these bits; false where there is none that can be held. */
    bool (*decode)(uint64_t bits, double *out);
    const char *
        invalid_reason; /* what such bits are: "a boolean other than 0 and 1"; NULL: all bits fit */
} att_storage_dtype;

typedef enum att_byte_order { ATT_LITTLE_ENDIAN, ATT_BIG_ENDIAN } att_byte_order;

/* The order of this machine. */
att_byte_order att_byte_order_native(void);

/* The type of that name in the format, or NULL. */
const att_storage_dtype *att_storage_dtype_from_npy(const char *name);
const att_storage_dtype *att_storage_dtype_from_safetensors(const char *name);

/* The type that a tensor of ours is written as. */
const att_storage_dtype *att_storage_dtype_of(att_dtype dtype);

/* Converts `count` elements at `bytes` into `out`, an array of the type that they become. Returns
 * -1, or the index of the first element that is unfit. */
int64_t att_storage_decode(void *out, const att_storage_dtype *element, const void *bytes,
                           int64_t count, att_byte_order order);

/* The bytes of a dense tensor in little-endian order, added to `out`. */
att_status att_storage_encode(att_string *out, const att_tensor *tensor);

#endif
