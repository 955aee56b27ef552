/* A file in memory read from front to back: numbers are little-endian, and nothing is read beyond
 * the end. */
#ifndef ATT_IMPORT_BYTES_H
#define ATT_IMPORT_BYTES_H

#include "attend.h"

typedef struct att_bytes {
    const unsigned char *data;
    size_t size;
    size_t at;
    const char *name; /* stands for the file in errors */
} att_bytes;

/* The next `size` bytes, lent. A file that ends before them is ATT_BAD_INPUT, and the message says
 * in `what`. */
att_status att_bytes_take(att_bytes *bytes, const unsigned char **out, size_t size,
                          const char *what, att_error *err);

/* A number of `size` bytes, 1 to 4, without sign. */
att_status att_bytes_number(att_bytes *bytes, uint32_t *out, size_t size, const char *what,
                            att_error *err);

static inline size_t att_bytes_left(const att_bytes *bytes)
{
    return bytes->size - bytes->at;
}

/* The number, or the float, that stands at `bytes`, which need not be aligned. */
uint32_t att_bytes_at(const unsigned char *bytes, size_t size);
float att_float_at(const unsigned char *bytes);

#endif
