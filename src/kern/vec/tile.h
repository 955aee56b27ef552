/* Sums of products in a register tile: the inner loops of the attention kernels.
 *
 * Lanes run along the rows of the right operand, which are loaded directly; elements of the left
 * operand are broadcast. Each sum is a chain of fused multiply-adds from 0 on, in order. */
#ifndef ATT_KERN_VEC_TILE_H
#define ATT_KERN_VEC_TILE_H

#include "kern/vec/vec.h"

/* The register tile: STRIP rows of WIDE vectors hold sums; a strip for a single row has ROW_WIDE.
 */
enum {
    WIDE = TILE_SUMS >= 16 ? 2 : 1,
    STRIP = TILE_SUMS >= 16 ? 8 : TILE_ROWS,
    ROW_WIDE = 4,
    SUMS = 16
};

/* Sums of products: sum[r][v] = Σ_k a[r][k] · b[k][16v …] */

/* Element (r, k) of the left operand is at[r * row + k * step]. */
typedef struct left_operand {
    const float *data;
    ptrdiff_t row, step;
} left_operand;

/* The right operand: `depth` rows, of which `width` floats from `at` on are used. */
typedef struct right_operand {
    const float *data;
    ptrdiff_t stride;
    size_t depth, width;
} right_operand;

INLINE vec right_load(const float *at, size_t v, size_t width, bool whole)
{
    return whole ? v_load(at + v * LANES) : v_load_upto(at + v * LANES, width - v * LANES);
}

/* `rows`, `vecs` and `whole` are constants where this is inlined: the sums live in registers. Rows
 * are addressed from every fourth one, since a pointer for each would not fit in the registers. */
INLINE void tile_dot(vec sum[SUMS], size_t rows, size_t vecs, bool whole, left_operand a,
                     right_operand b)
{
    const float *first = a.data, *fourth = a.data + (rows > 4 ? 4 * a.row : 0);
    for (size_t s = 0; s < rows * vecs; s++)
        sum[s] = v_set(0.0f);
#pragma GCC unroll 2
    for (size_t k = 0; k < b.depth; k++) {
        vec factor[ROW_WIDE];
#pragma GCC unroll 4
        for (size_t v = 0; v < vecs; v++)
            factor[v] = right_load(b.data, v, b.width, whole);
#pragma GCC unroll 8
        for (size_t r = 0; r < rows; r++) {
            vec each =
                v_set(r < 4 ? first[(ptrdiff_t)r * a.row] : fourth[(ptrdiff_t)(r - 4) * a.row]);
#pragma GCC unroll 4
            for (size_t v = 0; v < vecs; v++)
                sum[r * vecs + v] = v_fma(each, factor[v], sum[r * vecs + v]);
        }
        first += a.step;
        fourth += a.step;
        b.data += b.stride;
    }
}

/* Whether the next strip is a whole one. Where strips have six rows, the last eight rows are two
 * strips of four: two rows have too few sums to hide the latency of a multiply-add. */
INLINE bool whole_strip(size_t rows_left)
{
    return rows_left >= STRIP && (STRIP != 6 || rows_left != 8);
}

/* Processes rows 0 … n-1 in strips: body(rows, first, …) with `rows` a constant. */
#define IN_STRIPS(n, body, ...)                                                                    \
    do {                                                                                           \
        size_t row_ = 0, end_ = (n);                                                               \
        for (; whole_strip(end_ - row_); row_ += STRIP)                                            \
            body(STRIP, row_, __VA_ARGS__);                                                        \
        for (; row_ + 4 <= end_; row_ += 4)                                                        \
            body(4, row_, __VA_ARGS__);                                                            \
        for (; row_ + 2 <= end_; row_ += 2)                                                        \
            body(2, row_, __VA_ARGS__);                                                            \
        for (; row_ < end_; row_++)                                                                \
            body(1, row_, __VA_ARGS__);                                                            \
    } while (0)

INLINE const float *row_of(att_matrix_view rows, size_t r)
{
    return rows.data + (ptrdiff_t)r * rows.stride;
}

INLINE size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* 16 rows from `rows` + r on, transposed: x[c] holds column c of each. Rows past the last are 0. */
INLINE void load_transposed(vec x[LANES], att_matrix_view rows, size_t r, size_t column)
{
    size_t width = rows.columns - column;
    if (rows.rows - r >= LANES && width >= LANES)
        for (size_t i = 0; i < LANES; i++)
            x[i] = v_load(row_of(rows, r + i) + column);
    else
        for (size_t i = 0; i < LANES; i++)
            x[i] =
                r + i < rows.rows ? v_load_upto(row_of(rows, r + i) + column, width) : v_set(0.0f);
    v_transpose(x);
}

#endif
