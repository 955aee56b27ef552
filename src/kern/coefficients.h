/* The constants of exp, log, tanh and erf, shared by the scalar and the vector versions so that
 * both do the same operations on the same numbers. Polynomials come from coefficients.sollya,
 * beside this file, which also gives their errors: relative 2^-28.2 (exp), 2^-28 (exp2), 2^-26.4
 * (tanh), 2^-27.8 (log), 2^-30 (erf, small), absolute 2^-30.4 (erf, large). What remains is
 * rounding. */
#ifndef ATT_KERN_COEFFICIENTS_H
#define ATT_KERN_COEFFICIENTS_H

#define LOG2_E 0x1.715476p0f
#define LN2    0x1.62e430p-1f /* ln 2 to the nearest float: 2^-28.8 too large */

/* ln 2 in two pieces; the first has 9 trailing zero bits, so n * LN2_HIGH is exact for |n| < 512.
 */
#define LN2_HIGH 0x1.62e400p-1f
#define LN2_LOW  0x1.7f7d1cp-20f

/* Adding 1.5 * 2^23 to a float of magnitude below 2^22 rounds it to an integer, ties to even;
 * subtracting it again gives that integer. Conversions are slower on some sets and differ on NaN.
 */
#define ROUNDER 0x1.8p23f

/* Beyond these exp() is infinity or zero. Clamping lets two multiplications produce 2^n. */
#define EXP_MAX_INPUT 89.0f
#define EXP_MIN_INPUT -104.0f

/* exp(r) = 1 + r + r^2 (C2 + C3 r + …) for |r| <= ln(2)/2. */
#define EXP_C2 0x1.fffffap-2f
#define EXP_C3 0x1.555492p-3f
#define EXP_C4 0x1.555a28p-5f
#define EXP_C5 0x1.12398ep-7f
#define EXP_C6 0x1.694ac2p-10f

/* 2^f = 1 + f (C1 + C2 f + …) for |f| <= 1/2. Adding EXP2_ROUNDER leaves, in the lowest bits of the
 * sum, the whole number n of t = n + f with 127 on top, which is the exponent of 2^n. At
 * EXP2_SMALLEST those bits are 0, and so is the power. */
#define EXP2_ROUNDER   (ROUNDER + 127.0f)
#define EXP2_MIN_INPUT -127.0f
#define EXP2_C1        0x1.62e430p-1f
#define EXP2_C2        0x1.ebfbd8p-3f
#define EXP2_C3        0x1.c6af76p-5f
#define EXP2_C4        0x1.3b30a0p-7f
#define EXP2_C5        0x1.5f0b82p-10f
#define EXP2_C6        0x1.3fa208p-13f

/* tanh of half the logarithm of 2^55 or 2^-55 is 1 or -1 to the nearest float, and the product of
 * two such powers with a factor of 2^17 is finite. */
#define ADDITIVE_EXPONENT 55.0f

/* tanh(x) = x + x^3 (C0 + C1 x^2 + …) below TANH_SPLIT. From TANH_FLAT on the nearest float is 1.
 */
#define TANH_SPLIT      0.6f
#define TANH_SATURATION 9.5f
#define TANH_C0         -0x1.555554p-2f
#define TANH_C1         0x1.110f20p-3f
#define TANH_C2         -0x1.b9613cp-5f
#define TANH_C3         0x1.5a3d52p-6f
#define TANH_C4         -0x1.9cb942p-8f

/* log(1 + f) = f + f^2 (C2 + C3 f + …) for sqrt(1/2) <= 1 + f < sqrt(2). */
#define LOG_C2  -0x1.fffff8p-2f
#define LOG_C3  0x1.555550p-2f
#define LOG_C4  -0x1.000432p-2f
#define LOG_C5  0x1.99a41ap-3f
#define LOG_C6  -0x1.5425c4p-3f
#define LOG_C7  0x1.226dfcp-3f
#define LOG_C8  -0x1.0f3fa8p-3f
#define LOG_C9  0x1.0860d4p-3f
#define LOG_C10 -0x1.38472ep-4f

#define SQRT_HALF_BITS 0x3f3504f3 /* the float just above sqrt(1/2) */
#define MANTISSA_BITS  0x007fffff

/* erf(x) = x + x (S0 + S1 x^2 + …) below ERF_SPLIT; 1 - exp(-t + t (T1 + T2 t + …)), t = |x|,
 * above. From ERF_FLAT on the nearest float is 1. */
#define ERF_SPLIT      0.93f
#define ERF_SATURATION 4.0f
#define ERF_S0         0x1.06eba8p-3f
#define ERF_S1         -0x1.812740p-2f
#define ERF_S2         0x1.ce2d6ap-4f
#define ERF_S3         -0x1.b801e2p-6f
#define ERF_S4         0x1.54531cp-8f
#define ERF_S5         -0x1.a66154p-11f
#define ERF_S6         0x1.50962ap-14f
#define ERF_T1         -0x1.077ac8p-3f
#define ERF_T2         -0x1.45308ap-1f
#define ERF_T3         -0x1.b340e8p-4f
#define ERF_T4         0x1.85b2a6p-6f
#define ERF_T5         -0x1.dee682p-9f
#define ERF_T6         0x1.55756ap-12f
#define ERF_T7         -0x1.829404p-17f

#define SQRT_HALF    0x1.6a09e6p-1f /* sqrt(1/2) */
#define INV_SQRT_2PI 0x1.988454p-2f /* 1/sqrt(2 pi) */

#endif
