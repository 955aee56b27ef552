/* The score of hypotheses: the formulas of length normalization, and that the bound for early
 * stopping holds. */
#include "decode/hypothesis_score.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static const att_decoding_options norms[] = {
    { .length_norm = ATT_LENGTH_MEAN },
    { .length_norm = ATT_LENGTH_MEAN, .length_penalty = 0.4 },
    { .length_norm = ATT_LENGTH_MEAN, .length_penalty = 2 },
    { .length_norm = ATT_LENGTH_GNMT },
    { .length_norm = ATT_LENGTH_GNMT, .length_penalty = 0.6 },
    { .length_norm = ATT_LENGTH_NONE, .length_penalty = 0.6 },
    { .length_norm = ATT_LENGTH_MEAN, .length_penalty = -1 },
    { .length_norm = ATT_LENGTH_GNMT, .length_penalty = -0.4 },
};
enum { NORMS = sizeof norms / sizeof *norms };

static void scores_are_normalized_by_the_formula_of_the_length_norm(void **state)
{
    (void)state;
    static const double wanted[NORMS] = { -12.0 / 7,   -5.50987860, -12.0 / 49, -12.0 / 2,
                                          -7.91704746, -12,         -84,        -15.83409493 };
    for (size_t k = 0; k < NORMS; k++)
        assert_true(fabs(att_length_normalize(&norms[k], -12, 7) - wanted[k]) < 1e-8);
}

/* A continuation lowers the sum by any amount and adds one token or more, up to the maximum. */
static void no_continuation_scores_above_the_bound(void **state)
{
    (void)state;
    enum { MOST = 30 };
    for (size_t k = 0; k < NORMS; k++)
        for (int64_t count = 1; count < MOST; count++)
            for (double sum = 0; sum > -20; sum -= 1.7) {
                double bound = att_hypothesis_score_bound(&norms[k], sum, count, MOST),
                       best = -INFINITY;
                for (int64_t n = count + 1; n <= MOST; n++)
                    for (double less = 0; less < 3; less += 0.5)
                        best = fmax(best, att_length_normalize(&norms[k], sum - less, n));
                assert_true(best == bound); /* and the bound is tight */
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_normalized_by_the_formula_of_the_length_norm),
        cmocka_unit_test(no_continuation_scores_above_the_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
