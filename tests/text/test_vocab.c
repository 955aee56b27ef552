/* Vocabularies: counting, ids, encoding, decoding, JSON. */
#include "text/vocab.h"

#include "base/alloc.h"
#include "base/minmax.h"
#include "base/error.h"
#include "failing_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static att_vocab *open_vocab(att_tokenizer_kind tokens, bool lower)
{
    att_vocab *vocab;
    assert_int_equal(att_vocab_new(&vocab, tokens, lower, NULL), ATT_OK);
    return vocab;
}

static void count(att_vocab *vocab, att_ids *ids, const char *line)
{
    att_error err = { 0 };
    if (att_vocab_count_line(vocab, SIZE_MAX, ids, line, strlen(line), &err) != ATT_OK)
        fail_msg("%s", err.message);
}

/* Finalizes without using the map from provisional ids. */
static void finalize(att_vocab *vocab, int64_t min_count)
{
    int32_t *final;
    assert_int_equal(att_vocab_finalize(vocab, min_count, &final, NULL), ATT_OK);
    att_free(final);
}

static att_vocab *vocab_of(att_tokenizer_kind tokens, const char *line, int64_t min_count)
{
    att_vocab *vocab = open_vocab(tokens, false);
    att_ids ids = { 0 };
    count(vocab, &ids, line);
    finalize(vocab, min_count);
    att_ids_free(&ids);
    return vocab;
}

static void assert_encodes(const att_vocab *vocab, const char *line, const int32_t *expected,
                           size_t length)
{
    att_ids ids = { 0 };
    assert_int_equal(att_vocab_encode(vocab, NULL, &ids, line, strlen(line), NULL), ATT_OK);
    assert_int_equal(ids.count, length);
    for (size_t i = 0; i < length; i++)
        assert_int_equal(ids.items[i], expected[i]);
    att_ids_free(&ids);
}

#define IDS(...) ((const int32_t[]){ __VA_ARGS__ }), sizeof((int32_t[]){ __VA_ARGS__ }) / 4

static void tokens_are_numbered_by_count_and_then_by_bytes(void **state)
{
    (void)state;
    att_vocab *vocab = vocab_of(ATT_TOKENIZER_CHAR, "cbabcbé", 1);
    assert_int_equal(att_vocab_size(vocab), 3 + 4);
    assert_string_equal(att_vocab_token(vocab, 3), "b");
    assert_string_equal(att_vocab_token(vocab, 4), "c");
    assert_string_equal(att_vocab_token(vocab, 5), "a");
    assert_string_equal(att_vocab_token(vocab, 6), "é");
    assert_int_equal(att_vocab_token_count(vocab, 3), 3);
    assert_int_equal(att_vocab_token_count(vocab, 6), 1);
    att_vocab_free(vocab);
}

static void a_token_that_starts_another_comes_first(void **state)
{
    (void)state;
    att_vocab *vocab = vocab_of(ATT_TOKENIZER_SPACE, "ab a abc", 1);
    assert_string_equal(att_vocab_token(vocab, 3), "a");
    assert_string_equal(att_vocab_token(vocab, 4), "ab");
    assert_string_equal(att_vocab_token(vocab, 5), "abc");
    att_vocab_free(vocab);
}

static void rare_tokens_are_unknown(void **state)
{
    (void)state;
    att_vocab *vocab = vocab_of(ATT_TOKENIZER_SPACE, "a a a b b c", 2);
    assert_int_equal(att_vocab_size(vocab), 5);
    assert_encodes(vocab, "a b c d", IDS(3, 4, ATT_ID_UNK, ATT_ID_UNK));
    assert_int_equal(att_vocab_id(vocab, "c", 1), ATT_ID_UNK);
    assert_int_equal(att_vocab_id(vocab, "b", 1), 4);
    att_vocab_free(vocab);
}

static void provisional_ids_map_to_final_ones(void **state)
{
    (void)state;
    att_vocab *vocab = open_vocab(ATT_TOKENIZER_SPACE, false);
    att_ids ids = { 0 };
    count(vocab, &ids, "x y");
    count(vocab, &ids, "y z y");
    static const int32_t expected[] = { 0, 1, 1, 2, 1 };
    assert_int_equal(ids.count, 5);
    assert_memory_equal(ids.items, expected, sizeof expected);
    int32_t *final;
    assert_int_equal(att_vocab_finalize(vocab, 1, &final, NULL), ATT_OK);
    assert_string_equal(att_vocab_token(vocab, final[0]), "x");
    assert_string_equal(att_vocab_token(vocab, final[1]), "y");
    assert_string_equal(att_vocab_token(vocab, final[2]), "z");
    assert_int_equal(final[1], ATT_ID_FIRST);
    att_free(final);
    att_ids_free(&ids);
    att_vocab_free(vocab);
}

static void uncounted_tokens_are_unknown(void **state)
{
    (void)state;
    att_vocab *vocab = open_vocab(ATT_TOKENIZER_SPACE, false);
    att_ids ids = { 0 };
    count(vocab, &ids, "a b");
    size_t kept = ids.count;
    count(vocab, &ids, "b c");
    att_vocab_uncount_tokens(vocab, ids.items + kept, ids.count - kept);
    finalize(vocab, 1);
    assert_int_equal(att_vocab_size(vocab), 5);
    assert_int_equal(att_vocab_token_count(vocab, att_vocab_id(vocab, "b", 1)), 1);
    assert_int_equal(att_vocab_id(vocab, "c", 1), ATT_ID_UNK);
    att_ids_free(&ids);
    att_vocab_free(vocab);
}

static void text_is_encoded_and_decoded(void **state)
{
    (void)state;
    att_vocab *vocab = vocab_of(ATT_TOKENIZER_WORD, "the cat, the dog", 1);
    att_ids ids = { 0 };
    assert_int_equal(att_vocab_encode(vocab, NULL, &ids, "the dog, the bird", 17, NULL), ATT_OK);
    att_string text = { 0 };
    assert_int_equal(att_vocab_decode(vocab, &text, ids.items, ids.count), ATT_OK);
    assert_string_equal(text.data, "the dog, the <unknown>");
    att_string_free(&text);
    att_ids_free(&ids);
    att_vocab_free(vocab);
}

static void start_and_end_tokens_have_no_text(void **state)
{
    (void)state;
    att_vocab *vocab = vocab_of(ATT_TOKENIZER_CHAR, "ab", 1);
    static const int32_t ids[] = { ATT_ID_BOS, 3, 4, ATT_ID_EOS, ATT_ID_PAD };
    att_string text = { 0 };
    assert_int_equal(att_vocab_decode(vocab, &text, ids, 5), ATT_OK);
    assert_string_equal(text.data, "ab");
    assert_string_equal(att_vocab_token(vocab, ATT_ID_UNK), "<unknown>");
    assert_string_equal(att_vocab_token(vocab, ATT_ID_BOS), "<start>");
    assert_string_equal(att_vocab_token(vocab, ATT_ID_EOS), "<end>");
    assert_string_equal(att_vocab_token(vocab, ATT_ID_PAD), "");
    att_string_free(&text);
    att_vocab_free(vocab);
}

/* "<end>" in a text is not the end token. */
static void a_token_that_looks_reserved_is_an_ordinary_token(void **state)
{
    (void)state;
    att_vocab *vocab = vocab_of(ATT_TOKENIZER_SPACE, "<end> <end> <unknown>", 1);
    assert_encodes(vocab, "<end> <unknown>", IDS(3, 4));
    att_vocab_free(vocab);
}

static void upper_case_is_counted_as_lower_case_on_request(void **state)
{
    (void)state;
    att_vocab *vocab = open_vocab(ATT_TOKENIZER_SPACE, true);
    att_ids ids = { 0 };
    count(vocab, &ids, "The the THE");
    finalize(vocab, 3);
    assert_encodes(vocab, "tHe", IDS(3));
    att_ids_free(&ids);
    att_vocab_free(vocab);
}

static void vocabularies_with_the_same_ids_are_equal(void **state)
{
    (void)state;
    att_vocab *first = vocab_of(ATT_TOKENIZER_SPACE, "ab c ab", 1);
    const struct {
        att_tokenizer_kind tokens;
        const char *line;
        bool same;
    } others[] = {
        { ATT_TOKENIZER_SPACE, "c ab ab", true },    { ATT_TOKENIZER_SPACE, "c ab c", false },
        { ATT_TOKENIZER_SPACE, "ab c ab d", false }, { ATT_TOKENIZER_SPACE, "ab d ab", false },
        { ATT_TOKENIZER_WORD, "ab c ab", false },
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        att_vocab *other = vocab_of(others[i].tokens, others[i].line, 1);
        assert_int_equal(att_vocab_equal(first, other), others[i].same);
        att_vocab_free(other);
    }
    att_vocab_free(first);
}

static void thousands_of_tokens_are_found(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    att_vocab *vocab = open_vocab(ATT_TOKENIZER_SPACE, false);
    att_ids ids = { 0 };
    char word[16];
    for (int i = 0; i < COUNT; i++) {
        snprintf(word, sizeof word, "w%d", i);
        count(vocab, &ids, word);
    }
    finalize(vocab, 1);
    for (int i = 0; i < COUNT; i++) {
        int length = snprintf(word, sizeof word, "w%d", i);
        int32_t id = att_vocab_id(vocab, word, (size_t)length);
        assert_string_equal(att_vocab_token(vocab, id), word);
    }
    assert_int_equal(att_vocab_id(vocab, "w5000", 5), ATT_ID_UNK);
    assert_int_equal(att_vocab_id(vocab, "w", 1), ATT_ID_UNK);
    att_ids_free(&ids);
    att_vocab_free(vocab);
}

static void an_empty_vocabulary_knows_nothing(void **state)
{
    (void)state;
    att_vocab *vocab = vocab_of(ATT_TOKENIZER_CHAR, "", 1);
    assert_int_equal(att_vocab_size(vocab), 3);
    assert_encodes(vocab, "a", IDS(ATT_ID_UNK));
    att_vocab_free(vocab);
    att_vocab_free(NULL);
}

static void a_line_that_is_not_text_is_refused(void **state)
{
    (void)state;
    att_vocab *vocab = vocab_of(ATT_TOKENIZER_CHAR, "ab", 1);
    att_ids ids = { 0 };
    att_error err = { 0 };
    assert_int_equal(att_vocab_encode(vocab, NULL, &ids, "a\xC3", 2, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "byte 2 of the line, 0xC3, is not UTF-8");
    assert_int_equal(ids.count, 0);
    att_ids_free(&ids);
    att_vocab_free(vocab);
}

static void bytes_and_bpe_are_not_made_of_a_list_of_tokens(void **state)
{
    (void)state;
    static const char *const tokens[] = { "a", "b" };
    static const struct {
        att_tokenizer_kind kind;
        const char *message;
    } rows[] = {
        { ATT_TOKENIZER_BYTE, "a vocabulary of bytes takes no list of tokens" },
        { ATT_TOKENIZER_BPE, "BPE is learned from text: a list of tokens is not enough" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        att_vocab *vocab;
        att_error err = { 0 };
        assert_int_equal(att_vocab_from_tokens(&vocab, rows[i].kind, false, tokens, 2, &err),
                         ATT_BAD_INPUT);
        assert_null(vocab);
        assert_string_equal(err.message, rows[i].message);
    }
}

static void a_vocabulary_is_restored_from_json(void **state)
{
    (void)state;
    att_vocab *vocab = open_vocab(ATT_TOKENIZER_SPACE, true), *again;
    att_ids ids = { 0 };
    count(vocab, &ids, "é \" \\ é <end>");
    finalize(vocab, 1);
    att_string json = { 0 };
    assert_int_equal(att_vocab_to_json(&json, vocab, NULL), ATT_OK);
    assert_string_equal(json.data,
                        "{\"tokens\":\"space\",\"lowercase\":true,\"words\":[\"é\",\"\\\"\","
                        "\"<end>\",\"\\\\\"]}");
    assert_int_equal(att_vocab_from_json(&again, json.data, "m", NULL), ATT_OK);
    assert_int_equal(att_vocab_size(again), att_vocab_size(vocab));
    assert_int_equal(att_vocab_tokenizer_kind(again), ATT_TOKENIZER_SPACE);
    assert_encodes(again, "É \\ x", IDS(3, 6, ATT_ID_UNK));
    assert_int_equal(att_vocab_token_count(again, 3), 0);
    att_string_free(&json);
    att_ids_free(&ids);
    att_vocab_free(vocab);
    att_vocab_free(again);
}

static void a_damaged_vocabulary_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *json, *message;
    } cases[] = {
        { "", "the vocabulary: line 1, column 1: expected a value, found the end of the text" },
        { "[]", "the vocabulary: expected an object, found an array" },
        { "{\"tokens\":\"char\",\"words\":[]}",
          "the vocabulary: expected true or false for \"lowercase\", which is missing" },
        { "{\"tokens\":\"char\",\"lowercase\":false,\"lowercase\":true,\"words\":[]}",
          "the vocabulary: line 1, column 63: the object that ends here has the key \"lowercase\" "
          "twice" },
        { "{\"tokens\":\"char\",\"lowercase\":false,\"add_eos\":1,\"words\":[]}",
          "the vocabulary: expected true or false for \"add_eos\", found a whole number" },
        { "{\"tokens\":\"char\",\"lowercase\":false,\"add_bos\":true,\"words\":[]}",
          "the vocabulary: \"add_bos\" is true, but tokens of the kind 'char' have no use for it" },
        { "{\"tokens\":\"word\",\"lowercase\":false,\"add_bos\":true,\"words\":[]}",
          "the vocabulary: \"add_bos\" is true, but tokens of the kind 'word' have no use for it" },
        { "{\"tokens\":\"space\",\"lowercase\":false,\"add_bos\":true,\"words\":[]}",
          "the vocabulary: \"add_bos\" is true, but tokens of the kind 'space' have no use for "
          "it" },
        { "{\"tokens\":\"line\",\"lowercase\":false,\"add_bos\":true,\"words\":[]}",
          "the vocabulary: \"add_bos\" is true, but tokens of the kind 'line' have no use for it" },
        { "{\"tokens\":\"byte\",\"lowercase\":false,\"add_bos\":true}",
          "the vocabulary: \"add_bos\" is true, but tokens of the kind 'byte' have no use for it" },
        { "{\"tokens\":\"space\",\"lowercase\":false,\"whole_text\":true,\"words\":[]}",
          "the vocabulary: \"whole_text\" is true, but tokens of the kind 'space' have no use for "
          "it" },
        { "{\"tokens\":\"line\",\"lowercase\":false,\"whole_text\":true,\"words\":[]}",
          "the vocabulary: \"whole_text\" is true, but tokens of the kind 'line' have no use for "
          "it" },
        { "{\"tokens\":\"phrase\",\"lowercase\":false,\"words\":[]}",
          "the vocabulary: unknown kind of tokens 'phrase'" },
        { "{\"lowercase\":false,\"words\":[]}",
          "the vocabulary: expected a string for \"tokens\", which is missing" },
        { "{\"tokens\":\"char\",\"lowercase\":false}",
          "the vocabulary: expected an array for \"words\", which is missing" },
        { "{\"tokens\":\"char\",\"lowercase\":false,\"words\":[\"a\",7]}",
          "the vocabulary: expected a string for \"words\"[1], found a whole number" },
        { "{\"tokens\":\"char\",\"lowercase\":false,\"words\":[\"\"]}",
          "the vocabulary: \"words\"[0] is empty" },
        { "{\"tokens\":\"char\",\"lowercase\":false,\"words\":[\"a\",\"b\",\"a\"]}",
          "the vocabulary: \"words\" has 'a' twice" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        att_vocab *vocab;
        att_error err = { 0 };
        size_t live = att_alloc_live();
        assert_int_equal(att_vocab_from_json(&vocab, cases[i].json, "m", &err), ATT_BAD_INPUT);
        assert_string_equal(err.message, cases[i].message);
        assert_string_equal(err.place, "m");
        assert_null(vocab);
        assert_int_equal(att_alloc_live(), live);
    }
}

static att_status build_one(void *context)
{
    (void)context;
    att_vocab *vocab;
    att_ids ids = { 0 };
    int32_t *final = NULL;
    att_status status = att_vocab_new(&vocab, ATT_TOKENIZER_CHAR, false, NULL);
    if (status == ATT_OK)
        status = att_vocab_count_line(vocab, SIZE_MAX, &ids, "abc", 3, NULL);
    if (status == ATT_OK)
        status = att_vocab_finalize(vocab, 1, &final, NULL);
    att_free(final);
    att_ids_free(&ids);
    att_vocab_free(vocab);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    every_arena_allocation_fails(build_one, NULL, 30);
}

static att_status read_json(void *context)
{
    att_vocab *vocab;
    att_status status = att_vocab_from_json(&vocab, context, "m", NULL);
    att_vocab_free(vocab);
    return status;
}

static att_status write_json(void *context)
{
    att_string json = { 0 };
    att_status status = att_vocab_to_json(&json, context, NULL);
    att_string_free(&json);
    return status;
}

/* Every kind of list: words, merges and characters, pieces. */
static void every_allocation_of_reading_and_writing_may_fail(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"tokens\":\"word\",\"lowercase\":false,\"add_eos\":true,\"words\":[\"a\",\"b\"]}",
        "{\"tokens\":\"bpe\",\"lowercase\":true,\"characters\":\"éö\",\"merges\":[97,98,256,97]}",
        "{\"tokens\":\"bpe\",\"lowercase\":false,\"pieces\":[\" a\",\"b\"]}",
        "{\"tokens\":\"byte\",\"lowercase\":false,\"whole_text\":true}",
    };
    for (size_t i = 0; i < ATT_COUNT(texts); i++) {
        char json[128];
        strcpy(json, texts[i]);
        every_arena_allocation_fails(read_json, json, 2000);
        att_vocab *vocab;
        assert_int_equal(att_vocab_from_json(&vocab, json, "m", NULL), ATT_OK);
        every_arena_allocation_fails(write_json, vocab, 100);
        att_vocab_free(vocab);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_are_numbered_by_count_and_then_by_bytes),
        cmocka_unit_test(a_token_that_starts_another_comes_first),
        cmocka_unit_test(rare_tokens_are_unknown),
        cmocka_unit_test(provisional_ids_map_to_final_ones),
        cmocka_unit_test(uncounted_tokens_are_unknown),
        cmocka_unit_test(text_is_encoded_and_decoded),
        cmocka_unit_test(start_and_end_tokens_have_no_text),
        cmocka_unit_test(a_token_that_looks_reserved_is_an_ordinary_token),
        cmocka_unit_test(upper_case_is_counted_as_lower_case_on_request),
        cmocka_unit_test(vocabularies_with_the_same_ids_are_equal),
        cmocka_unit_test(thousands_of_tokens_are_found),
        cmocka_unit_test(an_empty_vocabulary_knows_nothing),
        cmocka_unit_test(a_line_that_is_not_text_is_refused),
        cmocka_unit_test(bytes_and_bpe_are_not_made_of_a_list_of_tokens),
        cmocka_unit_test(a_vocabulary_is_restored_from_json),
        cmocka_unit_test(a_damaged_vocabulary_is_refused),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(every_allocation_of_reading_and_writing_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
