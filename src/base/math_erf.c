/* The error function and its complement. */
#include "base/math.h"

#include "base/math_parts.h"

#include <math.h>
#include <stdbool.h>

/* erf(x) = high + low for |x| < 1/4: 2/sqrt(pi) is close to 9/8, and what 9/8 x leaves is below
 * 1/50 of it. */
static two_parts erf_near_zero(double x)
{
    static const double c[] = ERF_REST;
    double s = x * x, s2 = s * s;
    double p = (c[0] + s * c[1]) + s2 * (c[2] + s * c[3]) +
               s2 * s2 * ((c[4] + s * c[5]) + s2 * (c[6] + s * c[7]) + s2 * s2 * c[8]);
    double eighth = 0.125 * x;
    double high = x + eighth;
    return (two_parts){ high, (eighth - (high - x)) + x * p };
}

/* erfc(t) = 2^exponent (high + low) */
typedef struct {
    double high, low;
    int64_t exponent;
} erfc_parts;

/* erfc(t) = exp(-t^2) g(t) for 1/4 <= t < 28. Every power of two has eight intervals, in each of
 * which g is a polynomial around the middle. t^2 is exact in two parts; so is the product of the
 * first 26 bits of the power and of g at the middle, and what is added to it is below 1/14. */
static erfc_parts erfc_in_parts(double t)
{
    const uint64_t first_interval = UINT64_C(0x3fd0000000000000); /* 1/4 */
    uint64_t bits = double_bits(t);
    const double *c = att_erfc_table[(bits - first_interval) >> 49];
    double middle = bits_double((bits & ~((UINT64_C(1) << 49) - 1)) | UINT64_C(1) << 48);
    double h = t - middle, h2 = h * h, h4 = h2 * h2;
    double p = (c[2] + h * c[3]) + h2 * (c[4] + h * c[5]) +
               h4 * ((c[6] + h * c[7]) + h2 * (c[8] + h * c[9]) +
                     h4 * ((c[10] + h * c[11]) + h2 * (c[12] + h * c[13])));
    double g_rest = c[1] + h * p;
    double t_first = first_half(t);
    exp_parts e = exp_of_sum(-t_first * t_first, -(t - t_first) * (t + t_first));
    double e_first = first_half(e.power);
    double e_rest = (e.power - e_first) + e.power * e.rest;
    return (erfc_parts){ e_first * c[0], e_first * g_rest + e_rest * (c[0] + g_rest), e.exponent };
}

double att_erf(double x)
{
    double t = magnitude(x);
    if (t < 0.25) {
        bool small = t < 0x1p-900; /* an eighth of x may be below the normal range */
        two_parts y = erf_near_zero(small ? x * 0x1p200 : x);
        return small ? (y.high + y.low) * 0x1p-200 : y.high + y.low;
    }
    if (!(t < 6))
        return x != x ? x : with_sign(1, x);
    erfc_parts e = erfc_in_parts(t);
    double scale = power_of_two(e.exponent);
    double high = scale * e.high;
    double sum = 1 - high;
    return with_sign(sum + (((1 - sum) - high) - scale * e.low), x);
}

double att_erfc(double x)
{
    double t = magnitude(x);
    if (t < 0.25) {
        two_parts y = erf_near_zero(x);
        double sum = 1 - y.high;
        return sum + (((1 - sum) - y.high) - y.low);
    }
    if (!(t < 28))
        return x != x ? x : x > 0 ? 0 : 2;
    erfc_parts e = erfc_in_parts(t);
    if (x > 0)
        return scaled(e.high + e.low, e.exponent);
    if (t > 6)
        return 2;
    double scale = power_of_two(e.exponent);
    double high = scale * e.high;
    double sum = 2 - high;
    return sum + (((2 - sum) - high) - scale * e.low);
}
