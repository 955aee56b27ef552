/* Sixteen lanes in four WebAssembly vectors. The operations are those of vec.h, where they are
 * explained; everything here must round exactly as plain C does. ATT_RELAXED_SIMD, given by the
 * build, uses the relaxed multiply-add, which lib/kernels.js has proved to be fused; without it the
 * multiply-add is emulated exactly, in double. */
#ifndef ATT_KERN_VEC_WASM_H
#define ATT_KERN_VEC_WASM_H

#include <stddef.h>
#include <stdint.h>
#include <wasm_simd128.h>

typedef struct vec {
    v128_t q[4];
} vec;

typedef struct ivec {
    v128_t q[4];
} ivec;

typedef vec mask; /* all bits of a lane, or none */

/* Two vectors of sums take 8 of the 16 registers that engines have on x86-64. Three or four were
 * slower: V8 then keeps sums on the stack. */
enum { TILE_ROWS = 2, TILE_SUMS = 2, EXPS_AT_ONCE = 1 };

/* The four parts through the same instruction. */
#define EACH1(type, op, a) ((type){ { op((a).q[0]), op((a).q[1]), op((a).q[2]), op((a).q[3]) } })
#define EACH2(type, op, a, b)                                                                      \
    ((type){ { op((a).q[0], (b).q[0]), op((a).q[1], (b).q[1]), op((a).q[2], (b).q[2]),             \
               op((a).q[3], (b).q[3]) } })
#define EACH3(type, op, a, b, c)                                                                   \
    ((type){ { op((a).q[0], (b).q[0], (c).q[0]), op((a).q[1], (b).q[1], (c).q[1]),                 \
               op((a).q[2], (b).q[2], (c).q[2]), op((a).q[3], (b).q[3], (c).q[3]) } })

/* ---- fused multiply-add */

#ifdef ATT_RELAXED_SIMD
#define FMA(a, b, c)  wasm_f32x4_relaxed_madd(a, b, c)
#define FNMA(a, b, c) wasm_f32x4_relaxed_nmadd(a, b, c)
#else
/* a*b + c of the two low lanes, rounded to odd in double: rounding that to float gives the float
 * nearest to the exact result (fmaf() in web/port/fmaf.c explains it). */
INLINE v128_t fma_two(v128_t a, v128_t b, v128_t c)
{
    v128_t addend = wasm_f64x2_promote_low_f32x4(c);
    v128_t product =
        wasm_f64x2_mul(wasm_f64x2_promote_low_f32x4(a), wasm_f64x2_promote_low_f32x4(b));
    v128_t sum = wasm_f64x2_add(product, addend), part = wasm_f64x2_sub(sum, product);
    v128_t lost = wasm_f64x2_add(wasm_f64x2_sub(product, wasm_f64x2_sub(sum, part)),
                                 wasm_f64x2_sub(addend, part));
    v128_t inexact = wasm_f64x2_gt(wasm_f64x2_abs(lost), wasm_f64x2_const_splat(0)); /* not NaN */
    v128_t one = wasm_i64x2_const_splat(1);
    v128_t is_even = wasm_i64x2_sub(wasm_v128_and(sum, one), one);
    v128_t away = wasm_v128_or(wasm_i64x2_shr(wasm_v128_xor(lost, sum), 63), one); /* 1 or -1 */
    away = wasm_v128_and(away, wasm_v128_and(inexact, is_even));
    return wasm_f32x4_demote_f64x2_zero(wasm_i64x2_add(sum, away));
}

#define HIGH_TWO(a) wasm_i64x2_shuffle(a, a, 1, 1)

static __attribute__((noinline, unused)) v128_t fma_exact(v128_t a, v128_t b, v128_t c)
{
    v128_t low = fma_two(a, b, c), high = fma_two(HIGH_TWO(a), HIGH_TWO(b), HIGH_TWO(c));
    return wasm_i64x2_shuffle(low, high, 0, 2);
}

INLINE v128_t multiply_add_two(v128_t a, v128_t b, v128_t c)
{
    return wasm_f64x2_add(
        wasm_f64x2_mul(wasm_f64x2_promote_low_f32x4(a), wasm_f64x2_promote_low_f32x4(b)),
        wasm_f64x2_promote_low_f32x4(c));
}

/* Rounding the sum to double and then to float differs from rounding once only if the double lies
 * half-way between two floats: then its last 29 bits are a one and zeros, unless the float is
 * subnormal and has fewer digits. Either is rare and computed again. (A result of 0 is always
 * right: where a sum nearly vanishes, the addition in double is exact.) */
#ifdef ATT_FMA_INLINE
INLINE
#else /* where the time does not go, code of a kilobyte for each multiply-add is too much */
static __attribute__((noinline, unused))
#endif
v128_t FMA(v128_t a, v128_t b, v128_t c)
{
    v128_t low = multiply_add_two(a, b, c);
    v128_t high = multiply_add_two(HIGH_TWO(a), HIGH_TWO(b), HIGH_TWO(c));
    v128_t result = wasm_i64x2_shuffle(wasm_f32x4_demote_f64x2_zero(low),
                                       wasm_f32x4_demote_f64x2_zero(high), 0, 2);
    v128_t tail = wasm_i64x2_const_splat(0x1fffffff), middle = wasm_i64x2_const_splat(0x10000000);
    v128_t size = wasm_v128_and(result, wasm_i32x4_const_splat(INT32_MAX));
    v128_t subnormal = wasm_u32x4_lt(wasm_i32x4_sub(size, wasm_i32x4_const_splat(1)),
                                     wasm_i32x4_const_splat(0x7fffff));
    v128_t halfway = wasm_v128_or(wasm_i64x2_eq(wasm_v128_and(low, tail), middle),
                                  wasm_i64x2_eq(wasm_v128_and(high, tail), middle));
    if (__builtin_expect(wasm_v128_any_true(wasm_v128_or(halfway, subnormal)), 0))
        return fma_exact(a, b, c);
    return result;
}

INLINE v128_t FNMA(v128_t a, v128_t b, v128_t c)
{
    return FMA(wasm_f32x4_neg(a), b, c);
}
#endif

/* ---- half a vector */

typedef struct vec_half {
    v128_t low, high;
} vec_half;

INLINE vec_half h_set(float x)
{
    return (vec_half){ wasm_f32x4_splat(x), wasm_f32x4_splat(x) };
}

INLINE vec_half h_load(const float *p)
{
    return (vec_half){ wasm_v128_load(p), wasm_v128_load(p + 4) };
}

INLINE vec_half h_fma(vec_half a, vec_half b, vec_half c)
{
    return (vec_half){ FMA(a.low, b.low, c.low), FMA(a.high, b.high, c.high) };
}

INLINE vec h_join(vec_half low, vec_half high)
{
    return (vec){ { low.low, low.high, high.low, high.high } };
}

INLINE void transpose_four(v128_t row[4])
{
    v128_t a = wasm_i32x4_shuffle(row[0], row[1], 0, 4, 1, 5);
    v128_t b = wasm_i32x4_shuffle(row[0], row[1], 2, 6, 3, 7);
    v128_t c = wasm_i32x4_shuffle(row[2], row[3], 0, 4, 1, 5);
    v128_t d = wasm_i32x4_shuffle(row[2], row[3], 2, 6, 3, 7);
    row[0] = wasm_i64x2_shuffle(a, c, 0, 2);
    row[1] = wasm_i64x2_shuffle(a, c, 1, 3);
    row[2] = wasm_i64x2_shuffle(b, d, 0, 2);
    row[3] = wasm_i64x2_shuffle(b, d, 1, 3);
}

INLINE void h_load_transposed(vec_half out[4], const float *p, ptrdiff_t stride)
{
    v128_t low[4], high[4];
    for (ptrdiff_t j = 0; j < 4; j++) {
        low[j] = wasm_v128_load(p + j * stride);
        high[j] = wasm_v128_load(p + (j + 4) * stride);
    }
    transpose_four(low);
    transpose_four(high);
    for (int k = 0; k < 4; k++)
        out[k] = (vec_half){ low[k], high[k] };
}

/* ---- masks, loads and stores */

INLINE v128_t first_of_four(int n)
{
    return wasm_i32x4_gt(wasm_i32x4_splat(n), wasm_i32x4_const(0, 1, 2, 3));
}

INLINE mask m_first_lanes(size_t n)
{
    int count = (int)n;
    return (mask){ { first_of_four(count), first_of_four(count - 4), first_of_four(count - 8),
                     first_of_four(count - 12) } };
}

INLINE v128_t four_bits(uint32_t bits)
{
    v128_t bit = wasm_i32x4_const(1, 2, 4, 8);
    return wasm_i32x4_eq(wasm_v128_and(wasm_i32x4_splat((int)bits), bit), bit);
}

INLINE mask m_bits(uint32_t bits)
{
    return (mask){ { four_bits(bits), four_bits(bits >> 4), four_bits(bits >> 8),
                     four_bits(bits >> 12) } };
}

INLINE uint32_t m_to_bits(mask m)
{
    return (uint32_t)wasm_i32x4_bitmask(m.q[0]) | (uint32_t)wasm_i32x4_bitmask(m.q[1]) << 4 |
           (uint32_t)wasm_i32x4_bitmask(m.q[2]) << 8 | (uint32_t)wasm_i32x4_bitmask(m.q[3]) << 12;
}

INLINE vec v_set(float x)
{
    v128_t four = wasm_f32x4_splat(x);
    return (vec){ { four, four, four, four } };
}

INLINE vec v_load(const float *p)
{
    return (vec){ { wasm_v128_load(p), wasm_v128_load(p + 4), wasm_v128_load(p + 8),
                    wasm_v128_load(p + 12) } };
}

INLINE void v_store(float *p, vec a)
{
    wasm_v128_store(p, a.q[0]);
    wasm_v128_store(p + 4, a.q[1]);
    wasm_v128_store(p + 8, a.q[2]);
    wasm_v128_store(p + 12, a.q[3]);
}

INLINE v128_t load_four_part(const float *p, int n)
{
    if (n >= 4)
        return wasm_v128_load(p);
    if (n == 3)
        return wasm_v128_load32_lane(p + 2, wasm_v128_load64_zero(p), 2);
    if (n == 2)
        return wasm_v128_load64_zero(p);
    return n == 1 ? wasm_v128_load32_zero(p) : wasm_i32x4_const_splat(0);
}

INLINE vec v_load_part(const float *p, size_t n)
{
    int count = (int)n;
    return (vec){ { load_four_part(p, count), load_four_part(p + 4, count - 4),
                    load_four_part(p + 8, count - 8), load_four_part(p + 12, count - 12) } };
}

INLINE void store_four_part(float *p, v128_t a, int n)
{
    if (n >= 4) {
        wasm_v128_store(p, a);
        return;
    }
    if (n >= 2)
        wasm_v128_store64_lane(p, a, 0);
    if (n == 3)
        wasm_v128_store32_lane(p + 2, a, 2);
    if (n == 1)
        wasm_v128_store32_lane(p, a, 0);
}

INLINE void v_store_part(float *p, vec a, size_t n)
{
    for (int i = 0; i < 4; i++)
        store_four_part(p + 4 * i, a.q[i], (int)n - 4 * i);
}

INLINE vec v_load_fours(const float *p, const float *q, const float *r, const float *s)
{
    return (vec){ { wasm_v128_load(p), wasm_v128_load(q), wasm_v128_load(r), wasm_v128_load(s) } };
}

/* ---- arithmetic */

INLINE vec v_add(vec a, vec b)
{
    return EACH2(vec, wasm_f32x4_add, a, b);
}

INLINE vec v_sub(vec a, vec b)
{
    return EACH2(vec, wasm_f32x4_sub, a, b);
}

INLINE vec v_mul(vec a, vec b)
{
    return EACH2(vec, wasm_f32x4_mul, a, b);
}

INLINE vec v_div(vec a, vec b)
{
    return EACH2(vec, wasm_f32x4_div, a, b);
}

INLINE vec v_sqrt(vec a)
{
    return EACH1(vec, wasm_f32x4_sqrt, a);
}

INLINE vec v_fma(vec a, vec b, vec c)
{
    return EACH3(vec, FMA, a, b, c);
}

INLINE vec v_fnma(vec a, vec b, vec c)
{
    return EACH3(vec, FNMA, a, b, c);
}

/* The second operand where they are equal or either is NaN: the instruction returns the first. */
#define MAX(a, b) wasm_f32x4_pmax(b, a)
#define MIN(a, b) wasm_f32x4_pmin(b, a)

INLINE vec v_max(vec a, vec b)
{
    return EACH2(vec, MAX, a, b);
}

INLINE vec v_min(vec a, vec b)
{
    return EACH2(vec, MIN, a, b);
}

INLINE vec v_abs(vec a)
{
    return EACH1(vec, wasm_f32x4_abs, a);
}

INLINE v128_t copysign_four(v128_t a, v128_t sign)
{
    return wasm_v128_bitselect(sign, a, wasm_i32x4_const_splat(INT32_MIN));
}

INLINE vec v_copysign(vec a, vec b)
{
    return EACH2(vec, copysign_four, a, b);
}

/* 2^n for -126 <= n <= 127. */
INLINE v128_t power_of_two(v128_t n)
{
    return wasm_i32x4_shl(wasm_i32x4_add(n, wasm_i32x4_const_splat(127)), 23);
}

INLINE v128_t scale2_four(v128_t p, v128_t n)
{
    v128_t whole = wasm_i32x4_trunc_sat_f32x4(n), half = wasm_i32x4_shr(whole, 1);
    p = wasm_f32x4_mul(p, power_of_two(half));
    return wasm_f32x4_mul(p, power_of_two(wasm_i32x4_sub(whole, half)));
}

INLINE vec v_scale2(vec a, vec b)
{
    return EACH2(vec, scale2_four, a, b);
}

INLINE mask v_less(vec a, vec b)
{
    return EACH2(mask, wasm_f32x4_lt, a, b);
}

INLINE mask v_equal(vec a, vec b)
{
    return EACH2(mask, wasm_f32x4_eq, a, b);
}

INLINE v128_t select_four(v128_t m, v128_t a, v128_t b)
{
    return wasm_v128_bitselect(a, b, m);
}

INLINE vec v_select(mask m, vec a, vec b)
{
    return EACH3(vec, select_four, m, a, b);
}

/* ---- integers */

INLINE ivec i_set(uint32_t x)
{
    v128_t four = wasm_i32x4_splat((int)x);
    return (ivec){ { four, four, four, four } };
}

INLINE ivec i_load(const uint32_t *p)
{
    return (ivec){ { wasm_v128_load(p), wasm_v128_load(p + 4), wasm_v128_load(p + 8),
                     wasm_v128_load(p + 12) } };
}

INLINE ivec i_bits(vec a)
{
    return (ivec){ { a.q[0], a.q[1], a.q[2], a.q[3] } };
}

INLINE vec v_bits(ivec a)
{
    return (vec){ { a.q[0], a.q[1], a.q[2], a.q[3] } };
}

INLINE vec v_from_int(ivec a)
{
    return EACH1(vec, wasm_f32x4_convert_i32x4, a);
}

INLINE ivec i_add(ivec a, ivec b)
{
    return EACH2(ivec, wasm_i32x4_add, a, b);
}

INLINE ivec i_sub(ivec a, ivec b)
{
    return EACH2(ivec, wasm_i32x4_sub, a, b);
}

INLINE ivec i_and(ivec a, ivec b)
{
    return EACH2(ivec, wasm_v128_and, a, b);
}

INLINE ivec i_xor(ivec a, ivec b)
{
    return EACH2(ivec, wasm_v128_xor, a, b);
}

INLINE ivec i_mul_low(ivec a, ivec b)
{
    return EACH2(ivec, wasm_i32x4_mul, a, b);
}

INLINE mask i_less_unsigned(ivec a, ivec b)
{
    return EACH2(mask, wasm_u32x4_lt, a, b);
}

#define SHIFTED(op, a, count)                                                                      \
    ((ivec){                                                                                       \
        { op((a).q[0], count), op((a).q[1], count), op((a).q[2], count), op((a).q[3], count) } })
#define i_shift_left(a, count)         SHIFTED(wasm_i32x4_shl, a, count)
#define i_shift_right(a, count)        SHIFTED(wasm_u32x4_shr, a, count)
#define i_shift_right_signed(a, count) SHIFTED(wasm_i32x4_shr, a, count)

INLINE v128_t mul_high_four(v128_t a, v128_t b)
{
    return wasm_i32x4_shuffle(wasm_u64x2_extmul_low_u32x4(a, b), wasm_u64x2_extmul_high_u32x4(a, b),
                              1, 3, 5, 7);
}

INLINE ivec i_mul_high(ivec a, ivec b)
{
    return EACH2(ivec, mul_high_four, a, b);
}

/* ---- across lanes */

INLINE void v_transpose_fours(vec w[4])
{
    for (int i = 0; i < 4; i++) {
        v128_t row[4] = { w[0].q[i], w[1].q[i], w[2].q[i], w[3].q[i] };
        transpose_four(row);
        for (int j = 0; j < 4; j++)
            w[j].q[i] = row[j];
    }
}

/* Transposes the 4x4 blocks, each into its mirrored place. */
INLINE void v_transpose(vec row[16])
{
    vec out[16];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            v128_t block[4];
            for (int k = 0; k < 4; k++)
                block[k] = row[4 * i + k].q[j];
            transpose_four(block);
            for (int k = 0; k < 4; k++)
                out[4 * j + k].q[i] = block[k];
        }
    for (int i = 0; i < 16; i++)
        row[i] = out[i];
}

INLINE float v_first(vec a)
{
    return wasm_f32x4_extract_lane(a.q[0], 0);
}

INLINE float v_reduce_sum(vec a)
{
    v128_t b = wasm_f32x4_add(wasm_f32x4_add(a.q[0], a.q[2]), wasm_f32x4_add(a.q[1], a.q[3]));
    b = wasm_f32x4_add(b, wasm_i64x2_shuffle(b, b, 1, 1));
    return wasm_f32x4_extract_lane(b, 0) + wasm_f32x4_extract_lane(b, 1);
}

INLINE float v_reduce_max(vec a)
{
    v128_t b = MAX(MAX(a.q[0], a.q[2]), MAX(a.q[1], a.q[3]));
    b = MAX(b, wasm_i64x2_shuffle(b, b, 1, 1));
    b = MAX(b, wasm_i32x4_shuffle(b, b, 1, 1, 1, 1));
    return wasm_f32x4_extract_lane(b, 0);
}

#endif
