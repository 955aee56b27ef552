/* Error rates and accuracies, against counts by hand. */
#include "metrics/token_metrics.h"

#include "base/alloc.h"
#include "base/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A finished vocabulary of the tokens of a line. */
static att_vocab *vocab_of(att_tokenizer_kind tokens, const char *line)
{
    att_vocab *vocab;
    att_ids ids = { 0 };
    int32_t *final;
    assert_int_equal(att_vocab_new(&vocab, tokens, false, NULL), ATT_OK);
    assert_int_equal(att_vocab_count_line(vocab, SIZE_MAX, &ids, line, strlen(line), NULL), ATT_OK);
    assert_int_equal(att_vocab_finalize(vocab, 1, &final, NULL), ATT_OK);
    att_free(final);
    att_ids_free(&ids);
    return vocab;
}

static void add(att_token_metrics *metrics, const att_vocab *vocab, const char *hypothesis,
                const char *reference)
{
    att_ids a = { 0 }, r = { 0 };
    assert_int_equal(att_vocab_encode(vocab, NULL, &a, hypothesis, strlen(hypothesis), NULL),
                     ATT_OK);
    assert_int_equal(att_vocab_encode(vocab, NULL, &r, reference, strlen(reference), NULL), ATT_OK);
    assert_int_equal(att_token_metrics_add(metrics, vocab, a.items, a.count, r.items, r.count),
                     ATT_OK);
    att_ids_free(&a);
    att_ids_free(&r);
}

static int64_t distance(const char *a, const char *b)
{
    att_vocab *vocab = vocab_of(ATT_TOKENIZER_CHAR, "abcdefghijklmnopqrstuvwxyz");
    att_ids left = { 0 }, right = { 0 };
    assert_int_equal(att_vocab_encode(vocab, NULL, &left, a, strlen(a), NULL), ATT_OK);
    assert_int_equal(att_vocab_encode(vocab, NULL, &right, b, strlen(b), NULL), ATT_OK);
    int64_t edits = att_edit_distance(left.items, left.count, right.items, right.count);
    att_ids_free(&left);
    att_ids_free(&right);
    att_vocab_free(vocab);
    return edits;
}

/* ---- edit distance */

static void known_distances_are_computed(void **state)
{
    (void)state;
    assert_int_equal(distance("kitten", "sitting"), 3);
    assert_int_equal(distance("flaw", "lawn"), 2);
    assert_int_equal(distance("", "abc"), 3);
    assert_int_equal(distance("abc", ""), 3);
    assert_int_equal(distance("", ""), 0);
    assert_int_equal(distance("same", "same"), 0);
    assert_int_equal(distance("ab", "ba"), 2);
    assert_int_equal(distance("intention", "execution"), 5);
}

/* The recursive definition: try all three first edits. */
static int64_t by_definition(const int32_t *a, size_t n, const int32_t *b, size_t m)
{
    if (n == 0 || m == 0)
        return (int64_t)(n + m);
    int64_t best = by_definition(a + 1, n - 1, b + 1, m - 1) + (a[0] != b[0]);
    int64_t deleted = by_definition(a + 1, n - 1, b, m) + 1;
    int64_t inserted = by_definition(a, n, b + 1, m - 1) + 1;
    best = deleted < best ? deleted : best;
    return inserted < best ? inserted : best;
}

static void the_distance_is_the_minimum_number_of_edits(void **state)
{
    (void)state;
    for (uint64_t round = 0; round < 300; round++) {
        int32_t words[2][6];
        size_t sizes[2];
        for (uint64_t w = 0; w < 2; w++) {
            sizes[w] = att_random_bits(round, w, 0) % 7;
            for (uint64_t i = 0; i < sizes[w]; i++)
                words[w][i] = (int32_t)(att_random_bits(round, w, i + 1) % 3) + ATT_ID_FIRST;
        }
        int64_t got = att_edit_distance(words[0], sizes[0], words[1], sizes[1]);
        int64_t expected = by_definition(words[0], sizes[0], words[1], sizes[1]);
        if (got != expected)
            fail_msg("round %d: %d, expected %d", (int)round, (int)got, (int)expected);
    }
}

/* ---- rates */

static void lines_and_tokens_are_counted(void **state)
{
    (void)state;
    att_vocab *vocab = vocab_of(ATT_TOKENIZER_SPACE, "AH B EY T S");
    att_token_metrics metrics = { 0 };
    add(&metrics, vocab, "AH B EY T S", "AH B EY T S");
    add(&metrics, vocab, "AH B T", "AH B EY T");
    add(&metrics, vocab, "S", "T");
    add(&metrics, vocab, "", "AH B");
    assert_int_equal(metrics.lines, 4);
    assert_int_equal(metrics.exact_matches, 1);
    assert_int_equal(metrics.tokens, 12);
    assert_int_equal(metrics.edits, 4);
    assert_true(att_token_metrics_exact_match(&metrics) == 0.25);
    assert_true(att_token_metrics_token_error_rate(&metrics) == 4.0 / 12);
    assert_true(att_token_metrics_word_error_rate(&metrics) == 4.0 / 12); /* tokens are words */
    att_vocab_free(vocab);
}

static void words_of_character_tokens_are_separated_by_spaces(void **state)
{
    (void)state;
    att_vocab *vocab = vocab_of(ATT_TOKENIZER_CHAR, "the cat sat on mat");
    att_token_metrics metrics = { 0 };
    add(&metrics, vocab, "the cat sat", "the cat sat");
    add(&metrics, vocab, "the hat on", "the cat  sat on");
    assert_int_equal(metrics.words, 7);
    assert_int_equal(metrics.word_edits, 2); /* hat for cat, sat missing */
    att_vocab_free(vocab);
}

static void without_a_space_a_line_is_one_word(void **state)
{
    (void)state;
    att_vocab *vocab = vocab_of(ATT_TOKENIZER_CHAR, "abc");
    att_token_metrics metrics = { 0 };
    add(&metrics, vocab, "abc", "abc");
    add(&metrics, vocab, "abb", "abc");
    assert_int_equal(metrics.words, 2);
    assert_int_equal(metrics.word_edits, 1);
    att_vocab_free(vocab);
}

static void an_unknown_token_is_never_right(void **state)
{
    (void)state;
    att_vocab *vocab = vocab_of(ATT_TOKENIZER_CHAR, "ab c");
    att_token_metrics metrics = { 0 };
    add(&metrics, vocab, "ax", "ay");
    add(&metrics, vocab, "a x", "a x");
    assert_int_equal(metrics.exact_matches, 0);
    assert_int_equal(metrics.edits, 2);
    assert_int_equal(metrics.words, 3);
    assert_int_equal(metrics.word_edits, 2);
    att_vocab_free(vocab);
}

static void error_rates_may_exceed_one(void **state)
{
    (void)state;
    att_vocab *vocab = vocab_of(ATT_TOKENIZER_CHAR, "ab");
    att_token_metrics metrics = { 0 };
    add(&metrics, vocab, "bbbb", "a");
    assert_true(att_token_metrics_token_error_rate(&metrics) == 4);
    att_vocab_free(vocab);
}

static void perplexity_is_the_exponential_of_the_mean_loss(void **state)
{
    (void)state;
    const att_token_metrics metrics = { .steps = 4, .correct_steps = 3, .loss = 4 * log(2.5) };
    assert_true(fabs(att_token_metrics_perplexity(&metrics) - 2.5) < 1e-14);
    assert_true(att_token_metrics_token_accuracy(&metrics) == 0.75);
}

static void sums_of_lines_merge(void **state)
{
    (void)state;
    att_token_metrics one = { 1, 2, 3, 4, 5, 6, 7, 8, 3, 9, 4 };
    const att_token_metrics two = { 10, 20, 30, 40, 50, 60, 70, 80, 30, 90, 40 };
    const att_token_metrics both = { 11, 22, 33, 44, 55, 66, 77, 88, 33, 99, 44 };
    att_token_metrics_merge(&one, &two);
    assert_memory_equal(&one, &both, sizeof one);
}

static void without_lines_rates_are_nan(void **state)
{
    (void)state;
    const att_token_metrics nothing = { 0 };
    assert_true(isnan(att_token_metrics_exact_match(&nothing)));
    assert_true(isnan(att_token_metrics_token_accuracy(&nothing)));
    assert_true(isnan(att_token_metrics_token_error_rate(&nothing)));
    assert_true(isnan(att_token_metrics_word_error_rate(&nothing)));
    assert_true(isnan(att_token_metrics_perplexity(&nothing)));
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    att_vocab *vocab = vocab_of(ATT_TOKENIZER_CHAR, "a b");
    static const int32_t ids[] = { 3, 4, 5 };
    size_t live = att_alloc_live();
    for (size_t n = 1;; n++) {
        att_token_metrics metrics = { 0 };
        att_alloc_fail_at(n);
        att_status status = att_token_metrics_add(&metrics, vocab, ids, 3, ids, 3);
        att_alloc_fail_at(0);
        assert_int_equal(att_alloc_live(), live);
        assert_int_equal(metrics.lines, status == ATT_OK);
        if (status == ATT_OK)
            break;
        assert_int_equal(status, ATT_NO_MEMORY);
        assert_int_equal(metrics.words, 0);
        assert_true(n < 10);
    }
    att_vocab_free(vocab);
}

/* Different tokens may spell the same word. */
static void words_of_subword_tokens_are_compared_as_text(void **state)
{
    (void)state;
    att_vocab *vocab;
    att_ids ids = { 0 }, other = { 0 };
    static const char text[] = "low low slow";
    assert_int_equal(att_vocab_new(&vocab, ATT_TOKENIZER_BPE, false, NULL), ATT_OK);
    assert_int_equal(att_vocab_count_line(vocab, SIZE_MAX, &ids, text, sizeof text - 1, NULL),
                     ATT_OK);
    assert_int_equal(att_vocab_train_bpe(vocab, 2, 1, NULL), ATT_OK);
    ids.count = 0;
    assert_int_equal(att_vocab_encode(vocab, NULL, &ids, text, sizeof text - 1, NULL), ATT_OK);
    for (const char *at = " low slow slow"; *at; at++) /* character by character */
        assert_int_equal(att_ids_add(&other, ATT_ID_FIRST + *at), ATT_OK);
    att_token_metrics metrics = { 0 };
    assert_int_equal(
        att_token_metrics_add(&metrics, vocab, other.items, other.count, ids.items, ids.count),
        ATT_OK);
    assert_int_equal(metrics.words, 3);
    assert_int_equal(metrics.word_edits, 1);
    assert_true(metrics.edits > 1);
    att_ids_free(&ids);
    att_ids_free(&other);
    att_vocab_free(vocab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_distances_are_computed),
        cmocka_unit_test(the_distance_is_the_minimum_number_of_edits),
        cmocka_unit_test(lines_and_tokens_are_counted),
        cmocka_unit_test(words_of_character_tokens_are_separated_by_spaces),
        cmocka_unit_test(without_a_space_a_line_is_one_word),
        cmocka_unit_test(an_unknown_token_is_never_right),
        cmocka_unit_test(error_rates_may_exceed_one),
        cmocka_unit_test(perplexity_is_the_exponential_of_the_mean_loss),
        cmocka_unit_test(sums_of_lines_merge),
        cmocka_unit_test(without_lines_rates_are_nan),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(words_of_subword_tokens_are_compared_as_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
