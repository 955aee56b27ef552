/* Sampling tokens: for evenly spaced u in [0, 1), the count of each token is its probability times
 * the number of samples, to within one. */
#include "decode/sampling.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

enum { WORDS = 200, SAMPLES = 20000 };

static const att_banned_tokens bans = { (const int32_t[]){ 1, 5 }, 2 };
static float log_probs[WORDS];
static int times[WORDS];

/* p falls along a shuffled order of tokens; the banned tokens 1 and 5 are among the largest. */
static void fill(void)
{
    double sum = 0, p[WORDS];
    for (int i = 0; i < WORDS; i++)
        sum += p[i] = 1 / (1.0 + (i * 77) % WORDS);
    p[1] = p[5] = 0.5;
    for (int i = 0; i < WORDS; i++)
        log_probs[i] = (float)log(p[i] / (sum + 1));
}

static void sample_all(const att_decoding_options *options)
{
    att_candidate items[WORDS];
    float scratch[WORDS];
    att_topk top = { .items = items };
    fill();
    for (int i = 0; i < WORDS; i++)
        times[i] = 0;
    for (int i = 0; i < SAMPLES; i++) {
        double u = (i + 0.5) / SAMPLES;
        int32_t token = att_sample_token(options, log_probs, WORDS, &bans, u, &top, scratch);
        assert_true(token >= 0 && token < WORDS);
        times[token]++;
    }
}

static int by_probability(const void *a, const void *b)
{
    float x = log_probs[*(const int *)a], y = log_probs[*(const int *)b];
    return (x < y) - (x > y);
}

/* Compares the counts with the expected ones: after the temperature, of the `top_k` most probable
 * tokens that are not banned, or of the first of these that together have the fraction `top_p`. */
static void assert_sampled(double temperature, int top_k, double top_p)
{
    int order[WORDS], count = 0;
    double all = 0, kept = 0;
    for (int i = 0; i < WORDS; i++)
        if (!att_is_banned(&bans, i))
            order[count++] = i;
    qsort(order, (size_t)count, sizeof *order, by_probability);
    for (int i = 0; i < count && i < top_k; i++)
        all += exp((double)log_probs[order[i]] / temperature);
    int nucleus = 0;
    while (nucleus < count && nucleus < top_k && kept < top_p * all)
        kept += exp((double)log_probs[order[nucleus++]] / temperature);
    for (int i = 0; i < WORDS; i++) {
        double wanted = 0;
        for (int k = 0; k < nucleus; k++)
            if (order[k] == i)
                wanted = SAMPLES * exp((double)log_probs[i] / temperature) / kept;
        if (fabs(times[i] - wanted) > 1.01) /* the ends of its interval may round either way */
            fail_msg("token %d was sampled %d times, expected %g", i, times[i], wanted);
    }
}

static void tokens_are_sampled_as_often_as_they_are_probable(void **state)
{
    (void)state;
    sample_all(&(att_decoding_options){ .size = sizeof(att_decoding_options), .sample = true });
    assert_sampled(1, WORDS, 1);
    sample_all(&(att_decoding_options){
        .size = sizeof(att_decoding_options), .sample = true, .temperature = 2.5 });
    assert_sampled(2.5, WORDS, 1);
    sample_all(&(att_decoding_options){
        .size = sizeof(att_decoding_options), .sample = true, .temperature = 0.4 });
    assert_sampled(0.4, WORDS, 1);
}

static void top_k_samples_the_most_probable_tokens_only(void **state)
{
    (void)state;
    sample_all(&(att_decoding_options){
        .size = sizeof(att_decoding_options), .sample = true, .top_k = 7 });
    assert_sampled(1, 7, 1);
    sample_all(&(att_decoding_options){
        .size = sizeof(att_decoding_options), .sample = true, .top_k = 7, .top_p = 0.6 });
    assert_sampled(1, 7, 0.6);
    sample_all(&(att_decoding_options){
        .size = sizeof(att_decoding_options), .sample = true, .top_k = 1 });
    assert_sampled(1, 1, 1);
}

/* The nucleus of 0.95 has more tokens than att_sample_token() searches first. */
static void top_p_samples_from_the_nucleus(void **state)
{
    (void)state;
    sample_all(&(att_decoding_options){
        .size = sizeof(att_decoding_options), .sample = true, .top_p = 0.5 });
    assert_sampled(1, WORDS, 0.5);
    sample_all(&(att_decoding_options){
        .size = sizeof(att_decoding_options), .sample = true, .top_p = 0.95, .temperature = 1.5 });
    assert_sampled(1.5, WORDS, 0.95);
    sample_all(&(att_decoding_options){
        .size = sizeof(att_decoding_options), .sample = true, .top_p = 1e-6 });
    assert_sampled(1, 1, 1);
}

static void nothing_is_sampled_where_every_token_is_banned(void **state)
{
    (void)state;
    float none[3] = { -INFINITY, -INFINITY, NAN }, scratch[3];
    att_candidate items[3];
    att_topk top = { .items = items };
    const att_decoding_options options = { .size = sizeof(att_decoding_options),
                                           .sample = true,
                                           .top_p = 0.5 };
    const att_banned_tokens no_bans = { NULL, 0 };
    assert_int_equal(att_sample_token(&options, none, 3, &no_bans, 0.5, &top, scratch), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_are_sampled_as_often_as_they_are_probable),
        cmocka_unit_test(top_k_samples_the_most_probable_tokens_only),
        cmocka_unit_test(top_p_samples_from_the_nucleus),
        cmocka_unit_test(nothing_is_sampled_where_every_token_is_banned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
