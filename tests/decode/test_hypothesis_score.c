/* What hypotheses are ranked by: the formulas, and that the bound by which a search stops is one.
 */
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
};
enum { NORMS = sizeof norms / sizeof *norms };

static void length_counts_as_its_formula_says(void **state)
{
    (void)state;
    static const double wanted[NORMS] = { -12.0 / 7, -5.50987860, -12.0 / 49,
                                          -12.0 / 2, -7.91704746, -12 };
    for (size_t k = 0; k < NORMS; k++)
        assert_true(fabs(att_length_normalize(&norms[k], -12, 7) - wanted[k]) < 1e-8);
}

/* Going on only lowers the sum, by any amount, and takes any number of tokens up to the most. */
static void nothing_that_goes_on_is_ranked_above_the_bound(void **state)
{
    (void)state;
    enum { MOST = 30 };
    for (size_t k = 0; k < NORMS; k++)
        for (int64_t count = 1; count <= MOST; count++)
            for (double sum = 0; sum > -20; sum -= 1.7) {
                double bound = att_hypothesis_score_bound(&norms[k], sum, count, MOST),
                       best = -INFINITY;
                for (int64_t n = count; n <= MOST; n++)
                    for (double less = 0; less < 3; less += 0.5)
                        best = fmax(best, att_length_normalize(&norms[k], sum - less, n));
                assert_true(best == bound); /* and no looser than need be */
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(length_counts_as_its_formula_says),
        cmocka_unit_test(nothing_that_goes_on_is_ranked_above_the_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
