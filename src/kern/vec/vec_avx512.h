/* Sixteen lanes in one AVX-512 register. The operations are those of vec.h, where they are
 * explained; everything here must round exactly as plain C does. */
#ifndef ATT_KERN_VEC_AVX512_H
#define ATT_KERN_VEC_AVX512_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "kern/vec/half_avx.h"

typedef __m512 vec;
typedef __m512i ivec;
typedef __mmask16 mask;

/* 24 of the 32 registers hold sums: 12 rows of 2 panels, 8 of 3, or 6 of 4; others hold the panels
 * and a broadcast. */
enum { TILE_ROWS = 12, TILE_SUMS = 24, EXPS_AT_ONCE = 4 };

INLINE mask m_first_lanes(size_t n)
{
    return (mask)((1u << n) - 1);
}

INLINE mask m_bits(uint32_t bits)
{
    return (mask)bits;
}

INLINE uint32_t m_to_bits(mask m)
{
    return m;
}

INLINE vec v_set(float x)
{
    return _mm512_set1_ps(x);
}

INLINE vec v_load(const float *p)
{
    return _mm512_loadu_ps(p);
}

INLINE void v_store(float *p, vec a)
{
    _mm512_storeu_ps(p, a);
}

INLINE vec v_load_part(const float *p, size_t n)
{
    return _mm512_maskz_loadu_ps(m_first_lanes(n), p);
}

INLINE void v_store_part(float *p, vec a, size_t n)
{
    _mm512_mask_storeu_ps(p, m_first_lanes(n), a);
}

INLINE vec v_add(vec a, vec b)
{
    return _mm512_add_ps(a, b);
}

INLINE vec v_sub(vec a, vec b)
{
    return _mm512_sub_ps(a, b);
}

INLINE vec v_mul(vec a, vec b)
{
    return _mm512_mul_ps(a, b);
}

INLINE vec v_div(vec a, vec b)
{
    return _mm512_div_ps(a, b);
}

INLINE vec v_sqrt(vec a)
{
    return _mm512_sqrt_ps(a);
}

INLINE vec v_fma(vec a, vec b, vec c)
{
    return _mm512_fmadd_ps(a, b, c);
}

INLINE vec v_fnma(vec a, vec b, vec c)
{
    return _mm512_fnmadd_ps(a, b, c);
}

INLINE vec v_max(vec a, vec b)
{
    return _mm512_max_ps(a, b);
}

INLINE vec v_min(vec a, vec b)
{
    return _mm512_min_ps(a, b);
}

INLINE vec v_abs(vec a)
{
    return _mm512_abs_ps(a);
}

INLINE vec v_copysign(vec a, vec sign)
{
    return _mm512_or_ps(_mm512_abs_ps(a), _mm512_and_ps(sign, _mm512_set1_ps(-0.0f)));
}

INLINE vec v_scale2(vec p, vec n)
{
    return _mm512_scalef_ps(p, n);
}

INLINE mask v_less(vec a, vec b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}

INLINE mask v_equal(vec a, vec b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ);
}

INLINE vec v_select(mask m, vec a, vec b)
{
    return _mm512_mask_blend_ps(m, b, a);
}

INLINE ivec i_set(uint32_t x)
{
    return _mm512_set1_epi32((int)x);
}

INLINE ivec i_load(const uint32_t *p)
{
    return _mm512_loadu_si512(p);
}

INLINE ivec i_bits(vec a)
{
    return _mm512_castps_si512(a);
}

INLINE vec v_bits(ivec a)
{
    return _mm512_castsi512_ps(a);
}

INLINE vec v_from_int(ivec a)
{
    return _mm512_cvtepi32_ps(a);
}

INLINE ivec i_add(ivec a, ivec b)
{
    return _mm512_add_epi32(a, b);
}

INLINE mask i_less_unsigned(ivec a, ivec b)
{
    return _mm512_cmplt_epu32_mask(a, b);
}

INLINE ivec i_sub(ivec a, ivec b)
{
    return _mm512_sub_epi32(a, b);
}

INLINE ivec i_and(ivec a, ivec b)
{
    return _mm512_and_si512(a, b);
}

INLINE ivec i_xor(ivec a, ivec b)
{
    return _mm512_xor_si512(a, b);
}

#define i_shift_left(a, count)         _mm512_slli_epi32(a, count)
#define i_shift_right(a, count)        _mm512_srli_epi32(a, count)
#define i_shift_right_signed(a, count) _mm512_srai_epi32(a, count)

INLINE ivec i_mul_low(ivec a, ivec b)
{
    return _mm512_mullo_epi32(a, b);
}

INLINE ivec i_mul_high(ivec a, ivec b)
{
    __m512i even = _mm512_mul_epu32(a, b);
    __m512i odd = _mm512_mul_epu32(_mm512_srli_epi64(a, 32), _mm512_srli_epi64(b, 32));
    return _mm512_mask_blend_epi32(0xaaaa, _mm512_srli_epi64(even, 32), odd);
}

INLINE vec v_load_fours(const float *p, const float *q, const float *r, const float *s)
{
    __m512 a = _mm512_castps128_ps512(_mm_loadu_ps(p));
    a = _mm512_mask_broadcast_f32x4(a, 0x00f0, _mm_loadu_ps(q));
    a = _mm512_mask_broadcast_f32x4(a, 0x0f00, _mm_loadu_ps(r));
    return _mm512_mask_broadcast_f32x4(a, 0xf000, _mm_loadu_ps(s));
}

INLINE void v_transpose_fours(vec w[4])
{
    __m512d a = _mm512_castps_pd(_mm512_unpacklo_ps(w[0], w[1]));
    __m512d b = _mm512_castps_pd(_mm512_unpackhi_ps(w[0], w[1]));
    __m512d c = _mm512_castps_pd(_mm512_unpacklo_ps(w[2], w[3]));
    __m512d d = _mm512_castps_pd(_mm512_unpackhi_ps(w[2], w[3]));
    w[0] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, c));
    w[1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, c));
    w[2] = _mm512_castpd_ps(_mm512_unpacklo_pd(b, d));
    w[3] = _mm512_castpd_ps(_mm512_unpackhi_pd(b, d));
}

INLINE vec h_join(vec_half low, vec_half high)
{
    return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
}

INLINE float v_first(vec a)
{
    return _mm512_cvtss_f32(a);
}

/* 4x4 blocks are transposed, then exchanged among the registers. */
INLINE void v_transpose(vec row[16])
{
    for (int i = 0; i < 16; i += 4)
        v_transpose_fours(row + i);
    for (int i = 0; i < 4; i++) {
        __m512 a = _mm512_shuffle_f32x4(row[i], row[i + 4], 0x44);
        __m512 b = _mm512_shuffle_f32x4(row[i], row[i + 4], 0xee);
        __m512 c = _mm512_shuffle_f32x4(row[i + 8], row[i + 12], 0x44);
        __m512 d = _mm512_shuffle_f32x4(row[i + 8], row[i + 12], 0xee);
        row[i] = _mm512_shuffle_f32x4(a, c, 0x88);
        row[i + 4] = _mm512_shuffle_f32x4(a, c, 0xdd);
        row[i + 8] = _mm512_shuffle_f32x4(b, d, 0x88);
        row[i + 12] = _mm512_shuffle_f32x4(b, d, 0xdd);
    }
}

/* The fixed tree: the upper half is added to the lower, then three times inside 256 bits. */
INLINE float v_reduce_sum(vec a)
{
    __m256 b = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    __m128 c = _mm_add_ps(_mm256_castps256_ps128(b), _mm256_extractf128_ps(b, 1));
    c = _mm_add_ps(c, _mm_movehl_ps(c, c));
    return _mm_cvtss_f32(_mm_add_ss(c, _mm_movehdup_ps(c)));
}

INLINE float v_reduce_max(vec a)
{
    __m256 b = _mm256_max_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    __m128 c = _mm_max_ps(_mm256_castps256_ps128(b), _mm256_extractf128_ps(b, 1));
    c = _mm_max_ps(c, _mm_movehl_ps(c, c));
    return _mm_cvtss_f32(_mm_max_ss(c, _mm_movehdup_ps(c)));
}

#endif
