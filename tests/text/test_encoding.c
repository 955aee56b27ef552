/* Texts as tokens: ids, pieces, and offsets into the original text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "failing_memory.h"
#include "text/encoding.h"

#include <stdio.h>
#include <string.h>

static att_vocab *characters(bool texts)
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
static void assert_strings(att_vocab *words, const char *text, const char *wanted)
{
    att_encoding encoding = { 0 };
    att_arena arena = { 0 };
    char found[100] = "";
    assert_int_equal(att_encoding_new(&encoding, words, NULL, text, strlen(text), NULL), ATT_OK);
    const char **strings =
        att_encoding_token_strings(&encoding, 0, (int64_t)encoding.ids.count, &arena);
    for (size_t i = 0; i < encoding.ids.count; i++) {
        strcat(found, strings[i]);
        strcat(found, "|");
    }
    assert_string_equal(found, wanted);
    att_arena_free(&arena);
    att_encoding_free(&encoding);
    att_vocab_free(words);
}

static void a_whole_text_keeps_everything_and_a_line_loses_its_ends(void **state)
{
    (void)state;
    assert_strings(characters(true), " ab\n\nz ", " |a|b|\n|\n|z| |");
    assert_strings(characters(false), " ab z ",
                   " a|b| |z|"); /* the white space before a token is part of its string */
    assert_strings(characters(true), "", "");
}

static void bytes_of_a_character_are_shown_at_the_last_of_them(void **state)
{
    (void)state;
    assert_strings(bytes(), "aé\n日", "a||é|\n|||日|");
}

static void ids_and_ends_follow_the_text(void **state)
{
    (void)state;
    att_vocab *words = characters(true);
    att_encoding encoding = { 0 };
    assert_int_equal(att_encoding_new(&encoding, words, NULL, "bé\n", 4, NULL), ATT_OK);
    assert_int_equal(encoding.ids.count, 3);
    assert_int_equal(encoding.ids.items[0], ATT_ID_FIRST + 1);
    assert_int_equal(encoding.ids.items[1], ATT_ID_UNK);
    assert_int_equal(encoding.ids.items[2], ATT_ID_FIRST + 3);
    assert_int_equal(att_encoding_token_start(&encoding, 0), 0);
    assert_int_equal(att_encoding_token_start(&encoding, 1), 1);
    assert_int_equal(encoding.end_offsets[1], 3);
    assert_int_equal(encoding.end_offsets[2], 4);
    att_encoding_free(&encoding);
    att_vocab_free(words);
}

static void invalid_utf8_is_refused_except_by_bytes_of_a_whole_text(void **state)
{
    (void)state;
    att_vocab *chars = characters(true), *any = bytes();
    att_encoding encoding = { 0 };
    assert_int_equal(att_encoding_new(&encoding, chars, NULL, "a\xff", 2, NULL), ATT_BAD_INPUT);
    att_encoding_free(&encoding);
    assert_int_equal(att_encoding_new(&encoding, any, NULL, "a\xff", 2, NULL), ATT_OK);
    assert_int_equal(encoding.ids.count, 2);
    att_encoding_free(&encoding);
    for (int kind = 0; kind < 6; kind++) {
        att_vocab *vocab;
        assert_int_equal(att_vocab_new(&vocab, (att_tokenizer_kind)kind, false, NULL), ATT_OK);
        assert_int_equal(att_encoding_new(&encoding, vocab, NULL, "a\xff", 2, NULL), ATT_BAD_INPUT);
        att_encoding_free(&encoding);
        att_vocab_free(vocab);
    }
    att_vocab_free(chars);
    att_vocab_free(any);
}

/* ---- offsets into the original text */

static const char training[] = "low lower lowest\nnew newer\nthe \xC3\xA9t\xC3\xA9\n";

/* A vocabulary of a kind, learned from `training`. */
static att_vocab *learned(att_tokenizer_kind kind, bool lower, bool whole_text)
{
    att_vocab *vocab;
    att_ids ids = { 0 };
    int32_t *final = NULL;
    assert_int_equal(att_vocab_new(&vocab, kind, lower, NULL), ATT_OK);
    if (whole_text)
        att_vocab_set_whole_text(vocab);
    assert_int_equal(att_vocab_count_line(vocab, SIZE_MAX, &ids, training, strlen(training), NULL),
                     ATT_OK);
    if (kind == ATT_TOKENIZER_BPE)
        assert_int_equal(att_vocab_train_bpe(vocab, 6, 1, NULL), ATT_OK);
    else if (kind != ATT_TOKENIZER_BYTE)
        assert_int_equal(att_vocab_finalize(vocab, 1, &final, NULL), ATT_OK);
    att_free(final);
    att_ids_free(&ids);
    return vocab;
}

static att_vocab *pieces(void)
{
    static const char *const texts[] = { " l", "lo", " lo", "l", "o", "w", " " };
    att_sentencepiece *list;
    att_vocab *vocab;
    assert_int_equal(att_sentencepiece_new(&list, texts, 7, NULL, NULL), ATT_OK);
    assert_int_equal(att_vocab_from_sentencepiece(&vocab, list, NULL), ATT_OK);
    return vocab;
}

/* Encodes and writes every token as piece[start,end), "<>" for an empty piece. */
static void write_tokens(char *out, size_t size, const att_vocab *vocab, const char *text,
                         size_t length)
{
    att_encoding encoding;
    assert_int_equal(att_encoding_new(&encoding, vocab, NULL, text, length, NULL), ATT_OK);
    *out = '\0';
    for (size_t i = 0, used = 0; i < encoding.ids.count; i++) {
        size_t bytes, start, end;
        const char *piece = att_encoding_piece(&encoding, i, &bytes);
        att_encoding_source_range(&encoding, i, &start, &end);
        used += (size_t)snprintf(out + used, size - used, "%.*s[%zu,%zu)",
                                 bytes > 0 ? (int)bytes : 2, bytes > 0 ? piece : "<>", start, end);
        assert_true(used < size);
    }
    att_encoding_free(&encoding);
}

/* Takes the vocabulary. */
static void assert_tokens(att_vocab *vocab, const char *text, const char *expected)
{
    char found[256];
    write_tokens(found, sizeof found, vocab, text, strlen(text));
    assert_string_equal(found, expected);
    att_vocab_free(vocab);
}

static void tokens_know_their_bytes_in_the_line(void **state)
{
    (void)state;
    assert_tokens(learned(ATT_TOKENIZER_CHAR, false, false), " low ", "l[1,2)o[2,3)w[3,4)");
    assert_tokens(learned(ATT_TOKENIZER_WORD, false, false), "  low, xyz\r",
                  "low[2,5),[5,6)xyz[7,10)");
    assert_tokens(learned(ATT_TOKENIZER_SPACE, false, false), "low,  b\t", "low,[0,4)b[6,7)");
    assert_tokens(learned(ATT_TOKENIZER_LINE, false, false), " a label \r", "a label[1,8)");
    assert_tokens(learned(ATT_TOKENIZER_BYTE, false, false), "a\tb", "a[0,1)\t[1,2)b[2,3)");
    assert_tokens(learned(ATT_TOKENIZER_BPE, false, false), "low newx",
                  " low[0,3) [3,4)new[4,7)x[7,8)");
    assert_tokens(pieces(), "low", " lo[0,2)w[2,3)");
}

/* The space that BPE puts before a line comes from nowhere. */
static void a_space_put_before_the_line_has_an_empty_range(void **state)
{
    (void)state;
    assert_tokens(learned(ATT_TOKENIZER_BPE, false, false), "x", " [0,0)x[0,1)");
    assert_tokens(pieces(), "wl", " [0,0)w[0,1)l[1,2)");
    assert_tokens(learned(ATT_TOKENIZER_BPE, false, true), "x", "x[0,1)");
}

static void what_normalization_rewrote_has_the_range_it_was_made_of(void **state)
{
    (void)state;
    const char *nfd = "ae\xCC\x81z e\xCC\x81"; /* é as a letter and its accent */
    assert_tokens(learned(ATT_TOKENIZER_CHAR, false, false), nfd,
                  "a[0,1)\xC3\xA9[1,4)z[4,5) [5,6)\xC3\xA9[6,9)");
    assert_tokens(learned(ATT_TOKENIZER_WORD, false, false), nfd, "a\xC3\xA9z[0,5)\xC3\xA9[6,9)");
    assert_tokens(learned(ATT_TOKENIZER_SPACE, false, false), nfd, "a\xC3\xA9z[0,5)\xC3\xA9[6,9)");
    assert_tokens(learned(ATT_TOKENIZER_LINE, false, false), nfd, "a\xC3\xA9z \xC3\xA9[0,9)");
    /* İ (two bytes) is lowercased to i (one byte); É and é have two each. */
    assert_tokens(learned(ATT_TOKENIZER_CHAR, true, false), "\xC4\xB0x", "i[0,2)x[2,3)");
    assert_tokens(learned(ATT_TOKENIZER_WORD, true, false), "\xC4\xB0X \xC3\x89",
                  "ix[0,3)\xC3\xA9[4,6)");
}

/* Bytes of a character that was composed share its source; those of one that was copied do not. */
static void bytes_of_a_rewritten_character_share_its_range(void **state)
{
    (void)state;
    assert_tokens(learned(ATT_TOKENIZER_BPE, true, true), "X\xC5\xA1", "x[0,1)\xC5[1,2)\xA1[2,3)");
    assert_tokens(learned(ATT_TOKENIZER_BPE, true, true),
                  "S\xCC\x8C"
                  "a",
                  "\xC5[0,3)\xA1[0,3)a[3,4)");
}

static void line_ends_of_a_whole_text_are_tokens(void **state)
{
    (void)state;
    assert_tokens(learned(ATT_TOKENIZER_CHAR, false, true), "a\r\nb", "a[0,1)\r\n[1,3)b[3,4)");
    assert_tokens(learned(ATT_TOKENIZER_BYTE, false, true), "\r\n", "\r[0,1)\n[1,2)");
    assert_tokens(learned(ATT_TOKENIZER_WORD, false, true), " low\r\n x",
                  " low[0,4)\r\n[4,6) x[6,8)");
}

static void reserved_tokens_are_empty(void **state)
{
    (void)state;
    att_vocab *words = learned(ATT_TOKENIZER_WORD, false, false);
    att_vocab_set_append_eos(words);
    assert_tokens(words, " low ", "low[1,4)<>[4,4)");
    att_vocab *bpe = learned(ATT_TOKENIZER_BPE, false, true);
    att_vocab_set_prepend_bos(bpe);
    assert_tokens(bpe, "low", "<>[0,0) lo[0,2)w[2,3)");
}

static void an_empty_text_has_no_tokens(void **state)
{
    (void)state;
    for (int kind = 0; kind < ATT_TOKENIZER_KINDS; kind++) {
        assert_tokens(learned((att_tokenizer_kind)kind, false, false), "", "");
        assert_tokens(learned((att_tokenizer_kind)kind, false, true), "", "");
    }
    assert_tokens(pieces(), "", "");
}

static const char *const lines[] = {
    "low lowest  newer",
    "  The \xC3\x89t\xC3\xA9, e\xCC\x81te\xCC\x81!  ",
    "\xE0\xA6\x95\xE0\xA7\x8D\xE0\xA6\xB7 \xF0\x9F\x91\x8D\xF0\x9F\x8F\xBD",
    "\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB \xED\x95\x9C",
    "tab\tand\r",
    " ",
    "1,000.5 don't--stop",
};

/* What holds of every kind: the ids are those of att_vocab_encode(), ranges rise and stay inside
 * the line, and the source of a word normalizes to the word. */
static void assert_consistent(const att_vocab *vocab, bool lower, const char *line)
{
    att_encoding encoding;
    att_ids ids = { 0 };
    att_string normalized = { 0 };
    size_t length = strlen(line), before = 0;
    assert_int_equal(att_encoding_new(&encoding, vocab, NULL, line, length, NULL), ATT_OK);
    assert_int_equal(att_vocab_encode(vocab, NULL, &ids, line, length, NULL), ATT_OK);
    assert_int_equal(ids.count, encoding.ids.count);
    for (size_t i = 0; i < ids.count; i++) {
        size_t start, end, bytes;
        const char *piece = att_encoding_piece(&encoding, i, &bytes);
        att_encoding_source_range(&encoding, i, &start, &end);
        assert_int_equal(ids.items[i], encoding.ids.items[i]);
        assert_true(before <= start || att_vocab_is_subword(vocab));
        assert_true(start <= end && end <= length);
        if (att_vocab_is_subword(vocab)) {
            size_t expected;
            const char *token = att_vocab_token_bytes(vocab, ids.items[i], &expected);
            assert_int_equal(bytes, expected);
            assert_memory_equal(piece, token, bytes);
        } else {
            assert_int_equal(
                att_line_normalize_nfc(&normalized, line + start, end - start, lower, NULL),
                ATT_OK);
            assert_int_equal(normalized.length, bytes);
            assert_memory_equal(normalized.data, piece, bytes);
            if (ids.items[i] != ATT_ID_UNK)
                assert_int_equal(att_vocab_id(vocab, piece, bytes), ids.items[i]);
        }
        before = end;
    }
    att_string_free(&normalized);
    att_ids_free(&ids);
    att_encoding_free(&encoding);
}

static void offsets_agree_with_the_ids_for_every_kind(void **state)
{
    (void)state;
    for (int kind = 0; kind < ATT_TOKENIZER_KINDS; kind++)
        for (int choice = 0; choice < 4; choice++) {
            bool lower = choice & 1, whole_text = choice & 2;
            if (kind == ATT_TOKENIZER_BYTE && lower)
                continue;
            att_vocab *vocab = learned((att_tokenizer_kind)kind, lower, whole_text);
            for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
                assert_consistent(vocab, lower, lines[i]);
            att_vocab_free(vocab);
        }
    att_vocab *list = pieces();
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_consistent(list, false, lines[i]);
    att_vocab_free(list);
}

/* ---- ids, tokens and text */

static void ids_decode_to_the_text(void **state)
{
    (void)state;
    static const att_tokenizer_kind kinds[] = { ATT_TOKENIZER_BPE, ATT_TOKENIZER_BYTE };
    for (size_t k = 0; k < 2; k++) {
        att_vocab *vocab = learned(kinds[k], false, false);
        for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
            att_ids ids = { 0 };
            att_string text = { 0 };
            assert_int_equal(att_vocab_encode(vocab, NULL, &ids, lines[i], strlen(lines[i]), NULL),
                             ATT_OK);
            assert_int_equal(att_encoding_decode(&text, vocab, ids.items, ids.count, NULL), ATT_OK);
            assert_string_equal(text.data, lines[i]);
            att_ids_free(&ids);
            att_string_free(&text);
        }
        att_vocab_free(vocab);
    }
}

static void ids_that_the_vocabulary_lacks_are_refused(void **state)
{
    (void)state;
    att_vocab *vocab = characters(false);
    const int32_t bad[] = { -1, 7, INT32_MAX };
    for (size_t i = 0; i < 3; i++) {
        att_string text = { 0 };
        att_error err = { 0 };
        const int32_t ids[] = { 3, bad[i] };
        assert_int_equal(att_encoding_decode(&text, vocab, ids, 2, &err), ATT_BAD_INPUT);
        assert_non_null(strstr(err.message, "is outside the vocabulary, which has ids 0 to 6"));
        att_string_free(&text);
    }
    assert_null(att_vocab_token(vocab, 7));
    att_vocab_free(vocab);
}

static void every_token_is_found_by_its_name(void **state)
{
    (void)state;
    att_vocab *const all[] = { characters(false), learned(ATT_TOKENIZER_BPE, false, false),
                               learned(ATT_TOKENIZER_BYTE, false, false), pieces() };
    for (size_t v = 0; v < sizeof all / sizeof *all; v++) {
        for (int32_t id = 0; id < att_vocab_size(all[v]); id++) {
            const char *token = att_vocab_token(all[v], id);
            int32_t found = att_vocab_find(all[v], token, strlen(token));
            assert_in_range(found, 0, id); /* two subwords may be displayed alike */
            assert_string_equal(att_vocab_token(all[v], found), token);
        }
        assert_int_equal(att_vocab_find(all[v], "no such token", 13), -1);
        att_vocab_free(all[v]);
    }
}

static att_status encode_text(void *context)
{
    att_encoding encoding = { 0 };
    att_status status = att_encoding_new(&encoding, context, NULL, "ab\nba", 5, NULL);
    att_encoding_free(&encoding);
    return status;
}

static void running_out_of_memory_leaves_nothing_behind(void **state)
{
    (void)state;
    att_vocab *both[] = { characters(true), bytes() };
    for (int i = 0; i < 2; i++) {
        every_arena_allocation_fails(encode_text, both[i], 100);
        att_vocab_free(both[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_text_keeps_everything_and_a_line_loses_its_ends),
        cmocka_unit_test(bytes_of_a_character_are_shown_at_the_last_of_them),
        cmocka_unit_test(ids_and_ends_follow_the_text),
        cmocka_unit_test(invalid_utf8_is_refused_except_by_bytes_of_a_whole_text),
        cmocka_unit_test(tokens_know_their_bytes_in_the_line),
        cmocka_unit_test(a_space_put_before_the_line_has_an_empty_range),
        cmocka_unit_test(what_normalization_rewrote_has_the_range_it_was_made_of),
        cmocka_unit_test(bytes_of_a_rewritten_character_share_its_range),
        cmocka_unit_test(line_ends_of_a_whole_text_are_tokens),
        cmocka_unit_test(reserved_tokens_are_empty),
        cmocka_unit_test(an_empty_text_has_no_tokens),
        cmocka_unit_test(offsets_agree_with_the_ids_for_every_kind),
        cmocka_unit_test(ids_decode_to_the_text),
        cmocka_unit_test(ids_that_the_vocabulary_lacks_are_refused),
        cmocka_unit_test(every_token_is_found_by_its_name),
        cmocka_unit_test(running_out_of_memory_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
