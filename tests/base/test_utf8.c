/* UTF-8, and the quoting of names for messages. */
#include "base/utf8.h"
#include "base/minmax.h"

#include "base/quote.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static size_t encode(char *out, uint32_t code)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t size = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = size - 1; i > 0; i--, code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3F));
    out[0] = (char)((0xF00 >> size & 0xFF) | code);
    return size;
}

static void every_character_is_decoded_and_no_surrogate(void **state)
{
    (void)state;
    for (uint32_t code = 0; code <= 0x110000; code++) {
        char text[4];
        uint32_t got = 0;
        size_t size = encode(text, code);
        bool good = code <= 0x10FFFF && !(code >= 0xD800 && code <= 0xDFFF);
        assert_int_equal(att_utf8_decode(&got, text, size), good ? size : 0);
        assert_int_equal(att_utf8_valid(text, size), good);
        if (good)
            assert_int_equal(got, code);
        assert_int_equal(att_utf8_decode(&got, text, size - 1), 0); /* cut short */
    }
}

static void encoded_characters_decode_to_the_same(void **state)
{
    (void)state;
    for (uint32_t code = 0; code < 0x110000; code++) {
        char bytes[4];
        uint32_t got;
        if (code >= 0xD800 && code <= 0xDFFF)
            continue;
        size_t size = att_utf8_encode(bytes, code);
        assert_int_equal(size, code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4);
        assert_int_equal(att_utf8_decode(&got, bytes, size), size);
        assert_int_equal(got, code);
    }
}

static void what_is_no_utf8_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = { "\x80",
                                       "\xbf",
                                       "\xc0\x80",
                                       "\xc1\xbf",
                                       "\xe0\x9f\xbf",
                                       "\xf0\x8f\xbf\xbf",
                                       "\xf8\x88\x80\x80\x80",
                                       "\xff",
                                       "\xfe",
                                       "\xc3(",
                                       "\xe2\x82(",
                                       "\xed\xa0\x80",
                                       "\xf4\x90\x80\x80",
                                       "a\xc3" };
    for (size_t i = 0; i < ATT_COUNT(bad); i++)
        assert_false(att_utf8_valid(bad[i], strlen(bad[i])));
    assert_true(att_utf8_valid("", 0));
    assert_true(att_utf8_valid("a\0b", 3));
}

static void assert_quoted(const char *text, size_t length, const char *expected)
{
    char out[ATT_QUOTED_SIZE];
    assert_string_equal(att_quote(out, text, length), expected);
    assert_ptr_equal(att_quote(out, text, length), out);
}

static void plain_names_are_unchanged(void **state)
{
    (void)state;
    assert_quoted("", 0, "");
    assert_quoted("layer.0.weight", 14, "layer.0.weight");
    assert_quoted("ক é 😀", 11, "ক é 😀");
}

static void control_characters_are_shown_as_numbers(void **state)
{
    (void)state;
    assert_quoted("a\nb\x1b[2J", 7, "a\\x0Ab\\x1B[2J");
    assert_quoted("\x7f\0", 2, "\\x7F\\x00");
    assert_quoted("\xc2\x9b", 2, "\\xC2\\x9B"); /* U+009B begins an escape sequence too */
    assert_quoted("\xff\xc3", 2, "\\xFF\\xC3");
}

static void long_names_end_in_an_ellipsis_and_fit(void **state)
{
    (void)state;
    static const char *const pieces[] = { "x", "é", "ক", "😀", "\xff" };
    for (size_t p = 0; p < 5; p++)
        for (size_t shift = 0; shift < 4; shift++) {
            char text[500], out[ATT_QUOTED_SIZE];
            size_t size = strlen(pieces[p]), used = shift;
            memset(text, '.', shift);
            for (; used + size <= sizeof text; used += size)
                memcpy(text + used, pieces[p], size);
            size_t length = strlen(att_quote(out, text, used));
            assert_true(length < ATT_QUOTED_SIZE && length > ATT_QUOTED_SIZE - 10);
            assert_string_equal(out + length - 3, "…");
            assert_true(att_utf8_valid(out, length));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_character_is_decoded_and_no_surrogate),
        cmocka_unit_test(encoded_characters_decode_to_the_same),
        cmocka_unit_test(what_is_no_utf8_is_refused),
        cmocka_unit_test(plain_names_are_unchanged),
        cmocka_unit_test(control_characters_are_shown_as_numbers),
        cmocka_unit_test(long_names_end_in_an_ellipsis_and_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
