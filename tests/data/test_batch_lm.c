/* Batches for language models: every token but the first is predicted once per epoch, and streams
 * continue where they ended. */
#include "data/batch_lm.h"

#include "base/alloc.h"
#include "failing_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 400 };

/* A text whose token i has the id i + ATT_ID_FIRST. */
typedef struct numbered {
    int32_t ids[MOST];
    int64_t at[2];
    att_corpus corpus;
} numbered;

static void numbered_make(numbered *text, int64_t count)
{
    *text = (numbered){ .at = { 0, count } };
    for (int32_t i = 0; i < count; i++)
        text->ids[i] = i + ATT_ID_FIRST;
    text->corpus = (att_corpus){ .pairs = 1, .target = { text->ids, text->at } };
}

static att_batches *chunks_of(const numbered *text, int64_t tokens, int64_t chunk, bool carried)
{
    att_batches *batches;
    const att_lm_batches_options how = {
        .batch_tokens = tokens, .sequence_length = chunk, .carry_state = carried, .seed = 7
    };
    assert_int_equal(att_lm_batches_new(&batches, &text->corpus, &how, NULL), ATT_OK);
    return batches;
}

/* Counts how often each position is a target, and checks that its input is the token before. */
static void count_targets(int *times, const att_batch *batch)
{
    int64_t used = 0;
    for (int64_t r = 0; r < batch->rows; r++)
        for (int64_t t = 0; t < batch->target_length; t++) {
            int32_t in = batch->target_in[r * batch->target_length + t];
            int32_t out = batch->target_out[r * batch->target_length + t];
            assert_int_equal(in == ATT_ID_PAD, t >= batch->target_lengths[r]);
            assert_int_equal(out == ATT_ID_PAD, in == ATT_ID_PAD);
            if (in == ATT_ID_PAD)
                continue;
            assert_int_equal(out, in + 1);
            times[out - ATT_ID_FIRST]++;
            used++;
        }
    assert_int_equal(used, batch->target_tokens);
}

static void assert_each_once(att_batches *batches, int64_t count)
{
    int times[MOST] = { 0 };
    att_batch_limits most = att_batches_limits(batches);
    for (int64_t i = 0; i < att_batches_count(batches); i++) {
        const att_batch *batch = att_batches_get(batches, i);
        assert_true(batch->rows > 0 && batch->rows <= most.rows);
        assert_true(batch->target_length <= most.target_length);
        assert_true(batch->rows * batch->target_length <= most.target_padded_tokens);
        count_targets(times, batch);
    }
    assert_int_equal(times[0], 0);
    for (int64_t i = 1; i < count; i++)
        assert_int_equal(times[i], 1);
}

static void every_token_but_the_first_is_a_target_once_per_epoch(void **state)
{
    (void)state;
    static const int64_t counts[] = { 2, 3, 16, 17, 18, 33, 100, 257, MOST };
    static const int64_t sizes[] = { 1, 4, 16, 64, 1000 };
    for (size_t n = 0; n < sizeof counts / sizeof *counts; n++)
        for (size_t c = 0; c < sizeof sizes / sizeof *sizes; c++)
            for (int carried = 0; carried < 2; carried++) {
                numbered text;
                numbered_make(&text, counts[n]);
                att_batches *batches = chunks_of(&text, 64, sizes[c], carried);
                assert_each_once(batches, counts[n]);
                for (int64_t epoch = 0; epoch < 4; epoch++) {
                    att_batches_start_epoch(batches, epoch);
                    assert_each_once(batches, counts[n]);
                }
                att_batches_free(batches);
            }
}

/* Each token but the first counts once, in a row with as many tokens before it as there are. */
static void check_overlap(int64_t count, int64_t chunk, int64_t stride)
{
    numbered text;
    numbered_make(&text, count);
    att_batches *batches;
    const att_lm_batches_options options = { .batch_tokens = 64,
                                             .sequence_length = chunk,
                                             .stride = stride };
    assert_int_equal(att_lm_batches_new(&batches, &text.corpus, &options, NULL), ATT_OK);
    int64_t next = 0, length = chunk < count - 1 ? chunk : count - 1;
    for (int64_t i = 0; i < att_batches_count(batches); i++) {
        const att_batch *batch = att_batches_get(batches, i);
        int times[MOST] = { 0 };
        count_targets(times, batch);
        for (int64_t r = 0; r < batch->rows; r++) {
            int64_t context = batch->context_tokens[r];
            assert_int_equal(batch->target_lengths[r], length);
            assert_int_equal(batch->pair_index[r], next);
            assert_int_equal(batch->target_in[r * batch->target_length + context],
                             ATT_ID_FIRST + next);
            assert_true(next == 0 ? context == 0 : context >= length - stride && context < length);
            next += length - context;
        }
    }
    assert_int_equal(next, count - 1);
    att_batches_free(batches);
}

static void overlapping_chunks_predict_every_token_once(void **state)
{
    (void)state;
    static const int64_t counts[] = { 2, 3, 16, 17, 18, 33, 100, 257, MOST };
    for (size_t n = 0; n < sizeof counts / sizeof *counts; n++)
        for (int64_t chunk = 1; chunk <= 17; chunk += 4)
            for (int64_t stride = 1; stride <= chunk; stride++)
                check_overlap(counts[n], chunk, stride);
}

static void streams_continue_where_they_ended(void **state)
{
    (void)state;
    numbered text;
    numbered_make(&text, MOST);
    att_batches *batches = chunks_of(&text, 12, 4, true);
    att_batches_start_epoch(batches, 3);
    int32_t last[8] = { 0 };
    int64_t rows = att_batches_limits(batches).rows;
    assert_true(rows == 3 && att_batches_count(batches) > 16);
    for (int64_t i = 0; i < att_batches_count(batches); i++) {
        const att_batch *batch = att_batches_get(batches, i);
        assert_int_equal(batch->continues_previous, i > 0);
        for (int64_t r = 0; r < batch->rows; r++) {
            const int32_t *in = batch->target_in + r * batch->target_length;
            if (i > 0)
                assert_int_equal(in[0], last[r]); /* the last target is the next input */
            last[r] = batch->target_out[r * batch->target_length + batch->target_lengths[r] - 1];
        }
    }
    att_batches_free(batches);
}

/* All first tokens of the rows of an epoch. */
static uint64_t hash_order(att_batches *batches, int64_t epoch)
{
    uint64_t hash = 1;
    att_batches_start_epoch(batches, epoch);
    for (int64_t i = 0; i < att_batches_count(batches); i++) {
        const att_batch *batch = att_batches_get(batches, i);
        assert_false(batch->continues_previous);
        for (int64_t r = 0; r < batch->rows; r++)
            hash = hash * 1000003 + (uint64_t)batch->target_in[r * batch->target_length];
    }
    return hash;
}

static void chunks_are_cut_and_ordered_by_seed_and_epoch(void **state)
{
    (void)state;
    numbered text;
    numbered_make(&text, MOST);
    att_batches *one = chunks_of(&text, 64, 16, false), *same = chunks_of(&text, 64, 16, false);
    uint64_t first = hash_order(one, 0), second = hash_order(one, 1);
    assert_true(first != second);
    assert_true(hash_order(same, 1) == second && hash_order(same, 0) == first);
    att_batches_start_sequential(one);
    const att_batch *batch = att_batches_get(one, 0);
    for (int64_t r = 0; r < batch->rows; r++)
        assert_int_equal(batch->target_in[r * batch->target_length], 16 * r + ATT_ID_FIRST);
    att_batches_free(one);
    att_batches_free(same);
}

static void a_short_text_has_few_streams(void **state)
{
    (void)state;
    numbered text;
    numbered_make(&text, 50);
    att_batches *batches = chunks_of(&text, 1000, 8, true);
    assert_int_equal(att_batches_limits(batches).rows, 1);
    att_batches_free(batches);
    batches = chunks_of(&text, 1000, 4096, false); /* shorter than a chunk */
    assert_int_equal(att_batches_count(batches), 1);
    assert_int_equal(att_batches_get(batches, 0)->target_length, 49);
    att_batches_free(batches);
}

/* Groups of streams: every group has a batch in every round, with rows that continue its own. */
static void groups_of_streams_continue_their_own_batches(void **state)
{
    (void)state;
    numbered text;
    att_batches *batches;
    for (int64_t count = 12; count < 100; count += 7)
        for (int64_t groups = 2; groups <= 5; groups++)
            for (int64_t chunk = 1; chunk <= 8; chunk++) {
                int64_t next[5][64] = { 0 };
                const att_lm_batches_options how = { 16, chunk, true, 7, .groups = groups };
                numbered_make(&text, count);
                assert_int_equal(att_lm_batches_new(&batches, &text.corpus, &how, NULL), ATT_OK);
                att_batches_start_epoch(batches, 1);
                assert_each_once(batches, count);
                assert_int_equal(att_batches_count(batches) % groups, 0);
                for (int64_t i = 0; i < att_batches_count(batches); i++) {
                    const att_batch *batch = att_batches_get(batches, i);
                    assert_true(batch->rows > 0 && batch->rows <= att_batches_limits(batches).rows);
                    assert_int_equal(batch->continues_previous, i >= groups);
                    for (int64_t r = 0; r < batch->rows; r++) {
                        if (i >= groups)
                            assert_int_equal(batch->pair_index[r], next[i % groups][r]);
                        next[i % groups][r] = batch->pair_index[r] + batch->target_lengths[r];
                    }
                }
                att_batches_free(batches);
            }
}

static void more_groups_than_tokens_are_refused(void **state)
{
    (void)state;
    numbered text;
    att_batches *batches;
    att_error err = { 0 };
    const att_lm_batches_options how = { 16, 8, true, 7, .groups = 5 };
    numbered_make(&text, 5);
    assert_int_equal(att_lm_batches_new(&batches, &text.corpus, &how, &err), ATT_BAD_INPUT);
    assert_null(batches);
    assert_non_null(strstr(err.message, "accumulate 5"));
}

static att_status make_chunks(void *context)
{
    const att_corpus *text = context;
    att_batches *batches;
    att_status status = att_lm_batches_new(
        &batches, text,
        &(att_lm_batches_options){
            .batch_tokens = 64, .sequence_length = 8, .carry_state = true, .seed = 1 },
        NULL);
    assert_true(status == ATT_OK || !batches);
    att_batches_free(batches);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    numbered text;
    numbered_make(&text, 50);
    every_allocation_fails(make_chunks, &text.corpus, 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_token_but_the_first_is_a_target_once_per_epoch),
        cmocka_unit_test(overlapping_chunks_predict_every_token_once),
        cmocka_unit_test(streams_continue_where_they_ended),
        cmocka_unit_test(chunks_are_cut_and_ordered_by_seed_and_epoch),
        cmocka_unit_test(a_short_text_has_few_streams),
        cmocka_unit_test(groups_of_streams_continue_their_own_batches),
        cmocka_unit_test(more_groups_than_tokens_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
