/* Confusion matrices against counts by hand; loss and calibration against values computed with
 * NumPy in double precision (the minimum of the loss by golden-section search). */
#include "metrics/classification.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void assert_near(double got, double wanted, double within)
{
    if (!(fabs(got - wanted) <= within))
        fail_msg("%.17g is not within %g of %.17g", got, within, wanted);
}

/* Rows are true labels, columns predicted ones; the fourth label does not occur. */
static const int64_t counts[4 * 4] = { 4, 1, 0, 0, 2, 3, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0 };

static void accuracy_is_the_fraction_on_the_diagonal(void **state)
{
    (void)state;
    assert_true(att_confusion_accuracy(counts, NULL, 4) == 7.0 / 12);
}

static void a_label_has_precision_recall_and_their_harmonic_mean(void **state)
{
    (void)state;
    att_label_metrics rates = att_confusion_label_metrics(counts, NULL, 4, 0);
    assert_int_equal(rates.support, 5);
    assert_int_equal(rates.predicted, 7);
    assert_true(rates.precision == 4.0 / 7);
    assert_true(rates.recall == 4.0 / 5);
    assert_near(rates.f1, 2 / (7.0 / 4 + 5.0 / 4), 1e-15);
}

static void a_label_that_was_never_predicted_has_an_f1_of_zero(void **state)
{
    (void)state;
    att_label_metrics rates = att_confusion_label_metrics(counts, NULL, 4, 2);
    assert_int_equal(rates.support, 2);
    assert_int_equal(rates.predicted, 0);
    assert_true(rates.precision == 0 && rates.recall == 0 && rates.f1 == 0);
}

static void macro_f1_ignores_labels_that_do_not_occur(void **state)
{
    (void)state;
    assert_near(att_confusion_macro_f1(counts, NULL, 4), (2.0 / 3 + 0.6 + 0) / 3, 1e-15);
}

static void without_counts_metrics_are_nan(void **state)
{
    (void)state;
    const int64_t none[4] = { 0 };
    assert_true(isnan(att_confusion_accuracy(none, NULL, 2)));
    assert_true(isnan(att_confusion_macro_f1(none, NULL, 2)));
}

/* ---- probabilities */

static const float scores[12 * 3] = {
    6.12f,  -7.67f, 1.25f,  -1.7f,  -1.36f, -0.65f, -6.06f, -0.7f,  -2.6f, 9.97f, 0.68f, -1.06f,
    -0.84f, -2.0f,  -3.17f, -1.17f, 1.45f,  -0.72f, 2.87f,  -0.6f,  0.07f, 4.64f, 1.64f, -1.52f,
    -0.55f, 1.62f,  5.81f,  -0.81f, -0.73f, 3.01f,  -2.66f, -0.88f, 2.65f, 1.74f, 0.27f, 2.01f,
};
static const int32_t truth[12] = { 0, 2, 1, 0, 0, 1, 0, 0, 2, 2, 1, 1 };
static const att_label_predictions judged = { 12, 3, scores, truth };

static void the_most_probable_label_is_predicted(void **state)
{
    (void)state;
    int64_t found[9] = { 0 }, others[3] = { 0 };
    att_label_predictions_confusion(found, others, &judged);
    assert_true(others[0] == 0 && others[1] == 0 && others[2] == 0);
    const int64_t wanted[9] = { 5, 0, 0, 0, 2, 2, 0, 0, 3 };
    assert_memory_equal(found, wanted, sizeof wanted);
}

static void of_equally_probable_labels_the_first_is_predicted(void **state)
{
    (void)state;
    const float equal[] = { -3, -1, -1 };
    assert_int_equal(
        att_label_predictions_argmax(&(att_label_predictions){ 1, 3, equal, truth }, 0), 1);
}

static void the_loss_is_that_of_a_softmax_of_the_scores(void **state)
{
    (void)state;
    assert_near(att_label_predictions_loss(&judged, 1), 0.6202619103109379, 1e-7);
    assert_near(att_label_predictions_loss(&judged, 1.5145275216736351), 0.5753697064626051, 1e-7);
}

static void the_calibration_error_is_the_mean_distance_in_fifteen_bins(void **state)
{
    (void)state;
    assert_near(att_label_predictions_calibration_error(&judged, 1), 0.2074021408155906, 1e-7);
    assert_near(att_label_predictions_calibration_error(&judged, 2), 0.2320506918401724, 1e-7);
}

static void the_fitted_temperature_minimizes_the_loss_to_four_digits(void **state)
{
    (void)state;
    assert_true(att_label_predictions_fit_temperature(&judged) == 1.515);
}

static void a_temperature_stays_in_bounds_if_all_predictions_are_right_or_wrong(void **state)
{
    (void)state;
    const float sure[] = { 0, -5 };
    const int32_t right[] = { 0 }, wrong[] = { 1 };
    assert_near(
        att_label_predictions_fit_temperature(&(att_label_predictions){ 1, 2, sure, right }), 0.05,
        1e-9);
    assert_near(
        att_label_predictions_fit_temperature(&(att_label_predictions){ 1, 2, sure, wrong }), 20,
        1e-9);
}

static void without_data_the_temperature_is_one(void **state)
{
    (void)state;
    assert_true(att_label_predictions_fit_temperature(
                    &(att_label_predictions){ 0, 3, scores, truth }) == 1);
    assert_true(att_label_predictions_fit_temperature(
                    &(att_label_predictions){ 3, 1, scores, (int32_t[]){ 0, 0, 0 } }) == 1);
    assert_true(att_label_predictions_fit_temperature(&(att_label_predictions){
                    3, 3, scores, (int32_t[]){ -1, -1, -1 } }) == 1); /* unknown labels */
}

static void an_impossible_label_has_infinite_loss_and_affects_no_other(void **state)
{
    (void)state;
    const float row[] = { 0, -INFINITY };
    const int32_t possible[] = { 0 }, impossible[] = { 1 };
    assert_true(att_label_predictions_loss(&(att_label_predictions){ 1, 2, row, possible }, 1) ==
                0);
    assert_true(
        isinf(att_label_predictions_loss(&(att_label_predictions){ 1, 2, row, impossible }, 1)));
    assert_near(
        att_label_predictions_calibration_error(&(att_label_predictions){ 1, 2, row, possible }, 1),
        0, 1e-15);
}

/* The sanitizer refuses a NaN that is converted to the number of a bin. */
static void scores_that_are_nan_have_a_calibration_error_that_is_nan(void **state)
{
    (void)state;
    const float row[] = { NAN, NAN };
    const int32_t first[] = { 0 };
    assert_true(isnan(
        att_label_predictions_calibration_error(&(att_label_predictions){ 1, 2, row, first }, 1)));
}

/* The guards on both sides of the matrix must stay 0. */
static void a_label_out_of_range_is_wrong_and_has_no_loss(void **state)
{
    (void)state;
    const float rows[] = { 0, -1, 0, -1, 0, -1, 0, -1 };
    const int32_t odd[] = { -2, 1, 2, INT32_MAX };
    const att_label_predictions predictions = { 4, 2, rows, odd };
    int64_t guarded[4 + 4 + 4] = { 0 };
    int64_t others[2] = { 0 };
    att_label_predictions_confusion(guarded + 4, others, &predictions);
    for (size_t i = 0; i < 12; i++)
        assert_int_equal(guarded[i], i == 4 + 2);
    assert_true(others[0] == 3 && others[1] == 0);
    assert_true(att_confusion_accuracy(guarded + 4, others, 2) == 0);
    assert_int_equal(att_confusion_label_metrics(guarded + 4, others, 2, 0).predicted, 4);
    const att_label_predictions known = { 1, 2, rows + 2, odd + 1 };
    assert_true(att_label_predictions_loss(&predictions, 1) ==
                att_label_predictions_loss(&known, 1));
    assert_true(att_label_predictions_fit_temperature(&predictions) ==
                att_label_predictions_fit_temperature(&known));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accuracy_is_the_fraction_on_the_diagonal),
        cmocka_unit_test(a_label_has_precision_recall_and_their_harmonic_mean),
        cmocka_unit_test(a_label_that_was_never_predicted_has_an_f1_of_zero),
        cmocka_unit_test(macro_f1_ignores_labels_that_do_not_occur),
        cmocka_unit_test(without_counts_metrics_are_nan),
        cmocka_unit_test(the_most_probable_label_is_predicted),
        cmocka_unit_test(of_equally_probable_labels_the_first_is_predicted),
        cmocka_unit_test(the_loss_is_that_of_a_softmax_of_the_scores),
        cmocka_unit_test(the_calibration_error_is_the_mean_distance_in_fifteen_bins),
        cmocka_unit_test(the_fitted_temperature_minimizes_the_loss_to_four_digits),
        cmocka_unit_test(a_temperature_stays_in_bounds_if_all_predictions_are_right_or_wrong),
        cmocka_unit_test(without_data_the_temperature_is_one),
        cmocka_unit_test(an_impossible_label_has_infinite_loss_and_affects_no_other),
        cmocka_unit_test(scores_that_are_nan_have_a_calibration_error_that_is_nan),
        cmocka_unit_test(a_label_out_of_range_is_wrong_and_has_no_loss),
    };
    return cmocka_run_group_tests_name("labels", tests, NULL, NULL);
}
