/* Drawing tokens: with u walked evenly through [0, 1) each token is drawn as often as its
 * probability says, to within one draw. */
#include "decode/sampling.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

enum { WORDS = 200, DRAWS = 20000 };

static const att_banned_tokens bans = { (const int32_t[]){ 1, 5 }, 2 };
static float log_probs[WORDS];
static int times[WORDS];

/* p falls with the place in a shuffled order; 1 and 5, which are banned, are among the largest. */
static void fill(void)
{
    double sum = 0, p[WORDS];
    for (int i = 0; i < WORDS; i++)
        sum += p[i] = 1 / (1.0 + (i * 77) % WORDS);
    p[1] = p[5] = 0.5;
    for (int i = 0; i < WORDS; i++)
        log_probs[i] = (float)log(p[i] / (sum + 1));
}

static void draw_all(const att_decoding_options *how)
{
    att_candidate items[WORDS];
    float scratch[WORDS];
    att_topk top = { .items = items };
    fill();
    for (int i = 0; i < WORDS; i++)
        times[i] = 0;
    for (int i = 0; i < DRAWS; i++) {
        double u = (i + 0.5) / DRAWS;
        int32_t token = att_sample_token(how, log_probs, WORDS, &bans, u, &top, scratch);
        assert_true(token >= 0 && token < WORDS);
        times[token]++;
    }
}

static int by_probability(const void *a, const void *b)
{
    float x = log_probs[*(const int *)a], y = log_probs[*(const int *)b];
    return (x < y) - (x > y);
}

/* How often each should have come: after the temperature, of the first `some` tokens, the most
 * probable first, that may follow; or of so many that they have the share `top_p`. */
static void assert_drawn(double temperature, int some, double top_p)
{
    int order[WORDS], count = 0;
    double all = 0, kept = 0;
    for (int i = 0; i < WORDS; i++)
        if (!att_is_banned(&bans, i))
            order[count++] = i;
    qsort(order, (size_t)count, sizeof *order, by_probability);
    for (int i = 0; i < count && i < some; i++)
        all += exp((double)log_probs[order[i]] / temperature);
    int held = 0;
    while (held < count && held < some && kept < top_p * all)
        kept += exp((double)log_probs[order[held++]] / temperature);
    for (int i = 0; i < WORDS; i++) {
        double wanted = 0;
        for (int k = 0; k < held; k++)
            if (order[k] == i)
                wanted = DRAWS * exp((double)log_probs[i] / temperature) / kept;
        if (fabs(times[i] - wanted) > 1.01) /* the ends of its stretch may fall on either side */
            fail_msg("token %d came %d times, expected %g", i, times[i], wanted);
    }
}

static void tokens_come_as_often_as_they_are_probable(void **state)
{
    (void)state;
    draw_all(&(att_decoding_options){ .size = sizeof(att_decoding_options), .sample = true });
    assert_drawn(1, WORDS, 1);
    draw_all(&(att_decoding_options){
        .size = sizeof(att_decoding_options), .sample = true, .temperature = 2.5 });
    assert_drawn(2.5, WORDS, 1);
    draw_all(&(att_decoding_options){
        .size = sizeof(att_decoding_options), .sample = true, .temperature = 0.4 });
    assert_drawn(0.4, WORDS, 1);
}

static void only_the_most_probable_are_drawn_from(void **state)
{
    (void)state;
    draw_all(&(att_decoding_options){
        .size = sizeof(att_decoding_options), .sample = true, .top_k = 7 });
    assert_drawn(1, 7, 1);
    draw_all(&(att_decoding_options){
        .size = sizeof(att_decoding_options), .sample = true, .top_k = 7, .top_p = 0.6 });
    assert_drawn(1, 7, 0.6);
    draw_all(&(att_decoding_options){
        .size = sizeof(att_decoding_options), .sample = true, .top_k = 1 });
    assert_drawn(1, 1, 1);
}

/* 0.95 takes more tokens than are looked at first. */
static void tokens_are_drawn_that_have_a_share_together(void **state)
{
    (void)state;
    draw_all(&(att_decoding_options){
        .size = sizeof(att_decoding_options), .sample = true, .top_p = 0.5 });
    assert_drawn(1, WORDS, 0.5);
    draw_all(&(att_decoding_options){
        .size = sizeof(att_decoding_options), .sample = true, .top_p = 0.95, .temperature = 1.5 });
    assert_drawn(1.5, WORDS, 0.95);
    draw_all(&(att_decoding_options){
        .size = sizeof(att_decoding_options), .sample = true, .top_p = 1e-6 });
    assert_drawn(1, 1, 1);
}

static void where_nothing_may_follow_nothing_is_drawn(void **state)
{
    (void)state;
    float none[3] = { -INFINITY, -INFINITY, NAN }, scratch[3];
    att_candidate items[3];
    att_topk top = { .items = items };
    const att_decoding_options how = { .size = sizeof(att_decoding_options),
                                       .sample = true,
                                       .top_p = 0.5 };
    const att_banned_tokens no_bans = { NULL, 0 };
    assert_int_equal(att_sample_token(&how, none, 3, &no_bans, 0.5, &top, scratch), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_come_as_often_as_they_are_probable),
        cmocka_unit_test(only_the_most_probable_are_drawn_from),
        cmocka_unit_test(tokens_are_drawn_that_have_a_share_together),
        cmocka_unit_test(where_nothing_may_follow_nothing_is_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
