/* Strict UTF-8 decoding and encoding. */
#include "base/utf8.h"

size_t att_utf8_decode(uint32_t *out, const char *text, size_t length)
{
    static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 }; /* by length in bytes */
    const unsigned char *bytes = (const unsigned char *)text;
    if (length == 0)
        return 0;
    *out = bytes[0];
    if (bytes[0] < 0x80)
        return 1;
    size_t size = bytes[0] >= 0xF0 ? 4 : bytes[0] >= 0xE0 ? 3 : 2;
    if (bytes[0] < 0xC0 || bytes[0] > 0xF7 || size > length)
        return 0;
    uint32_t code = bytes[0] & (0x7Fu >> size);
    for (size_t i = 1; i < size; i++) {
        if ((bytes[i] & 0xC0) != 0x80)
            return 0;
        code = code << 6 | (bytes[i] & 0x3Fu);
    }
    bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    if (code < smallest[size] || code > 0x10FFFF || surrogate)
        return 0;
    *out = code;
    return size;
}

size_t att_utf8_encode(char *out, uint32_t code)
{
    size_t size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    if (size == 1) {
        out[0] = (char)code;
        return 1;
    }
    for (size_t i = size - 1; i > 0; i--, code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3F));
    out[0] = (char)((0xF00u >> size & 0xFF) | code);
    return size;
}

bool att_utf8_valid(const char *text, size_t length)
{
    uint32_t unused;
    for (size_t at = 0, size; at < length; at += size) {
        size = att_utf8_decode(&unused, text + at, length - at);
        if (size == 0)
            return false;
    }
    return true;
}
