/* 16-bit floating point: IEEE binary16 ("float16": 5 bits of exponent, 10 of fraction) and bfloat16
 * (the upper half of a float32). Every value of both is a float32, so conversion to float32 is
 * exact; conversion from double rounds once, to nearest, ties to even. */
#ifndef ATT_KERN_HALF_H
#define ATT_KERN_HALF_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline float att_float32_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Moving exponent and fraction into place makes a float32 that is 2^-112 times the value, also
 * where the float16 is subnormal, and the product with 2^112 is exact. Infinity and NaN then have
 * an exponent of 143, which is raised to 255. No branch: compilers vectorize a loop over it. */
static inline float att_float16_to_float32(uint16_t half)
{
    uint32_t magnitude = (uint32_t)(half & 0x7fff) << 13, bits;
    float value = att_float32_from_bits(magnitude) * 0x1p112f;
    memcpy(&bits, &value, sizeof bits);
    bits |= magnitude >= 0x0f800000 ? 0x7f800000 : 0;
    return att_float32_from_bits(bits | (uint32_t)(half & 0x8000) << 16);
}

static inline float att_bfloat16_to_float32(uint16_t half)
{
    return att_float32_from_bits((uint32_t)half << 16);
}

/* Rounds to a format with `digits` bits of significand (the implicit one included) whose smallest
 * normal number is 2^(least - 1); `infinity` has the bits of +infinity. */
static inline uint16_t att_half_round(double x, int digits, int least, uint16_t infinity)
{
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    int exponent;
    if (isnan(x))
        return (uint16_t)(sign | infinity | 1 << (digits - 2)); /* quiet NaN */
    if (isinf(x))
        return sign | infinity;
    if (x == 0) /* frexp() gives it the exponent 0 */
        return sign;
    (void)frexp(x, &exponent); /* |x| in [2^(exponent-1), 2^exponent) */
    exponent = exponent < least ? least : exponent;
    double scaled = ldexp(fabs(x), digits - exponent); /* at most 2^digits */
    uint32_t significand = (uint32_t)rint(scaled);
    int64_t bits = ((int64_t)(exponent - least) << (digits - 1)) + significand;
    return (uint16_t)(sign | (bits < infinity ? (uint16_t)bits : infinity));
}

static inline uint16_t att_float64_to_float16(double x)
{
    return att_half_round(x, 11, -13, 0x7c00);
}

static inline uint16_t att_float64_to_bfloat16(double x)
{
    return att_half_round(x, 8, -125, 0x7f80);
}

#endif
