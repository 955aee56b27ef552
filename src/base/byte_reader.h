/* Sequential reading of a binary file in memory. Numbers are little-endian; reads beyond the end
 * fail. */
#ifndef ATT_BASE_BYTE_READER_H
#define ATT_BASE_BYTE_READER_H

#include "attend.h"

typedef struct att_byte_reader {
    const unsigned char *data;
    size_t size;
    size_t position;
    const char *name; /* of the file, for errors */
} att_byte_reader;

/* Sets *out to the next `size` bytes, which stay part of the file. Where the file ends before them,
 * the call returns ATT_BAD_INPUT, and the message names `what`, the part being read. */
att_status att_byte_reader_take(att_byte_reader *bytes, const unsigned char **out, uint64_t size,
                                const char *what, att_error *err);

/* Reads an unsigned integer of `size` bytes, 1 to 4. */
att_status att_byte_reader_uint(att_byte_reader *bytes, uint32_t *out, size_t size,
                                const char *what, att_error *err);

static inline size_t att_byte_reader_left(const att_byte_reader *bytes)
{
    return bytes->size - bytes->position;
}

/* The integer of `size` bytes, 1 to 4, or the float at `bytes`, which need not be aligned. */
uint32_t att_read_uint_le(const unsigned char *bytes, size_t size);
float att_read_float_le(const unsigned char *bytes);

#endif
