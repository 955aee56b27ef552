/* A file in memory read from front to back: numbers are little-endian, and nothing is read beyond
 * the end. */
#ifndef ATT_BASE_BYTE_READER_H
#define ATT_BASE_BYTE_READER_H

#include "attend.h"

typedef struct att_byte_reader {
    const unsigned char *data;
    size_t size;
    size_t position;
    const char *name; /* stands for the file in errors */
} att_byte_reader;

/* The next `size` bytes, lent. A file that ends before them is ATT_BAD_INPUT, and the message says
 * in `what`. */
att_status att_byte_reader_take(att_byte_reader *bytes, const unsigned char **out, size_t size,
                                const char *what, att_error *err);

/* A number of `size` bytes, 1 to 4, without sign. */
att_status att_byte_reader_uint(att_byte_reader *bytes, uint32_t *out, size_t size,
                                const char *what, att_error *err);

static inline size_t att_byte_reader_left(const att_byte_reader *bytes)
{
    return bytes->size - bytes->position;
}

/* The number, or the float, that stands at `bytes`, which need not be aligned. */
uint32_t att_read_uint_le(const unsigned char *bytes, size_t size);
float att_read_float_le(const unsigned char *bytes);

#endif
