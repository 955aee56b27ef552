/* Parsing and formatting of numbers with a decimal point, whatever the locale. */
#ifndef ATT_BASE_NUMBER_H
#define ATT_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Size of the buffer of att_double_format(). */
enum { ATT_DOUBLE_STRING_SIZE = 32 };

/* Parses an integer: an optional sign and digits, and nothing else. Returns false on failure. */
bool att_int_parse(int64_t *out, const char *text);

/* Parses a finite number in decimal or scientific notation, and nothing else. Returns false on
 * failure. */
bool att_double_parse(double *out, const char *text);

/* Formats a finite number with the fewest digits that parse to the same double; an integer below
 * 1e16 without an exponent. Returns `out`. */
const char *att_double_format(char out[ATT_DOUBLE_STRING_SIZE], double value);

#endif
