/* The vocabulary of a pair, extended by the source tokens that the target vocabulary lacks. */
#include "data/extended_vocab.h"

#include "failing_memory.h"

#include <string.h>

static att_vocab *vocab_of(att_tokenizer_kind kind, const char *const *tokens, size_t count)
{
    att_vocab *vocab;
    assert_int_equal(att_vocab_from_tokens(&vocab, kind, false, tokens, count, NULL), ATT_OK);
    return vocab;
}

#define VOCAB(kind, ...)                                                                           \
    vocab_of(kind, (const char *const[]){ __VA_ARGS__ },                                           \
             sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *))

/* Encodes a pair with the vocabularies; ids of the source, then of the target. */
static att_status encode(att_extended_vocab *vocab, att_ids *source, att_ids *target,
                         const char *source_line, const char *target_line, bool with_text)
{
    att_ids ids = { 0 };
    att_status status =
        att_vocab_encode(vocab->source, NULL, &ids, source_line, strlen(source_line), NULL);
    if (status == ATT_OK)
        status =
            att_extended_vocab_source(vocab, source, ids.items, ids.count,
                                      with_text ? source_line : NULL, strlen(source_line), NULL);
    if (status == ATT_OK)
        status =
            att_vocab_encode(vocab->target, NULL, target, target_line, strlen(target_line), NULL);
    if (status == ATT_OK)
        status = att_extended_vocab_target(vocab, target->items, target->count, target_line,
                                           strlen(target_line), NULL);
    att_ids_free(&ids);
    return status;
}

static void check_ids(const att_ids *got, const int32_t *want, size_t count)
{
    assert_int_equal(got->count, count);
    assert_memory_equal(got->items, want, count * sizeof *want);
}

#define CHECK_IDS(got, ...)                                                                        \
    check_ids(got, (const int32_t[]){ __VA_ARGS__ }, sizeof((const int32_t[]){ __VA_ARGS__ }) / 4)

/* The source knows "i", "red" and "tea", the target "tea" and "new": "red" is known to the source
 * alone, "new" to the target alone, and "Bo" to none. */
static void source_tokens_get_the_ids_of_equal_target_tokens_or_ids_of_their_own(void **state)
{
    (void)state;
    att_vocab *source = VOCAB(ATT_TOKENIZER_SPACE, "i", "red", "tea");
    att_vocab *target = VOCAB(ATT_TOKENIZER_SPACE, "tea", "new");
    att_extended_vocab vocab = { .source = source, .target = target };
    att_ids from = { 0 }, to = { 0 };
    assert_int_equal(encode(&vocab, &from, &to, "Bo red tea new Bo", "new Bo tea red Al", true),
                     ATT_OK);
    CHECK_IDS(&from, 5, 6, 3, 4, 5);
    CHECK_IDS(&to, 4, 5, 3, 6, ATT_ID_UNK);
    assert_int_equal(vocab.words.count, 2);
    assert_string_equal(vocab.words.items[0].text, "Bo");
    assert_int_equal(att_extended_size(5, from.items, 5), 7);
    assert_int_equal(att_extended_size(5, from.items + 2, 2), 5);

    from.count = to.count = 0; /* the next pair starts anew */
    assert_int_equal(encode(&vocab, &from, &to, "Al tea", "Bo Al", true), ATT_OK);
    CHECK_IDS(&from, 5, 3);
    CHECK_IDS(&to, ATT_ID_UNK, 5);

    from.count = to.count = 0; /* without its text an unknown token stays unknown */
    assert_int_equal(encode(&vocab, &from, &to, "Al red", "Al red", false), ATT_OK);
    CHECK_IDS(&from, ATT_ID_UNK, 5);
    CHECK_IDS(&to, ATT_ID_UNK, 5);
    att_ids_free(&from);
    att_ids_free(&to);
    att_extended_vocab_free(&vocab);
    att_vocab_free(source);
    att_vocab_free(target);
}

/* Decomposed letters are composed before they are compared, as in every vocabulary. */
static void characters_and_code_points_extend_it_too(void **state)
{
    (void)state;
    static const att_tokenizer_kind kinds[] = { ATT_TOKENIZER_CHAR, ATT_TOKENIZER_CODEPOINT,
                                                ATT_TOKENIZER_WORD };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        att_vocab *own = VOCAB(kinds[i], "a", "b");
        att_extended_vocab vocab = { .source = own, .target = own };
        att_ids from = { 0 }, to = { 0 };
        assert_int_equal(encode(&vocab, &from, &to, "e\xCC\x81", "\xC3\xA9", true), ATT_OK);
        CHECK_IDS(&from, 5);
        CHECK_IDS(&to, 5);
        att_ids_free(&from);
        att_ids_free(&to);
        att_extended_vocab_free(&vocab);
        att_vocab_free(own);
    }
}

static void tokens_of_other_kinds_and_subwords_are_copied_by_equal_text_alone(void **state)
{
    (void)state;
    att_vocab *words = VOCAB(ATT_TOKENIZER_SPACE, "a", "walk");
    att_vocab *characters = VOCAB(ATT_TOKENIZER_CHAR, "w", "a");
    att_extended_vocab vocab = { .source = words, .target = characters };
    att_ids from = { 0 }, to = { 0 };
    assert_int_equal(encode(&vocab, &from, &to, "walk a z", "waz", true), ATT_OK);
    CHECK_IDS(&from, ATT_ID_UNK, 4, ATT_ID_UNK);
    CHECK_IDS(&to, 3, 4, ATT_ID_UNK);
    assert_int_equal(vocab.words.count, 0);
    att_extended_vocab_free(&vocab);

    att_vocab *bytes;
    assert_int_equal(att_vocab_new(&bytes, ATT_TOKENIZER_BYTE, false, NULL), ATT_OK);
    vocab = (att_extended_vocab){ .source = bytes, .target = bytes };
    from.count = to.count = 0;
    assert_int_equal(encode(&vocab, &from, &to, "a\xC3\xA9", "b", true), ATT_OK);
    CHECK_IDS(&from, 3 + 'a', 3 + 0xC3, 3 + 0xA9);
    att_ids_free(&from);
    att_ids_free(&to);
    att_extended_vocab_free(&vocab);
    att_vocab_free(bytes);
    att_vocab_free(words);
    att_vocab_free(characters);
}

static att_status encode_once(void *context)
{
    const att_vocab *own = context;
    att_extended_vocab vocab = { .source = own, .target = own };
    att_ids from = { 0 }, to = { 0 };
    att_status status = encode(&vocab, &from, &to, "c a d", "d a c", true);
    att_ids_free(&from);
    att_ids_free(&to);
    att_extended_vocab_free(&vocab);
    return status;
}

static void every_failing_allocation_is_reported(void **state)
{
    (void)state;
    att_vocab *own = VOCAB(ATT_TOKENIZER_SPACE, "a", "b");
    every_allocation_fails(encode_once, own, 100);
    att_vocab_free(own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(source_tokens_get_the_ids_of_equal_target_tokens_or_ids_of_their_own),
        cmocka_unit_test(characters_and_code_points_extend_it_too),
        cmocka_unit_test(tokens_of_other_kinds_and_subwords_are_copied_by_equal_text_alone),
        cmocka_unit_test(every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
