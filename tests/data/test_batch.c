/* Batches: contents, order and size. */
#include "data/batch.h"

#include "base/minmax.h"
#include "data/pairs_help.h"
#include "failing_memory.h"

/* Pairs of many lengths: source "aa…" of i % 13 + 1, target "bb…" of i * 7 % 11 + 1. */
static pairs many_pairs(int count)
{
    att_string text = { 0 };
    for (int i = 0; i < count; i++) {
        assert_int_equal(att_string_repeat(&text, "a", i % 13 + 1), ATT_OK);
        assert_int_equal(att_string_puts(&text, "\t"), ATT_OK);
        assert_int_equal(att_string_repeat(&text, "b", i * 7 % 11 + 1), ATT_OK);
        assert_int_equal(att_string_puts(&text, "\n"), ATT_OK);
    }
    pairs got = pairs_of(text.data ? text.data : "");
    att_string_free(&text);
    return got;
}

static att_batches *batches_of(const pairs *from, int64_t tokens, uint64_t seed)
{
    att_batches *batches;
    assert_int_equal(att_pair_batches_new(&batches, &from->corpus, tokens, seed, NULL), ATT_OK);
    return batches;
}

/* The order of all pairs in an epoch, as numbers. */
static int list_order(int64_t *out, att_batches *batches, int64_t epoch)
{
    int count = 0;
    att_batches_start_epoch(batches, epoch);
    for (int64_t i = 0; i < att_batches_count(batches); i++) {
        const att_batch *batch = att_batches_get(batches, i);
        for (int64_t r = 0; r < batch->rows; r++)
            out[count++] = batch->pair_index[r];
    }
    return count;
}

static void rows_are_padded_to_the_longest(void **state)
{
    (void)state;
    pairs from = pairs_of("ab\tx\na\txyz\n");
    att_batches *batches = batches_of(&from, 100, 1);
    att_batches_start_sequential(batches);
    assert_int_equal(att_batches_count(batches), 1);
    const att_batch *batch = att_batches_get(batches, 0);
    int32_t a = att_vocab_id(from.source, "a", 1), b = att_vocab_id(from.source, "b", 1);
    int32_t x = att_vocab_id(from.target, "x", 1), y = att_vocab_id(from.target, "y", 1),
            z = att_vocab_id(from.target, "z", 1);
    const int32_t source[] = { a, b, a, -1 };
    const int32_t in[] = { ATT_ID_BOS, x, -1, -1, ATT_ID_BOS, x, y, z };
    const int32_t out[] = { x, ATT_ID_EOS, -1, -1, x, y, z, ATT_ID_EOS };
    assert_int_equal(batch->rows, 2);
    assert_int_equal(batch->source_length, 2);
    assert_int_equal(batch->target_length, 4);
    assert_memory_equal(batch->source, source, sizeof source);
    assert_memory_equal(batch->target_in, in, sizeof in);
    assert_memory_equal(batch->target_out, out, sizeof out);
    assert_int_equal(batch->source_lengths[0], 2);
    assert_int_equal(batch->source_lengths[1], 1);
    assert_int_equal(batch->target_lengths[0], 2);
    assert_int_equal(batch->target_lengths[1], 4);
    assert_int_equal(batch->source_tokens, 3);
    assert_int_equal(batch->target_tokens, 6);
    assert_int_equal(batch->pair_index[0], 0);
    assert_int_equal(batch->pair_index[1], 1);
    assert_null(batch->alignment);
    att_batches_free(batches);
    free_pairs(&from);
}

static void alignments_come_with_the_rows(void **state)
{
    (void)state;
    put("f", "ab\tx\na\txyz\n");
    put("align", "1-0\n0-2\n");
    pairs from = read_pairs(&(att_pair_files){ .tsv = "f", .alignment = "align" },
                            ATT_TOKENIZER_CHAR, (att_pair_read_options){ 0 });
    att_batches *batches = batches_of(&from, 100, 1);
    const att_batch *batch = att_batches_get(batches, 0);
    const int32_t align[] = { 1, -1, -1, -1, -1, -1, 0, -1 };
    assert_non_null(batch->alignment);
    assert_memory_equal(batch->alignment, align, sizeof align);
    att_batches_free(batches);
    free_pairs(&from);
}

static void every_epoch_has_every_pair_once(void **state)
{
    (void)state;
    enum { COUNT = 997 };
    pairs from = many_pairs(COUNT);
    att_batches *batches = batches_of(&from, 64, 5);
    int64_t order[COUNT];
    for (int64_t epoch = 0; epoch < 4; epoch++) {
        bool seen[COUNT] = { false };
        assert_int_equal(list_order(order, batches, epoch), COUNT);
        for (int i = 0; i < COUNT; i++) {
            assert_false(seen[order[i]]);
            seen[order[i]] = true;
        }
    }
    att_batches_free(batches);
    free_pairs(&from);
}

static void the_order_depends_only_on_seed_and_epoch(void **state)
{
    (void)state;
    enum { COUNT = 500 };
    pairs from = many_pairs(COUNT);
    att_batches *one = batches_of(&from, 64, 5), *same = batches_of(&from, 64, 5),
                *other = batches_of(&from, 64, 6);
    int64_t first[COUNT], again[COUNT];
    list_order(again, same, 0); /* independent of earlier epochs */
    list_order(first, one, 3);
    list_order(again, same, 3);
    assert_memory_equal(first, again, sizeof first);
    list_order(again, one, 4);
    assert_memory_not_equal(first, again, sizeof first);
    list_order(again, other, 3);
    assert_memory_not_equal(first, again, sizeof first);
    att_batches_free(one);
    att_batches_free(same);
    att_batches_free(other);
    free_pairs(&from);
}

static void no_batch_is_larger_than_asked_for(void **state)
{
    (void)state;
    enum { TOKENS = 60 };
    pairs from = many_pairs(800);
    att_batches *batches = batches_of(&from, TOKENS, 1);
    att_batch_limits most = att_batches_limits(batches);
    for (int64_t epoch = 0; epoch < 3; epoch++) {
        att_batches_start_epoch(batches, epoch);
        for (int64_t i = 0; i < att_batches_count(batches); i++) {
            const att_batch *batch = att_batches_get(batches, i);
            assert_true(batch->rows * att_max_i64(batch->source_length, batch->target_length) <=
                        TOKENS);
            assert_true(batch->rows <= most.rows);
            assert_true(batch->source_length <= most.source_length);
            assert_true(batch->target_length <= most.target_length);
            assert_true(batch->rows * batch->source_length <= most.source_padded_tokens);
            assert_true(batch->rows * batch->target_length <= most.target_padded_tokens);
        }
    }
    assert_int_equal(most.source_length, 13);
    assert_int_equal(most.target_length, 12);
    att_batches_free(batches);
    free_pairs(&from);
}

/* The longer sides, which are independent of the shorter ones here, have little padding. */
static void rows_of_a_batch_have_similar_lengths(void **state)
{
    (void)state;
    pairs from = many_pairs(2000);
    att_batches *batches = batches_of(&from, 120, 1);
    att_batches_start_epoch(batches, 0);
    int64_t tokens = 0, cells = 0;
    for (int64_t i = 0; i < att_batches_count(batches); i++) {
        const att_batch *batch = att_batches_get(batches, i);
        for (int64_t r = 0; r < batch->rows; r++)
            tokens += att_max_i64(batch->source_lengths[r], batch->target_lengths[r]);
        cells += batch->rows * att_max_i64(batch->source_length, batch->target_length);
    }
    assert_true((double)tokens > 0.95 * (double)cells);
    att_batches_free(batches);
    free_pairs(&from);
}

static void a_pair_longer_than_a_batch_is_a_batch_of_its_own(void **state)
{
    (void)state;
    pairs from = pairs_of("aaaaaaaa\tb\na\tb\na\tb\n");
    att_batches *batches = batches_of(&from, 4, 1);
    att_batches_start_sequential(batches);
    assert_int_equal(att_batches_count(batches), 2);
    assert_int_equal(att_batches_get(batches, 0)->rows, 2);
    const att_batch *last = att_batches_get(batches, 1);
    assert_int_equal(last->rows, 1);
    assert_int_equal(last->source_length, 8);
    assert_int_equal(att_batches_limits(batches).source_padded_tokens, 8);
    assert_int_equal(att_batches_limits(batches).target_padded_tokens, 4);
    att_batches_free(batches);
    free_pairs(&from);
}

static void sequential_batches_are_sorted_by_length(void **state)
{
    (void)state;
    pairs from = many_pairs(300);
    att_batches *batches = batches_of(&from, 64, 1);
    att_batches_start_epoch(batches, 2);
    att_batches_start_sequential(batches);
    int64_t before = 0;
    for (int64_t i = 0; i < att_batches_count(batches); i++) {
        const att_batch *batch = att_batches_get(batches, i);
        for (int64_t r = 0; r < batch->rows; r++) {
            int64_t longer = att_max_i64(batch->source_lengths[r], batch->target_lengths[r]);
            assert_true(longer >= before);
            before = longer;
        }
    }
    att_batches_free(batches);
    free_pairs(&from);
}

static void without_pairs_there_are_no_batches(void **state)
{
    (void)state;
    pairs from = many_pairs(0);
    att_batches *batches = batches_of(&from, 64, 1);
    att_batches_start_epoch(batches, 0);
    assert_int_equal(att_batches_count(batches), 0);
    assert_int_equal(att_batches_limits(batches).rows, 0);
    att_batches_free(batches);
    free_pairs(&from);
}

static void epochs_and_batches_allocate_nothing(void **state)
{
    (void)state;
    pairs from = many_pairs(300);
    att_batches *batches = batches_of(&from, 64, 1);
    att_alloc_fail_at(1);
    for (int64_t epoch = 0; epoch < 2; epoch++) {
        att_batches_start_epoch(batches, epoch);
        for (int64_t i = 0; i < att_batches_count(batches); i++)
            att_batches_get(batches, i);
    }
    size_t calls = att_alloc_calls();
    att_alloc_fail_at(0);
    assert_int_equal(calls, 0);
    att_batches_free(batches);
    free_pairs(&from);
}

static att_status make_batches(void *corpus)
{
    att_batches *batches;
    att_status status = att_pair_batches_new(&batches, corpus, 64, 1, NULL);
    att_batches_free(batches);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    pairs from = many_pairs(30);
    every_allocation_fails(make_batches, &from.corpus, 30);
    free_pairs(&from);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(rows_are_padded_to_the_longest),
        IN_FOLDER(alignments_come_with_the_rows),
        IN_FOLDER(every_epoch_has_every_pair_once),
        IN_FOLDER(the_order_depends_only_on_seed_and_epoch),
        IN_FOLDER(no_batch_is_larger_than_asked_for),
        IN_FOLDER(rows_of_a_batch_have_similar_lengths),
        IN_FOLDER(a_pair_longer_than_a_batch_is_a_batch_of_its_own),
        IN_FOLDER(sequential_batches_are_sorted_by_length),
        IN_FOLDER(without_pairs_there_are_no_batches),
        IN_FOLDER(epochs_and_batches_allocate_nothing),
        IN_FOLDER(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
