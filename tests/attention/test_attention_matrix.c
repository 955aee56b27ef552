/* Handout 003, question 2: attention per query and key, and as matrix products, are the same. */
#include "attention/paths.h"
#include "scene.h"

#include <float.h>

/* Both forms round each product and each sum once. A score sums K products of up to three factors
 * below 1.25, an output S products of weights and values: with K, S ≤ 5 they differ by less than
 * 2·(K+S)·eps times the largest score (below 12) times the steepest normalizer (`sum`, below 10).
 */
static const double limit = 2 * (5 + 5) * DBL_EPSILON * 12 * 10;

static void the_matrix_form_equals_the_reference(void **state)
{
    (void)state;
    static scene s;
    static scene_results r, m;
    int compared = 0;
    for (int n = 0; n < SCENES; n++) {
        scene_choice choice = scene_choose(n);
        if (choice.score > ATT_SCORE_GENERAL)
            continue;
        scene_new(&s, choice, (uint64_t)n);
        scene_results_new(&r, &s);
        scene_results_new(&m, &s);
        ASSERT_OK(att_attention_forward_reference(&s.options, &s.in, &r.out, err));
        ASSERT_OK(att_attention_forward_matrix(&s.options, &s.in, &m.out, err));
        size_t rows = (size_t)(s.B * s.H * s.T);
        assert_near(m.output, r.output, rows * (size_t)s.M, limit);
        assert_near(m.scores, r.scores, rows * (size_t)s.S, limit);
        assert_near(m.weights, r.weights, rows * (size_t)s.S, limit);
        assert_near(m.log_sum_exp, r.log_sum_exp, rows, limit);
        assert_near(m.key_totals, r.key_totals, (size_t)(s.B * s.H * s.S), limit);
        assert_near(m.entropy, r.entropy, rows, 50 * limit); /* w ln w: slope below 50 */
        compared++;
    }
    assert_int_equal(compared, SCENES / SCORES * 3);
}

static void the_matrix_form_refuses_scores_that_are_no_product(void **state)
{
    (void)state;
    static scene s;
    static scene_results r;
    for (int score = ATT_SCORE_ADDITIVE; score < SCORES; score++) {
        att_error err = { 0 };
        scene_new(&s, (scene_choice){ .score = (att_score)score, .heads = { 1, 1, false } }, 1);
        scene_results_new(&r, &s);
        assert_int_equal(att_attention_forward_matrix(&s.options, &s.in, &r.out, &err),
                         ATT_BAD_INPUT);
        assert_non_null(strstr(err.message, att_score_name((att_score)score)));
        assert_string_equal(err.place, "attention");
    }
}

/* 0 · NaN is NaN: the reference skips masked pairs, and so defines the result. */
static void the_matrix_form_alone_lets_a_masked_value_show(void **state)
{
    (void)state;
    static scene s;
    static scene_results r;
    scene_new(&s, (scene_choice){ .mask = LENGTHS, .heads = { 1, 1, false } }, 1);
    s.data[ATT_SLOT_VALUE][(s.S - 1) * s.M] = NAN; /* key_lengths[0] is S - 1 */
    scene_results_new(&r, &s);
    ASSERT_OK(att_attention_forward_reference(&s.options, &s.in, &r.out, err));
    assert_true(isfinite(r.output[0]));
    ASSERT_OK(att_attention_forward_matrix(&s.options, &s.in, &r.out, err));
    assert_true(isnan(r.output[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_matrix_form_equals_the_reference),
        cmocka_unit_test(the_matrix_form_refuses_scores_that_are_no_product),
        cmocka_unit_test(the_matrix_form_alone_lets_a_masked_value_show),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
