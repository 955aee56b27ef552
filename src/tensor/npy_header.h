/* The header of a .npy file. */
#ifndef ATT_TENSOR_NPY_HEADER_H
#define ATT_TENSOR_NPY_HEADER_H

#include "attend.h"
#include "tensor/storage_dtype.h"

typedef struct att_npy_header {
    const att_storage_dtype *storage;
    att_byte_order order;
    bool fortran; /* the first dimension runs fastest */
    int rank;
    int64_t shape[ATT_MAX_RANK];
} att_npy_header;

/* Reads {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, the Python literal that NumPy
 * writes: each key once, in any order; nothing else. `name` stands for the file in errors. */
att_status att_npy_header_parse(att_npy_header *out, const char *text, size_t length,
                                const char *name, att_error *err);

/* Writes the literal with the padding and newline that end it, `before` bytes coming before it in
 * the file; returns its length. */
enum { ATT_NPY_HEADER_MAX_SIZE = 384 };
size_t att_npy_header_print(char out[ATT_NPY_HEADER_MAX_SIZE], const att_tensor *tensor,
                            size_t before);

#endif
