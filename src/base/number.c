/* Parsing and formatting of numbers, independent of the locale. */
#define _GNU_SOURCE /* strtod_l(), uselocale() */
#include "base/number.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Integers below this are formatted without an exponent, all their digits exact. */
#define MAX_PLAIN_INTEGER 1e16

/* The application may have set a locale with a decimal comma. glibc returns its built-in "C" locale
 * here without allocating. */
static locale_t c_locale(void)
{
    return newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

bool att_int_parse(int64_t *out, const char *text)
{
    const char *digits = text + (*text == '-' || *text == '+');
    if (*digits == '\0' || digits[strspn(digits, "0123456789")] != '\0')
        return false;
    errno = 0;
    *out = strtoll(text, NULL, 10);
    return errno == 0;
}

bool att_double_parse(double *out, const char *text)
{
    /* strtod() would also accept leading space, "inf", "nan" and hexadecimal. */
    if (*text == '\0' || text[strspn(text, "+-.0123456789eE")] != '\0')
        return false;
    locale_t plain = c_locale();
    if (plain == (locale_t)0)
        return false;
    char *end;
    *out = strtod_l(text, &end, plain);
    freelocale(plain);
    return end != text && *end == '\0' && isfinite(*out);
}

const char *att_double_format(char out[ATT_DOUBLE_STRING_SIZE], double value)
{
    locale_t plain = c_locale();
    locale_t before = plain ? uselocale(plain) : (locale_t)0;
    if (value == floor(value) && fabs(value) < MAX_PLAIN_INTEGER)
        snprintf(out, ATT_DOUBLE_STRING_SIZE, "%.0f", value); /* 1000, not 1e+03 */
    else
        for (int digits = 1; digits <= 17; digits++) {
            snprintf(out, ATT_DOUBLE_STRING_SIZE, "%.*g", digits, value);
            if (strtod(out, NULL) == value)
                break;
        }
    if (plain) {
        uselocale(before);
        freelocale(plain);
    }
    return out;
}
