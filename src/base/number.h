/* Numbers as users write them, whatever the locale: a decimal point is a point. */
#ifndef ATT_BASE_NUMBER_H
#define ATT_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for what att_double_format() gives. */
enum { ATT_DOUBLE_STRING_SIZE = 32 };

/* The whole number that `text` is, all of it: an optional sign and digits. */
bool att_int_parse(int64_t *out, const char *text);

/* The finite number that `text` is, all of it, in decimal or scientific notation. */
bool att_double_parse(double *out, const char *text);

/* Writes a finite number with the fewest digits that read back as the same, a whole one below 1e16
 * without a power of ten. Returns `out`. */
const char *att_double_format(char out[ATT_DOUBLE_STRING_SIZE], double value);

#endif
