/* Shared by the files of the elementary functions: bits of doubles, the tables, and exp() and log()
 * in two parts. A sum "high + low" of two doubles represents a number of about 106 bits. */
#ifndef ATT_BASE_MATH_PARTS_H
#define ATT_BASE_MATH_PARTS_H

#include "base/math_coefficients.h"

#include <stdint.h>
#include <string.h>

enum {
    ATT_EXP_ROWS = 128,
    ATT_LOG_ROWS = 128,
    ATT_ERFC_ROWS = 54,
    ATT_ERFC_COLUMNS = 14,
    ATT_TWO_OVER_PI_WORDS = 40
};

/* 2^(row/128) = power (1 + rest). */
typedef struct {
    double power, rest;
} att_exp_row;

/* inverse is a multiple of 2^-11 close to 1/z for all z of the interval, and
 * -log(inverse) = high + low with `high` a multiple of 2^-42. */
typedef struct {
    double inverse, high, low;
} att_log_row;

#pragma GCC visibility push(hidden)
extern const att_exp_row att_exp_table[ATT_EXP_ROWS];
extern const att_log_row att_log_table[ATT_LOG_ROWS];
extern const double att_erfc_table[ATT_ERFC_ROWS][ATT_ERFC_COLUMNS];
extern const uint32_t att_two_over_pi[ATT_TWO_OVER_PI_WORDS]; /* its first 1280 bits */
#pragma GCC visibility pop

static inline uint64_t double_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double bits_double(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* 2^n for -1022 <= n <= 1023. */
static inline double power_of_two(int64_t n)
{
    return bits_double((uint64_t)(n + 1023) << 52);
}

static inline double magnitude(double x)
{
    return bits_double(double_bits(x) & ~(UINT64_C(1) << 63));
}

/* x >= 0 with the sign of `sign`. */
static inline double with_sign(double x, double sign)
{
    return bits_double(double_bits(x) | (double_bits(sign) & UINT64_C(1) << 63));
}

/* The first 26 bits of x. A product of two such numbers is exact, and so is x less this. */
static inline double first_half(double x)
{
    return bits_double(double_bits(x) & ~((UINT64_C(1) << 27) - 1));
}

/* exp(x) = 2^exponent (power + power rest), with |rest| < 0.003. */
typedef struct {
    double power, rest;
    int64_t exponent;
} exp_parts;

/* exp(high + low) for |high| < 1100 and |low| < 2^-13. With k the whole number nearest to
 * 128 high / ln 2, what is left over is r = high + low - k ln(2)/128, |r| < 0.0028. The step
 * ln(2)/128 has a first part of 35 bits, whose product with k (18 bits) is exact; so is the
 * difference. Adding 1.5 * 2^52 rounds to whole numbers, which are then in the lowest bits. */
static inline exp_parts exp_of_sum(double high, double low)
{
    static const double c[] = EXP_REST;
    const double rounder = 0x1.8p52;
    double shifted = high * EXP_PER_UNIT + rounder;
    double steps = shifted - rounder;
    int64_t k = (int64_t)(double_bits(shifted) - double_bits(rounder));
    double r = high - steps * EXP_STEP_HIGH - steps * EXP_STEP_LOW + low;
    double s = r * r;
    const att_exp_row *row = &att_exp_table[k & (ATT_EXP_ROWS - 1)];
    double rest = row->rest + r + s * ((c[0] + r * c[1]) + s * (c[2] + r * c[3]));
    return (exp_parts){ row->power, rest, (k - (k & (ATT_EXP_ROWS - 1))) / ATT_EXP_ROWS };
}

/* x * 2^n for 2^-7 < x < 4 and |n| < 2000, also where that is below the normal range or beyond the
 * largest double. x has been rounded, so a number below the normal range is rounded twice: its
 * error is up to about 3/4 ulp. */
static inline double scaled(double x, int64_t n)
{
    if (n > 1020)
        return x * 0x1p1000 * power_of_two(n - 1000);
    if (n < -1020)
        return x * 0x1p-1000 * power_of_two(n + 1000);
    return x * power_of_two(n);
}

/* x = 2^exponent z with 0.705 <= z < 1.411 and z inverse = 1 + high + low, both exact. */
typedef struct {
    const att_log_row *row;
    double exponent;
    double high, low;
} log_parts;

/* Takes a finite x > 0. z is cut into 30 and 23 bits: the product of the first part with the
 * inverse, 12 bits, is exact and a multiple of 2^-41. |high + low| < 0.0045. The interval that
 * has 1 in its middle has the inverse 1, so that log(x) is as exact near 1 as elsewhere. */
static inline log_parts log_split(double x)
{
    const uint64_t offset = UINT64_C(0x3fe6900000000000); /* where the first interval begins */
    uint64_t bits = double_bits(x);
    double below = 0;
    if (bits < UINT64_C(1) << 52) { /* below the normal range */
        bits = double_bits(x * 0x1p54);
        below = 54;
    }
    uint64_t from = bits - offset + (UINT64_C(1) << 62); /* not negative: 2^62 is 1024 exponents */
    const att_log_row *row = &att_log_table[from >> 45 & (ATT_LOG_ROWS - 1)];
    int exponent = (int)(from >> 52) - 1024;
    double z = bits_double(bits - ((uint64_t)exponent << 52));
    double first = bits_double(double_bits(z) & ~((UINT64_C(1) << 23) - 1));
    return (log_parts){ row, exponent - below, first * row->inverse - 1,
                        (z - first) * row->inverse };
}

typedef struct {
    double high, low;
} two_parts;

/* log(x) in two parts with an error below 2^-68 of it, for a finite x > 0. */
static inline two_parts log_in_parts(double x)
{
    static const double c[] = LOG_WIDE_REST;
    log_parts part = log_split(x);
    double r = part.high + part.low;
    /* Multiples of 2^-42 below 2^10: the sum is exact. */
    double whole = part.exponent * LN2_HIGH + part.row->high + part.high;
    double high = whole + part.low;
    double low = part.low - (high - whole);
    /* r = a + b with 24 bits in a: a^2/2 is exact, r^2/2 - a^2/2 = b (a + r) / 2 small. */
    double a = (float)r;
    double b = (part.high - a) + part.low;
    double half = 0.5 * a * a;
    double sum = high - half;
    low += (high - sum) - half;
    low += part.exponent * LN2_LOW + part.row->low;
    double s = r * r;
    double q = (c[0] + r * c[1]) + s * ((c[2] + r * c[3]) + s * (c[4] + r * c[5]));
    low += r * s * q - 0.5 * b * (a + r);
    return (two_parts){ sum, low };
}

#endif
