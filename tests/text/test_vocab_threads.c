/* One vocabulary encodes from many threads at once, each with its own working memory. */
#include "text/encoding.h"

#include "base/alloc.h"
#include "base/string.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { THREADS = 8, LINES = 300, ROUNDS = 4 };

static char lines[LINES][64];

static void make_lines(void)
{
    static const char *const words[] = { "low",         "lowest",     "newer",
                                         "wid\xC3\xA9", "e\xCC\x81t", "\xE6\x97\xA5\xE6\x9C\xAC",
                                         "the",         "1234" };
    for (int i = 0; i < LINES; i++)
        snprintf(lines[i], sizeof lines[i], "%s %s%d %s", words[i % 8], words[i / 8 % 8], i % 37,
                 words[i * 5 % 8]);
}

typedef struct job {
    const att_vocab *vocab;
    const att_ids *expected; /* [LINES] */
    int first;               /* every thread starts at another line */
    int differences;
} job;

/* Even threads keep their state over all lines; odd ones make it anew for every line. */
static void *encode_all(void *context)
{
    job *j = context;
    att_tokenizer_state kept = { 0 };
    for (int n = 0; n < ROUNDS * LINES; n++) {
        int i = (j->first + n) % LINES;
        att_encoding got;
        att_status status = att_encoding_new(&got, j->vocab, j->first % 2 ? NULL : &kept, lines[i],
                                             strlen(lines[i]), NULL);
        bool same =
            status == ATT_OK && got.ids.count == j->expected[i].count &&
            memcmp(got.ids.items, j->expected[i].items, got.ids.count * sizeof *got.ids.items) == 0;
        j->differences += !same;
        att_encoding_free(&got);
    }
    att_tokenizer_state_free(&kept);
    return NULL;
}

/* Takes the vocabulary. */
static void assert_shared(att_vocab *vocab)
{
    att_ids expected[LINES] = { 0 };
    pthread_t threads[THREADS];
    job jobs[THREADS];
    for (int i = 0; i < LINES; i++)
        assert_int_equal(
            att_vocab_encode(vocab, NULL, &expected[i], lines[i], strlen(lines[i]), NULL), ATT_OK);
    for (int t = 0; t < THREADS; t++) {
        jobs[t] = (job){ .vocab = vocab, .expected = expected, .first = t * 31 };
        assert_int_equal(pthread_create(&threads[t], NULL, encode_all, &jobs[t]), 0);
    }
    for (int t = 0; t < THREADS; t++) {
        assert_int_equal(pthread_join(threads[t], NULL), 0);
        assert_int_equal(jobs[t].differences, 0);
    }
    for (int i = 0; i < LINES; i++)
        att_ids_free(&expected[i]);
    att_vocab_free(vocab);
}

static att_vocab *learned(att_tokenizer_kind kind)
{
    att_vocab *vocab;
    att_ids ids = { 0 };
    int32_t *final = NULL;
    assert_int_equal(att_vocab_new(&vocab, kind, false, NULL), ATT_OK);
    for (int i = 0; i < LINES; i++)
        assert_int_equal(
            att_vocab_count_line(vocab, SIZE_MAX, &ids, lines[i], strlen(lines[i]), NULL), ATT_OK);
    assert_int_equal(kind == ATT_TOKENIZER_BPE ? att_vocab_train_bpe(vocab, 40, 1, NULL)
                                               : att_vocab_finalize(vocab, 2, &final, NULL),
                     ATT_OK);
    att_free(final);
    att_ids_free(&ids);
    return vocab;
}

static void threads_share_a_vocabulary_of_bpe(void **state)
{
    (void)state;
    assert_shared(learned(ATT_TOKENIZER_BPE));
}

static void threads_share_a_vocabulary_of_words(void **state)
{
    (void)state;
    assert_shared(learned(ATT_TOKENIZER_WORD));
}

static void threads_share_a_vocabulary_of_pieces(void **state)
{
    (void)state;
    static const char *const texts[] = { " l", "lo", " lo", "low", "we", "st", "l", "o",
                                         "w",  "e",  "s",   "t",   " ",  "n",  "ne" };
    att_sentencepiece *list;
    att_vocab *vocab;
    assert_int_equal(att_sentencepiece_new(&list, texts, sizeof texts / sizeof *texts, NULL, NULL),
                     ATT_OK);
    assert_int_equal(att_vocab_from_sentencepiece(&vocab, list, NULL), ATT_OK);
    assert_shared(vocab);
}

/* A cache that holds words of one vocabulary must not answer for another. */
static void a_state_serves_one_vocabulary_after_another(void **state)
{
    (void)state;
    att_vocab *one = learned(ATT_TOKENIZER_BPE), *other = learned(ATT_TOKENIZER_BPE);
    att_vocab *bytes;
    assert_int_equal(att_vocab_new(&bytes, ATT_TOKENIZER_BPE, false, NULL), ATT_OK);
    assert_int_equal(att_vocab_train_bpe(bytes, 0, 1, NULL), ATT_OK);
    const att_vocab *const all[] = { one, bytes, other };
    att_tokenizer_state kept = { 0 };
    for (int i = 0; i < LINES; i++) {
        att_ids shared = { 0 }, alone = { 0 };
        size_t length = strlen(lines[i]);
        assert_int_equal(att_vocab_encode(all[i % 3], &kept, &shared, lines[i], length, NULL),
                         ATT_OK);
        assert_int_equal(att_vocab_encode(all[i % 3], NULL, &alone, lines[i], length, NULL),
                         ATT_OK);
        assert_int_equal(shared.count, alone.count);
        assert_memory_equal(shared.items, alone.items, alone.count * sizeof *alone.items);
        att_ids_free(&shared);
        att_ids_free(&alone);
    }
    att_tokenizer_state_free(&kept);
    att_vocab_free(one);
    att_vocab_free(other);
    att_vocab_free(bytes);
}

int main(void)
{
    make_lines();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_share_a_vocabulary_of_bpe),
        cmocka_unit_test(threads_share_a_vocabulary_of_words),
        cmocka_unit_test(threads_share_a_vocabulary_of_pieces),
        cmocka_unit_test(a_state_serves_one_vocabulary_after_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
