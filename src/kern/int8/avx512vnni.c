/* The int8 product with AVX-512 VNNI; avxvnni.c explains how A becomes unsigned. A group of a panel
 * is one register of 64 bytes. */
#include "kern/int8/body.h"

#include <immintrin.h>

enum { ROWS_IN_TILE = 12 };

ALWAYS_INLINE void add_rows(int32_t *sums, const int rows, const int8_t *a, size_t a_row_size,
                            const int8_t *b, const int32_t *b_sums, size_t groups)
{
    __m512i sum[ROWS_IN_TILE];
    const __m512i flip = _mm512_set1_epi8((char)0x80);
    __m512i extra = _mm512_slli_epi32(_mm512_loadu_si512(b_sums), 7);
    for (int r = 0; r < rows; r++)
        sum[r] = _mm512_sub_epi32(_mm512_setzero_si512(), extra);
    for (size_t g = 0; g < groups; g++) {
        __m512i w = _mm512_load_si512(b + g * GROUP_BYTES);
#pragma GCC unroll 12
        for (int r = 0; r < rows; r++) {
            int32_t four;
            memcpy(&four, a + (size_t)r * a_row_size + g * GROUP, sizeof four);
            sum[r] =
                _mm512_dpbusd_epi32(sum[r], _mm512_xor_si512(_mm512_set1_epi32(four), flip), w);
        }
    }
    for (int r = 0; r < rows; r++)
        _mm512_store_si512(sums + r * PANEL, sum[r]);
}

static void add_products(int32_t *sums, int rows, const int8_t *a, size_t a_row_size,
                         const int8_t *b, const int32_t *b_sums, size_t groups)
{
    if (rows == ROWS_IN_TILE) {
        add_rows(sums, ROWS_IN_TILE, a, a_row_size, b, b_sums, groups);
        return;
    }
    for (; rows >= 4; rows -= 4, a += 4 * a_row_size, sums += 4 * PANEL)
        add_rows(sums, 4, a, a_row_size, b, b_sums, groups);
    for (; rows >= 1; rows--, a += a_row_size, sums += PANEL)
        add_rows(sums, 1, a, a_row_size, b, b_sums, groups);
}

VERSION(avx512vnni, ATT_CPU_AVX512, ATT_CPU_AVX512_VNNI);
