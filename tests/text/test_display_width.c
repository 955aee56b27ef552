/* Display widths: as terminals count columns, by whole grapheme clusters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "text/display_width.h"

#include <string.h>

static const struct {
    const char *text;
    int columns;
} cases[] = {
    { "", 0 },
    { "go", 2 },
    { "\xC3\xA9", 1 },  /* é in one code point */
    { "e\xCC\x81", 1 }, /* e and a combining accent */
    { "日本", 4 },
    { "ﾊﾝ", 2 },   /* half-width katakana */
    { "Ｗ", 2 },   /* full-width Latin */
    { "আমি", 3 },  /* a spacing vowel sign has a column of its own */
    { "স্কুলে", 4 }, /* a conjunct, a sign below and a sign before */
    { "ক্ষ", 2 },
    { "कि", 2 },
    { "한국", 4 },
    { "\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB", 2 }, /* 한 as three jamo */
    { "😀", 2 },
    { "👩‍👩‍👧", 2 }, /* three emoji joined into one */
    { "👍🏽", 2 },           /* with a skin tone */
    { "❤️", 2 },             /* a text symbol in its emoji form */
    { "a\xCC\x81\xCC\xA3z", 2 }, /* two marks on one letter */
    { "a\tb\x1B", 4 },           /* shown as a space and a replacement */
    { "\xFF", 1 },               /* not UTF-8: shown as one replacement */
    { "\xE0\xA6", 2 },           /* cut short: each byte by itself */
};

static void widths_are_those_of_terminals(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (att_display_width(cases[i].text) != cases[i].columns)
            fail_msg("\"%s\" takes %d columns, expected %d", cases[i].text,
                     att_display_width(cases[i].text), cases[i].columns);
}

static void fitting_never_splits_a_cluster(void **state)
{
    (void)state;
    assert_int_equal(att_display_width_fit("hello", 3), 3);
    assert_int_equal(att_display_width_fit("hello", 9), 5);
    assert_int_equal(att_display_width_fit("日本", 3), 3);            /* one of the two */
    assert_int_equal(att_display_width_fit("日本", 1), 0);            /* half of one is none */
    assert_int_equal(att_display_width_fit("e\xCC\x81x", 1), 3);      /* the accent stays */
    assert_int_equal(att_display_width_fit("স্কুলে", 3), strlen("স্কু")); /* the conjunct stays whole */
    assert_int_equal(att_display_width_fit("👩‍👩‍👧!", 2), strlen("👩‍👩‍👧"));
    assert_int_equal(att_display_width_fit("", 0), 0);
}

static void decoding_always_moves_on_and_stops_at_the_end(void **state)
{
    (void)state;
    const char *at = "\xF0\x9F\x98\x80\xC0\x80z";
    assert_int_equal(att_utf8_decode_next(&at), 0x1F600);
    assert_int_equal(att_utf8_decode_next(&at), 0xFFFD); /* an overlong zero */
    assert_int_equal(att_utf8_decode_next(&at), 0xFFFD);
    assert_int_equal(att_utf8_decode_next(&at), 'z');
    assert_int_equal(att_utf8_decode_next(&at), 0);
    assert_int_equal(att_utf8_decode_next(&at), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widths_are_those_of_terminals),
        cmocka_unit_test(fitting_never_splits_a_cluster),
        cmocka_unit_test(decoding_always_moves_on_and_stops_at_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
