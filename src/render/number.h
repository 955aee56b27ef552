/* Number formatting: rounded for display, or exact for another program. All numbers of a matrix
 * share one format, so that its columns align. The decimal point is a point in every locale. */
#ifndef ATT_RENDER_NUMBER_H
#define ATT_RENDER_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ATT_NUMBER_SIZE = 400, ATT_DIGITS_MAX = 17, ATT_DIGITS_DEFAULT = 4 };

/* The format of the numbers of one matrix. In fixed notation a nonzero number that would round to
 * zero is printed with its first digit, as 0.003 or 4.8e-05. */
typedef struct att_number_format {
    int decimals;
    bool scientific;
    double zero; /* smaller numbers are round-off and printed as 0 */
} att_number_format;

/* Chooses a format for `count` numbers, without those that have allowed[i] == 0 (`allowed` may be
 * NULL): `digits` decimals, fewer if all numbers need fewer, and scientific notation if the largest
 * is too large or too small to read otherwise. */
att_number_format att_number_choose(const double *values, const uint8_t *allowed, int64_t count,
                                    int digits);

/* The same for sums of terms of that magnitude (0: not sums): what is as small as their round-off
 * is zero. */
att_number_format att_number_choose_sums(const double *values, const uint8_t *allowed,
                                         int64_t count, double magnitude, int digits);

/* The format for a single number. */
att_number_format att_number_choose_one(double value, int digits);

/* Whether a nonzero number would be shown as zero with that many decimals. */
bool att_number_rounds_to_zero(double value, int decimals);

/* Writes `value` into `buffer` of ATT_NUMBER_SIZE bytes and returns the length. */
size_t att_number_print(char *buffer, double value, att_number_format format);

/* The shortest text that reads back as the same double: "0.1", "1e-300", "nan", "inf", "-inf". */
size_t att_number_exact(char *buffer, double value);

/* With `digits` significant digits and no trailing zeros, for markup. */
size_t att_number_short(char *buffer, double value, int digits);

#endif
