/* Sequential reading of a binary file in memory, with the end checked once, in one place. */
#include "base/byte_reader.h"

#include "base/error.h"

#include <inttypes.h>
#include <string.h>

att_status att_byte_reader_take(att_byte_reader *bytes, const unsigned char **out, uint64_t size,
                                const char *what, att_error *err)
{
    if (size > att_byte_reader_left(bytes))
        return att_fail(err, ATT_BAD_INPUT, bytes->name,
                        "ends after %zu bytes, in %s: %" PRIu64 " bytes of it are missing",
                        bytes->size, what, size - att_byte_reader_left(bytes));
    *out = bytes->data + bytes->position;
    bytes->position += (size_t)size;
    return ATT_OK;
}

uint32_t att_read_uint_le(const unsigned char *bytes, size_t size)
{
    uint32_t number = 0;
    for (size_t i = 0; i < size; i++)
        number |= (uint32_t)bytes[i] << (8 * i);
    return number;
}

float att_read_float_le(const unsigned char *bytes)
{
    uint32_t bits = att_read_uint_le(bytes, sizeof bits);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

att_status att_byte_reader_uint(att_byte_reader *bytes, uint32_t *out, size_t size,
                                const char *what, att_error *err)
{
    const unsigned char *at = NULL;
    ATT_TRY(att_byte_reader_take(bytes, &at, size, what, err));
    *out = att_read_uint_le(at, size);
    return ATT_OK;
}
