/* The int8 product with the dot-product instructions of ARMv8.2: sdot adds four products of signed
 * bytes to each 32-bit sum. */
#include "kern/int8/body.h"

#include <arm_neon.h>

enum { ROWS_IN_TILE = 4 };

ALWAYS_INLINE void add_rows(int32_t *sums, const int rows, const int8_t *a, size_t a_row_size,
                            const int8_t *b, size_t groups)
{
    int32x4_t sum[ROWS_IN_TILE][4];
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < 4; v++)
            sum[r][v] = vdupq_n_s32(0);
    for (size_t g = 0; g < groups; g++)
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            int32_t four;
            memcpy(&four, a + (size_t)r * a_row_size + g * GROUP, sizeof four);
            int8x16_t x = vreinterpretq_s8_s32(vdupq_n_s32(four));
#pragma GCC unroll 4
            for (int v = 0; v < 4; v++)
                sum[r][v] = vdotq_s32(sum[r][v], vld1q_s8(b + g * GROUP_BYTES + 16 * v), x);
        }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < 4; v++)
            vst1q_s32(sums + r * PANEL + 4 * v, sum[r][v]);
}

static void add_products(int32_t *sums, int rows, const int8_t *a, size_t a_row_size,
                         const int8_t *b, const int32_t *b_sums, size_t groups)
{
    (void)b_sums;
    if (rows == ROWS_IN_TILE) {
        add_rows(sums, ROWS_IN_TILE, a, a_row_size, b, groups);
        return;
    }
    for (; rows >= 1; rows--, a += a_row_size, sums += PANEL)
        add_rows(sums, 1, a, a_row_size, b, groups);
}

VERSION(neon, ATT_CPU_SCALAR + 1, ATT_CPU_DOTPROD); /* any set but plain C */
