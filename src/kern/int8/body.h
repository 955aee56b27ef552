/* What the versions of the int8 kernels share, compiled once for each: quantization, the walk over
 * tiles, and the scaling of integer sums. A version defines ROWS_IN_TILE and
 *     void add_products(int32_t *sums, int rows, const int8_t *a, size_t a_row_size,
 *                       const int8_t *b, const int32_t *b_sums, size_t groups)
 * which stores the exact sums of `rows` rows and one panel, [rows][16], and then VERSION(...). */
#ifndef ATT_KERN_INT8_BODY_H
#define ATT_KERN_INT8_BODY_H

#include "kern/int8/kernels.h"

#include <math.h>
#include <string.h>

enum { PANEL = ATT_PANEL_COLUMNS, GROUP = ATT_INT8_GROUP, GROUP_BYTES = PANEL * GROUP };

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* The bits of |x| as an integer have the order of the numbers, with infinity and then NaN above
 * all others, so one maximum of integers finds both the largest value and what is not finite. */
ALWAYS_INLINE float quantize_row(int8_t *q, const float *x, size_t n)
{
    const uint32_t infinity = UINT32_C(0x7F800000), tiny = UINT32_C(0x0D800000); /* 2^-100 */
    uint32_t largest = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        bits &= UINT32_C(0x7FFFFFFF);
        largest = bits > largest ? bits : largest;
    }
    if (largest < tiny || largest >= infinity) {
        memset(q, 0, n);
        return largest < tiny ? 0.0f : NAN;
    }
    float m;
    memcpy(&m, &largest, sizeof m);
    /* Adding 1.5 * 2^23 rounds to an integer, ties to even, and leaves it in the low bits. |x| m'
     * is at most 127 (1 + 2^-23): it never rounds to 128. */
    const float factor = (float)ATT_INT8_MAX / m, magic = 0x1.8p23f;
    for (size_t i = 0; i < n; i++) {
        float shifted = x[i] * factor + magic;
        int32_t bits;
        memcpy(&bits, &shifted, sizeof bits);
        q[i] = (int8_t)(bits - 0x4B400000);
    }
    return m / (float)ATT_INT8_MAX;
}

/* One row of a tile: c = sum * (a_scale * b_scale) (+ c) (+ bias). */
ALWAYS_INLINE void scale_row(float *restrict c, const int32_t *sums, float a_scale,
                             const float *b_scales, const float *bias, bool accumulate,
                             size_t count)
{
    for (size_t j = 0; j < count; j++) {
        float value = (float)sums[j] * (a_scale * b_scales[j]);
        if (accumulate)
            value = c[j] + value;
        c[j] = bias ? value + bias[j] : value;
    }
}

/* Whole panels have a fixed number of columns, for which the compiler writes vector code. */
ALWAYS_INLINE void scale_panel_row(float *c, const int32_t *sums, float a_scale,
                                   const float *b_scales, const float *bias, bool accumulate,
                                   size_t count)
{
    if (count < PANEL)
        scale_row(c, sums, a_scale, b_scales, bias, accumulate, count);
    else if (accumulate)
        scale_row(c, sums, a_scale, b_scales, bias, true, PANEL);
    else if (bias)
        scale_row(c, sums, a_scale, b_scales, bias, false, PANEL);
    else
        scale_row(c, sums, a_scale, b_scales, NULL, false, PANEL);
}

typedef void add_function(int32_t *sums, int rows, const int8_t *a, size_t a_row_size,
                          const int8_t *b, const int32_t *b_sums, size_t groups);

enum { MAX_ROWS_IN_TILE = 16, MAX_PANELS_IN_TILE = 4, PANEL_SUMS = MAX_ROWS_IN_TILE * PANEL };

/* All rows by `panels` panels from a column on. A version with several panels stores the sums of
 * panel p from p * PANEL_SUMS on. */
ALWAYS_INLINE void multiply_panels(const att_int8_block *block, size_t column, int rows_in_tile,
                                   size_t panels, add_function *add)
{
    _Alignas(64) int32_t sums[MAX_PANELS_IN_TILE * PANEL_SUMS];
    const int8_t *b = block->b + column / PANEL * block->groups * GROUP_BYTES;
    for (size_t i = 0; i < block->rows; i += (size_t)rows_in_tile) {
        size_t left = block->rows - i;
        int rows = left < (size_t)rows_in_tile ? (int)left : rows_in_tile;
        add(sums, rows, block->a + i * block->a_row_size, block->a_row_size, b,
            block->b_sums + column, block->groups);
        for (size_t p = 0, at = column; p < panels; p++, at += PANEL) {
            size_t count = block->columns - at < PANEL ? block->columns - at : PANEL;
            for (int r = 0; r < rows; r++)
                scale_panel_row(block->c + (i + (size_t)r) * block->c_row_stride + at,
                                sums + p * PANEL_SUMS + r * PANEL, block->a_scales[i + (size_t)r],
                                block->b_scales + at, block->bias ? block->bias + at : NULL,
                                block->accumulate, count);
        }
    }
}

#define VERSION(version, its_set, its_features)                                                    \
    VERSION_WITH(version, its_set, its_features, 1, (void)0, (void)0)

/* A version that leaves products of fewer than `least` rows to the one before it in the list, and
 * whose products run between two statements; both may use `block`, and the first may set `column`,
 * up to which it has multiplied already. */
#define VERSION_WITH(version, its_set, its_features, least, before, after)                         \
    static float quantize(int8_t *q, const float *x, size_t n)                                     \
    {                                                                                              \
        return quantize_row(q, x, n);                                                              \
    }                                                                                              \
    static void matmul(const att_int8_block *block)                                                \
    {                                                                                              \
        size_t column = 0;                                                                         \
        before;                                                                                    \
        for (; column < block->columns; column += PANEL)                                           \
            multiply_panels(block, column, ROWS_IN_TILE, 1, add_products);                         \
        after;                                                                                     \
    }                                                                                              \
    extern const att_int8_kernels att_int8_##version;                                              \
    const att_int8_kernels att_int8_##version = {                                                  \
        .name = #version,                                                                          \
        .least_set = its_set,                                                                      \
        .features = its_features,                                                                  \
        .least_rows = least,                                                                       \
        .quantize = quantize,                                                                      \
        .matmul = matmul,                                                                          \
    }

#endif
