/* The header of .npy files, which npy.c and npy_header.c share: element type, byte order, memory
 * order and shape. */
#ifndef ATT_TENSOR_NPY_H
#define ATT_TENSOR_NPY_H

#include "attend.h"
#include "tensor/storage_dtype.h"

typedef struct att_npy_header {
    const att_storage_dtype *storage;
    att_byte_order order;
    bool fortran; /* column-major: the first dimension varies fastest */
    int rank;
    int64_t shape[ATT_MAX_RANK];
} att_npy_header;

/* Parses {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, the Python literal that NumPy
 * writes: each key once, in any order, and no other key. `name` names the file in errors. */
att_status att_npy_header_parse(att_npy_header *out, const char *text, size_t length,
                                const char *name, att_error *err);

/* Writes the literal, padding and a newline, so that it ends at a multiple of 64 bytes where
 * `before` bytes precede it in the file. Returns its length. */
enum { ATT_NPY_HEADER_MAX_SIZE = 384 };
size_t att_npy_header_print(char out[ATT_NPY_HEADER_MAX_SIZE], const att_tensor *tensor,
                            size_t before);

#endif
