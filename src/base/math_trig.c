/* Sine and cosine. The argument is brought to |r| <= pi/4 by taking off a multiple of pi/2. */
#include "base/math.h"

#include "base/math_parts.h"

#include <math.h>

/* x = quadrants pi/2 + high + low, the quadrants counted from 0 to 3. */
typedef struct {
    double high, low;
    unsigned quadrant;
} angle;

enum { WINDOW = 7, PRODUCT = WINDOW + 2 }; /* words of 32 bits */

/* The 64 bits of a number that begin at bit `at`, words lowest first. */
static uint64_t bits_from(const uint32_t words[PRODUCT + 2], int at)
{
    int word = at / 32, shift = at % 32;
    uint64_t low = (uint64_t)words[word + 1] << 32 | words[word];
    return shift == 0 ? low : low >> shift | (uint64_t)words[word + 2] << (64 - shift);
}

/* The bits of |x| times 2/pi that matter: x = m 2^e with a whole m of 53 bits, and words of
 * 2/pi that make multiples of 4 with it are left out. Gives the number of bits after the point;
 * those before it have wrapped around. What follows the window changes the fraction by less than
 * 2^-138: it is below m 2^e 2^-32(skip + 7), and e - 32 skip <= 33. */
static int multiply_by_two_over_pi(uint32_t product[PRODUCT + 2], double x)
{
    uint64_t bits = double_bits(x);
    int e = (int)(bits >> 52 & 0x7ff) - 1075;
    uint64_t m = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
    int skip = e > 2 ? (e - 2) / 32 : 0;
    memset(product, 0, (PRODUCT + 2) * sizeof *product);
    for (int half = 0; half < 2; half++) {
        uint64_t factor = half ? m >> 32 : m & UINT32_MAX, carry = 0;
        for (int i = 0; i < WINDOW; i++) {
            uint64_t sum = factor * att_two_over_pi[skip + WINDOW - 1 - i] + product[half + i];
            sum += carry;
            product[half + i] = (uint32_t)sum;
            carry = sum >> 32;
        }
        product[half + WINDOW] = (uint32_t)carry;
    }
    return 32 * (skip + WINDOW) - e;
}

/* The fraction f / 2^128, times 2^zeros, times pi/2, with the first bit of f set. Products of
 * 27 and 26 bits are exact. */
static angle times_half_pi(uint64_t f_high, uint64_t f_low)
{
    double a = (double)(f_high >> 37) * 0x1p-27;
    double b = (double)(f_high >> 10 & 0x7ffffff) * 0x1p-54;
    double c = (double)((f_high & 0x3ff) << 32 | f_low >> 32) * 0x1p-96;
    double large = a * HALF_PI_SHORT_0;
    double small = a * HALF_PI_SHORT_1 + b * HALF_PI_SHORT_0;
    small += a * HALF_PI_SHORT_2 + b * HALF_PI_SHORT_1 + c * HALF_PI_SHORT_0;
    double high = large + small;
    return (angle){ high, small - (high - large), 0 };
}

/* Any finite |x| > pi/4, after Payne and Hanek (1983). No double is closer than about 2^-62 to a
 * multiple of pi/2, so at least 66 of the 128 bits of the fraction are significant. */
static angle reduce_exactly(double x)
{
    uint32_t product[PRODUCT + 2];
    int point = multiply_by_two_over_pi(product, x);
    unsigned quadrant = (unsigned)(bits_from(product, point) & 3);
    uint64_t high = bits_from(product, point - 64), low = bits_from(product, point - 128);
    double sign = 1;
    if (high >> 63) { /* above a half: the next quadrant is nearer */
        quadrant++;
        high = ~high;
        low = ~low;
        sign = -1;
    }
    int zeros = 0;
    for (; zeros < 127 && !(high >> 63); zeros++) {
        high = high << 1 | low >> 63;
        low <<= 1;
    }
    angle r = times_half_pi(high, low);
    double scale = sign * power_of_two(-zeros);
    r.high *= scale;
    r.low *= scale;
    r.quadrant = quadrant & 3;
    return r;
}

/* |x| > pi/4. Below 2^21 products of the multiple, 21 bits, with the first two parts of pi/2, 31
 * and 32 bits, are exact, and so is the first difference. The third part leaves an error below
 * 2^-99, which is too much only beside a multiple of pi/2. */
static angle reduce(double x)
{
    const double rounder = 0x1.8p52;
    if (magnitude(x) < 0x1p21) {
        double shifted = x * TWO_OVER_PI + rounder;
        double count = shifted - rounder;
        double first = x - count * HALF_PI_0;
        double second = count * HALF_PI_1;
        double sum = first - second;
        double lost = first - sum;
        double rest = (lost - second) + (first - (sum + lost)) - count * HALF_PI_2;
        double high = sum + rest;
        if (magnitude(high) > 0x1p-36)
            return (angle){ high, rest - (high - sum), (unsigned)(double_bits(shifted) & 3) };
    }
    angle r = reduce_exactly(magnitude(x));
    return x > 0 ? r : (angle){ -r.high, -r.low, (4 - r.quadrant) & 3 };
}

/* sin(high + low) = r + r^3 P(r^2) + low (1 - r^2/2). */
static double sine(double r, double low)
{
    static const double c[] = SIN_REST;
    double s = r * r, s2 = s * s;
    double p = (c[0] + s * c[1]) + s2 * ((c[2] + s * c[3]) + s2 * (c[4] + s * c[5] + s2 * c[6]));
    return r + (r * s * p + low * (1 - 0.5 * s));
}

/* cos(high + low) = 1 - r^2/2 + r^4 Q(r^2) - low r. With r = a + b and 24 bits in a, a^2/2 is
 * exact. */
static double cosine(double r, double low)
{
    static const double c[] = COS_REST;
    double s = r * r, s2 = s * s;
    double q = (c[0] + s * c[1]) + s2 * ((c[2] + s * c[3]) + s2 * (c[4] + s * c[5]));
    double a = (float)r;
    double half = 0.5 * a * a;
    double sum = 1 - half;
    return sum + (((1 - sum) - half) + (s2 * q - 0.5 * (r - a) * (r + a) - low * r));
}

/* The sine `further` quadrants on. The sign is set by bits: its branch could not be predicted. */
static double sine_of(angle r, unsigned further)
{
    unsigned quadrant = r.quadrant + further;
    double y = quadrant & 1 ? cosine(r.high, r.low) : sine(r.high, r.low);
    return bits_double(double_bits(y) ^ (uint64_t)(quadrant >> 1 & 1) << 63);
}

double att_sin(double x)
{
    double t = magnitude(x);
    if (t < 0.785)
        return t < 0x1p-27 ? x : sine(x, 0);
    return t < INFINITY ? sine_of(reduce(x), 0) : NAN;
}

double att_cos(double x)
{
    double t = magnitude(x);
    if (t < 0.785)
        return cosine(x, 0);
    return t < INFINITY ? sine_of(reduce(x), 1) : NAN;
}
