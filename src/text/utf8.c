/* Validation and decoding of UTF-8, and identifier characters; see utf8.h. */
#include "text/utf8.h"

#include "base/minmax.h"

#include <string.h>

/* The number of ASCII bytes at the start of the text, rounded down to a multiple of 8. */
static size_t ascii_run(const char *text, size_t length)
{
    size_t i = 0;
    for (; i + 8 <= length; i += 8) {
        uint64_t word;
        memcpy(&word, text + i, sizeof word);
        if (word & UINT64_C(0x8080808080808080))
            break;
    }
    return i;
}

size_t att_utf8_valid_prefix(const char *text, size_t length)
{
    size_t i = 0;
    while (i < length) {
        i += ascii_run(text + i, length - i);
        if (i == length)
            break;
        uint32_t code;
        size_t bytes = att_utf8_decode(&code, text + i, length - i);
        if (bytes == 0)
            return i;
        i += bytes;
    }
    return length;
}

size_t att_utf8_decode_lossy(const char *text, size_t length, uint32_t *code)
{
    size_t bytes = att_utf8_decode(code, text, length);
    if (bytes > 0)
        return bytes;
    *code = ATT_UTF8_REPLACEMENT;
    return 1;
}

/* Ranges beyond ASCII that identifiers may not contain, in rising order: punctuation, operators,
 * symbols, superscripts (x² is not an identifier), pictographs, private use. */
static const struct range {
    uint32_t first;
    uint32_t last;
} excluded_ranges[] = {
    { 0x80, 0xA9 },       { 0xAB, 0xB4 },        { 0xB6, 0xB9 },     { 0xBB, 0xBF },
    { 0xD7, 0xD7 },       { 0xF7, 0xF7 },        { 0x2C2, 0x2C5 },   { 0x37E, 0x37E },
    { 0x387, 0x387 },     { 0x55A, 0x55F },      { 0x589, 0x58F },   { 0x5BE, 0x5BE },
    { 0x5C0, 0x5C0 },     { 0x5C3, 0x5C3 },      { 0x5F3, 0x5F4 },   { 0x600, 0x60F },
    { 0x61B, 0x61F },     { 0x66A, 0x66D },      { 0x6D4, 0x6D4 },   { 0x964, 0x965 },
    { 0xE4F, 0xE4F },     { 0xE5A, 0xE5B },      { 0x104A, 0x104F }, { 0x1360, 0x1368 },
    { 0x17D4, 0x17DB },   { 0x2000, 0x200B },    { 0x200E, 0x207F }, { 0x208A, 0x208F },
    { 0x20A0, 0x20CF },   { 0x2150, 0x218B },    { 0x2190, 0x2BFF }, { 0x2E00, 0x2E7F },
    { 0x3000, 0x3004 },   { 0x3008, 0x3020 },    { 0x3030, 0x3030 }, { 0xD800, 0xF8FF },
    { 0xFD3E, 0xFD3F },   { 0xFE10, 0xFE1F },    { 0xFE30, 0xFE6F }, { 0xFEFF, 0xFF0F },
    { 0xFF1A, 0xFF20 },   { 0xFF3B, 0xFF40 },    { 0xFF5B, 0xFF65 }, { 0xFFE0, 0xFFFF },
    { 0x1F000, 0x1FAFF }, { 0xE0000, 0x10FFFF },
};

static bool ascii_letter(uint32_t code)
{
    return (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z') || code == '_';
}

bool att_utf8_identifier_start(uint32_t code)
{
    if (code < 0x80)
        return ascii_letter(code);
    for (size_t i = 0; i < ATT_COUNT(excluded_ranges); i++)
        if (code <= excluded_ranges[i].last)
            return code < excluded_ranges[i].first;
    return false;
}

bool att_utf8_identifier_part(uint32_t code)
{
    return (code >= '0' && code <= '9') || att_utf8_identifier_start(code);
}

bool att_utf8_is_control(uint32_t code)
{
    if (code < 0x20)
        return code != '\t' && code != '\n';
    return (code >= 0x7F && code < 0xA0) || code == 0xFFFE || code == 0xFFFF;
}
