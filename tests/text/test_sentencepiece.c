/* Pieces from a list: the order of merging, byte fallback, and lists that are refused. */
#include "text/sentencepiece.h"

#include "base/alloc.h"
#include "base/random.h"
#include "text/vocab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static att_sentencepiece *make(const char *const *texts, size_t count)
{
    att_sentencepiece *pieces;
    att_error err = { 0 };
    if (att_sentencepiece_new(&pieces, texts, count, "list", &err) != ATT_OK)
        fail_msg("%s", err.message);
    return pieces;
}

/* att_sentencepiece_encode() with working memory of its own. */
static att_status encode(const att_sentencepiece *pieces, att_ids *ids, int32_t first,
                         const char *text, size_t length)
{
    att_merger merger = { 0 };
    att_status status = att_sentencepiece_encode(pieces, &merger, ids, first, text, length);
    att_merger_free(&merger);
    return status;
}

/* `expected`: the pieces of a text with bars between them; a byte piece as <NN>. */
static void assert_pieces(att_sentencepiece *pieces, const char *text, const char *expected)
{
    att_ids ids = { 0 };
    char shown[512] = "";
    assert_int_equal(encode(pieces, &ids, 3, text, strlen(text)), ATT_OK);
    for (size_t i = 0, at = 0; i < ids.count; i++) {
        size_t length, part = (size_t)(ids.items[i] - 3);
        const char *bytes = att_sentencepiece_piece(pieces, part, &length);
        if (part < ATT_SENTENCEPIECE_BYTES)
            at += (size_t)sprintf(shown + at, "%s<%02X>", i > 0 ? "|" : "", (unsigned char)*bytes);
        else
            at += (size_t)sprintf(shown + at, "%s%.*s", i > 0 ? "|" : "", (int)length, bytes);
    }
    assert_string_equal(shown, expected);
    att_ids_free(&ids);
}

static void the_earliest_piece_is_merged_first_and_the_leftmost_of_equals(void **state)
{
    (void)state;
    static const char *const texts[] = { "bc", "ab", "abc", "aa", "bcd", "a", "b", "c", "d" };
    att_sentencepiece *pieces = make(texts, COUNT(texts));
    assert_pieces(pieces, "abc", "abc"); /* a|bc: the whole is a piece, however it is split */
    assert_pieces(pieces, "abd", "ab|d");
    assert_pieces(pieces, "bcd", "bcd");
    assert_pieces(pieces, "aaa", "aa|a");
    assert_pieces(pieces, "aaab", "aa|ab"); /* ab is earlier than aa */
    assert_pieces(pieces, "abcd", "abc|d"); /* abc is earlier than bcd */
    assert_pieces(pieces, "", "");
    att_sentencepiece_free(pieces);
}

static void an_unknown_character_is_encoded_as_bytes_that_never_merge(void **state)
{
    (void)state;
    static const char *const texts[] = { "a\xC3\xA9", " a", "a", "\xC3\xA9", " " };
    att_sentencepiece *pieces = make(texts, COUNT(texts));
    assert_pieces(pieces, "a\xC3\xA9", "a\xC3\xA9");
    assert_pieces(pieces,
                  "a\xC3\xB6"
                  "a",
                  "a|<C3>|<B6>|a");
    assert_pieces(pieces, " a\na", " a|<0A>|a");
    att_sentencepiece_free(pieces);
}

/* The definition: search all neighbors, merge the best, repeat. */
static size_t by_definition(const att_sentencepiece *pieces, const char *text, size_t length,
                            size_t ends[], int32_t found[])
{
    size_t count = 0;
    for (size_t i = 0; i < length; i++)
        ends[count++] = i + 1;
    for (;;) {
        size_t best_at = count, best = att_sentencepiece_size(pieces);
        for (size_t i = 0; i + 1 < count; i++) {
            size_t start = i > 0 ? ends[i - 1] : 0;
            for (size_t p = ATT_SENTENCEPIECE_BYTES; p < best; p++) {
                size_t size;
                const char *bytes = att_sentencepiece_piece(pieces, p, &size);
                if (size == ends[i + 1] - start && memcmp(bytes, text + start, size) == 0) {
                    best = p;
                    best_at = i;
                }
            }
        }
        if (best_at == count)
            break;
        memmove(&ends[best_at], &ends[best_at + 1], (count - best_at - 1) * sizeof *ends);
        count--;
    }
    for (size_t i = 0; i < count; i++)
        for (size_t p = ATT_SENTENCEPIECE_BYTES; p < att_sentencepiece_size(pieces); p++) {
            size_t size, start = i > 0 ? ends[i - 1] : 0;
            const char *bytes = att_sentencepiece_piece(pieces, p, &size);
            if (size == ends[i] - start && memcmp(bytes, text + start, size) == 0)
                found[i] = (int32_t)p;
        }
    return count;
}

static void random_texts_are_split_by_the_definition(void **state)
{
    (void)state;
    static const char *const texts[] = { "ab",  "ba", "bb",  "abab", "bab", "aab", "cc",
                                         "abc", "ca", "bba", "cab",  "a",   "b",   "c" };
    att_sentencepiece *pieces = make(texts, COUNT(texts));
    for (uint64_t round = 0; round < 300; round++) {
        char text[40];
        size_t length = round % sizeof text, ends[40];
        int32_t found[40];
        for (size_t i = 0; i < length; i++)
            text[i] = (char)('a' + att_random_bits(7, round, i) % 3);
        size_t count = by_definition(pieces, text, length, ends, found);
        att_ids ids = { 0 };
        assert_int_equal(encode(pieces, &ids, 0, text, length), ATT_OK);
        assert_int_equal(ids.count, count);
        if (count > 0)
            assert_memory_equal(ids.items, found, count * sizeof *found);
        att_ids_free(&ids);
    }
    att_sentencepiece_free(pieces);
}

static void a_bad_list_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *texts[2], *message;
    } rows[] = {
        { { "a", "" }, "piece 2 of the vocabulary is empty" },
        { { "\xC3", "a" }, "piece 1 of the vocabulary is not UTF-8" },
        { { "ab", "ab" }, "the vocabulary has the piece 'ab' twice" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        att_sentencepiece *pieces;
        att_error err = { 0 };
        assert_int_equal(att_sentencepiece_new(&pieces, rows[i].texts, 2, "list", &err),
                         ATT_BAD_INPUT);
        assert_string_equal(err.message, rows[i].message);
        assert_string_equal(err.place, "list");
        assert_null(pieces);
    }
}

static void a_vocabulary_of_pieces_is_restored_from_json(void **state)
{
    (void)state;
    static const char *const texts[] = { " a", "a b", "a", "b", " " };
    static const char line[] = "a b\xC3\xB6";
    att_vocab *vocab, *again;
    att_string json = { 0 }, text_out = { 0 };
    att_ids ids = { 0 };
    assert_int_equal(att_vocab_from_sentencepiece(&vocab, make(texts, COUNT(texts)), NULL), ATT_OK);
    assert_int_equal(att_vocab_to_json(&json, vocab, NULL), ATT_OK);
    assert_string_equal(json.data, "{\"tokens\":\"bpe\",\"lowercase\":false,"
                                   "\"pieces\":[\" a\",\"a b\",\"a\",\"b\",\" \"]}");
    assert_int_equal(att_vocab_from_json(&again, json.data, "model", NULL), ATT_OK);
    assert_true(att_vocab_equal(vocab, again));
    assert_int_equal(att_vocab_size(again), 3 + 256 + 5);
    assert_int_equal(att_vocab_encode(again, NULL, &ids, line, strlen(line), NULL), ATT_OK);
    assert_string_equal(att_vocab_token(again, ids.items[0]), "\xE2\x96\x81"
                                                              "a");
    assert_int_equal(att_vocab_decode(again, &text_out, ids.items, ids.count), ATT_OK);
    assert_string_equal(text_out.data, line);
    att_ids_free(&ids);
    att_string_free(&json);
    att_string_free(&text_out);
    att_vocab_free(vocab);
    att_vocab_free(again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_earliest_piece_is_merged_first_and_the_leftmost_of_equals),
        cmocka_unit_test(an_unknown_character_is_encoded_as_bytes_that_never_merge),
        cmocka_unit_test(random_texts_are_split_by_the_definition),
        cmocka_unit_test(a_bad_list_is_refused),
        cmocka_unit_test(a_vocabulary_of_pieces_is_restored_from_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
