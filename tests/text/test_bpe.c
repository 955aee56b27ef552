/* BPE: training and encoding against a plain implementation; every line decodes to itself. */
#include "text/bpe.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/random.h"
#include "failing_memory.h"
#include "text/utf8.h"
#include "text/vocab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 400, LONGEST = 64 };

/* ---- a plain implementation: counts all pairs again for every merge */

typedef struct plain_piece {
    int32_t tokens[LONGEST];
    size_t count;
    int64_t times;
} plain_piece;

typedef struct plain {
    plain_piece pieces[MOST];
    size_t count;
    att_bpe_merge merges[MOST];
    size_t merge_count;
} plain;

/* att_bpe_encode() with working memory of its own. */
static att_status encode(const att_bpe *bpe, att_ids *ids, int32_t first, const char *piece,
                         size_t length)
{
    att_merger merger = { 0 };
    att_bpe_cache cache = { 0 };
    att_status status = att_bpe_encode(bpe, &merger, &cache, ids, first, piece, length);
    size_t start = ids->count;
    if (status == ATT_OK) /* again, from the cache */
        status = att_bpe_encode(bpe, &merger, &cache, ids, first, piece, length);
    if (status == ATT_OK)
        assert_int_equal(ids->count, 2 * start);
    if (status == ATT_OK && start > 0)
        assert_memory_equal(ids->items, ids->items + start, start * sizeof *ids->items);
    ids->count = start;
    att_merger_free(&merger);
    att_bpe_cache_free(&cache);
    return status;
}

static void plain_merge(plain_piece *piece, att_bpe_merge merge, int32_t token)
{
    size_t kept = 0;
    for (size_t i = 0; i < piece->count; i++) {
        bool here = i + 1 < piece->count && piece->tokens[i] == merge.left &&
                    piece->tokens[i + 1] == merge.right;
        piece->tokens[kept++] = here ? token : piece->tokens[i];
        i += here;
    }
    piece->count = kept;
}

static int64_t plain_times(const plain *p, att_bpe_merge pair)
{
    int64_t times = 0;
    for (size_t k = 0; k < p->count; k++)
        for (size_t i = 0; i + 1 < p->pieces[k].count; i++)
            if (p->pieces[k].tokens[i] == pair.left && p->pieces[k].tokens[i + 1] == pair.right)
                times += p->pieces[k].times;
    return times;
}

static bool is_better(int64_t times, att_bpe_merge pair, int64_t max_count, att_bpe_merge best)
{
    if (times != max_count)
        return times > max_count;
    return pair.left != best.left ? pair.left < best.left : pair.right < best.right;
}

static void plain_learn(plain *p, size_t merges, int32_t first)
{
    while (p->merge_count < merges) {
        att_bpe_merge best = { 0 };
        int64_t max_count = 0;
        for (size_t k = 0; k < p->count; k++)
            for (size_t i = 0; i + 1 < p->pieces[k].count; i++) {
                const att_bpe_merge pair = { p->pieces[k].tokens[i], p->pieces[k].tokens[i + 1] };
                int64_t times = plain_times(p, pair);
                if (is_better(times, pair, max_count, best)) {
                    max_count = times;
                    best = pair;
                }
            }
        if (max_count < 2)
            return;
        for (size_t k = 0; k < p->count; k++)
            plain_merge(&p->pieces[k], best, first + (int32_t)p->merge_count);
        p->merges[p->merge_count++] = best;
    }
}

/* ---- random words */

typedef struct scene {
    char texts[MOST][LONGEST];
    att_piece pieces[MOST];
    size_t count;
} scene;

/* Words over a small alphabet, so that they share many pairs and repeat characters. */
static void draw_words(scene *out, uint64_t seed, size_t count, unsigned characters)
{
    out->count = count;
    for (size_t k = 0; k < count; k++) {
        size_t length = 1 + att_random_bits(seed, 1, k) % 12;
        for (size_t i = 0; i < length; i++)
            out->texts[k][i] = (char)('a' + att_random_bits(seed, 2, k * LONGEST + i) % characters);
        int64_t times = 1 + att_random_bits(seed, 3, k) % 5;
        out->pieces[k] = (att_piece){ out->texts[k], length, times };
    }
}

static plain *plain_of(const scene *in)
{
    plain *p = calloc(1, sizeof *p);
    assert_non_null(p);
    p->count = in->count;
    for (size_t k = 0; k < in->count; k++) {
        p->pieces[k].count = in->pieces[k].length;
        p->pieces[k].times = in->pieces[k].count;
        for (size_t i = 0; i < in->pieces[k].length; i++)
            p->pieces[k].tokens[i] = in->texts[k][i];
    }
    return p;
}

static att_bpe *learn(const scene *in, int64_t merges)
{
    att_bpe *bpe;
    att_error err = { 0 };
    if (att_bpe_train(&bpe, in->pieces, in->count, merges, 1, &err) != ATT_OK)
        fail_msg("%s", err.message);
    return bpe;
}

static void training_and_encoding_follow_the_definition(void **state)
{
    (void)state;
    static scene in;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        draw_words(&in, seed, 40, 1 + (unsigned)seed % 4);
        plain *p = plain_of(&in);
        plain_learn(p, 60, ATT_BPE_BYTES);
        att_bpe *bpe = learn(&in, 60);
        size_t count;
        const att_bpe_merge *merges = att_bpe_merges(bpe, &count);
        if (count != p->merge_count || memcmp(merges, p->merges, count * sizeof *merges) != 0)
            fail_msg("seed %d: other merges than defined", (int)seed);
        for (size_t k = 0; k < in.count; k++) {
            att_ids ids = { 0 };
            assert_int_equal(encode(bpe, &ids, 0, in.texts[k], in.pieces[k].length), ATT_OK);
            if (ids.count != p->pieces[k].count ||
                memcmp(ids.items, p->pieces[k].tokens, ids.count * sizeof *ids.items) != 0)
                fail_msg("seed %d: piece %zu is split otherwise than defined", (int)seed, k);
            att_ids_free(&ids);
        }
        att_bpe_free(bpe);
        free(p);
    }
}

static void the_order_of_pieces_does_not_matter(void **state)
{
    (void)state;
    static scene in, turned;
    draw_words(&in, 5, 200, 6);
    turned = in;
    for (size_t k = 0; k < in.count; k++)
        turned.pieces[k] = in.pieces[in.count - 1 - k];
    att_bpe *one = learn(&in, 300), *other = learn(&turned, 300);
    size_t count, others;
    const att_bpe_merge *merges = att_bpe_merges(one, &count);
    const att_bpe_merge *same = att_bpe_merges(other, &others);
    assert_int_equal(count, others);
    assert_memory_equal(merges, same, count * sizeof *merges);
    att_bpe_free(one);
    att_bpe_free(other);
}

static void a_pair_that_occurs_once_is_not_merged(void **state)
{
    (void)state;
    const att_piece pieces[] = { { "ab", 2, 1 }, { "cd", 2, 2 } };
    att_bpe *bpe;
    assert_int_equal(att_bpe_train(&bpe, pieces, 2, 100, 1, NULL), ATT_OK);
    size_t count;
    const att_bpe_merge *merges = att_bpe_merges(bpe, &count);
    assert_int_equal(count, 1);
    assert_int_equal(merges[0].left, 'c');
    assert_int_equal(merges[0].right, 'd');
    att_bpe_free(bpe);
}

static void no_token_grows_beyond_the_limit(void **state)
{
    (void)state;
    static char run[4096];
    memset(run, 'x', sizeof run);
    const att_piece piece = { run, sizeof run, 1 };
    att_bpe *bpe;
    assert_int_equal(att_bpe_train(&bpe, &piece, 1, 100, 1, NULL), ATT_OK);
    size_t longest = 0;
    for (size_t i = 0; i < att_bpe_size(bpe); i++) {
        size_t length;
        att_bpe_token_bytes(bpe, i, &length);
        longest = length > longest ? length : longest;
    }
    assert_int_equal(longest, ATT_BPE_MAX_TOKEN_BYTES);
    att_bpe_free(bpe);
}

static void a_rare_character_is_encoded_as_bytes(void **state)
{
    (void)state;
    const att_piece pieces[] = { { "é", 2, 3 }, { "ü", 2, 1 }, { "üü", 4, 1 } };
    att_bpe *bpe;
    assert_int_equal(att_bpe_train(&bpe, pieces, 3, 100, 4, NULL), ATT_OK);
    size_t count;
    att_bpe_characters(bpe, &count);
    assert_int_equal(count, 0);
    att_bpe_merges(bpe, &count);
    assert_int_equal(count, 0);
    att_ids ids = { 0 };
    assert_int_equal(encode(bpe, &ids, 10, "é", 2), ATT_OK);
    assert_int_equal(ids.count, 2);
    assert_int_equal(ids.items[0], 0xC3 + 10);
    assert_int_equal(ids.items[1], 0xA9 + 10);
    att_ids_free(&ids);
    att_bpe_free(bpe);
}

static void invalid_merges_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint32_t characters[2];
        att_bpe_merge merges[2];
        const char *says;
    } rows[] = {
        { { 0xE9, 0xE9 }, { { 'a', 'b' }, { 'b', 'c' } }, "out of order" },
        { { 'a', 0xE9 }, { { 'a', 'b' }, { 'b', 'c' } }, "out of order" },
        { { 0xE9, 0xD800 }, { { 'a', 'b' }, { 'b', 'c' } }, "out of order" },
        { { 0xE9, 0xEA }, { { 'a', 'b' }, { 'a', 'b' } }, "repeats an earlier merge" },
        { { 0xE9, 0xEA }, { { 'a', 258 }, { 'a', 'b' } }, "does not join two earlier tokens" },
        { { 0xE9, 0xEA }, { { -1, 'a' }, { 'a', 'b' } }, "does not join two earlier tokens" },
        { { 0xE9, 0xEA }, { { 0xC3, 0xA9 }, { 'a', 'b' } }, "does not join two earlier tokens" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        att_error err = { 0 };
        att_bpe *bpe;
        assert_int_equal(att_bpe_new(&bpe, rows[i].characters, 2, rows[i].merges, 2, "m", &err),
                         ATT_BAD_INPUT);
        assert_null(bpe);
        assert_non_null(strstr(err.message, rows[i].says));
        assert_string_equal(err.place, "m");
    }
}

static void tokens_that_grow_exponentially_are_refused(void **state)
{
    (void)state;
    att_bpe_merge merges[40] = { { 'a', 'a' } };
    for (int i = 1; i < 40; i++)
        merges[i] = (att_bpe_merge){ ATT_BPE_BYTES + i - 1, ATT_BPE_BYTES + i - 1 };
    att_bpe *bpe;
    att_error err = { 0 };
    assert_int_equal(att_bpe_new(&bpe, NULL, 0, merges, 40, "m", &err), ATT_BAD_INPUT);
    assert_non_null(strstr(err.message, "more than 128 bytes"));
}

/* ---- in a vocabulary */

static att_vocab *vocab_of(const char *const *lines, bool lower, int64_t merges, int64_t least)
{
    att_vocab *vocab;
    att_ids ids = { 0 };
    assert_int_equal(att_vocab_new(&vocab, ATT_TOKENIZER_BPE, lower, NULL), ATT_OK);
    for (; *lines; lines++)
        assert_int_equal(att_vocab_count_line(vocab, SIZE_MAX, &ids, *lines, strlen(*lines), NULL),
                         ATT_OK);
    assert_int_equal(att_vocab_train_bpe(vocab, merges, least, NULL), ATT_OK);
    att_ids_free(&ids);
    return vocab;
}

static const char *const sample[] = {
    "the cat sat on the mat", "The cats, the mats, the hats!", "l'été où l'élève naît",
    "আমি স্কুলে যাই।",          "東京都に住んでいます。",        NULL,
};

static void assert_returns(const att_vocab *vocab, const char *line, size_t length)
{
    att_ids ids = { 0 };
    att_string text = { 0 };
    assert_int_equal(att_vocab_encode(vocab, NULL, &ids, line, length, NULL), ATT_OK);
    for (size_t i = 0; i < ids.count; i++)
        assert_true(ids.items[i] >= ATT_ID_FIRST && ids.items[i] < att_vocab_size(vocab));
    assert_int_equal(att_vocab_decode(vocab, &text, ids.items, ids.count), ATT_OK);
    assert_int_equal(text.length, length);
    if (length > 0)
        assert_memory_equal(text.data, line, length);
    att_string_free(&text);
    att_ids_free(&ids);
}

static void every_line_decodes_to_itself(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "",
        " ",
        "  ",
        "a",
        " a",
        "a ",
        "a  b",
        "\t\ttabs\r",
        "the cat",
        "▁ in ▁ the▁text",
        "e\xCC\x81 is not é",
        "👩‍👩‍👧‍👦🇩🇪",
        "<0xE2> <unknown> <end>",
        "...---...",
        "1,234.5 x2",
        "\xEF\xBB\xBF"
        "mark",
        "\x01\x02\x7F",
        "zażółć gęślą jaźń",
        "\xF4\x8F\xBF\xBF \xED\x9F\xBF \xEF\xBF\xBF",
    };
    att_vocab *vocab = vocab_of(sample, false, 50, 1);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_returns(vocab, lines[i], strlen(lines[i]));
    att_vocab_free(vocab);
}

/* Any code points except zero, newline and surrogates. */
static size_t draw_line(char *out, uint64_t seed, size_t count)
{
    size_t length = 0;
    for (size_t i = 0; i < count; i++) {
        static const uint32_t tops[] = { 0x20, 0x7F, 0x7F, 0x17F, 0x9FF, 0xFFFF, 0x10FFFF };
        uint32_t top = tops[att_random_bits(seed, 1, i) % 7];
        uint32_t code = 1 + att_random_bits(seed, 2, i) % top;
        if (code == '\n' || (code >= 0xD800 && code < 0xE000))
            code = ' ';
        if (code < 0x80) {
            out[length++] = (char)code;
        } else if (code < 0x800) {
            out[length++] = (char)(0xC0 | code >> 6);
        } else if (code < 0x10000) {
            out[length++] = (char)(0xE0 | code >> 12);
            out[length++] = (char)(0x80 | (code >> 6 & 0x3F));
        } else {
            out[length++] = (char)(0xF0 | code >> 18);
            out[length++] = (char)(0x80 | (code >> 12 & 0x3F));
            out[length++] = (char)(0x80 | (code >> 6 & 0x3F));
        }
        if (code >= 0x80)
            out[length++] = (char)(0x80 | (code & 0x3F));
    }
    return length;
}

static void random_lines_decode_to_themselves(void **state)
{
    (void)state;
    char line[4 * 300];
    att_vocab *vocab = vocab_of(sample, false, 100, 2);
    for (uint64_t seed = 1; seed <= 500; seed++) {
        size_t length = draw_line(line, seed, seed % 300);
        assert_int_equal(att_utf8_valid_prefix(line, length), length);
        assert_returns(vocab, line, length);
    }
    att_vocab_free(vocab);
}

static void words_are_encoded_alike_at_every_position(void **state)
{
    (void)state;
    att_vocab *vocab = vocab_of(sample, false, 200, 1);
    att_ids ids = { 0 };
    assert_int_equal(att_vocab_encode(vocab, NULL, &ids, "the the", 7, NULL), ATT_OK);
    assert_int_equal(ids.count, 2);
    assert_int_equal(ids.items[0], ids.items[1]);
    assert_string_equal(att_vocab_token(vocab, ids.items[0]), "▁the");
    att_ids_free(&ids);
    att_vocab_free(vocab);
}

static void bytes_and_spaces_have_names(void **state)
{
    (void)state;
    att_vocab *vocab = vocab_of(sample, false, 0, 1);
    assert_string_equal(att_vocab_token(vocab, ATT_ID_FIRST + 0xE2), "<0xE2>");
    assert_string_equal(att_vocab_token(vocab, ATT_ID_FIRST + '\t'), "<0x09>");
    assert_string_equal(att_vocab_token(vocab, ATT_ID_FIRST + ' '), "▁");
    assert_string_equal(att_vocab_token(vocab, ATT_ID_FIRST + 'a'), "a");
    att_vocab_free(vocab);
}

static void bytes_that_a_line_cannot_hold_are_replaced(void **state)
{
    (void)state;
    att_vocab *vocab = vocab_of(sample, false, 0, 1);
    const int32_t ids[] = { ATT_ID_BOS,          ATT_ID_FIRST + 'a',  ATT_ID_FIRST + 0xC3,
                            ATT_ID_FIRST + '\n', ATT_ID_FIRST + 0xC3, ATT_ID_FIRST + 0xA9,
                            ATT_ID_FIRST,        ATT_ID_UNK,          ATT_ID_EOS };
    att_string text = { 0 };
    assert_int_equal(att_vocab_decode(vocab, &text, ids, sizeof ids / sizeof *ids), ATT_OK);
    assert_string_equal(text.data, "a\xEF\xBF\xBD\xEF\xBF\xBDé\xEF\xBF\xBD\xEF\xBF\xBD");
    att_string_free(&text);
    att_vocab_free(vocab);
}

static void text_is_lowercased_on_request(void **state)
{
    (void)state;
    att_vocab *vocab = vocab_of(sample, true, 50, 1);
    att_ids ids = { 0 };
    att_string text = { 0 };
    assert_int_equal(att_vocab_encode(vocab, NULL, &ids, "The ÉTÉ", 9, NULL), ATT_OK);
    assert_int_equal(att_vocab_decode(vocab, &text, ids.items, ids.count), ATT_OK);
    assert_string_equal(text.data, "the été");
    att_string_free(&text);
    att_ids_free(&ids);
    att_vocab_free(vocab);
}

static void a_long_word_is_encoded(void **state)
{
    (void)state;
    enum { LENGTH = 200000 };
    char *line = malloc(LENGTH);
    assert_non_null(line);
    for (size_t i = 0; i < LENGTH; i++)
        line[i] = "theca"[att_random_bits(9, 1, i) % 5];
    att_vocab *vocab = vocab_of(sample, false, 200, 1);
    assert_returns(vocab, line, LENGTH);
    att_vocab_free(vocab);
    free(line);
}

static void bpe_is_restored_from_json(void **state)
{
    (void)state;
    att_vocab *vocab = vocab_of(sample, true, 60, 1), *again;
    att_string json = { 0 }, second = { 0 };
    assert_int_equal(att_vocab_to_json(&json, vocab, NULL), ATT_OK);
    att_error err = { 0 };
    if (att_vocab_from_json(&again, json.data, "m", &err) != ATT_OK)
        fail_msg("%s", err.message);
    assert_int_equal(att_vocab_tokenizer_kind(again), ATT_TOKENIZER_BPE);
    assert_int_equal(att_vocab_size(again), att_vocab_size(vocab));
    for (int32_t id = 0; id < att_vocab_size(vocab); id++)
        assert_string_equal(att_vocab_token(again, id), att_vocab_token(vocab, id));
    assert_int_equal(att_vocab_to_json(&second, again, NULL), ATT_OK);
    assert_string_equal(json.data, second.data);
    att_string_free(&json);
    att_string_free(&second);
    att_vocab_free(vocab);
    att_vocab_free(again);
}

static void damaged_bpe_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "{\"tokens\":\"bpe\",\"lowercase\":false}",
        "{\"tokens\":\"bpe\",\"lowercase\":false,\"characters\":\"\",\"merges\":[1]}",
        "{\"tokens\":\"bpe\",\"lowercase\":false,\"characters\":\"a\",\"merges\":[]}",
        "{\"tokens\":\"bpe\",\"lowercase\":false,\"characters\":\"éé\",\"merges\":[]}",
        "{\"tokens\":\"bpe\",\"lowercase\":false,\"characters\":[],\"merges\":[]}",
        "{\"tokens\":\"bpe\",\"lowercase\":false,\"characters\":\"\",\"merges\":[97,true]}",
        "{\"tokens\":\"bpe\",\"lowercase\":false,\"characters\":\"\",\"merges\":[97,4294967393]}",
        "{\"tokens\":\"bpe\",\"lowercase\":false,\"characters\":\"\",\"merges\":[97,256]}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        att_vocab *vocab;
        att_error err = { 0 };
        size_t live = att_alloc_live();
        assert_int_equal(att_vocab_from_json(&vocab, bad[i], "m", &err), ATT_BAD_INPUT);
        assert_null(vocab);
        assert_string_equal(err.place, "m");
        assert_int_equal(att_alloc_live(), live);
    }
}

static att_status learn_and_apply(void *context)
{
    (void)context;
    static const char line[] = "the cat that sat";
    att_vocab *vocab;
    att_ids ids = { 0 };
    att_string text = { 0 };
    att_status status = att_vocab_new(&vocab, ATT_TOKENIZER_BPE, false, NULL);
    if (status == ATT_OK)
        status = att_vocab_count_line(vocab, SIZE_MAX, &ids, line, sizeof line - 1, NULL);
    if (status == ATT_OK)
        status = att_vocab_train_bpe(vocab, 5, 1, NULL);
    ids.count = 0;
    if (status == ATT_OK)
        status = att_vocab_encode(vocab, NULL, &ids, line, sizeof line - 1, NULL);
    if (status == ATT_OK)
        status = att_vocab_decode(vocab, &text, ids.items, ids.count);
    att_string_free(&text);
    att_ids_free(&ids);
    att_vocab_free(vocab);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    every_arena_allocation_fails(learn_and_apply, NULL, 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_and_encoding_follow_the_definition),
        cmocka_unit_test(the_order_of_pieces_does_not_matter),
        cmocka_unit_test(a_pair_that_occurs_once_is_not_merged),
        cmocka_unit_test(no_token_grows_beyond_the_limit),
        cmocka_unit_test(a_rare_character_is_encoded_as_bytes),
        cmocka_unit_test(invalid_merges_are_refused),
        cmocka_unit_test(tokens_that_grow_exponentially_are_refused),
        cmocka_unit_test(every_line_decodes_to_itself),
        cmocka_unit_test(random_lines_decode_to_themselves),
        cmocka_unit_test(words_are_encoded_alike_at_every_position),
        cmocka_unit_test(bytes_and_spaces_have_names),
        cmocka_unit_test(bytes_that_a_line_cannot_hold_are_replaced),
        cmocka_unit_test(text_is_lowercased_on_request),
        cmocka_unit_test(a_long_word_is_encoded),
        cmocka_unit_test(bpe_is_restored_from_json),
        cmocka_unit_test(damaged_bpe_is_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
