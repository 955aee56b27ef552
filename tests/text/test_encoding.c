/* Texts as tokens, with the bytes that each stands for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "failing_memory.h"
#include "text/encoding.h"

#include <string.h>

static att_vocab *letters(bool texts)
{
    static const char *const tokens[] = { "a", "b", " ", "\n" };
    att_vocab *words;
    assert_int_equal(att_vocab_from_tokens(&words, ATT_TOKENIZER_CHAR, false, tokens, 4, NULL),
                     ATT_OK);
    if (texts)
        att_vocab_set_whole_text(words);
    return words;
}

static att_vocab *bytes(void)
{
    att_vocab *words;
    assert_int_equal(att_vocab_new(&words, ATT_TOKENIZER_BYTE, false, NULL), ATT_OK);
    att_vocab_set_whole_text(words);
    return words;
}

/* The tokens' strings, with bars between them. */
static void assert_spelt(att_vocab *words, const char *text, const char *wanted)
{
    att_encoding spelt = { 0 };
    att_arena arena = { 0 };
    char found[100] = "";
    assert_int_equal(att_encoding_new(&spelt, words, NULL, text, strlen(text), NULL), ATT_OK);
    const char **strings = att_encoding_token_strings(&spelt, 0, (int64_t)spelt.ids.count, &arena);
    for (size_t i = 0; i < spelt.ids.count; i++) {
        strcat(found, strings[i]);
        strcat(found, "|");
    }
    assert_string_equal(found, wanted);
    att_arena_free(&arena);
    att_encoding_free(&spelt);
    att_vocab_free(words);
}

static void of_a_text_nothing_is_lost_and_of_a_line_the_ends(void **state)
{
    (void)state;
    assert_spelt(letters(true), " ab\n\nz ", " |a|b|\n|\n|z| |");
    assert_spelt(letters(false), " ab z ", " a|b| |z|"); /* what stands before a token is its */
    assert_spelt(letters(true), "", "");
}

static void bytes_that_make_up_a_character_stand_at_its_last(void **state)
{
    (void)state;
    assert_spelt(bytes(), "aé\n日", "a||é|\n|||日|");
}

static void numbers_and_ends_go_along_with_the_text(void **state)
{
    (void)state;
    att_vocab *words = letters(true);
    att_encoding spelt = { 0 };
    assert_int_equal(att_encoding_new(&spelt, words, NULL, "bé\n", 4, NULL), ATT_OK);
    assert_int_equal(spelt.ids.count, 3);
    assert_int_equal(spelt.ids.items[0], ATT_ID_FIRST + 1);
    assert_int_equal(spelt.ids.items[1], ATT_ID_UNK);
    assert_int_equal(spelt.ids.items[2], ATT_ID_FIRST + 3);
    assert_int_equal(att_encoding_token_start(&spelt, 0), 0);
    assert_int_equal(att_encoding_token_start(&spelt, 1), 1);
    assert_int_equal(spelt.end_offsets[1], 3);
    assert_int_equal(spelt.end_offsets[2], 4);
    att_encoding_free(&spelt);
    att_vocab_free(words);
}

static void what_is_no_text_is_refused_but_by_bytes(void **state)
{
    (void)state;
    att_vocab *chars = letters(true), *any = bytes();
    att_encoding spelt = { 0 };
    assert_int_equal(att_encoding_new(&spelt, chars, NULL, "a\xff", 2, NULL), ATT_BAD_INPUT);
    att_encoding_free(&spelt);
    assert_int_equal(att_encoding_new(&spelt, any, NULL, "a\xff", 2, NULL), ATT_OK);
    assert_int_equal(spelt.ids.count, 2);
    att_encoding_free(&spelt);
    att_vocab_free(chars);
    att_vocab_free(any);
}

static att_status spell(void *context)
{
    att_encoding spelt = { 0 };
    att_status status = att_encoding_new(&spelt, context, NULL, "ab\nba", 5, NULL);
    att_encoding_free(&spelt);
    return status;
}

static void running_out_of_memory_leaves_nothing_behind(void **state)
{
    (void)state;
    att_vocab *both[] = { letters(true), bytes() };
    for (int i = 0; i < 2; i++) {
        every_allocation_fails(spell, both[i], 100);
        att_vocab_free(both[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_a_text_nothing_is_lost_and_of_a_line_the_ends),
        cmocka_unit_test(bytes_that_make_up_a_character_stand_at_its_last),
        cmocka_unit_test(numbers_and_ends_go_along_with_the_text),
        cmocka_unit_test(what_is_no_text_is_refused_but_by_bytes),
        cmocka_unit_test(running_out_of_memory_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
