/* Paired significance tests: cases worked out by hand, and the same bits at any number of threads.
 * tests/metrics/paired_reference compares whole procedures with plain Python. */
#include "attend.h"

#include "failing_memory.h"
#include "metrics/bootstrap.h"
#include "metrics/paired.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { LINES = 4, RESAMPLES = 200 };

static double mean_score(const double *sums, size_t count, const void *context)
{
    (void)context;
    assert_int_equal(count, 2);
    return sums[0] / sums[1];
}

static double mean_of(const double *sums)
{
    return sums[0] / sums[1];
}

static att_paired two_systems(const double *baseline, const double *system, size_t lines)
{
    return (att_paired){ .lines = lines,
                         .sum_count = 2,
                         .systems = { baseline, system },
                         .add = att_paired_add_stats,
                         .score = mean_score };
}

/* Rows of a value and a count of 1. */
static const double zeros[LINES][2] = { { 0, 1 }, { 0, 1 }, { 0, 1 }, { 0, 1 } };
static const double ones[LINES][2] = { { 1, 1 }, { 1, 1 }, { 1, 1 }, { 1, 1 } };
static const double mixed[LINES][2] = { { 1, 1 }, { 0, 1 }, { 0, 1 }, { 0, 1 } };

static att_paired_result test(const att_paired *from, int64_t resamples)
{
    att_paired_result out;
    att_error err = { 0 };
    if (att_paired_test(&out, from, resamples, 1, &err) != ATT_OK)
        fail_msg("%s", err.message);
    return out;
}

/* Every line differs by 1. Each resample has the difference 1, which less the mean is 0: none is
 * greater than 1. An exchange of all lines has the difference 1 too, of others less: none is
 * greater. */
static void a_difference_in_every_line_has_the_least_p_value(void **state)
{
    (void)state;
    const att_paired from = two_systems(zeros[0], ones[0], LINES);
    att_paired_result out = test(&from, RESAMPLES);
    assert_true(out.score[ATT_PAIRED_BASELINE] == 0 && out.score[ATT_PAIRED_SYSTEM] == 1);
    assert_true(out.mean[ATT_PAIRED_BASELINE] == 0 && out.mean[ATT_PAIRED_SYSTEM] == 1);
    assert_true(out.margin[ATT_PAIRED_BASELINE] == 0 && out.margin[ATT_PAIRED_SYSTEM] == 0);
    assert_true(out.bootstrap_p == 1.0 / (RESAMPLES + 1));
    assert_true(out.randomization_p == 1.0 / (ATT_PAIRED_TRIALS * RESAMPLES + 1));
}

/* One line of four differs. After any exchange the difference is 1/4, as observed: none is
 * greater. Of bootstrap resamples, the difference is the part of the lines drawn that is line 1:
 * 3/4 or 1, in 13 of 4^4 cases, is greater than 1/4 + the mean; 1/2, in 54 cases, is so if the mean
 * happens to be less than 1/4. */
static void one_line_of_four_is_not_significant_by_the_bootstrap(void **state)
{
    (void)state;
    const att_paired from = two_systems(zeros[0], mixed[0], LINES);
    enum { MANY = 20000 };
    att_paired_result out = test(&from, MANY);
    double expected = (out.mean[ATT_PAIRED_SYSTEM] < 0.25 ? 13.0 + 54.0 : 13.0) / 256;
    assert_true(fabs(out.bootstrap_p - expected) < 4 * sqrt(expected * (1 - expected) / MANY));
    assert_true(fabs(out.mean[ATT_PAIRED_SYSTEM] - 0.25) < 4 * sqrt(0.25 * 0.75 / 4 / MANY));
    assert_true(out.margin[ATT_PAIRED_SYSTEM] == 0.375); /* between 0 and 3/4 */
    assert_true(out.randomization_p == 1.0 / (ATT_PAIRED_TRIALS * MANY + 1.0));
}

/* Line 1 is better by 1, line 2 worse by 1: the observed difference is 0. An exchange of one of the
 * two, half of all, has the difference 2/4. A resample of four lines has the difference of eight
 * fair coins from four, divided by 4: its mean is 280/256 of 1/4, which 2, 3 and 4 exceed, in
 * 56 + 16 + 2 of 256 cases. */
static void opposite_lines_are_not_significant(void **state)
{
    (void)state;
    static const double a[LINES][2] = { { 0, 1 }, { 1, 1 }, { 0, 1 }, { 0, 1 } };
    static const double b[LINES][2] = { { 1, 1 }, { 0, 1 }, { 0, 1 }, { 0, 1 } };
    const att_paired from = two_systems(a[0], b[0], LINES);
    att_paired_result out = test(&from, 1000);
    assert_true(fabs(out.randomization_p - 0.5) < 4 * sqrt(0.25 / 10000));
    assert_true(fabs(out.bootstrap_p - 74.0 / 256) < 4 * sqrt(0.25 / 1000));
}

static void resamples_are_those_of_the_confidence_interval(void **state)
{
    (void)state;
    const att_paired from = two_systems(zeros[0], mixed[0], LINES);
    const att_bootstrap one = { mixed[0], LINES, 2, mean_of };
    att_paired_result out = test(&from, RESAMPLES);
    att_interval interval;
    assert_int_equal(att_bootstrap_interval(&interval, &one, RESAMPLES, 1, NULL), ATT_OK);
    assert_true(out.margin[ATT_PAIRED_SYSTEM] == (interval.high - interval.low) / 2);
}

static void results_have_the_same_bits_at_any_number_of_threads(void **state)
{
    (void)state;
    enum { MANY = 101 };
    double a[MANY][2], b[MANY][2];
    for (int i = 0; i < MANY; i++) {
        a[i][0] = 1.0 / (i + 3);
        b[i][0] = 1.0 / (MANY - i + 2) + 0.001;
        a[i][1] = b[i][1] = 1 + i % 3;
    }
    const att_paired from = two_systems(a[0], b[0], MANY);
    att_paired_result first = { 0 }, other = { 0 };
    for (int threads = 1; threads <= 3; threads++) {
        att_threads_set(threads);
        assert_int_equal(att_paired_test(threads == 1 ? &first : &other, &from, RESAMPLES, 7, NULL),
                         ATT_OK);
        if (threads > 1)
            assert_memory_equal(&first, &other, sizeof first);
    }
    att_threads_set(0);
}

static att_status run_once(void *context)
{
    att_paired_result out;
    return att_paired_test(&out, context, 10, 1, NULL);
}

static const char *const better[LINES] = { "a b c", "d e f g", "h i", "j k l" };
static const char *const worse[LINES] = { "a b", "d e x g", "h", "j y l" };
static const char *const *const references[1] = { better };
static const char *const metrics[2] = { "chrf", "wer" };
static const att_hypotheses texts = { better, references, LINES, 1 };

static void lines_in_memory_are_compared_by_text_metrics(void **state)
{
    (void)state;
    att_comparison *found;
    att_error err = { 0 };
    if (att_metrics_compare(&found, metrics, 2, &texts, worse, NULL, &err) != ATT_OK)
        fail_msg("%s", err.message);
    const att_comparison_row *chrf = att_comparison_get(found, 0),
                             *wer = att_comparison_get(found, 1);
    assert_int_equal(att_comparison_lines(found), LINES);
    assert_string_equal(chrf->name, "chrf");
    assert_true(chrf->value > 99.99 && chrf->baseline < 90 && !chrf->lower_is_better);
    /* 4 of 12 words are missing or wrong */
    assert_true(fabs(wer->baseline - 100.0 / 3) < 1e-9 && wer->value == 0 && wer->lower_is_better);
    assert_null(att_comparison_get(found, 2));
    att_comparison_free(found);

    static const char *const unknown[1] = { "blue" };
    assert_int_equal(att_metrics_compare(&found, unknown, 1, &texts, worse, NULL, &err),
                     ATT_BAD_INPUT);
    assert_null(found);
}

static att_status compare_lines(void *context)
{
    (void)context;
    att_comparison *found;
    const att_metric_options options = { .size = sizeof options, .resamples = 10 };
    att_status status = att_metrics_compare(&found, metrics, 2, &texts, worse, &options, NULL);
    att_comparison_free(found);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    att_paired from = two_systems(zeros[0], mixed[0], LINES);
    every_allocation_fails(run_once, &from, 10);
    every_allocation_fails(compare_lines, NULL, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_difference_in_every_line_has_the_least_p_value),
        cmocka_unit_test(one_line_of_four_is_not_significant_by_the_bootstrap),
        cmocka_unit_test(opposite_lines_are_not_significant),
        cmocka_unit_test(resamples_are_those_of_the_confidence_interval),
        cmocka_unit_test(results_have_the_same_bits_at_any_number_of_threads),
        cmocka_unit_test(lines_in_memory_are_compared_by_text_metrics),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
