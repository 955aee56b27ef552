/* The int8 product with AVX-VNNI: vpdpbusd adds four products of unsigned by signed bytes to each
 * 32-bit sum, without saturation. A is made unsigned by adding 128 (its sign bit is flipped), and
 * 128 times the sum of the column is subtracted in the end. Sums may wrap in between: they are
 * exact modulo 2^32, and the result fits. */
#include "kern/int8/body.h"

#include <immintrin.h>

enum { ROWS_IN_TILE = 4 };

ALWAYS_INLINE void add_rows(int32_t *sums, const int rows, const int8_t *a, size_t a_row_size,
                            const int8_t *b, const int32_t *b_sums, size_t groups)
{
    __m256i low[ROWS_IN_TILE], high[ROWS_IN_TILE];
    const __m256i flip = _mm256_set1_epi8((char)0x80);
    const __m256i *extra = (const __m256i *)(const void *)b_sums;
    __m256i none = _mm256_setzero_si256();
    __m256i extra0 = _mm256_slli_epi32(_mm256_loadu_si256(extra), 7);
    __m256i extra1 = _mm256_slli_epi32(_mm256_loadu_si256(extra + 1), 7);
    for (int r = 0; r < rows; r++) {
        low[r] = _mm256_sub_epi32(none, extra0);
        high[r] = _mm256_sub_epi32(none, extra1);
    }
    for (size_t g = 0; g < groups; g++) {
        const __m256i *w = (const __m256i *)(const void *)(b + g * GROUP_BYTES);
        __m256i w0 = _mm256_load_si256(w), w1 = _mm256_load_si256(w + 1);
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            int32_t four;
            memcpy(&four, a + (size_t)r * a_row_size + g * GROUP, sizeof four);
            __m256i x = _mm256_xor_si256(_mm256_set1_epi32(four), flip);
            low[r] = _mm256_dpbusd_avx_epi32(low[r], x, w0);
            high[r] = _mm256_dpbusd_avx_epi32(high[r], x, w1);
        }
    }
    for (int r = 0; r < rows; r++) {
        __m256i *to = (__m256i *)(void *)(sums + r * PANEL);
        _mm256_store_si256(to, low[r]);
        _mm256_store_si256(to + 1, high[r]);
    }
}

static void add_products(int32_t *sums, int rows, const int8_t *a, size_t a_row_size,
                         const int8_t *b, const int32_t *b_sums, size_t groups)
{
    switch (rows) {
    case 1:
        add_rows(sums, 1, a, a_row_size, b, b_sums, groups);
        break;
    case 2:
        add_rows(sums, 2, a, a_row_size, b, b_sums, groups);
        break;
    case 3:
        add_rows(sums, 3, a, a_row_size, b, b_sums, groups);
        break;
    default:
        add_rows(sums, 4, a, a_row_size, b, b_sums, groups);
    }
}

VERSION(avxvnni, ATT_CPU_AVX2, ATT_CPU_AVX_VNNI);
