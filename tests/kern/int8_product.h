/* Int8 products of random integers by one version of the kernels. */
#ifndef TESTS_KERN_INT8_PRODUCT_H
#define TESTS_KERN_INT8_PRODUCT_H

#include "kern/check.h"

#include "base/alloc.h"
#include "kern/int8/kernels.h"

static inline void *bytes(size_t size)
{
    void *block = att_alloc(size + 1, 1);
    assert_non_null(block);
    return block;
}

/* The product of random integers by a version. */
static inline void multiply_random(const att_int8_kernels *version, float *c, size_t rows,
                                   size_t columns, size_t depth)
{
    void *block = bytes(att_int8_matrix_size(depth, columns));
    void *scratch = bytes(att_int8_rows_size(rows, depth));
    int8_t *b = bytes(columns * depth);
    float *scales = bytes(columns * sizeof(float));
    att_int8_matrix matrix = att_int8_matrix_place(block, depth, columns);
    att_int8_rows a = att_int8_rows_place(scratch, rows, depth);
    for (size_t i = 0; i < columns * depth; i++)
        b[i] = (int8_t)((int)(att_random_float(1, columns, i) * 255) - 127);
    for (size_t j = 0; j < columns; j++)
        scales[j] = 0.01f + att_random_float(2, 0, j);
    att_int8_matrix_pack(&matrix, b, depth, true, scales);
    memset(a.values, 0, rows * a.row_size);
    for (size_t i = 0; i < rows; i++) {
        a.scales[i] = 0.5f + att_random_float(3, 0, i);
        for (size_t k = 0; k < depth; k++)
            a.values[i * a.row_size + k] = (int8_t)((int)(att_random_float(4, i, k) * 255) - 127);
    }
    version->matmul(&(att_int8_block){ .rows = rows,
                                       .columns = columns,
                                       .groups = a.row_size / ATT_INT8_GROUP,
                                       .a = a.values,
                                       .a_row_size = a.row_size,
                                       .a_scales = a.scales,
                                       .b = matrix.panels,
                                       .b_scales = matrix.scales,
                                       .b_sums = matrix.sums,
                                       .c = c,
                                       .c_row_stride = columns });
    att_free(block);
    att_free(scratch);
    att_free(b);
    att_free(scales);
}

static inline void int8_product_has_the_bits_of_plain_c(const att_int8_kernels *version,
                                                        size_t rows, size_t columns, size_t depth)
{
    size_t size = rows * columns * sizeof(float);
    float *found = bytes(size), *expected = bytes(size);
    multiply_random(att_int8_versions[0], expected, rows, columns, depth);
    multiply_random(version, found, rows, columns, depth);
    assert_memory_equal(found, expected, size);
    att_free(found);
    att_free(expected);
}

#endif
