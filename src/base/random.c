/* The Philox4x32-10 generator, and uniform and normal numbers (Box and Muller 1958) made of its
 * bits. They are initial weights, so their bits must never change: the logarithm, sine and cosine
 * below are fixed polynomials, separate from those of base/math.h, and libm's differ in the last
 * bit between processors and versions. */
#include "base/random.h"

#include <math.h>

enum { ROUNDS = 10 };

void att_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t p0 = UINT64_C(0xD2511F53) * c0;
        uint64_t p1 = UINT64_C(0xCD9E8D57) * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9; /* the golden ratio */
        k1 += 0xBB67AE85; /* sqrt(3) - 1 */
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

static void philox_block(uint32_t out[4], uint64_t seed, uint64_t stream, uint64_t block)
{
    const uint32_t counter[4] = { (uint32_t)block, (uint32_t)(block >> 32), (uint32_t)stream,
                                  (uint32_t)(stream >> 32) };
    const uint32_t key[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) };
    att_philox(out, counter, key);
}

uint32_t att_random_bits(uint64_t seed, uint64_t stream, uint64_t index)
{
    uint32_t block[4];
    philox_block(block, seed, stream, index / 4);
    return block[index % 4];
}

float att_random_float(uint64_t seed, uint64_t stream, uint64_t index)
{
    return (float)(att_random_bits(seed, stream, index) >> 8) * 0x1p-24f;
}

static double unit_double(uint32_t high, uint32_t low)
{
    return (double)(((uint64_t)high << 32 | low) >> 11) * 0x1p-53;
}

double att_random_double(uint64_t seed, uint64_t stream, uint64_t index)
{
    uint32_t block[4];
    philox_block(block, seed, stream, index / 2);
    const uint32_t *half = block + index % 2 * 2;
    return unit_double(half[0], half[1]);
}

/* c[0] + c[1] x + c[2] x² + … */
static double polynomial(const double *c, int count, double x)
{
    double sum = c[count - 1];
    for (int i = count - 2; i >= 0; i--)
        sum = sum * x + c[i];
    return sum;
}

/* log(x) for a positive normal x. With x = 2^e m, m within sqrt(2) of 1 and s = (m-1)/(m+1),
 * log m = 2 (s + s³/3 + s⁵/5 + …); |s| < 0.172, so that twelve terms reach 2^-60. */
static double natural_log(double x)
{
    static const double log_coefficients[] = { 1.0,      1.0 / 3,  1.0 / 5,  1.0 / 7,
                                               1.0 / 9,  1.0 / 11, 1.0 / 13, 1.0 / 15,
                                               1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23 };
    static const double ln2_high = 0x1.62e42fee00000p-1; /* 33 bits: a product with e is exact */
    static const double ln2_low = 0x1.a39ef35793c76p-33;
    int exponent;
    double m = frexp(x, &exponent);
    if (m < 0.70710678118654752) {
        m *= 2;
        exponent--;
    }
    double s = (m - 1) / (m + 1);
    double log_m = 2 * s * polynomial(log_coefficients, 12, s * s);
    return exponent * ln2_high + (log_m + exponent * ln2_low);
}

/* The point at `turn` of a full circle, in [0, 1). The nearest quarter is subtracted exactly; the
 * rest is at most an eighth, where the Taylor series need nine terms. */
static void sincos_of_turn(double turn, double *x, double *y)
{
    static const double cosine[] = { 1.0,
                                     -1.0 / 2,
                                     1.0 / 24,
                                     -1.0 / 720,
                                     1.0 / 40320,
                                     -1.0 / 3628800,
                                     1.0 / 479001600,
                                     -1.0 / 87178291200,
                                     1.0 / 20922789888000 };
    static const double sine[] = { 1.0,
                                   -1.0 / 6,
                                   1.0 / 120,
                                   -1.0 / 5040,
                                   1.0 / 362880,
                                   -1.0 / 39916800,
                                   1.0 / 6227020800,
                                   -1.0 / 1307674368000,
                                   1.0 / 355687428096000 };
    int quarter = (int)(turn * 4 + 0.5);
    double angle = (turn - quarter * 0.25) * 6.283185307179586;
    double c = polynomial(cosine, 9, angle * angle);
    double s = angle * polynomial(sine, 9, angle * angle);
    const double around[] = { s, c, -s, -c, s, c }; /* the sine, a quarter further each */
    *x = around[quarter + 1];
    *y = around[quarter];
}

double att_random_normal(uint64_t seed, uint64_t stream, uint64_t index)
{
    uint32_t block[4];
    philox_block(block, seed, stream, index / 2);
    double x, y;
    sincos_of_turn(unit_double(block[2], block[3]), &x, &y);
    /* 1 - u lies in (0, 1], where the logarithm is finite. */
    double radius = sqrt(-2 * natural_log(1 - unit_double(block[0], block[1])));
    return radius * (index % 2 ? y : x);
}
