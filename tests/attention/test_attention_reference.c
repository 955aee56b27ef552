/* The reference against the oracle (oracle.h), for every combination of choices. */
#include "oracle.h"

/* How far double may leave long double here. All inputs are within [-1, 1], widths within 3, rows
 * within 5 keys. A score is a sum of at most 9 products of up to three factors, through functions
 * of slope at most 1.25·e³ (the Gaussian, scaled): error below 40·eps·26. Normalizers have slopes
 * of at most 2, `sum` of at most 1/Σ < 10; the output sums 5 weights with |value| ≤ 1 and 1/(1-p)
 * = 4/3, key totals 5. All of it is below 40·26·10·7·eps. The entropy of a weight near 0 has an
 * unbounded slope, so it is held to the error of w ln w at the same error of w. */
static const double limit = 40 * 26 * 10 * 7 * DBL_EPSILON;
static const double entropy_limit = 5 * 40 * 26 * 10 * 7 * DBL_EPSILON * 36;

static void compare(const scene *s, const scene_results *found, const scene_results *expected)
{
    size_t rows = (size_t)(s->B * s->H * s->T);
    assert_near(found->scores, expected->scores, rows * (size_t)s->S, limit);
    assert_near(found->weights, expected->weights, rows * (size_t)s->S, limit);
    assert_near(found->output, expected->output, rows * (size_t)s->M, limit);
    assert_near(found->log_sum_exp, expected->log_sum_exp, rows, limit);
    assert_near(found->key_totals, expected->key_totals, (size_t)(s->B * s->H * s->S), limit);
    assert_near(found->entropy, expected->entropy, rows, entropy_limit);
}

static void every_combination_agrees_with_the_oracle(void **state)
{
    (void)state;
    static scene s;
    static scene_results found, expected;
    for (int n = 0; n < SCENES; n++) {
        scene_new(&s, scene_choose(n), (uint64_t)n);
        scene_results_new(&found, &s);
        scene_results_new(&expected, &s);
        ASSERT_OK(att_attention_forward_reference(&s.options, &s.in, &found.out, err));
        oracle_forward(&expected, &s);
        compare(&s, &found, &expected);
    }
    print_message("# %d combinations\n", SCENES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_combination_agrees_with_the_oracle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
