/* A vector of sixteen floats on any instruction set: the interface that the kernels in this folder
 * use.
 *
 * The build names a header for the set (vec_avx2.h, vec_avx512.h, …), which defines the types `vec`
 * (16 floats), `ivec` (16 unsigned integers of 32 bits) and `mask` (16 truth values), and:
 *
 *   v_set(x)  v_load(p)  v_store(p, a)        all lanes; any alignment
 *   v_load_part(p, n)  v_store_part(p, a, n)  lanes 0 to n - 1, n <= 16: the others load as 0, and
 *                                             memory beyond is neither read nor written
 *   v_load_fours(p, q, r, s)                  four floats from each, in this order
 *   v_add  v_sub  v_mul  v_div  v_sqrt        rounded to nearest, as in C
 *   v_fma(a, b, c)  v_fnma(a, b, c)           a*b + c and -(a*b) + c, rounded once
 *   v_max(a, b)  v_min(a, b)                  b where they are equal or either is NaN
 *   v_abs(a)  v_copysign(a, sign)
 *   v_scale2(p, n)                            p * 2^n, rounded once; integer n, |n| <= 252
 *   v_less(a, b)  v_equal(a, b)               masks, false for NaN
 *   v_select(m, a, b)                         a where m, else b
 *   m_first_lanes(n)                          true in lanes 0 to n - 1, n <= 16
 *   m_bits(b)  m_to_bits(m)                   lane i is true where bit i is set; and back
 *   i_set  i_load  i_add  i_sub  i_and  i_xor  i_mul_low  i_mul_high
 *   i_shift_left(a, k)  i_shift_right(a, k)   k constant; shifts in zeros
 *   i_shift_right_signed(a, k)                shifts in the sign
 *   i_less_unsigned(a, b)                     a mask: a < b
 *   i_bits(v)  v_bits(i)                      the same bits
 *   v_from_int(i)                             the signed value
 *   v_transpose_fours(w)                      of w[0..3], the 4x4 in lanes 4q to 4q + 3, each q
 *   v_transpose(row)                          of row[0..15], the whole 16x16
 *   v_first(a)                                lane 0
 *   v_reduce_sum(a)  v_reduce_max(a)          by the fixed tree: i with i + 8, then + 4, + 2, + 1
 *   TILE_ROWS, TILE_SUMS                      of matmul tiles: max rows, max vectors
 *   EXPS_AT_ONCE                              vectors of exponentials to compute together: 1, 2, 4,
 * 8; 1 where a vector takes four registers
 *
 * and of half a vector, `vec_half`:
 *   h_set(x)  h_load(p)  h_fma(a, b, c)       as above
 *   h_load_transposed(out, p, stride)         lane j of out[k] is p[j * stride + k], k < 4
 *   h_join(low, high)                         the vector */
#ifndef ATT_KERN_VEC_VEC_H
#define ATT_KERN_VEC_VEC_H

#define INLINE static inline __attribute__((always_inline, unused))

#include ATT_VEC_HEADER

#include "kern/isa/isa.h"

enum { LANES = ATT_LANES };

/* The first min(n, 16) lanes. Loops along a row are written once, end included:
 *     for (size_t i = 0; i < n; i += LANES)
 *         v_store_upto(y + i, f(v_load_upto(x + i, n - i)), n - i); */
INLINE vec v_load_upto(const float *p, size_t n)
{
    return n >= LANES ? v_load(p) : v_load_part(p, n);
}

/* The same lanes of a vector, the others 0. */
INLINE vec v_upto(vec a, size_t n)
{
    return n >= LANES ? a : v_select(m_first_lanes(n), a, v_set(0.0f));
}

/* The same with the lanes past the end set to `fill`. */
INLINE vec v_load_fill(const float *p, size_t n, float fill)
{
    return n >= LANES ? v_load(p) : v_select(m_first_lanes(n), v_load_part(p, n), v_set(fill));
}

INLINE void v_store_upto(float *p, vec a, size_t n)
{
    if (n >= LANES)
        v_store(p, a);
    else
        v_store_part(p, a, n);
}

/* The maximum of a row; -inf where it is empty. NaN is ignored. */
INLINE float row_max(const float *x, size_t n)
{
    vec max = v_set(-__builtin_inff());
    for (size_t i = 0; i < n; i += LANES)
        max = v_max(v_load_fill(x + i, n - i, -__builtin_inff()), max);
    return v_reduce_max(max);
}

#endif
