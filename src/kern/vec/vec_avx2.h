/* Sixteen lanes in two AVX2 registers, with FMA. The operations are those of vec.h, where they are
 * explained; everything here must round exactly as plain C does. */
#ifndef ATT_KERN_VEC_AVX2_H
#define ATT_KERN_VEC_AVX2_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "kern/vec/half_avx.h"

typedef struct vec {
    __m256 low, high;
} vec;

typedef struct ivec {
    __m256i low, high;
} ivec;

typedef vec mask; /* all bits of a lane, or none */

/* Up to 12 of the 16 registers hold sums, two to a vector; the others the panels of B and a
 * broadcast. */
enum { TILE_ROWS = 6, TILE_SUMS = 6, EXPS_AT_ONCE = 4 };

/* Both halves through the same instruction. */
#define EACH1(type, op, a)    ((type){ op((a).low), op((a).high) })
#define EACH2(type, op, a, b) ((type){ op((a).low, (b).low), op((a).high, (b).high) })
#define EACH3(type, op, a, b, c)                                                                   \
    ((type){ op((a).low, (b).low, (c).low), op((a).high, (b).high, (c).high) })

INLINE vec h_join(vec_half low, vec_half high)
{
    return (vec){ low, high };
}

INLINE __m256i first_of_eight(int n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

INLINE mask m_first_lanes(size_t n)
{
    return (mask){ _mm256_castsi256_ps(first_of_eight((int)n)),
                   _mm256_castsi256_ps(first_of_eight((int)n - 8)) };
}

INLINE __m256 eight_bits(uint32_t bits)
{
    __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    __m256i found = _mm256_and_si256(_mm256_set1_epi32((int)bits), bit);
    return _mm256_castsi256_ps(_mm256_cmpeq_epi32(found, bit));
}

INLINE mask m_bits(uint32_t bits)
{
    return (mask){ eight_bits(bits), eight_bits(bits >> 8) };
}

INLINE uint32_t m_to_bits(mask m)
{
    return (uint32_t)_mm256_movemask_ps(m.low) | (uint32_t)_mm256_movemask_ps(m.high) << 8;
}

INLINE vec v_set(float x)
{
    return (vec){ _mm256_set1_ps(x), _mm256_set1_ps(x) };
}

INLINE vec v_load(const float *p)
{
    return (vec){ _mm256_loadu_ps(p), _mm256_loadu_ps(p + 8) };
}

INLINE void v_store(float *p, vec a)
{
    _mm256_storeu_ps(p, a.low);
    _mm256_storeu_ps(p + 8, a.high);
}

INLINE vec v_load_part(const float *p, size_t n)
{
    return (vec){ _mm256_maskload_ps(p, first_of_eight((int)n)),
                  _mm256_maskload_ps(p + 8, first_of_eight((int)n - 8)) };
}

INLINE void v_store_part(float *p, vec a, size_t n)
{
    _mm256_maskstore_ps(p, first_of_eight((int)n), a.low);
    _mm256_maskstore_ps(p + 8, first_of_eight((int)n - 8), a.high);
}

INLINE vec v_add(vec a, vec b)
{
    return EACH2(vec, _mm256_add_ps, a, b);
}

INLINE vec v_sub(vec a, vec b)
{
    return EACH2(vec, _mm256_sub_ps, a, b);
}

INLINE vec v_mul(vec a, vec b)
{
    return EACH2(vec, _mm256_mul_ps, a, b);
}

INLINE vec v_div(vec a, vec b)
{
    return EACH2(vec, _mm256_div_ps, a, b);
}

INLINE vec v_sqrt(vec a)
{
    return EACH1(vec, _mm256_sqrt_ps, a);
}

INLINE vec v_fma(vec a, vec b, vec c)
{
    return EACH3(vec, _mm256_fmadd_ps, a, b, c);
}

INLINE vec v_fnma(vec a, vec b, vec c)
{
    return EACH3(vec, _mm256_fnmadd_ps, a, b, c);
}

INLINE vec v_max(vec a, vec b)
{
    return EACH2(vec, _mm256_max_ps, a, b);
}

INLINE vec v_min(vec a, vec b)
{
    return EACH2(vec, _mm256_min_ps, a, b);
}

INLINE vec v_abs(vec a)
{
    vec sign = v_set(-0.0f);
    return EACH2(vec, _mm256_andnot_ps, sign, a);
}

INLINE vec v_copysign(vec a, vec sign)
{
    vec bit = v_set(-0.0f);
    vec kept = EACH2(vec, _mm256_andnot_ps, bit, a), taken = EACH2(vec, _mm256_and_ps, bit, sign);
    return EACH2(vec, _mm256_or_ps, kept, taken);
}

/* 2^n for -126 <= n <= 127. */
INLINE __m256 power_of_two(__m256i n)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
}

INLINE __m256 scale2_eight(__m256 p, __m256 n)
{
    __m256i whole = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(whole, 1);
    p = _mm256_mul_ps(p, power_of_two(half));
    return _mm256_mul_ps(p, power_of_two(_mm256_sub_epi32(whole, half)));
}

INLINE vec v_scale2(vec p, vec n)
{
    return EACH2(vec, scale2_eight, p, n);
}

#define LESS(a, b)  _mm256_cmp_ps(a, b, _CMP_LT_OQ)
#define EQUAL(a, b) _mm256_cmp_ps(a, b, _CMP_EQ_OQ)

INLINE mask v_less(vec a, vec b)
{
    return EACH2(mask, LESS, a, b);
}

INLINE mask v_equal(vec a, vec b)
{
    return EACH2(mask, EQUAL, a, b);
}

INLINE vec v_select(mask m, vec a, vec b)
{
    return EACH3(vec, _mm256_blendv_ps, b, a, m);
}

INLINE ivec i_set(uint32_t x)
{
    return (ivec){ _mm256_set1_epi32((int)x), _mm256_set1_epi32((int)x) };
}

INLINE ivec i_load(const uint32_t *p)
{
    return (ivec){ _mm256_loadu_si256((const __m256i *)(const void *)p),
                   _mm256_loadu_si256((const __m256i *)(const void *)(p + 8)) };
}

INLINE ivec i_bits(vec a)
{
    return EACH1(ivec, _mm256_castps_si256, a);
}

INLINE vec v_bits(ivec a)
{
    return EACH1(vec, _mm256_castsi256_ps, a);
}

INLINE vec v_from_int(ivec a)
{
    return EACH1(vec, _mm256_cvtepi32_ps, a);
}

INLINE ivec i_add(ivec a, ivec b)
{
    return EACH2(ivec, _mm256_add_epi32, a, b);
}

/* The instruction compares signed integers: flipping the top bit makes the comparison unsigned. */
INLINE __m256 less_unsigned_eight(__m256i a, __m256i b)
{
    __m256i half = _mm256_set1_epi32(INT32_MIN);
    return _mm256_castsi256_ps(
        _mm256_cmpgt_epi32(_mm256_xor_si256(b, half), _mm256_xor_si256(a, half)));
}

INLINE mask i_less_unsigned(ivec a, ivec b)
{
    return EACH2(mask, less_unsigned_eight, a, b);
}

INLINE ivec i_sub(ivec a, ivec b)
{
    return EACH2(ivec, _mm256_sub_epi32, a, b);
}

INLINE ivec i_and(ivec a, ivec b)
{
    return EACH2(ivec, _mm256_and_si256, a, b);
}

INLINE ivec i_xor(ivec a, ivec b)
{
    return EACH2(ivec, _mm256_xor_si256, a, b);
}

#define i_shift_left(a, count)                                                                     \
    ((ivec){ _mm256_slli_epi32((a).low, count), _mm256_slli_epi32((a).high, count) })
#define i_shift_right(a, count)                                                                    \
    ((ivec){ _mm256_srli_epi32((a).low, count), _mm256_srli_epi32((a).high, count) })
#define i_shift_right_signed(a, count)                                                             \
    ((ivec){ _mm256_srai_epi32((a).low, count), _mm256_srai_epi32((a).high, count) })

INLINE ivec i_mul_low(ivec a, ivec b)
{
    return EACH2(ivec, _mm256_mullo_epi32, a, b);
}

INLINE __m256i mul_high_eight(__m256i a, __m256i b)
{
    __m256i even = _mm256_mul_epu32(a, b);
    __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), _mm256_srli_epi64(b, 32));
    return _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
}

INLINE ivec i_mul_high(ivec a, ivec b)
{
    return EACH2(ivec, mul_high_eight, a, b);
}

INLINE __m256 load_two_fours(const float *p, const float *q)
{
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p)), _mm_loadu_ps(q), 1);
}

INLINE vec v_load_fours(const float *p, const float *q, const float *r, const float *s)
{
    return (vec){ load_two_fours(p, q), load_two_fours(r, s) };
}

#define LOW_PAIRS(a, b)                                                                            \
    _mm256_castpd_ps(_mm256_unpacklo_pd(_mm256_castps_pd(a), _mm256_castps_pd(b)))
#define HIGH_PAIRS(a, b)                                                                           \
    _mm256_castpd_ps(_mm256_unpackhi_pd(_mm256_castps_pd(a), _mm256_castps_pd(b)))

INLINE void v_transpose_fours(vec w[4])
{
    vec a = EACH2(vec, _mm256_unpacklo_ps, w[0], w[1]);
    vec b = EACH2(vec, _mm256_unpackhi_ps, w[0], w[1]);
    vec c = EACH2(vec, _mm256_unpacklo_ps, w[2], w[3]);
    vec d = EACH2(vec, _mm256_unpackhi_ps, w[2], w[3]);
    w[0] = EACH2(vec, LOW_PAIRS, a, c);
    w[1] = EACH2(vec, HIGH_PAIRS, a, c);
    w[2] = EACH2(vec, LOW_PAIRS, b, d);
    w[3] = EACH2(vec, HIGH_PAIRS, b, d);
}

INLINE float v_first(vec a)
{
    return _mm256_cvtss_f32(a.low);
}

/* Transposes eight rows of eight. */
INLINE void transpose_eight(__m256 row[8])
{
    for (int i = 0; i < 8; i += 4) {
        __m256 a = _mm256_unpacklo_ps(row[i], row[i + 1]),
               b = _mm256_unpackhi_ps(row[i], row[i + 1]);
        __m256 c = _mm256_unpacklo_ps(row[i + 2], row[i + 3]);
        __m256 d = _mm256_unpackhi_ps(row[i + 2], row[i + 3]);
        row[i] = _mm256_shuffle_ps(a, c, 0x44);
        row[i + 1] = _mm256_shuffle_ps(a, c, 0xee);
        row[i + 2] = _mm256_shuffle_ps(b, d, 0x44);
        row[i + 3] = _mm256_shuffle_ps(b, d, 0xee);
    }
    for (int i = 0; i < 4; i++) {
        __m256 low = _mm256_permute2f128_ps(row[i], row[i + 4], 0x20);
        row[i + 4] = _mm256_permute2f128_ps(row[i], row[i + 4], 0x31);
        row[i] = low;
    }
}

/* Transposes the four quarters and swaps those off the diagonal. */
INLINE void v_transpose(vec row[16])
{
    __m256 quarter[4][8];
    for (int i = 0; i < 8; i++) {
        quarter[0][i] = row[i].low;
        quarter[1][i] = row[i + 8].low;
        quarter[2][i] = row[i].high;
        quarter[3][i] = row[i + 8].high;
    }
    for (int i = 0; i < 4; i++)
        transpose_eight(quarter[i]);
    for (int i = 0; i < 8; i++) {
        row[i] = (vec){ quarter[0][i], quarter[1][i] };
        row[i + 8] = (vec){ quarter[2][i], quarter[3][i] };
    }
}

INLINE float v_reduce_sum(vec a)
{
    __m256 b = _mm256_add_ps(a.low, a.high);
    __m128 c = _mm_add_ps(_mm256_castps256_ps128(b), _mm256_extractf128_ps(b, 1));
    c = _mm_add_ps(c, _mm_movehl_ps(c, c));
    return _mm_cvtss_f32(_mm_add_ss(c, _mm_movehdup_ps(c)));
}

INLINE float v_reduce_max(vec a)
{
    __m256 b = _mm256_max_ps(a.low, a.high);
    __m128 c = _mm_max_ps(_mm256_castps256_ps128(b), _mm256_extractf128_ps(b, 1));
    c = _mm_max_ps(c, _mm_movehl_ps(c, c));
    return _mm_cvtss_f32(_mm_max_ss(c, _mm_movehdup_ps(c)));
}

#endif
