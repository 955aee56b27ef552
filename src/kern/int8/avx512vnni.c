/* The int8 product with AVX-512 VNNI; avxvnni.c explains how A becomes unsigned. A group of a panel
 * is one register of 64 bytes. */
#include "kern/int8/body.h"

#include <immintrin.h>

/* A group of A is loaded, broadcast and made unsigned once for all panels of a tile. 24 of the 32
 * registers hold sums. */
enum { ROWS_IN_TILE = 6, PANELS_IN_TILE = 4 };

ALWAYS_INLINE void add_tile(int32_t *sums, const int rows, const int panels, const int8_t *a,
                            size_t a_row_size, const int8_t *b, const int32_t *b_sums,
                            size_t groups)
{
    __m512i sum[ROWS_IN_TILE * PANELS_IN_TILE];
    const __m512i flip = _mm512_set1_epi8((char)0x80);
    const size_t panel_size = groups * GROUP_BYTES;
#pragma GCC unroll 4
    for (int p = 0; p < panels; p++) {
        __m512i extra = _mm512_slli_epi32(_mm512_loadu_si512(b_sums + p * PANEL), 7);
#pragma GCC unroll 6
        for (int r = 0; r < rows; r++)
            sum[r * panels + p] = _mm512_sub_epi32(_mm512_setzero_si512(), extra);
    }
    for (size_t g = 0; g < groups; g++) {
        __m512i w[PANELS_IN_TILE];
#pragma GCC unroll 4
        for (int p = 0; p < panels; p++)
            w[p] = _mm512_load_si512(b + (size_t)p * panel_size + g * GROUP_BYTES);
#pragma GCC unroll 6
        for (int r = 0; r < rows; r++) {
            int32_t four;
            memcpy(&four, a + (size_t)r * a_row_size + g * GROUP, sizeof four);
            __m512i x = _mm512_xor_si512(_mm512_set1_epi32(four), flip);
#pragma GCC unroll 4
            for (int p = 0; p < panels; p++)
                sum[r * panels + p] = _mm512_dpbusd_epi32(sum[r * panels + p], x, w[p]);
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int p = 0; p < panels; p++)
            _mm512_store_si512(sums + p * PANEL_SUMS + r * PANEL, sum[r * panels + p]);
}

/* Rows are a constant in each case, so that sums stay in registers. */
#define ADD(name, panels)                                                                          \
    static void name(int32_t *sums, int rows, const int8_t *a, size_t a_row_size, const int8_t *b, \
                     const int32_t *b_sums, size_t groups)                                         \
    {                                                                                              \
        switch (rows) {                                                                            \
        case 1:                                                                                    \
            add_tile(sums, 1, panels, a, a_row_size, b, b_sums, groups);                           \
            break;                                                                                 \
        case 2:                                                                                    \
            add_tile(sums, 2, panels, a, a_row_size, b, b_sums, groups);                           \
            break;                                                                                 \
        case 3:                                                                                    \
            add_tile(sums, 3, panels, a, a_row_size, b, b_sums, groups);                           \
            break;                                                                                 \
        case 4:                                                                                    \
            add_tile(sums, 4, panels, a, a_row_size, b, b_sums, groups);                           \
            break;                                                                                 \
        case 5:                                                                                    \
            add_tile(sums, 5, panels, a, a_row_size, b, b_sums, groups);                           \
            break;                                                                                 \
        default:                                                                                   \
            add_tile(sums, 6, panels, a, a_row_size, b, b_sums, groups);                           \
        }                                                                                          \
    }

ADD(add_products, 1)
ADD(add_wide, PANELS_IN_TILE)

/* Returns the column after the last whole tile. */
static size_t multiply_wide(const att_int8_block *block)
{
    const size_t columns = PANELS_IN_TILE * PANEL;
    size_t column = 0;
    for (; column + columns <= block->columns; column += columns)
        multiply_panels(block, column, ROWS_IN_TILE, PANELS_IN_TILE, add_wide);
    return column;
}

VERSION_WITH(avx512vnni, ATT_CPU_AVX512, ATT_CPU_AVX512_VNNI, 1, column = multiply_wide(block),
             (void)0);
