/* UTF-8 in texts: the first invalid byte, and identifier characters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "text/utf8.h"

#include <string.h>

static void the_first_invalid_byte_is_found(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t fault;
    } cases[] = {
        { "", 0 },
        { "plain ASCII, longer than eight bytes", 36 },
        { "é日🙂", 9 },
        { "\x80", 0 },
        { "abcdefgh\xFF", 8 },
        { "abcdefghi\xC3(", 9 },
        { "\xC0\x80", 0 },
        { "\xC1\xBF", 0 },
        { "\xE0\x9F\xBF", 0 },
        { "\xED\x9F\xBF", 3 },
        { "\xED\xA0\x80", 0 },
        { "\xF0\x8F\xBF\xBF", 0 },
        { "\xF4\x8F\xBF\xBF", 4 },
        { "\xF4\x90\x80\x80", 0 },
        { "ab\xF8\x88\x80\x80\x80", 2 },
        { "ab\xE2\x82", 2 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(att_utf8_valid_prefix(cases[i].text, strlen(cases[i].text)),
                         cases[i].fault);
}

static void an_invalid_byte_is_found_at_every_position_of_eight(void **state)
{
    (void)state;
    char text[40];
    for (size_t at = 0; at < sizeof text; at++) {
        memset(text, 'x', sizeof text);
        text[at] = '\xBF';
        assert_int_equal(att_utf8_valid_prefix(text, sizeof text), at);
    }
}

static void decoding_always_advances(void **state)
{
    (void)state;
    uint32_t code;
    assert_int_equal(att_utf8_decode_lossy("日", 3, &code), 3);
    assert_int_equal(code, 0x65E5);
    assert_int_equal(att_utf8_decode_lossy("日", 2, &code), 1);
    assert_int_equal(code, ATT_UTF8_REPLACEMENT);
    assert_int_equal(att_utf8_decode_lossy("\xFFz", 2, &code), 1);
    assert_int_equal(code, ATT_UTF8_REPLACEMENT);
    assert_int_equal(att_utf8_decode_lossy("\0", 1, &code), 1);
    assert_int_equal(code, 0);
}

static void letters_of_any_script_make_identifiers_and_symbols_do_not(void **state)
{
    (void)state;
    static const char *const letters[] = { "a", "Z", "_",  "é",  "ß", "α", "Ω", "я", "א", "ع",
                                           "ক", "ি", "日", "한", "ﬁ", "ℓ", "₁", "ª", "µ", "𝐱" };
    static const char *const others[] = { "1",    " ",      "-",      "×",      "÷",      "·",
                                          "²",    "½",      "−",      "√",      "→",      "“",
                                          "…",    "€",      "「",     "，",     "。",     "।",
                                          "🙂", "\u200B", "\u00A0", "\u2028", "\uFEFF", "©" };
    uint32_t code;
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++) {
        att_utf8_decode_lossy(letters[i], strlen(letters[i]), &code);
        if (!att_utf8_identifier_start(code) || !att_utf8_identifier_part(code))
            fail_msg("%s should make a name", letters[i]);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        att_utf8_decode_lossy(others[i], strlen(others[i]), &code);
        if (att_utf8_identifier_start(code))
            fail_msg("%s should not start a name", others[i]);
    }
    assert_true(att_utf8_identifier_part('7'));
    assert_false(att_utf8_identifier_part('.'));
    assert_true(att_utf8_identifier_part(0x200D)); /* joins letters in Indic scripts */
}

/* The table of excluded ranges is searched in order, so it must be sorted. */
static void every_code_point_is_decided_alike_as_start_and_part(void **state)
{
    (void)state;
    size_t names = 0;
    for (uint32_t code = 0x80; code < 0x110000; code++) {
        assert_int_equal(att_utf8_identifier_start(code), att_utf8_identifier_part(code));
        names += att_utf8_identifier_start(code);
    }
    assert_true(names >
                140000); /* about what Unicode has in letters and marks, and room for more */
    assert_false(att_utf8_identifier_start(0x10FFFF));
    assert_false(att_utf8_identifier_start(0xE000));
    assert_true(att_utf8_identifier_start(0x20000));
}

static void control_characters_are_excluded_except_tab_and_newline(void **state)
{
    (void)state;
    for (uint32_t code = 0; code < 0x110000; code++) {
        bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
        bool expected =
            (control && code != '\t' && code != '\n') || code == 0xFFFE || code == 0xFFFF;
        assert_int_equal(att_utf8_is_control(code), expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_invalid_byte_is_found),
        cmocka_unit_test(an_invalid_byte_is_found_at_every_position_of_eight),
        cmocka_unit_test(decoding_always_advances),
        cmocka_unit_test(letters_of_any_script_make_identifiers_and_symbols_do_not),
        cmocka_unit_test(every_code_point_is_decided_alike_as_start_and_part),
        cmocka_unit_test(control_characters_are_excluded_except_tab_and_newline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
