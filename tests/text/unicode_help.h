/* Texts of code points for tests of Unicode. */
#ifndef TESTS_UNICODE_HELP_H
#define TESTS_UNICODE_HELP_H

#include "base/string.h"
#include "base/utf8.h"
#include "text/unicode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { CODES = 0x110000, CODES_MAX = 64 };

static inline bool is_surrogate(uint32_t code)
{
    return code >= 0xD800 && code <= 0xDFFF;
}

/* Replaces *out by the code points as UTF-8. */
static inline void put_codes(att_string *out, const uint32_t *codes, size_t count)
{
    char bytes[4];
    out->length = 0;
    for (size_t i = 0; i < count; i++)
        assert_int_equal(att_string_append(out, bytes, att_utf8_encode(bytes, codes[i])), ATT_OK);
}

/* Replaces *out by the composed form of a text. */
static inline void put_composed(att_string *out, const att_string *text, bool lower)
{
    att_error err = { 0 };
    out->length = 0;
    if (att_unicode_compose(out, NULL, text->data, text->length, lower, &err) != ATT_OK)
        fail_msg("%s", err.message);
}

/* The code points in hexadecimal, for messages. */
static inline const char *show_codes(att_string *out, const uint32_t *codes, size_t count)
{
    out->length = 0;
    for (size_t i = 0; i < count; i++)
        assert_int_equal(att_string_printf(out, i > 0 ? " %04X" : "%04X", codes[i]), ATT_OK);
    return out->data;
}

#endif
