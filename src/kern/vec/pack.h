/* Laying rows of a matrix side by side, as the product wants them. */
#ifndef ATT_KERN_VEC_PACK_H
#define ATT_KERN_VEC_PACK_H

#include "kern/vec/vec.h"

/* out[k * step + i] = a[i * a_row + k] for k < depth and i < rows <= step <= 16; what is between
 * `rows` and `step` becomes 0. A store writes 16 lanes where the stores after it put right what was
 * too many, else `step` of them. */
static inline void interleave(float *out, size_t step, const float *a, size_t a_row, size_t rows,
                              size_t depth)
{
    const float *row[LANES];
    for (size_t i = 0; i < LANES; i++)
        row[i] = a + (i < rows ? i : rows - 1) * a_row;
    size_t k = 0;
    for (; k + 4 <= depth; k += 4) {
        vec w[4];
        for (size_t q = 0; q < 4; q++)
            w[q] = v_load_fours(row[q] + k, row[q + 4] + k, row[q + 8] + k, row[q + 12] + k);
        v_transpose_fours(w);
        for (size_t q = 0; q < 4; q++) {
            size_t room = (depth - k - q) * step;
            v_store_upto(out + (k + q) * step, v_upto(w[q], rows), room >= LANES ? room : step);
        }
    }
    for (; k < depth; k++)
        for (size_t i = 0; i < step; i++)
            out[k * step + i] = i < rows ? row[i][k] : 0.0f;
}

/* The same for a matrix that has its rows side by side already: out[k * step + i] = a[k * a_step +
 * i]. */
static inline void gather_columns(float *out, size_t step, const float *a, size_t a_step,
                                  size_t rows, size_t depth)
{
    for (size_t k = 0; k < depth; k++) {
        size_t room = (depth - k) * step;
        v_store_upto(out + k * step, v_load_upto(a + k * a_step, rows),
                     room >= LANES ? room : step);
    }
}

#endif
