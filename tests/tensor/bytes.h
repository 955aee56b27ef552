/* Assembling files byte by byte. */
#ifndef TESTS_TENSOR_BYTES_H
#define TESTS_TENSOR_BYTES_H

#include "attend.h"

#include <stdlib.h>

static inline void put(att_string *file, const void *bytes, size_t size)
{
    if (att_string_append(file, bytes, size) != ATT_OK)
        abort();
}

static inline void put_zeros(att_string *file, size_t size)
{
    for (size_t i = 0; i < size; i++)
        put(file, "", 1);
}

/* Appends the number in little-endian order. */
static inline void put_number(att_string *file, uint64_t number, size_t size)
{
    for (size_t i = 0; i < size; i++)
        put(file, &(char){ (char)(number >> 8 * i & 0xFF) }, 1);
}

#endif
