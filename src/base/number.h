/* Numbers as users write them, whatever the locale: a decimal point is a point. */
#ifndef ATT_BASE_NUMBER_H
#define ATT_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for what att_real_write() gives. */
enum { ATT_REAL_WRITTEN = 32 };

/* The whole number that `text` is, all of it: an optional sign and digits. */
bool att_whole_read(int64_t *out, const char *text);

/* The finite number that `text` is, all of it, in decimal or scientific notation. */
bool att_real_read(double *out, const char *text);

/* Writes a finite number with the fewest digits that read back as the same, a whole one below 1e16
 * without a power of ten. Returns `out`. */
const char *att_real_write(char out[ATT_REAL_WRITTEN], double value);

#endif
