/* Matrix products with int8 weights: C [rows,columns] = A [rows,depth] B [depth,columns].
 *
 * Quantization is symmetric and by output: column j of B is scale_j times integers of -127 to 127,
 * and so is each row of A, quantized when the product runs. Sums of products of integers are exact,
 * so every instruction set, order and split has the same bits; the float result is
 *     (float)sum * (row scale * column scale), then + C where it accumulates, then + bias,
 * each operation rounded. A sum is at most 127 * 127 * depth, which an int32_t holds up to
 * ATT_INT8_MAX_DEPTH; its conversion to float rounds to nearest.
 *
 * Quantizing a row: m = max |x|, scale = m / 127, q = round(x * (127 / m)), ties to even. A row of
 * zeros, or with m below 2^-100, where 127 / m comes near the largest float, has scale 0 and zeros.
 * A row with a NaN or an infinity has a NaN as scale: all its results are NaN. */
#ifndef ATT_KERN_INT8_H
#define ATT_KERN_INT8_H

#include "kern/kern.h"

enum {
    ATT_INT8_MAX = 127,
    ATT_INT8_GROUP = 4,           /* consecutive depths of a column that lie together */
    ATT_INT8_MAX_DEPTH = 1 << 17, /* 127 * 127 * 2^17 < 2^31 */
};

/* B in panels of 16 columns, in groups of 4 depths: element [k, 16 p + j] is at
 * panels[(p * groups + k / 4) * 64 + 4 j + k % 4]: the order of the dot-product instructions. What
 * is beyond `depth` or `columns` is 0. */
typedef struct att_int8_matrix {
    size_t depth, columns;
    float *scales;  /* [columns rounded up to 16] */
    int32_t *sums;  /* likewise: the sum of each column, for instructions that need A >= 0 */
    int8_t *panels; /* 64-byte aligned */
} att_int8_matrix;

/* Bytes of a block for such a matrix, and the matrix in that block (64-byte aligned). */
size_t att_int8_matrix_size(size_t depth, size_t columns);
att_int8_matrix att_int8_matrix_place(void *block, size_t depth, size_t columns);

/* Fills the matrix with integers and their scales, or by quantizing floats. Element [k, j] is at
 * b[k * stride + j], or at b[j * stride + k] where `transposed`. `column` is scratch of 2
 * `depth` floats. */
void att_int8_matrix_pack(const att_int8_matrix *to, const int8_t *b, size_t stride,
                          bool transposed, const float *scales);
void att_int8_matrix_quantize(const att_int8_matrix *to, const float *b, size_t stride,
                              bool transposed, float *column);

/* Copies column `j`, element k to to[k * step]: its integers, or the numbers that they stand for,
 * integer times scale. */
void att_int8_matrix_column(int8_t *to, const att_int8_matrix *from, size_t j, size_t step);
void att_int8_matrix_column_floats(float *to, const att_int8_matrix *from, size_t j, size_t step);

/* Copies columns `ids` to a matrix of `count` columns. */
void att_int8_matrix_gather(const att_int8_matrix *to, const att_int8_matrix *from,
                            const int32_t *ids, size_t count);

/* Rows of A, quantized: row i is at values[i * row_size], with zeros from `depth` to row_size, a
 * multiple of ATT_INT8_GROUP. */
typedef struct att_int8_rows {
    size_t row_size;
    float *scales; /* [rows] */
    int8_t *values;
} att_int8_rows;

/* Bytes of a block for such rows, and the rows in that block. */
size_t att_int8_rows_size(size_t rows, size_t depth);
att_int8_rows att_int8_rows_place(void *block, size_t rows, size_t depth);

/* Quantizes rows first to past of A; row i is at a[(i - first) * stride]. */
void att_int8_rows_quantize(const att_int8_rows *to, const float *a, size_t stride, size_t depth,
                            size_t first, size_t past);

/* A product, or a part of one: all of A's rows from first_row on by `columns` columns from
 * first_column on, which is a multiple of 16. */
typedef struct att_int8_call {
    const att_int8_matrix *b;
    const att_int8_rows *a;
    size_t first_row, rows, first_column, columns;
    float *c; /* of the first row and the first column */
    size_t c_row_stride;
    bool accumulate;
    const float *bias; /* [columns] from the first column on, or NULL */
    att_activation activation;
} att_int8_call;

/* On the calling thread. */
void att_int8_matmul_part(const att_int8_call *call);

/* The whole product, with all threads: A [rows, depth], row i at a[i * a_row_stride], is quantized
 * into `scratch`, of att_int8_rows_size() bytes. */
typedef struct att_int8_product {
    const att_int8_matrix *b;
    size_t rows;
    const float *a;
    size_t a_row_stride;
    void *scratch;
    float *c;
    size_t c_row_stride;
    const float *bias;
    att_activation activation;
} att_int8_product;

void att_int8_matmul(const att_int8_product *product);

#endif
