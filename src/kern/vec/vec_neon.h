/* Sixteen lanes in four NEON registers of 64-bit ARM. The operations are those of vec.h, where they
 * are explained; everything here must round exactly as plain C does. The NEON of 32-bit ARM cannot:
 * it replaces subnormal numbers by zero. */
#ifndef ATT_KERN_VEC_NEON_H
#define ATT_KERN_VEC_NEON_H

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>

typedef struct vec {
    float32x4_t q[4];
} vec;

typedef struct ivec {
    uint32x4_t q[4];
} ivec;

typedef ivec mask; /* all bits of a lane, or none */

/* Six vectors of sums take 24 of the 32 registers; the others hold a panel of B and a broadcast. */
enum { TILE_ROWS = 6, TILE_SUMS = 6, EXPS_AT_ONCE = 1 };

/* The four parts through the same instruction. */
#define EACH1(type, op, a) ((type){ { op((a).q[0]), op((a).q[1]), op((a).q[2]), op((a).q[3]) } })
#define EACH2(type, op, a, b)                                                                      \
    ((type){ { op((a).q[0], (b).q[0]), op((a).q[1], (b).q[1]), op((a).q[2], (b).q[2]),             \
               op((a).q[3], (b).q[3]) } })
#define EACH3(type, op, a, b, c)                                                                   \
    ((type){ { op((a).q[0], (b).q[0], (c).q[0]), op((a).q[1], (b).q[1], (c).q[1]),                 \
               op((a).q[2], (b).q[2], (c).q[2]), op((a).q[3], (b).q[3], (c).q[3]) } })

/* The instructions take the addend first. */
#define FMA(a, b, c)  vfmaq_f32(c, a, b)
#define FNMA(a, b, c) vfmsq_f32(c, a, b)

/* ---- half a vector */

typedef struct vec_half {
    float32x4_t low, high;
} vec_half;

INLINE vec_half h_set(float x)
{
    return (vec_half){ vdupq_n_f32(x), vdupq_n_f32(x) };
}

INLINE vec_half h_load(const float *p)
{
    return (vec_half){ vld1q_f32(p), vld1q_f32(p + 4) };
}

INLINE vec_half h_fma(vec_half a, vec_half b, vec_half c)
{
    return (vec_half){ FMA(a.low, b.low, c.low), FMA(a.high, b.high, c.high) };
}

INLINE vec h_join(vec_half low, vec_half high)
{
    return (vec){ { low.low, low.high, high.low, high.high } };
}

#define LOW_PAIRS(a, b)                                                                            \
    vreinterpretq_f32_f64(vzip1q_f64(vreinterpretq_f64_f32(a), vreinterpretq_f64_f32(b)))
#define HIGH_PAIRS(a, b)                                                                           \
    vreinterpretq_f32_f64(vzip2q_f64(vreinterpretq_f64_f32(a), vreinterpretq_f64_f32(b)))

INLINE void transpose_four(float32x4_t row[4])
{
    float32x4_t a = vzip1q_f32(row[0], row[1]), b = vzip2q_f32(row[0], row[1]);
    float32x4_t c = vzip1q_f32(row[2], row[3]), d = vzip2q_f32(row[2], row[3]);
    row[0] = LOW_PAIRS(a, c);
    row[1] = HIGH_PAIRS(a, c);
    row[2] = LOW_PAIRS(b, d);
    row[3] = HIGH_PAIRS(b, d);
}

INLINE void h_load_transposed(vec_half out[4], const float *p, ptrdiff_t stride)
{
    float32x4_t low[4], high[4];
#pragma GCC unroll 4
    for (ptrdiff_t j = 0; j < 4; j++) {
        low[j] = vld1q_f32(p + j * stride);
        high[j] = vld1q_f32(p + (j + 4) * stride);
    }
    transpose_four(low);
    transpose_four(high);
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++)
        out[k] = (vec_half){ low[k], high[k] };
}

/* ---- masks, loads and stores */

INLINE uint32x4_t first_of_four(int n)
{
    static const int32_t lane[4] = { 0, 1, 2, 3 };
    return vcgtq_s32(vdupq_n_s32(n), vld1q_s32(lane));
}

INLINE mask m_first_lanes(size_t n)
{
    int count = (int)n;
    return (mask){ { first_of_four(count), first_of_four(count - 4), first_of_four(count - 8),
                     first_of_four(count - 12) } };
}

static const uint32_t lane_bits[4] __attribute__((unused)) = { 1, 2, 4, 8 };

INLINE mask m_bits(uint32_t bits)
{
    uint32x4_t bit = vld1q_u32(lane_bits);
    return (mask){ { vtstq_u32(vdupq_n_u32(bits), bit), vtstq_u32(vdupq_n_u32(bits >> 4), bit),
                     vtstq_u32(vdupq_n_u32(bits >> 8), bit),
                     vtstq_u32(vdupq_n_u32(bits >> 12), bit) } };
}

INLINE uint32_t four_to_bits(uint32x4_t m)
{
    return vaddvq_u32(vandq_u32(m, vld1q_u32(lane_bits)));
}

INLINE uint32_t m_to_bits(mask m)
{
    return four_to_bits(m.q[0]) | four_to_bits(m.q[1]) << 4 | four_to_bits(m.q[2]) << 8 |
           four_to_bits(m.q[3]) << 12;
}

INLINE vec v_set(float x)
{
    float32x4_t four = vdupq_n_f32(x);
    return (vec){ { four, four, four, four } };
}

INLINE vec v_load(const float *p)
{
    return (vec){ { vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12) } };
}

INLINE void v_store(float *p, vec a)
{
    vst1q_f32(p, a.q[0]);
    vst1q_f32(p + 4, a.q[1]);
    vst1q_f32(p + 8, a.q[2]);
    vst1q_f32(p + 12, a.q[3]);
}

INLINE float32x4_t load_four_part(const float *p, int n)
{
    if (n >= 4)
        return vld1q_f32(p);
    float32x4_t part = vdupq_n_f32(0.0f);
    if (n >= 1)
        part = vld1q_lane_f32(p, part, 0);
    if (n >= 2)
        part = vld1q_lane_f32(p + 1, part, 1);
    if (n == 3)
        part = vld1q_lane_f32(p + 2, part, 2);
    return part;
}

INLINE vec v_load_part(const float *p, size_t n)
{
    int count = (int)n;
    return (vec){ { load_four_part(p, count), load_four_part(p + 4, count - 4),
                    load_four_part(p + 8, count - 8), load_four_part(p + 12, count - 12) } };
}

INLINE void store_four_part(float *p, float32x4_t a, int n)
{
    if (n >= 4) {
        vst1q_f32(p, a);
        return;
    }
    if (n >= 1)
        vst1q_lane_f32(p, a, 0);
    if (n >= 2)
        vst1q_lane_f32(p + 1, a, 1);
    if (n == 3)
        vst1q_lane_f32(p + 2, a, 2);
}

INLINE void v_store_part(float *p, vec a, size_t n)
{
    int count = (int)n;
    store_four_part(p, a.q[0], count);
    store_four_part(p + 4, a.q[1], count - 4);
    store_four_part(p + 8, a.q[2], count - 8);
    store_four_part(p + 12, a.q[3], count - 12);
}

INLINE vec v_load_fours(const float *p, const float *q, const float *r, const float *s)
{
    return (vec){ { vld1q_f32(p), vld1q_f32(q), vld1q_f32(r), vld1q_f32(s) } };
}

/* ---- arithmetic */

INLINE vec v_add(vec a, vec b)
{
    return EACH2(vec, vaddq_f32, a, b);
}

INLINE vec v_sub(vec a, vec b)
{
    return EACH2(vec, vsubq_f32, a, b);
}

INLINE vec v_mul(vec a, vec b)
{
    return EACH2(vec, vmulq_f32, a, b);
}

INLINE vec v_div(vec a, vec b)
{
    return EACH2(vec, vdivq_f32, a, b);
}

INLINE vec v_sqrt(vec a)
{
    return EACH1(vec, vsqrtq_f32, a);
}

INLINE vec v_fma(vec a, vec b, vec c)
{
    return EACH3(vec, FMA, a, b, c);
}

INLINE vec v_fnma(vec a, vec b, vec c)
{
    return EACH3(vec, FNMA, a, b, c);
}

/* The second operand where they are equal or either is NaN. FMAX and FMAXNM treat NaN and zeros of
 * different sign otherwise. */
#define MAX(a, b) vbslq_f32(vcgtq_f32(a, b), a, b)
#define MIN(a, b) vbslq_f32(vcltq_f32(a, b), a, b)

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
    return EACH1(vec, vabsq_f32, a);
}

INLINE float32x4_t copysign_four(float32x4_t a, float32x4_t sign)
{
    return vbslq_f32(vdupq_n_u32(UINT32_C(1) << 31), sign, a);
}

INLINE vec v_copysign(vec a, vec sign)
{
    return EACH2(vec, copysign_four, a, sign);
}

/* 2^n for -126 <= n <= 127. */
INLINE float32x4_t power_of_two(int32x4_t n)
{
    return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(n, vdupq_n_s32(127)), 23));
}

INLINE float32x4_t scale2_four(float32x4_t p, float32x4_t n)
{
    int32x4_t whole = vcvtq_s32_f32(n), half = vshrq_n_s32(whole, 1);
    p = vmulq_f32(p, power_of_two(half));
    return vmulq_f32(p, power_of_two(vsubq_s32(whole, half)));
}

INLINE vec v_scale2(vec p, vec n)
{
    return EACH2(vec, scale2_four, p, n);
}

INLINE mask v_less(vec a, vec b)
{
    return EACH2(mask, vcltq_f32, a, b);
}

INLINE mask v_equal(vec a, vec b)
{
    return EACH2(mask, vceqq_f32, a, b);
}

INLINE vec v_select(mask m, vec a, vec b)
{
    return EACH3(vec, vbslq_f32, m, a, b);
}

/* ---- integers */

INLINE ivec i_set(uint32_t x)
{
    uint32x4_t four = vdupq_n_u32(x);
    return (ivec){ { four, four, four, four } };
}

INLINE ivec i_load(const uint32_t *p)
{
    return (ivec){ { vld1q_u32(p), vld1q_u32(p + 4), vld1q_u32(p + 8), vld1q_u32(p + 12) } };
}

INLINE ivec i_bits(vec a)
{
    return EACH1(ivec, vreinterpretq_u32_f32, a);
}

INLINE vec v_bits(ivec a)
{
    return EACH1(vec, vreinterpretq_f32_u32, a);
}

#define FROM_INT(a) vcvtq_f32_s32(vreinterpretq_s32_u32(a))

INLINE vec v_from_int(ivec a)
{
    return EACH1(vec, FROM_INT, a);
}

INLINE ivec i_add(ivec a, ivec b)
{
    return EACH2(ivec, vaddq_u32, a, b);
}

INLINE ivec i_sub(ivec a, ivec b)
{
    return EACH2(ivec, vsubq_u32, a, b);
}

INLINE ivec i_and(ivec a, ivec b)
{
    return EACH2(ivec, vandq_u32, a, b);
}

INLINE ivec i_xor(ivec a, ivec b)
{
    return EACH2(ivec, veorq_u32, a, b);
}

INLINE ivec i_mul_low(ivec a, ivec b)
{
    return EACH2(ivec, vmulq_u32, a, b);
}

INLINE mask i_less_unsigned(ivec a, ivec b)
{
    return EACH2(mask, vcltq_u32, a, b);
}

#define SHIFT_RIGHT_SIGNED(a, count)                                                               \
    vreinterpretq_u32_s32(vshrq_n_s32(vreinterpretq_s32_u32(a), count))
#define SHIFTED(op, a, count)                                                                      \
    ((ivec){                                                                                       \
        { op((a).q[0], count), op((a).q[1], count), op((a).q[2], count), op((a).q[3], count) } })
#define i_shift_left(a, count)         SHIFTED(vshlq_n_u32, a, count)
#define i_shift_right(a, count)        SHIFTED(vshrq_n_u32, a, count)
#define i_shift_right_signed(a, count) SHIFTED(SHIFT_RIGHT_SIGNED, a, count)

/* The upper halves of the products are the odd words on a little-endian machine. */
INLINE uint32x4_t mul_high_four(uint32x4_t a, uint32x4_t b)
{
    uint64x2_t low = vmull_u32(vget_low_u32(a), vget_low_u32(b)), high = vmull_high_u32(a, b);
    return vuzp2q_u32(vreinterpretq_u32_u64(low), vreinterpretq_u32_u64(high));
}

INLINE ivec i_mul_high(ivec a, ivec b)
{
    return EACH2(ivec, mul_high_four, a, b);
}

/* ---- across lanes */

INLINE void v_transpose_fours(vec w[4])
{
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        float32x4_t row[4] = { w[0].q[i], w[1].q[i], w[2].q[i], w[3].q[i] };
        transpose_four(row);
        for (int j = 0; j < 4; j++)
            w[j].q[i] = row[j];
    }
}

/* Transposes the 4x4 blocks, each into its mirrored place. */
INLINE void v_transpose(vec row[16])
{
    vec out[16];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
#pragma GCC unroll 4
        for (int j = 0; j < 4; j++) {
            float32x4_t block[4] = { row[4 * i].q[j], row[4 * i + 1].q[j], row[4 * i + 2].q[j],
                                     row[4 * i + 3].q[j] };
            transpose_four(block);
#pragma GCC unroll 4
            for (int k = 0; k < 4; k++)
                out[4 * j + k].q[i] = block[k];
        }
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++)
        row[i] = out[i];
}

INLINE float v_first(vec a)
{
    return vgetq_lane_f32(a.q[0], 0);
}

INLINE float v_reduce_sum(vec a)
{
    float32x4_t four = vaddq_f32(vaddq_f32(a.q[0], a.q[2]), vaddq_f32(a.q[1], a.q[3]));
    float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
    return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}

INLINE float v_reduce_max(vec a)
{
    float32x4_t four = MAX(MAX(a.q[0], a.q[2]), MAX(a.q[1], a.q[3]));
    float32x2_t high = vget_high_f32(four), low = vget_low_f32(four);
    float32x2_t two = vbsl_f32(vcgt_f32(low, high), low, high);
    float x = vget_lane_f32(two, 0), y = vget_lane_f32(two, 1);
    return x > y ? x : y;
}

#endif
