/* The elementary functions in plain C. The vector versions have the same bits. Every result is
 * within 2 units in the last place of the exact value, for every float
 * (tests/kern/test_kern_math.c). */
#ifndef ATT_KERN_SCALAR_MATH_H
#define ATT_KERN_SCALAR_MATH_H

#include "kern/coefficients.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t float_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float bits_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The larger (smaller) of two; `b` where they are equal or either is NaN, as the x86 instruction
 * does. So a NaN in `b` is kept. */
static inline float max_float(float a, float b)
{
    return a > b ? a : b;
}

static inline float min_float(float a, float b)
{
    return a < b ? a : b;
}

/* p * 2^n, rounded once: n is halved so that both factors are normal numbers and only the second
 * product can leave the normal range. |n| <= 252; NaN in p or n gives NaN. */
static inline float scale2(float p, float n)
{
    if (n != n)
        return n;
    int whole = (int)n;
    int half = whole >> 1;
    return p * bits_float((uint32_t)(half + 127) << 23) *
           bits_float((uint32_t)(whole - half + 127) << 23);
}

/* p and *n with exp(x) = p 2^n, p near 1, for |n| < 512: x = n ln 2 + r, |r| <= ln(2)/2. */
static inline float exp_parts(float x, float *out_n)
{
    float n = fmaf(x, LOG2_E, ROUNDER) - ROUNDER;
    float r = fmaf(n, -LN2_LOW, fmaf(n, -LN2_HIGH, x));
    float p = fmaf(EXP_C6, r, EXP_C5);
    p = fmaf(p, r, EXP_C4);
    p = fmaf(p, r, EXP_C3);
    p = fmaf(p, r, EXP_C2);
    p = fmaf(p, r, 1.0f);
    *out_n = n;
    return fmaf(p, r, 1.0f);
}

/* exp for EXP_MIN_INPUT <= x <= EXP_MAX_INPUT. */
static inline float exp_clamped(float x)
{
    float n, p = exp_parts(x, &n);
    return scale2(p, n);
}

static inline float exp_of(float x)
{
    return exp_clamped(min_float(EXP_MAX_INPUT, max_float(EXP_MIN_INPUT, x)));
}

/* 2^t for t <= 0, for attention weights relative to the largest: results below 2^-126.5 become 0.
 * That leaves one multiplication by 2^n, whose bits follow from those of t. */
static inline float exp2_of(float t)
{
    t = max_float(EXP2_MIN_INPUT, t);
    float rounded = t + EXP2_ROUNDER;
    float f = t - (rounded - EXP2_ROUNDER);
    float p = fmaf(EXP2_C6, f, EXP2_C5);
    p = fmaf(p, f, EXP2_C4);
    p = fmaf(p, f, EXP2_C3);
    p = fmaf(p, f, EXP2_C2);
    p = fmaf(p, f, EXP2_C1);
    p = fmaf(p, f, 1.0f);
    return p * bits_float(float_bits(rounded) << 23);
}

/* log(x) with x = 2^e (1 + f). Subnormal numbers are first multiplied by 2^23. */
static inline float log_of(float x)
{
    int small = x < 0x1p-126f;
    uint32_t bits = float_bits(small ? x * 0x1p23f : x) - SQRT_HALF_BITS;
    float e = (float)((int32_t)bits >> 23) - (small ? 23.0f : 0.0f);
    float f = bits_float((bits & MANTISSA_BITS) + SQRT_HALF_BITS) - 1.0f;
    float p = fmaf(LOG_C10, f, LOG_C9);
    p = fmaf(p, f, LOG_C8);
    p = fmaf(p, f, LOG_C7);
    p = fmaf(p, f, LOG_C6);
    p = fmaf(p, f, LOG_C5);
    p = fmaf(p, f, LOG_C4);
    p = fmaf(p, f, LOG_C3);
    p = fmaf(p, f, LOG_C2);
    p = fmaf(e, LN2, fmaf(p, f * f, f));
    if (x == 0)
        return -INFINITY;
    return x < 0 ? NAN : x < INFINITY ? p : x; /* infinity and NaN are returned unchanged */
}

/* An odd polynomial near zero; beyond, 1 - 2 / (exp(2|x|) + 1), which has no cancellation there. */
static inline float tanh_of(float x)
{
    float t = min_float(TANH_SATURATION, fabsf(x));
    float s = t * t;
    float p = fmaf(TANH_C4, s, TANH_C3);
    p = fmaf(p, s, TANH_C2);
    p = fmaf(p, s, TANH_C1);
    p = fmaf(p, s, TANH_C0);
    float near = fmaf(p, s * t, t);
    float far = 1.0f - 2.0f / (exp_clamped(t + t) + 1.0f);
    return copysignf(t < TANH_SPLIT ? near : far, x);
}

/* 1 / (1 + exp(-x)), from e = exp(-|x|), which never overflows: 1 - e/(1+e), or e - e e/(1+e) where
 * x is negative. Dividing last would add the rounding of 1 + e to the result. */
static inline float sigmoid_of(float x)
{
    float e = exp_clamped(max_float(EXP_MIN_INPUT, -fabsf(x)));
    float q = e / (1.0f + e);
    float a = x < 0 ? e : 1.0f;
    return fmaf(-a, q, a);
}

static inline float erf_of(float x)
{
    float t = min_float(ERF_SATURATION, fabsf(x));
    float s = t * t;
    float p = fmaf(ERF_S6, s, ERF_S5);
    p = fmaf(p, s, ERF_S4);
    p = fmaf(p, s, ERF_S3);
    p = fmaf(p, s, ERF_S2);
    p = fmaf(p, s, ERF_S1);
    p = fmaf(p, s, ERF_S0);
    float near = fmaf(p, t, t);
    float q = fmaf(ERF_T7, t, ERF_T6);
    q = fmaf(q, t, ERF_T5);
    q = fmaf(q, t, ERF_T4);
    q = fmaf(q, t, ERF_T3);
    q = fmaf(q, t, ERF_T2);
    q = fmaf(q, t, ERF_T1);
    float far = 1.0f - exp_clamped(fmaf(q, t, -t));
    return copysignf(t < ERF_SPLIT ? near : far, x);
}

/* The activations and their derivatives. Infinities are clamped to the largest floats where they
 * would be multiplied by zero: x Phi(x) and x sigmoid(x) tend to 0 at -infinity, not to NaN. */

static inline float clamp_to_lowest(float x)
{
    return max_float(-FLT_MAX, x);
}

static inline float clamp_to_finite(float x)
{
    return min_float(FLT_MAX, clamp_to_lowest(x));
}

static inline float relu_of(float x)
{
    return max_float(0.0f, x);
}

static inline float gelu_of(float x)
{
    float half = 0.5f * clamp_to_lowest(x);
    return fmaf(half, erf_of(SQRT_HALF * x), half);
}

static inline float silu_of(float x)
{
    return clamp_to_lowest(x) * sigmoid_of(x);
}

/* Phi(x) + x phi(x). */
static inline float gelu_derivative(float x)
{
    float area = fmaf(0.5f, erf_of(SQRT_HALF * x), 0.5f);
    float density = INV_SQRT_2PI * exp_of(-0.5f * x * x);
    return fmaf(clamp_to_finite(x), density, area);
}

/* s + x s (1 - s), s the sigmoid. */
static inline float silu_derivative(float x)
{
    float s = sigmoid_of(x);
    return fmaf(clamp_to_finite(x) * s, 1.0f - s, s);
}

/* Derivatives computed from the results y. */
static inline float tanh_derivative(float y)
{
    return fmaf(-y, y, 1.0f);
}

static inline float sigmoid_derivative(float y)
{
    return y * (1.0f - y);
}

#endif
