/* Counting with bounded memory: exact where nothing is dropped, and within its bound elsewhere. */
#include "text/vocab.h"

#include "base/alloc.h"
#include "base/string.h"
#include "failing_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { TYPES = 400, LINES = 2000 };

/* Word i of a line: the first are frequent, the last rare. */
static int word_at(int line, int place)
{
    uint32_t mixed = (uint32_t)(line * 7 + place) * UINT32_C(2654435761);
    uint32_t a = (mixed >> 7) % TYPES, b = (mixed >> 17) % TYPES;
    return (int)(a * b / TYPES);
}

static att_vocab *count_words(att_tokenizer_kind kind, size_t limit, att_vocab_pruned *pruned,
                              int64_t true_counts[TYPES])
{
    att_vocab *vocab;
    assert_int_equal(att_vocab_new(&vocab, kind, false, NULL), ATT_OK);
    memset(true_counts, 0, TYPES * sizeof *true_counts);
    for (int line = 0; line < LINES; line++) {
        char text[128] = "";
        size_t length = 0;
        for (int place = 0; place < 5; place++) {
            int word = word_at(line, place);
            true_counts[word]++;
            length += (size_t)snprintf(text + length, sizeof text - length, "%sw%d",
                                       place ? " " : "", word);
        }
        att_ids ids = { 0 };
        assert_int_equal(att_vocab_count_line(vocab, SIZE_MAX, &ids, text, length, NULL), ATT_OK);
        att_ids_free(&ids);
        assert_int_equal(att_vocab_prune(vocab, limit, pruned, NULL), ATT_OK);
    }
    return vocab;
}

static void finalize(att_vocab *vocab)
{
    int32_t *final;
    assert_int_equal(att_vocab_finalize(vocab, 1, &final, NULL), ATT_OK);
    att_free(final);
}

static void nothing_is_dropped_below_the_limit(void **state)
{
    (void)state;
    int64_t counts[TYPES];
    att_vocab_pruned pruned = { 0 }, none = { 0 };
    att_vocab *bounded = count_words(ATT_TOKENIZER_SPACE, TYPES, &pruned, counts);
    att_vocab *exact = count_words(ATT_TOKENIZER_SPACE, SIZE_MAX, &none, counts);
    finalize(bounded);
    finalize(exact);
    assert_int_equal(pruned.tokens, 0);
    assert_int_equal(pruned.undercount, 0);
    assert_true(att_vocab_equal(bounded, exact));
    for (int32_t id = ATT_ID_FIRST; id < att_vocab_size(exact); id++)
        assert_int_equal(att_vocab_token_count(bounded, id), att_vocab_token_count(exact, id));
    att_vocab_free(bounded);
    att_vocab_free(exact);
}

/* The merges of BPE are those of exact counts where nothing was dropped. */
static void bpe_is_exact_below_the_limit(void **state)
{
    (void)state;
    int64_t counts[TYPES];
    att_vocab_pruned pruned = { 0 };
    att_vocab *bounded = count_words(ATT_TOKENIZER_BPE, 2 * TYPES, &pruned, counts);
    att_vocab *exact = count_words(ATT_TOKENIZER_BPE, SIZE_MAX, &pruned, counts);
    assert_int_equal(att_vocab_train_bpe(bounded, 60, 1, NULL), ATT_OK);
    assert_int_equal(att_vocab_train_bpe(exact, 60, 1, NULL), ATT_OK);
    assert_int_equal(pruned.tokens, 0);
    assert_true(att_vocab_equal(bounded, exact));
    att_vocab_free(bounded);
    att_vocab_free(exact);
}

static void counts_are_within_the_bound(void **state)
{
    (void)state;
    static const size_t limits[] = { 20, 50, 100, 200 };
    for (size_t k = 0; k < 4; k++) {
        int64_t counts[TYPES];
        att_vocab_pruned pruned = { 0 };
        att_vocab *vocab = count_words(ATT_TOKENIZER_SPACE, limits[k], &pruned, counts);
        assert_true((size_t)(att_vocab_size(vocab) - ATT_ID_FIRST) <= limits[k]);
        assert_true(pruned.tokens > 0 && pruned.undercount > 0);
        finalize(vocab);
        for (int word = 0; word < TYPES; word++) {
            char text[16];
            int length = snprintf(text, sizeof text, "w%d", word);
            int32_t id = att_vocab_id(vocab, text, (size_t)length);
            int64_t counted = id == ATT_ID_UNK ? 0 : att_vocab_token_count(vocab, id);
            assert_true(counted <= counts[word]);
            assert_true(counts[word] - counted <= pruned.undercount);
        }
        att_vocab_free(vocab);
    }
}

/* Words that all occur once: half of the room is still used. */
static void equal_counts_are_not_all_dropped(void **state)
{
    (void)state;
    att_vocab *vocab;
    att_vocab_pruned pruned = { 0 };
    assert_int_equal(att_vocab_new(&vocab, ATT_TOKENIZER_SPACE, false, NULL), ATT_OK);
    for (int i = 0; i < 100; i++) {
        char text[16];
        att_ids ids = { 0 };
        int length = snprintf(text, sizeof text, "w%d", i);
        assert_int_equal(att_vocab_count_line(vocab, SIZE_MAX, &ids, text, (size_t)length, NULL),
                         ATT_OK);
        att_ids_free(&ids);
        assert_int_equal(att_vocab_prune(vocab, 40, &pruned, NULL), ATT_OK);
        assert_true(i < 20 || att_vocab_size(vocab) - ATT_ID_FIRST >= 20);
    }
    assert_int_equal(pruned.tokens + att_vocab_size(vocab) - ATT_ID_FIRST, 100);
    att_vocab_free(vocab);
}

static att_status prune_once(void *context)
{
    (void)context;
    att_vocab *vocab = NULL;
    att_vocab_pruned pruned = { 0 };
    att_ids ids = { 0 };
    att_status status = att_vocab_new(&vocab, ATT_TOKENIZER_SPACE, false, NULL);
    if (status == ATT_OK)
        status = att_vocab_count_line(vocab, SIZE_MAX, &ids, "a a b c d", 9, NULL);
    if (status == ATT_OK)
        status = att_vocab_prune(vocab, 2, &pruned, NULL);
    att_ids_free(&ids);
    att_vocab_free(vocab);
    return status;
}

static void pruning_survives_failing_memory(void **state)
{
    (void)state;
    every_arena_allocation_fails(prune_once, NULL, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_dropped_below_the_limit),
        cmocka_unit_test(bpe_is_exact_below_the_limit),
        cmocka_unit_test(counts_are_within_the_bound),
        cmocka_unit_test(equal_counts_are_not_all_dropped),
        cmocka_unit_test(pruning_survives_failing_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
