/* Half a vector, eight lanes in a 256-bit register, on AVX2 and AVX-512. (16-bit floating point is
 * in kern/half.h.) Wider registers transpose a matrix no faster: each of their shuffles costs two.
 */
#ifndef ATT_KERN_VEC_HALF_AVX_H
#define ATT_KERN_VEC_HALF_AVX_H

#include <immintrin.h>
#include <stddef.h>

typedef __m256 vec_half;

INLINE vec_half h_set(float x)
{
    return _mm256_set1_ps(x);
}

INLINE vec_half h_load(const float *p)
{
    return _mm256_loadu_ps(p);
}

INLINE vec_half h_fma(vec_half a, vec_half b, vec_half c)
{
    return _mm256_fmadd_ps(a, b, c);
}

INLINE vec_half h_load_fours(const float *p, const float *q)
{
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p)), _mm_loadu_ps(q), 1);
}

/* Rows are loaded such that two adjacent 4x4 transposes remain. */
INLINE void h_load_transposed(vec_half out[4], const float *p, ptrdiff_t stride)
{
    const float *q = p + 4 * stride;
    vec_half r0 = h_load_fours(p, q), r1 = h_load_fours(p + stride, q + stride);
    vec_half r2 = h_load_fours(p + 2 * stride, q + 2 * stride);
    vec_half r3 = h_load_fours(p + 3 * stride, q + 3 * stride);
    __m256d a = _mm256_castps_pd(_mm256_unpacklo_ps(r0, r1));
    __m256d b = _mm256_castps_pd(_mm256_unpackhi_ps(r0, r1));
    __m256d c = _mm256_castps_pd(_mm256_unpacklo_ps(r2, r3));
    __m256d d = _mm256_castps_pd(_mm256_unpackhi_ps(r2, r3));
    out[0] = _mm256_castpd_ps(_mm256_unpacklo_pd(a, c));
    out[1] = _mm256_castpd_ps(_mm256_unpackhi_pd(a, c));
    out[2] = _mm256_castpd_ps(_mm256_unpacklo_pd(b, d));
    out[3] = _mm256_castpd_ps(_mm256_unpackhi_pd(b, d));
}

#endif
