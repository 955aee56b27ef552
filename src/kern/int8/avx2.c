/* The int8 product with AVX2. vpmaddubsw multiplies unsigned bytes by signed bytes and adds two
 * neighbors with saturation to 16 bits. With |a| as the unsigned and sign(a) b as the signed
 * operand, both at most 127 in magnitude, two products are at most 2 * 127 * 127 = 32258 < 32768:
 * it never saturates. b = -128, whose sign cannot be changed, does not occur: quantized weights are
 * limited to 127, and a file with another value is refused. */
#include "kern/int8/body.h"

#include <immintrin.h>

enum { ROWS_IN_TILE = 4 };

/* Rows are a constant where this is inlined, so that sums stay in registers. */
ALWAYS_INLINE void add_rows(int32_t *sums, const int rows, const int8_t *a, size_t a_row_size,
                            const int8_t *b, size_t groups)
{
    __m256i low[ROWS_IN_TILE], high[ROWS_IN_TILE];
    const __m256i ones = _mm256_set1_epi16(1);
    for (int r = 0; r < rows; r++)
        low[r] = high[r] = _mm256_setzero_si256();
    for (size_t g = 0; g < groups; g++) {
        const __m256i *w = (const __m256i *)(const void *)(b + g * GROUP_BYTES);
        __m256i w0 = _mm256_load_si256(w), w1 = _mm256_load_si256(w + 1);
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            int32_t four;
            memcpy(&four, a + (size_t)r * a_row_size + g * GROUP, sizeof four);
            __m256i x = _mm256_set1_epi32(four), size = _mm256_abs_epi8(x);
            __m256i p0 = _mm256_maddubs_epi16(size, _mm256_sign_epi8(w0, x));
            __m256i p1 = _mm256_maddubs_epi16(size, _mm256_sign_epi8(w1, x));
            low[r] = _mm256_add_epi32(low[r], _mm256_madd_epi16(p0, ones));
            high[r] = _mm256_add_epi32(high[r], _mm256_madd_epi16(p1, ones));
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
    (void)b_sums;
    switch (rows) {
    case 1:
        add_rows(sums, 1, a, a_row_size, b, groups);
        break;
    case 2:
        add_rows(sums, 2, a, a_row_size, b, groups);
        break;
    case 3:
        add_rows(sums, 3, a, a_row_size, b, groups);
        break;
    default:
        add_rows(sums, 4, a, a_row_size, b, groups);
    }
}

VERSION(avx2, ATT_CPU_AVX2, 0);
