/* The normalizers alone: closed forms, extremes, NaN and infinities. */
#include "helper.h"

#include "attention/normalize.h"

#include <float.h>

static void normalize(att_normalizer which, double *weights, const double *scores, int64_t count)
{
    double scratch[1000];
    att_normalizer_get(which)->forward(weights, scores, count, scratch);
}

static const att_normalizer on_the_simplex[] = { ATT_NORMALIZE_SOFTMAX, ATT_NORMALIZE_SPARSEMAX,
                                                 ATT_NORMALIZE_ENTMAX15 };

static void names_are_those_users_write(void **state)
{
    (void)state;
    const char *const names[] = {
        "softmax", "mean", "sparsemax", "entmax", "sigmoid", "sum", "none"
    };
    for (size_t n = 0; n < COUNT(names); n++)
        assert_string_equal(att_normalizer_name((att_normalizer)n), names[n]);
    assert_null(att_normalizer_name((att_normalizer)COUNT(names)));
    assert_null(att_normalizer_name((att_normalizer)-1));
    const char *const scores[] = { "dot",    "scaled",   "general", "additive",
                                   "concat", "gaussian", "cosine",  "location" };
    for (size_t n = 0; n < COUNT(scores); n++)
        assert_string_equal(att_score_name((att_score)n), scores[n]);
    assert_null(att_score_name((att_score)COUNT(scores)));
    assert_null(att_score_name((att_score)-1));
}

/* Two scores apart by d: softmax gives 1/(1+e^-d); sparsemax (1+d)/2 up to 1; and 1.5-entmax solves
 * (a+d/2)² + a² = 1, so that a = (-d/2 + sqrt(2 - d²/4)) / 2 until a = 0 at d = 2. */
static void two_scores_have_closed_forms(void **state)
{
    (void)state;
    for (double d = 0; d <= 3; d += 0.125) {
        double scores[] = { 5 + d, 5 }, w[2];
        normalize(ATT_NORMALIZE_SOFTMAX, w, scores, 2);
        assert_near(w, (double[]){ 1 / (1 + exp(-d)), 1 / (1 + exp(d)) }, 2, 2 * DBL_EPSILON);
        normalize(ATT_NORMALIZE_SPARSEMAX, w, scores, 2);
        double top = d < 1 ? (1 + d) / 2 : 1;
        assert_near(w, (double[]){ top, 1 - top }, 2, 2 * DBL_EPSILON);
        normalize(ATT_NORMALIZE_ENTMAX15, w, scores, 2);
        double a = d < 2 ? (-d / 2 + sqrt(2 - d * d / 4)) / 2 : 0;
        assert_near(w, (double[]){ 1 - a * a, a * a }, 2, 8 * DBL_EPSILON);
    }
}

static void the_plain_normalizers_divide_and_no_more(void **state)
{
    (void)state;
    const double scores[] = { 1, -2, 3, 0.5 };
    double w[4];
    normalize(ATT_NORMALIZE_MEAN, w, scores, 4);
    assert_near(w, (double[]){ 0.25, -0.5, 0.75, 0.125 }, 4, 0);
    normalize(ATT_NORMALIZE_SUM, w, scores, 4);
    assert_near(w, (double[]){ 0.4, -0.8, 1.2, 0.2 }, 4, 2 * DBL_EPSILON);
    normalize(ATT_NORMALIZE_NONE, w, scores, 4);
    assert_near(w, scores, 4, 0);
    normalize(ATT_NORMALIZE_SIGMOID, w, scores, 4);
    for (int n = 0; n < 4; n++)
        assert_close(w[n], 1 / (1 + exp(-scores[n])), 2 * DBL_EPSILON);
    normalize(ATT_NORMALIZE_SUM, w, (double[]){ 1, -1 }, 2);
    assert_true(w[0] == INFINITY && w[1] == -INFINITY);
}

/* Scores 800 apart overflow exp() unless the maximum is subtracted first. */
static void simplex_normalizers_survive_any_finite_scores(void **state)
{
    (void)state;
    const double rows[][3] = { { 1000, 1000, 200 },
                               { -1e300, -1e300, -DBL_MAX },
                               { DBL_MAX, DBL_MAX, -DBL_MAX },
                               { 1e-320, 1e-320, -4 } };
    for (size_t n = 0; n < COUNT(on_the_simplex); n++)
        for (size_t r = 0; r < 3; r++) {
            double w[3];
            normalize(on_the_simplex[n], w, rows[r], 3);
            assert_near(w, (double[]){ 0.5, 0.5, 0 }, 3, DBL_EPSILON);
        }
    double w[3];
    normalize(ATT_NORMALIZE_SPARSEMAX, w, rows[3], 3);
    assert_near(w, (double[]){ 0.5, 0.5, 0 }, 3, 0);
    normalize(ATT_NORMALIZE_SIGMOID, w, (double[]){ 1000, -1000, 0 }, 3);
    assert_near(w, (double[]){ 1, 0, 0.5 }, 3, 0);
}

/* Weights are not negative, sum to 1, and keep the order of the scores; 1,000 equal scores share
 * alike. */
static void weights_on_the_simplex_sum_to_one(void **state)
{
    (void)state;
    double scores[1000], w[1000];
    for (size_t n = 0; n < COUNT(on_the_simplex); n++)
        for (int spread = 0; spread < 5; spread++) {
            for (int j = 0; j < 1000; j++)
                scores[j] = sin(j * 1.7) * spread * spread;
            normalize(on_the_simplex[n], w, scores, 1000);
            double sum = 0;
            for (int j = 0; j < 1000; j++) {
                assert_true(w[j] >= 0);
                sum += w[j];
                if (j > 0 && scores[j] > scores[j - 1])
                    assert_true(w[j] >= w[j - 1]);
                if (spread == 0)
                    assert_close(w[j], 0.001, 1e-3 * 1000 * DBL_EPSILON);
            }
            assert_close(sum, 1, 1000 * DBL_EPSILON);
        }
}

/* σ'(x) = σ(x) σ(-x): at 40 it is e^-40, although σ(40) is 1 to the last bit. */
static void the_slope_of_the_sigmoid_keeps_its_digits_where_it_is_flat(void **state)
{
    (void)state;
    const double scores[] = { 40, -40, 0 };
    double w[3], grad[3];
    normalize(ATT_NORMALIZE_SIGMOID, w, scores, 3);
    att_normalizer_get(ATT_NORMALIZE_SIGMOID)->backward(grad, (double[]){ 1, 1, 1 }, scores, w, 3);
    assert_near(grad, (double[]){ exp(-40), exp(-40), 0.25 }, 3, 4 * DBL_EPSILON * exp(-40));
}

/* A score of -inf has weight 0 if another score is finite. */
static void minus_infinity_weighs_nothing_beside_a_finite_score(void **state)
{
    (void)state;
    for (size_t n = 0; n < COUNT(on_the_simplex); n++) {
        double w[3];
        normalize(on_the_simplex[n], w, (double[]){ -INFINITY, 2, -INFINITY }, 3);
        assert_near(w, (double[]){ 0, 1, 0 }, 3, 0);
    }
}

/* Where the simplex projection is undefined, all weights and all gradients are NaN. */
static void rows_without_an_answer_are_nan_throughout(void **state)
{
    (void)state;
    const double rows[][3] = { { 1, NAN, 2 },
                               { NAN, 1, 2 },
                               { 1, 2, INFINITY },
                               { INFINITY, INFINITY, 0 },
                               { -INFINITY, -INFINITY, -INFINITY } };
    for (size_t n = 0; n < COUNT(on_the_simplex); n++)
        for (size_t r = 0; r < COUNT(rows); r++) {
            double w[3], grad[3];
            normalize(on_the_simplex[n], w, rows[r], 3);
            att_normalizer_get(on_the_simplex[n])
                ->backward(grad, (double[]){ 1, 2, 3 }, rows[r], w, 3);
            for (int j = 0; j < 3; j++)
                assert_true(isnan(w[j]) && isnan(grad[j]));
        }
}

static void log_sum_exp_keeps_what_exp_alone_would_lose(void **state)
{
    (void)state;
    assert_true(att_log_sum_exp(NULL, 0) == -INFINITY);
    assert_close(att_log_sum_exp((double[]){ 1000, 1000 }, 2), 1000 + log(2), 2e-13);
    assert_close(att_log_sum_exp((double[]){ -2000 }, 1), -2000, 0);
    assert_close(att_log_sum_exp((double[]){ 0, -INFINITY }, 2), 0, 0);
    assert_true(att_log_sum_exp((double[]){ -INFINITY, -INFINITY }, 2) == -INFINITY);
    assert_true(att_log_sum_exp((double[]){ 1, INFINITY }, 2) == INFINITY);
    assert_true(isnan(att_log_sum_exp((double[]){ INFINITY, NAN }, 2)));
    assert_true(isnan(att_log_sum_exp((double[]){ NAN, INFINITY, 1 }, 3)));
}

static void entropy_is_that_of_information_theory(void **state)
{
    (void)state;
    assert_close(att_entropy((double[]){ 1, 0 }, 2), 0, 0);
    assert_close(att_entropy((double[]){ 0.25, 0.25, 0.25, 0.25 }, 4), log(4), 4e-16);
    assert_true(isnan(att_entropy((double[]){ 1.5, -0.5 }, 2)));
    assert_true(att_entropy(NULL, 0) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_those_users_write),
        cmocka_unit_test(two_scores_have_closed_forms),
        cmocka_unit_test(the_plain_normalizers_divide_and_no_more),
        cmocka_unit_test(simplex_normalizers_survive_any_finite_scores),
        cmocka_unit_test(weights_on_the_simplex_sum_to_one),
        cmocka_unit_test(the_slope_of_the_sigmoid_keeps_its_digits_where_it_is_flat),
        cmocka_unit_test(minus_infinity_weighs_nothing_beside_a_finite_score),
        cmocka_unit_test(rows_without_an_answer_are_nan_throughout),
        cmocka_unit_test(log_sum_exp_keeps_what_exp_alone_would_lose),
        cmocka_unit_test(entropy_is_that_of_information_theory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
