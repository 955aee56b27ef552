/* Formatting of numbers: rounded for display, or exact. */
#include "render/number.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Outside [SMALL, LARGE) fixed notation has too many digits or leading zeros to be readable. */
static const double SMALL = 1e-4;
static const double LARGE = 1e7;
static const double LARGE_INTEGER = 1e12;

/* snprintf writes the decimal point of the locale, which may be any bytes: every byte that is not a
 * digit, a sign or an exponent belongs to the point. */
static size_t use_decimal_point(char *text)
{
    char *to = text;
    for (char *from = text; *from; from++) {
        if (strchr("0123456789+-e", *from))
            *to++ = *from;
        else if (to == text || to[-1] != '.')
            *to++ = '.';
    }
    *to = '\0';
    return (size_t)(to - text);
}

static size_t put_special(char *buffer, double value)
{
    const char *word = isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
    strcpy(buffer, word);
    return strlen(word);
}

static double power_of_ten(int exponent)
{
    double power = 1;
    for (int i = 0; i < abs(exponent); i++)
        power *= 10;
    return exponent < 0 ? 1 / power : power;
}

/* Whether `value` >= 0 has `d` decimals when at most `max` are shown: it is the double nearest to
 * that decimal, or the rest is the rounding error of a sum, too small to show. */
static bool ends_after(double value, int d, int max)
{
    double power = power_of_ten(d);
    double whole = round(value * power);
    double left = fabs(value * power - whole);
    double slack = fmin(1e-12 * fmax(whole, 1), 0.5 * power_of_ten(d - max));
    return whole / power == value || left <= slack;
}

/* The number of decimals that `value` needs, at most `max`. */
static int decimals_needed(double value, int max)
{
    double magnitude = fabs(value);
    if (magnitude == 0)
        return 0;
    for (int d = 0; d < max; d++)
        if (ends_after(magnitude, d, max) && round(magnitude * power_of_ten(d)) >= 1)
            return d;
    return max;
}

att_number_format att_number_choose(const double *values, const uint8_t *allowed, int64_t count,
                                    int digits)
{
    return att_number_choose_sums(values, allowed, count, 0, digits);
}

att_number_format att_number_choose_sums(const double *values, const uint8_t *allowed,
                                         int64_t count, double magnitude, int digits)
{
    double largest = 0;
    int decimals = 0;
    double zero = 16 * DBL_EPSILON * magnitude; /* a sum of a few terms is that inexact */
    for (int64_t i = 0; i < count; i++) {
        if ((allowed && !allowed[i]) || !isfinite(values[i]) || fabs(values[i]) < zero)
            continue;
        largest = fmax(largest, fabs(values[i]));
        int needed = decimals < digits ? decimals_needed(values[i], digits) : digits;
        decimals = needed > decimals ? needed : decimals;
    }
    bool too_small = decimals > 0 && largest < fmin(1e-2, power_of_ten(1 - digits));
    bool too_large = largest >= (decimals == 0 && digits > 0 ? LARGE_INTEGER : LARGE);
    if (too_small || too_large)
        return (att_number_format){ .decimals = digits, .scientific = true, .zero = zero };
    return (att_number_format){ .decimals = decimals, .zero = zero };
}

att_number_format att_number_choose_one(double value, int digits)
{
    return att_number_choose(&value, NULL, 1, digits);
}

bool att_number_rounds_to_zero(double value, int decimals)
{
    return value != 0 && fabs(value) <= 0.5 * power_of_ten(-decimals);
}

/* The number of decimals up to the first nonzero digit. */
static int decimals_to_first(double value)
{
    int decimals = 0;
    while (fabs(value) * power_of_ten(decimals) < 0.95)
        decimals++;
    return decimals;
}

size_t att_number_print(char *buffer, double value, att_number_format format)
{
    if (!isfinite(value))
        return put_special(buffer, value);
    if (value == 0 || fabs(value) < format.zero)
        value = 0; /* no minus sign before zero */
    bool vanishes = !format.scientific && att_number_rounds_to_zero(value, format.decimals);
    if (vanishes && fabs(value) >= SMALL)
        format.decimals = decimals_to_first(value);
    else if (vanishes)
        format = (att_number_format){ .decimals = 1, .scientific = true };
    snprintf(buffer, ATT_NUMBER_SIZE, format.scientific ? "%.*e" : "%.*f", format.decimals, value);
    return use_decimal_point(buffer);
}

size_t att_number_exact(char *buffer, double value)
{
    if (!isfinite(value))
        return put_special(buffer, value);
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(buffer, ATT_NUMBER_SIZE, "%.*g", digits, value);
        if (strtod(buffer, NULL) == value) /* same locale as the line above */
            break;
    }
    return use_decimal_point(buffer);
}

size_t att_number_short(char *buffer, double value, int digits)
{
    if (!isfinite(value))
        return put_special(buffer, value);
    snprintf(buffer, ATT_NUMBER_SIZE, "%.*g", digits, value == 0 ? 0.0 : value);
    return use_decimal_point(buffer);
}
