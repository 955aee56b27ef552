/* Logarithms, and powers made from them. */
#include "base/math.h"

#include "base/math_parts.h"

#include <math.h>

/* log(x) where x is not finite or not above 0. */
static double log_at_ends(double x)
{
    if (x == 0)
        return -INFINITY;
    return x < 0 ? NAN : x; /* infinity and NaN stay */
}

/* (log(1 + r) - r) / r^2 */
static double log_rest(double r)
{
    static const double c[] = LOG_REST;
    double s = r * r;
    return (c[0] + r * c[1]) + s * ((c[2] + r * c[3]) + s * (c[4] + r * c[5]));
}

/* log(x (1 + more)) with |more| < 2^-52. The sum of the large parts is exact, as in
 * log_in_parts(). Just below 1 it all but cancels with the low part, so their sum is made first and
 * its rounding error kept; everything else is below 2^-8 of it. */
static double log_of_product(double x, double more)
{
    log_parts part = log_split(x);
    double whole = part.exponent * LN2_HIGH + part.row->high + part.high;
    double large = whole + part.low;
    double small = (part.low - (large - whole)) + more * (1 + part.high);
    double r = part.high + part.low + more;
    small += part.exponent * LN2_LOW + part.row->low;
    return large + (small + r * r * log_rest(r));
}

double att_log(double x)
{
    return x > 0 && x < INFINITY ? log_of_product(x, 0) : log_at_ends(x);
}

/* log(1 + x) with the rounding error of 1 + x given back; near 0 the series itself. */
double att_log1p(double x)
{
    double t = magnitude(x);
    if (t < 0x1p-9)
        return t < 0x1p-54 ? x : x + x * x * log_rest(x);
    double sum = 1 + x;
    if (!(sum > 0 && sum < INFINITY))
        return log_at_ends(sum);
    double lost = x < 1 ? x - (sum - 1) : 1 - (sum - x);
    return log_of_product(sum, lost / sum);
}

/* log(x) / ln(10), both in two parts. An exact power of ten has an exact logarithm. */
double att_log10(double x)
{
    if (!(x > 0 && x < INFINITY))
        return log_at_ends(x);
    two_parts log_x = log_in_parts(x);
    double first = first_half(log_x.high), rest = (log_x.high - first) + log_x.low;
    return first * LOG10_E_HIGH + (rest * LOG10_E_HIGH + (first + rest) * LOG10_E_LOW);
}

/* Whether y is an odd whole number, an even one, or no whole number. */
enum parity { NOT_WHOLE, EVEN, ODD };

static enum parity parity_of(double y)
{
    double t = magnitude(y);
    if (t >= 0x1p53)
        return EVEN;
    int64_t whole = (int64_t)t;
    if ((double)whole != t)
        return NOT_WHOLE;
    return whole % 2 != 0 ? ODD : EVEN;
}

/* 2^(huge): what x^y comes to when y log(x) is out of reach, for x > 0. */
static double power_limit(double x, double y)
{
    return x == 1 ? 1 : (x > 1) == (y > 0) ? INFINITY : 0;
}

/* x^y for a finite x > 0 and a finite y, as exp(y log(x)). Of the product, `high` is exact: 26
 * bits times 26. */
static double power(double x, double y)
{
    if (magnitude(y) > 0x1p65) /* log(x) is 0 or above 2^-54 */
        return power_limit(x, y);
    two_parts log_x = log_in_parts(x);
    double log_first = first_half(log_x.high), log_left = (log_x.high - log_first) + log_x.low;
    double y_first = first_half(y), y_rest = y - y_first;
    double high = y_first * log_first;
    double low = y_rest * log_first + y * log_left;
    if (!(magnitude(high) < 760))
        return power_limit(x, y);
    exp_parts e = exp_of_sum(high, low);
    return scaled(e.power + e.power * e.rest, e.exponent);
}

/* x^y where either is 0, infinite or NaN (C11, F.10.4.4). */
static double power_special(double x, double y)
{
    if (y == 0 || x == 1)
        return 1;
    if (x != x || y != y)
        return x != x ? x : y;
    double t = magnitude(x);
    if (magnitude(y) == INFINITY)
        return t == 1 ? 1 : power_limit(t, y);
    double result = (t == 0) == (y < 0) ? INFINITY : 0; /* x is 0 or infinite */
    return parity_of(y) == ODD ? with_sign(result, x) : result;
}

double att_pow(double x, double y)
{
    double t = magnitude(x);
    if (!(t > 0 && t < INFINITY && y != 0 && magnitude(y) < INFINITY))
        return power_special(x, y);
    if (x > 0)
        return power(x, y);
    enum parity parity = parity_of(y);
    if (parity == NOT_WHOLE)
        return NAN;
    double result = power(t, y);
    return parity == ODD ? -result : result;
}
