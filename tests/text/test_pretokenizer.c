/* Splitting lines into tokens and joining them again. */
#include "text/pretokenizer.h"

#include "base/alloc.h"
#include "failing_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* The tokens of a line, each followed by '|'. */
static void split(char *out, size_t size, att_tokenizer_kind tokens, bool lower, const char *line)
{
    att_string composed = { 0 };
    att_error err = { 0 };
    if (att_line_normalize_nfc(&composed, line, strlen(line), lower, &err) != ATT_OK)
        fail_msg("%s", err.message);
    att_pretokenizer splitter = { .text = composed.data,
                                  .length = composed.length,
                                  .kind = tokens };
    const char *token;
    size_t length, used = 0;
    while (att_pretokenizer_next(&splitter, &token, &length)) {
        assert_true(length > 0 && used + length + 2 < size);
        memcpy(out + used, token, length);
        used += length;
        out[used++] = '|';
    }
    out[used] = '\0';
    assert_false(att_pretokenizer_next(&splitter, &token, &length));
    att_string_free(&composed);
}

static void assert_tokens(att_tokenizer_kind tokens, const char *line, const char *expected)
{
    char got[256];
    split(got, sizeof got, tokens, false, line);
    assert_string_equal(got, expected);
}

static void assert_lower(const char *line, const char *expected)
{
    char got[256];
    split(got, sizeof got, ATT_TOKENIZER_SPACE, true, line);
    assert_string_equal(got, expected);
}

/* ---- in every build */

static void characters_keep_the_spaces_between_them(void **state)
{
    (void)state;
    assert_tokens(ATT_TOKENIZER_CHAR, "abc", "a|b|c|");
    assert_tokens(ATT_TOKENIZER_CHAR, "  a b\t", "a| |b|");
    assert_tokens(ATT_TOKENIZER_CHAR, "über", "ü|b|e|r|");
    assert_tokens(ATT_TOKENIZER_CHAR, "", "");
    assert_tokens(ATT_TOKENIZER_CHAR, " \t \r", "");
    assert_tokens(ATT_TOKENIZER_CHAR, "\xC2\xA0x\xC2\xA0", "x|");
}

static void ascii_white_space_separates_tokens(void **state)
{
    (void)state;
    assert_tokens(ATT_TOKENIZER_SPACE, "  AH0 B  EY\tT ", "AH0|B|EY|T|");
    assert_tokens(ATT_TOKENIZER_SPACE,
                  "a\xC2\xA0"
                  "b c",
                  "a\xC2\xA0"
                  "b|c|");
    assert_tokens(ATT_TOKENIZER_SPACE, "  ", "");
}

static void words_are_split_from_punctuation(void **state)
{
    (void)state;
    assert_tokens(ATT_TOKENIZER_WORD, "Hello, world!", "Hello|,|world|!|");
    assert_tokens(ATT_TOKENIZER_WORD, "(a) \"b\"", "(|a|)|\"|b|\"|");
    assert_tokens(ATT_TOKENIZER_WORD, "...", ".|.|.|");
    assert_tokens(ATT_TOKENIZER_WORD, "Ça va?", "Ça|va|?|");
    assert_tokens(ATT_TOKENIZER_WORD, "snake_case x2", "snake_case|x2|");
}

static void marks_inside_a_word_or_number_belong_to_it(void **state)
{
    (void)state;
    assert_tokens(ATT_TOKENIZER_WORD, "don't well-known", "don't|well-known|");
    assert_tokens(ATT_TOKENIZER_WORD,
                  "l\xE2\x80\x99"
                  "eau",
                  "l\xE2\x80\x99"
                  "eau|");
    assert_tokens(ATT_TOKENIZER_WORD, "1,234.5 a.b", "1,234.5|a|.|b|");
    assert_tokens(ATT_TOKENIZER_WORD, "end- 'so' 5.", "end|-|'|so|'|5|.|");
}

static void text_is_lowercased(void **state)
{
    (void)state;
    assert_lower("ABC xyz", "abc|xyz|");
    assert_lower("ÀÞ ×÷ ß", "àþ|×÷|ß|");
}

static void bytes_that_are_not_text_are_named(void **state)
{
    (void)state;
    att_error err = { 0 };
    assert_int_equal(att_line_validate("caf\xC3\xA9", 5, &err), ATT_OK);
    assert_int_equal(att_line_validate("ab\xFFz", 4, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "byte 3 of the line, 0xFF, is not UTF-8");
    assert_int_equal(att_line_validate("a\xC3", 2, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "byte 2 of the line, 0xC3, is not UTF-8");
    assert_int_equal(att_line_validate("a\0\xFF", 3, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "byte 2 of the line, 0x00, is not text");
    assert_int_equal(att_line_validate("ab\nc\nd\xFF\n", 8, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "byte 2 of line 3, 0xFF, is not UTF-8");
    assert_int_equal(att_line_validate("\xED\xA0\x80", 3, NULL), ATT_BAD_INPUT); /* a surrogate */
    assert_int_equal(att_line_validate("", 0, &err), ATT_OK);
}

/* ---- joining */

static void assert_joined(att_tokenizer_kind tokens, const char *const *words, const char *expected)
{
    att_string out = { 0 };
    assert_int_equal(att_string_append(&out, "before", 6), ATT_OK);
    for (; *words; words++)
        assert_int_equal(att_detokenize_append(&out, 6, tokens, *words), ATT_OK);
    assert_string_equal(out.data + 6, expected);
    att_string_free(&out);
}

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void joining_inserts_spaces_where_they_belong(void **state)
{
    (void)state;
    assert_joined(ATT_TOKENIZER_CHAR, WORDS("a", " ", "b"), "a b");
    assert_joined(ATT_TOKENIZER_SPACE, WORDS("AH", "B", "."), "AH B .");
    assert_joined(ATT_TOKENIZER_WORD, WORDS("Hello", ",", "world", "!"), "Hello, world!");
    assert_joined(ATT_TOKENIZER_WORD, WORDS("see", "(", "here", ")", "."), "see (here).");
    assert_joined(ATT_TOKENIZER_WORD, WORDS(",", "a"), ", a");
    assert_joined(ATT_TOKENIZER_WORD, WORDS("¿", "qué", "?"), "¿qué?");
    assert_joined(ATT_TOKENIZER_WORD, WORDS("a", "\"", "b", "\"", "c", "\"", "d", "\"", "."),
                  "a \"b\" c \"d\".");
    assert_joined(ATT_TOKENIZER_WORD, WORDS("in", "„", "A", "B", "“", "und", "“", "c", "”"),
                  "in „A B“ und “c”");
    assert_joined(ATT_TOKENIZER_WORD, WORDS("«", "oui", "»", ",", "dit-il"), "«oui», dit-il");
}

static void a_line_that_is_one_token_keeps_what_is_inside_it(void **state)
{
    (void)state;
    assert_tokens(ATT_TOKENIZER_LINE, "very  positive", "very  positive|");
    assert_tokens(ATT_TOKENIZER_LINE, " \tso so, \r", "so so,|");
    assert_tokens(ATT_TOKENIZER_LINE, "", "");
    assert_tokens(ATT_TOKENIZER_LINE, " \xC2\xA0 ", "");
}

static void a_line_split_and_joined_splits_the_same(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "Hello, (dear) world!",    "3.5 , 4 . 5", "a - b -c d-e", "\"quoted\" 'single'",
        "¿Qué? ¡No!  (x [y] {z})", "1,000 a,b"
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char once[256], twice[256];
        split(once, sizeof once, ATT_TOKENIZER_WORD, false, lines[i]);
        att_string joined = { 0 };
        char words[256];
        strcpy(words, once);
        for (char *word = strtok(words, "|"); word; word = strtok(NULL, "|"))
            assert_int_equal(att_detokenize_append(&joined, 0, ATT_TOKENIZER_WORD, word), ATT_OK);
        split(twice, sizeof twice, ATT_TOKENIZER_WORD, false, joined.data);
        assert_string_equal(once, twice);
        att_string_free(&joined);
    }
}

static att_status compose(void *context)
{
    (void)context;
    att_string out = { 0 };
    att_status status = att_line_normalize_nfc(&out, "ক\xC3\xA9x", 6, true, NULL);
    att_string_free(&out);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    every_allocation_fails(compose, NULL, 10);
}

/* ---- beyond Latin-1 */

static void equivalent_spellings_are_one_token(void **state)
{
    (void)state;
    assert_tokens(ATT_TOKENIZER_CHAR, "e\xCC\x81", "é|");
    assert_tokens(ATT_TOKENIZER_CHAR, "\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB", "한|"); /* jamo */
    assert_tokens(ATT_TOKENIZER_SPACE, "\xE2\x84\xAB",
                  "Å|"); /* the Ångström sign is composed to the letter */
}

static void a_cluster_is_one_character(void **state)
{
    (void)state;
    assert_tokens(ATT_TOKENIZER_CHAR, "কি", "কি|");
    assert_tokens(ATT_TOKENIZER_CODEPOINT, " কি x", "ক|ি| |x|");
    assert_tokens(ATT_TOKENIZER_CODEPOINT, "e\xCC\x81x\xCC\x81", "é|x|\xCC\x81|");
    assert_tokens(ATT_TOKENIZER_CODEPOINT, " \t ", "");
    assert_joined(ATT_TOKENIZER_CODEPOINT, WORDS("ক", "ি", " ", "x"), "কি x");
    assert_tokens(ATT_TOKENIZER_CHAR, "👩‍👩‍👧x", "👩‍👩‍👧|x|");
    assert_tokens(ATT_TOKENIZER_CHAR, "🇫🇷🇩🇪", "🇫🇷|🇩🇪|");
    assert_tokens(ATT_TOKENIZER_CHAR, "x\xCC\x81\xCC\x82", "x\xCC\x81\xCC\x82|");
}

static void words_of_any_script_keep_their_marks(void **state)
{
    (void)state;
    assert_tokens(ATT_TOKENIZER_WORD, "আমি স্কুলে যাই।", "আমি|স্কুলে|যাই|।|");
    assert_tokens(ATT_TOKENIZER_WORD, "Это, да!", "Это|,|да|!|");
    assert_tokens(ATT_TOKENIZER_WORD, "好。 a👍b", "好|。|a|👍|b|");
}

static void every_script_is_lowercased(void **state)
{
    (void)state;
    assert_lower("ЭТО ΑΒΓ Ÿ", "это|αβγ|ÿ|");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characters_keep_the_spaces_between_them),
        cmocka_unit_test(ascii_white_space_separates_tokens),
        cmocka_unit_test(words_are_split_from_punctuation),
        cmocka_unit_test(marks_inside_a_word_or_number_belong_to_it),
        cmocka_unit_test(text_is_lowercased),
        cmocka_unit_test(bytes_that_are_not_text_are_named),
        cmocka_unit_test(joining_inserts_spaces_where_they_belong),
        cmocka_unit_test(a_line_that_is_one_token_keeps_what_is_inside_it),
        cmocka_unit_test(a_line_split_and_joined_splits_the_same),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(equivalent_spellings_are_one_token),
        cmocka_unit_test(a_cluster_is_one_character),
        cmocka_unit_test(words_of_any_script_keep_their_marks),
        cmocka_unit_test(every_script_is_lowercased),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
