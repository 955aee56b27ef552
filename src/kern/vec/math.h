/* The elementary functions over vectors: the same operations as in scalar/math.h, which explains
 * the methods. */
#ifndef ATT_KERN_VEC_MATH_H
#define ATT_KERN_VEC_MATH_H

#include "kern/coefficients.h"
#include "kern/vec/vec.h"

#include <float.h>
#include <math.h>

/* p x + c, with a constant c. */
INLINE vec horner(vec p, vec x, float c)
{
    return v_fma(p, x, v_set(c));
}

/* As exp_parts() in scalar/math.h. */
INLINE vec v_exp_parts(vec x, vec *out_n)
{
    vec n = v_sub(v_fma(x, v_set(LOG2_E), v_set(ROUNDER)), v_set(ROUNDER));
    vec r = v_fnma(n, v_set(LN2_LOW), v_fnma(n, v_set(LN2_HIGH), x));
    vec p = horner(v_set(EXP_C6), r, EXP_C5);
    p = horner(p, r, EXP_C4);
    p = horner(p, r, EXP_C3);
    p = horner(p, r, EXP_C2);
    p = horner(p, r, 1.0f);
    *out_n = n;
    return horner(p, r, 1.0f);
}

INLINE vec v_exp_clamped(vec x)
{
    vec n, p = v_exp_parts(x, &n);
    return v_scale2(p, n);
}

INLINE vec v_exp(vec x)
{
    return v_exp_clamped(v_min(v_set(EXP_MAX_INPUT), v_max(v_set(EXP_MIN_INPUT), x)));
}

enum { MAX_EXP2_EACH = 8 };

/* 2^t of `n` vectors, a constant of at most MAX_EXP2_EACH, stage by stage: one exponential after
 * another would wait for its own latency. */
INLINE void v_exp2_each(vec *t, const size_t n)
{
    static const float coefficients[] = { EXP2_C5, EXP2_C4, EXP2_C3, EXP2_C2, EXP2_C1, 1.0f };
    vec f[MAX_EXP2_EACH], rounded[MAX_EXP2_EACH], p[MAX_EXP2_EACH];
#pragma GCC unroll 8
    for (size_t i = 0; i < n; i++) {
        t[i] = v_max(v_set(EXP2_MIN_INPUT), t[i]);
        rounded[i] = v_add(t[i], v_set(EXP2_ROUNDER));
        f[i] = v_sub(t[i], v_sub(rounded[i], v_set(EXP2_ROUNDER)));
        p[i] = v_set(EXP2_C6);
    }
#pragma GCC unroll 8
    for (size_t c = 0; c < sizeof coefficients / sizeof *coefficients; c++)
#pragma GCC unroll 8
        for (size_t i = 0; i < n; i++)
            p[i] = horner(p[i], f[i], coefficients[c]);
#pragma GCC unroll 8
    for (size_t i = 0; i < n; i++)
        t[i] = v_mul(p[i], v_bits(i_shift_left(i_bits(rounded[i]), 23)));
}

INLINE vec v_exp2(vec t)
{
    v_exp2_each(&t, 1);
    return t;
}

INLINE vec v_log(vec x)
{
    mask small = v_less(x, v_set(0x1p-126f));
    ivec half = i_set(SQRT_HALF_BITS);
    ivec bits = i_sub(i_bits(v_select(small, v_mul(x, v_set(0x1p23f)), x)), half);
    vec e = v_sub(v_from_int(i_shift_right_signed(bits, 23)),
                  v_select(small, v_set(23.0f), v_set(0.0f)));
    vec f = v_sub(v_bits(i_add(i_and(bits, i_set(MANTISSA_BITS)), half)), v_set(1.0f));
    vec p = horner(v_set(LOG_C10), f, LOG_C9);
    p = horner(p, f, LOG_C8);
    p = horner(p, f, LOG_C7);
    p = horner(p, f, LOG_C6);
    p = horner(p, f, LOG_C5);
    p = horner(p, f, LOG_C4);
    p = horner(p, f, LOG_C3);
    p = horner(p, f, LOG_C2);
    p = v_fma(e, v_set(LN2), v_fma(p, v_mul(f, f), f));
    p = v_select(v_less(x, v_set(INFINITY)), p, x);
    p = v_select(v_less(x, v_set(0.0f)), v_set(NAN), p);
    return v_select(v_equal(x, v_set(0.0f)), v_set(-INFINITY), p);
}

INLINE vec v_tanh(vec x)
{
    vec t = v_min(v_set(TANH_SATURATION), v_abs(x));
    vec s = v_mul(t, t);
    vec p = horner(v_set(TANH_C4), s, TANH_C3);
    p = horner(p, s, TANH_C2);
    p = horner(p, s, TANH_C1);
    p = horner(p, s, TANH_C0);
    vec near = v_fma(p, v_mul(s, t), t);
    vec one = v_set(1.0f);
    vec far = v_sub(one, v_div(v_set(2.0f), v_add(v_exp_clamped(v_add(t, t)), one)));
    return v_copysign(v_select(v_less(t, v_set(TANH_SPLIT)), near, far), x);
}

INLINE vec v_sigmoid(vec x)
{
    vec e = v_exp_clamped(v_max(v_set(EXP_MIN_INPUT), v_sub(v_set(-0.0f), v_abs(x))));
    vec one = v_set(1.0f);
    vec q = v_div(e, v_add(one, e));
    vec a = v_select(v_less(x, v_set(0.0f)), e, one);
    return v_fnma(a, q, a);
}

INLINE vec v_erf(vec x)
{
    vec t = v_min(v_set(ERF_SATURATION), v_abs(x));
    vec s = v_mul(t, t);
    vec p = horner(v_set(ERF_S6), s, ERF_S5);
    p = horner(p, s, ERF_S4);
    p = horner(p, s, ERF_S3);
    p = horner(p, s, ERF_S2);
    p = horner(p, s, ERF_S1);
    p = horner(p, s, ERF_S0);
    vec near = v_fma(p, t, t);
    vec q = horner(v_set(ERF_T7), t, ERF_T6);
    q = horner(q, t, ERF_T5);
    q = horner(q, t, ERF_T4);
    q = horner(q, t, ERF_T3);
    q = horner(q, t, ERF_T2);
    q = horner(q, t, ERF_T1);
    vec far = v_sub(v_set(1.0f), v_exp_clamped(v_fma(q, t, v_sub(v_set(-0.0f), t))));
    return v_copysign(v_select(v_less(t, v_set(ERF_SPLIT)), near, far), x);
}

/* The activations and their derivatives. Infinities are clamped to the largest floats where they
 * would be multiplied by zero: x Phi(x) and x sigmoid(x) tend to 0 at -infinity, not to NaN. */

INLINE vec v_clamp_to_lowest(vec x)
{
    return v_max(v_set(-FLT_MAX), x);
}

INLINE vec v_clamp_to_finite(vec x)
{
    return v_min(v_set(FLT_MAX), v_clamp_to_lowest(x));
}

INLINE vec v_relu(vec x)
{
    return v_max(v_set(0.0f), x);
}

INLINE vec v_gelu(vec x)
{
    vec half = v_mul(v_set(0.5f), v_clamp_to_lowest(x));
    return v_fma(half, v_erf(v_mul(v_set(SQRT_HALF), x)), half);
}

INLINE vec v_silu(vec x)
{
    return v_mul(v_clamp_to_lowest(x), v_sigmoid(x));
}

/* Phi(x) + x phi(x). */
INLINE vec v_gelu_derivative(vec x)
{
    vec area = v_fma(v_set(0.5f), v_erf(v_mul(v_set(SQRT_HALF), x)), v_set(0.5f));
    vec density = v_mul(v_set(INV_SQRT_2PI), v_exp(v_mul(v_mul(v_set(-0.5f), x), x)));
    return v_fma(v_clamp_to_finite(x), density, area);
}

/* s + x s (1 - s), s the sigmoid. */
INLINE vec v_silu_derivative(vec x)
{
    vec s = v_sigmoid(x);
    return v_fma(v_mul(v_clamp_to_finite(x), s), v_sub(v_set(1.0f), s), s);
}

/* Derivatives computed from the results y. */
INLINE vec v_tanh_derivative(vec y)
{
    return v_fnma(y, y, v_set(1.0f));
}

INLINE vec v_sigmoid_derivative(vec y)
{
    return v_mul(y, v_sub(v_set(1.0f), y));
}

#endif
