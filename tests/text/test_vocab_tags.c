/* Tags beside the text: tokens of their own, in every kind of vocabulary and in its JSON; and
 * tokens that vocabularies of two kinds share. */
#include "text/vocab.h"

#include "base/alloc.h"
#include "base/string.h"
#include "text/encoding.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void count(att_vocab *vocab, const char *line)
{
    att_ids ids = { 0 };
    assert_int_equal(att_vocab_count_line(vocab, SIZE_MAX, &ids, line, strlen(line), NULL), ATT_OK);
    att_ids_free(&ids);
}

/* A finished vocabulary of these lines: go<TAB>V;PST, V<TAB>N, go<TAB>V. */
static att_vocab *vocab_with_tags(att_tokenizer_kind kind)
{
    att_vocab *vocab;
    int32_t *final = NULL;
    assert_int_equal(att_vocab_new(&vocab, kind, false, NULL), ATT_OK);
    att_vocab_set_tags(vocab);
    count(vocab, "go\tV;PST");
    count(vocab, "V\tN");
    count(vocab, "go\tV");
    if (kind == ATT_TOKENIZER_BPE)
        assert_int_equal(att_vocab_train_bpe(vocab, 10, 1, NULL), ATT_OK);
    else if (kind == ATT_TOKENIZER_BYTE)
        att_vocab_sort_tags(vocab);
    else
        assert_int_equal(att_vocab_finalize(vocab, 2, &final, NULL), ATT_OK);
    att_free(final);
    return vocab;
}

/* The tokens of a line, joined by spaces. */
static void assert_tokens(const att_vocab *vocab, const char *line, const char *wanted)
{
    att_ids ids = { 0 };
    att_string got = { 0 };
    assert_int_equal(att_vocab_encode(vocab, NULL, &ids, line, strlen(line), NULL), ATT_OK);
    for (size_t i = 0; i < ids.count; i++)
        assert_int_equal(
            att_string_printf(&got, "%s%s", i > 0 ? " " : "", att_vocab_token(vocab, ids.items[i])),
            ATT_OK);
    assert_string_equal(got.data ? got.data : "", wanted);
    att_string_free(&got);
    att_ids_free(&ids);
}

static void tags_are_tokens_apart_from_those_of_the_text(void **state)
{
    (void)state;
    att_vocab *vocab = vocab_with_tags(ATT_TOKENIZER_CHAR);
    assert_tokens(vocab, "go\tV;PST", "g o [V] [PST]");
    assert_tokens(vocab, "V\tV", "<unknown> [V]"); /* the letter V occurred once: min-count 2 */
    assert_tokens(vocab, "go", "g o");
    assert_tokens(vocab, "go\t", "g o");
    assert_tokens(vocab, "\tV|N, PST ;", "[V] [N] [PST]");
    assert_tokens(vocab, "g\tXYZ;N", "g <unknown> [N]");
    assert_int_equal(att_vocab_tag_count(vocab), 3);
    int32_t id = att_vocab_find(vocab, "[PST]", 5);
    assert_true(att_vocab_is_tag(vocab, id));
    assert_false(att_vocab_is_tag(vocab, att_vocab_find(vocab, "g", 1)));
    size_t length;
    (void)att_vocab_token_bytes(vocab, id, &length);
    assert_int_equal(length, 0);
    att_vocab_free(vocab);
}

static void subwords_and_bytes_have_tags_too_and_decoding_leaves_them_out(void **state)
{
    (void)state;
    static const att_tokenizer_kind kinds[] = { ATT_TOKENIZER_CHAR, ATT_TOKENIZER_BPE,
                                                ATT_TOKENIZER_BYTE, ATT_TOKENIZER_SPACE };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        att_vocab *vocab = vocab_with_tags(kinds[i]);
        att_ids ids = { 0 };
        att_string text = { 0 };
        assert_int_equal(att_vocab_encode(vocab, NULL, &ids, "go\tPST;V", 8, NULL), ATT_OK);
        assert_string_equal(att_vocab_token(vocab, ids.items[ids.count - 2]), "[PST]");
        assert_string_equal(att_vocab_token(vocab, ids.items[ids.count - 1]), "[V]");
        assert_int_equal(att_vocab_decode(vocab, &text, ids.items, ids.count), ATT_OK);
        assert_string_equal(text.data, "go");
        att_string_free(&text);
        att_ids_free(&ids);
        att_vocab_free(vocab);
    }
}

static void tags_have_no_place_in_the_text(void **state)
{
    (void)state;
    att_vocab *vocab = vocab_with_tags(ATT_TOKENIZER_CHAR);
    att_encoding encoding;
    size_t start, end;
    assert_int_equal(att_encoding_new(&encoding, vocab, NULL, "go\tV;Q", 6, NULL), ATT_OK);
    assert_int_equal(encoding.ids.count, 4);
    static const size_t wanted[][2] = { { 0, 1 }, { 1, 2 }, { 2, 2 }, { 2, 2 } };
    for (size_t i = 0; i < 4; i++) {
        att_encoding_source_range(&encoding, i, &start, &end);
        assert_int_equal(start, wanted[i][0]);
        assert_int_equal(end, wanted[i][1]);
    }
    att_encoding_free(&encoding);
    att_vocab_free(vocab);
}

static void json_restores_tags(void **state)
{
    (void)state;
    static const att_tokenizer_kind kinds[] = { ATT_TOKENIZER_CHAR, ATT_TOKENIZER_BPE,
                                                ATT_TOKENIZER_BYTE };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        att_vocab *vocab = vocab_with_tags(kinds[i]), *copy;
        att_string json = { 0 };
        assert_int_equal(att_vocab_to_json(&json, vocab, NULL), ATT_OK);
        assert_int_equal(att_vocab_from_json(&copy, json.data, "m", NULL), ATT_OK);
        assert_true(att_vocab_equal(vocab, copy));
        assert_true(att_vocab_same_tokens(vocab, copy));
        assert_tokens(copy, "\tV;PST", "[V] [PST]");
        att_string_free(&json);
        att_vocab_free(copy);
        att_vocab_free(vocab);
    }
}

static void bad_tags_in_json_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *tags, *message;
    } cases[] = {
        { "[\"V\",\"V\"]", "the vocabulary: \"tags\" has 'V' twice" },
        { "[\"\"]", "the vocabulary: \"tags\"[0]: expected one tag, found ''" },
        { "[\"a;b\"]", "the vocabulary: \"tags\"[0]: expected one tag, found 'a;b'" },
        { "[1]", NULL },
        { "{}", NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char json[256];
        att_vocab *vocab;
        att_error err = { 0 };
        snprintf(json, sizeof json,
                 "{\"tokens\":\"char\",\"lowercase\":false,\"words\":[\"a\"],\"tags\":%s}",
                 cases[i].tags);
        assert_int_equal(att_vocab_from_json(&vocab, json, "m", &err), ATT_BAD_INPUT);
        if (cases[i].message)
            assert_string_equal(err.message, cases[i].message);
    }
}

static void two_kinds_of_tokens_share_their_ids(void **state)
{
    (void)state;
    att_vocab *words, *letters;
    int32_t *a, *b;
    assert_int_equal(att_vocab_new(&words, ATT_TOKENIZER_SPACE, false, NULL), ATT_OK);
    assert_int_equal(att_vocab_new(&letters, ATT_TOKENIZER_CHAR, false, NULL), ATT_OK);
    att_vocab_set_tags(words);
    count(words, "a bc bc\tV");
    count(letters, "abb");
    assert_int_equal(att_vocab_share_counts(words, letters, NULL), ATT_OK);
    assert_int_equal(att_vocab_finalize(words, 1, &a, NULL), ATT_OK);
    assert_int_equal(att_vocab_finalize(letters, 1, &b, NULL), ATT_OK);
    assert_true(att_vocab_same_tokens(words, letters));
    assert_false(att_vocab_equal(words, letters));
    assert_int_equal(att_vocab_size(words), ATT_ID_FIRST + 4); /* a, b, bc and the tag */
    assert_int_equal(att_vocab_id(words, "a", 1), att_vocab_id(letters, "a", 1));
    assert_int_equal(att_vocab_token_count(words, att_vocab_id(words, "a", 1)), 2);
    assert_tokens(words, "bc b\tV", "bc b [V]");
    assert_tokens(letters, "bc", "b <unknown>");
    att_free(a);
    att_free(b);
    att_vocab_free(words);
    att_vocab_free(letters);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tags_are_tokens_apart_from_those_of_the_text),
        cmocka_unit_test(subwords_and_bytes_have_tags_too_and_decoding_leaves_them_out),
        cmocka_unit_test(tags_have_no_place_in_the_text),
        cmocka_unit_test(json_restores_tags),
        cmocka_unit_test(bad_tags_in_json_are_refused),
        cmocka_unit_test(two_kinds_of_tokens_share_their_ids),
    };
    return cmocka_run_group_tests_name("vocab_tags", tests, NULL, NULL);
}
