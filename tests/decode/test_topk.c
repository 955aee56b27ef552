/* The top k of many candidates, against a full sort. */
#include "decode/topk.h"

#include "base/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

enum { ROWS = 3, WORDS = 1000 };

static float log_probs[ROWS][WORDS];
static const double base[ROWS] = { -3.25, -0.5, -1e-3 };

/* Numbers of few values, so that many are equal. */
static void fill(uint64_t seed, uint32_t values)
{
    for (uint64_t r = 0; r < ROWS; r++)
        for (uint64_t i = 0; i < WORDS; i++)
            log_probs[r][i] = -(float)(att_random_bits(seed, r, i) % values) / 8;
}

static int best_first(const void *a, const void *b)
{
    const att_candidate *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    return (x->token > y->token) - (x->token < y->token);
}

static void it_holds_the_first_items_of_a_full_sort(void **state)
{
    (void)state;
    static att_candidate all[ROWS * WORDS], items[ROWS * WORDS];
    static const int32_t banned[] = { 1, 700, 64 };
    const att_banned_tokens bans = { banned, 3 };
    for (uint64_t seed = 0; seed < 8; seed++) {
        fill(seed, seed % 2 ? 5 : 100000);
        size_t count = 0;
        for (int32_t r = 0; r < ROWS; r++)
            for (int32_t i = 0; i < WORDS; i++)
                if (!att_is_banned(&bans, i))
                    all[count++] =
                        (att_candidate){ base[r] + (double)log_probs[r][i], r, i, log_probs[r][i] };
        qsort(all, count, sizeof *all, best_first);
        for (int64_t capacity = 1; capacity <= 4000; capacity = 3 * capacity + 1) {
            att_topk top = { .items = items, .capacity = capacity };
            for (int32_t r = 0; r < ROWS; r++) /* any order of rows gives the same */
                att_topk_push_row(&top, (r + (int32_t)seed) % ROWS,
                                  base[(r + (int32_t)seed) % ROWS],
                                  log_probs[(r + (int32_t)seed) % ROWS], WORDS, &bans);
            att_topk_sort(&top);
            int64_t wanted = capacity < (int64_t)count ? capacity : (int64_t)count;
            assert_int_equal(top.count, wanted);
            for (int64_t i = 0; i < wanted; i++) {
                assert_true(top.items[i].score == all[i].score);
                assert_int_equal(top.items[i].row, all[i].row);
                assert_int_equal(top.items[i].token, all[i].token);
            }
        }
    }
}

static void nan_scores_are_not_held(void **state)
{
    (void)state;
    att_candidate items[4];
    const att_banned_tokens none = { NULL, 0 };
    float row[70];
    for (int i = 0; i < 70; i++)
        row[i] = i == 66 ? -2.0f : i == 3 ? -INFINITY : NAN;
    att_topk top = { .items = items, .capacity = 4 };
    att_topk_push_row(&top, 0, 0, row, 70, &none);
    att_topk_sort(&top);
    assert_int_equal(top.count, 2);
    assert_int_equal(top.items[0].token, 66);
    assert_int_equal(top.items[1].token, 3);
    att_topk_push(&top, (att_candidate){ .score = NAN, .token = 9 });
    assert_int_equal(top.count, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_holds_the_first_items_of_a_full_sort),
        cmocka_unit_test(nan_scores_are_not_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
