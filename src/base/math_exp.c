/* exp() and the hyperbolic functions made from it. */
#include "base/math.h"

#include "base/math_parts.h"

#include <math.h>

/* exp(x) where the result is not certain to be a normal number. */
static double exp_at_ends(double x)
{
    if (x != x)
        return x;
    if (x > 710)
        return INFINITY;
    if (x < -746)
        return 0;
    exp_parts e = exp_of_sum(x, 0);
    return scaled(e.power + e.power * e.rest, e.exponent);
}

double att_exp(double x)
{
    if (!(magnitude(x) < 708))
        return exp_at_ends(x);
    exp_parts e = exp_of_sum(x, 0);
    double power = e.power * power_of_two(e.exponent);
    return power + power * e.rest;
}

/* Below 0.375 x + x^3 P(x^2), where the second term is small beside the first. Above,
 * 1 - q with q = 2/(exp(2x) + 1), which is cut into its first 26 bits and the rest
 * (2 - first d) / d, d = exp(2x) + 1: both are exact enough that only the last sum rounds. */
double att_tanh(double x)
{
    static const double c[] = TANH_REST;
    double t = magnitude(x);
    if (t < 0.375) {
        if (t < 0x1p-28)
            return x;
        double s = x * x, s2 = s * s, s4 = s2 * s2;
        double p = (c[0] + s * c[1]) + s2 * (c[2] + s * c[3]) +
                   s4 * ((c[4] + s * c[5]) + s2 * (c[6] + s * c[7]) + s4 * (c[8] + s * c[9]));
        return x + x * s * p;
    }
    if (!(t < 20))
        return x != x ? x : with_sign(1, x);
    exp_parts e = exp_of_sum(2 * t, 0);
    double scale = power_of_two(e.exponent);
    double power = scale * e.power, rest = power * e.rest;
    double d = power + rest + 1;
    double d_first = first_half(d);
    double d_rest = (power - (d_first - 1)) + rest;
    double q = 2 / d;
    double first = first_half(q);
    double left = (2 - first * d_first) - first * d_rest;
    double sum = 1 - first;
    return with_sign(sum + (((1 - sum) - first) - left * (0.5 * q)), x);
}

/* (e + 1/e) / 2 with e = exp(|x|), and 1/e cut in two as above. */
double att_cosh(double x)
{
    double t = magnitude(x);
    if (!(t < 711))
        return x != x ? x : INFINITY;
    exp_parts e = exp_of_sum(t, 0);
    if (t > 40) /* exp(-40) is below 2^-57 */
        return scaled(e.power + e.power * e.rest, e.exponent - 1);
    double first = first_half(e.power), rest = (e.power - first) + e.power * e.rest;
    double inverse = 1 / (first + rest);
    double inverse_first = first_half(inverse);
    double inverse_rest = ((1 - inverse_first * first) - inverse_first * rest) * inverse;
    double up = power_of_two(e.exponent - 1), down = power_of_two(-e.exponent - 1);
    double large = up * first, small = down * inverse_first;
    double sum = large + small;
    return sum + ((small - (sum - large)) + up * rest + down * inverse_rest);
}
