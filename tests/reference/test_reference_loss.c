/* Losses and optimizer steps: known values, limits, gradients. */
#include "reference/loss.h"
#include "reference/optimizer.h"

#include "reference/reference_check.h"

enum { CLASSES = 4 };
static const double logits[CLASSES] = { 1, 2, -1, 0.5 };

static void cross_entropy_is_minus_log_softmax(void **state)
{
    (void)state;
    const double equal[CLASSES] = { 7, 7, 7, 7 };
    double total = exp(1) + exp(2) + exp(-1) + exp(0.5);
    for (int j = 0; j < CLASSES; j++)
        assert_near(att_reference_cross_entropy(logits, CLASSES, j, 0), log(total) - logits[j], 4);
    assert_near(att_reference_cross_entropy(equal, CLASSES, 2, 0.3), log(4), 8);
}

static void label_smoothing_mixes_in_the_mean_over_classes(void **state)
{
    (void)state;
    double mean = 0;
    for (int j = 0; j < CLASSES; j++)
        mean += att_reference_cross_entropy(logits, CLASSES, j, 0) / CLASSES;
    assert_near(att_reference_cross_entropy(logits, CLASSES, 1, 0.1),
                0.9 * att_reference_cross_entropy(logits, CLASSES, 1, 0) + 0.1 * mean, 8);
}

static void large_and_masked_logits_are_finite_where_the_loss_is(void **state)
{
    (void)state;
    const double large[] = { 2000, 1999 }, masked[] = { 0, -INFINITY };
    assert_near(att_reference_cross_entropy(large, 2, 0, 0), log(1 + exp(-1)), 2 * 2000);
    assert_true(att_reference_cross_entropy(masked, 2, 0, 0) == 0);
    assert_true(att_reference_cross_entropy(masked, 2, 1, 0) == INFINITY);
}

/* d loss / d logit_j = softmax_j - t_j. */
static void the_gradient_is_softmax_minus_target(void **state)
{
    (void)state;
    double total = exp(1) + exp(2) + exp(-1) + exp(0.5), h = 1e-5, s = 0.2;
    for (int j = 0; j < CLASSES; j++) {
        double up[CLASSES], down[CLASSES];
        for (int i = 0; i < CLASSES; i++) {
            up[i] = logits[i] + (i == j ? h : 0);
            down[i] = logits[i] - (i == j ? h : 0);
        }
        double slope = (att_reference_cross_entropy(up, CLASSES, 2, s) -
                        att_reference_cross_entropy(down, CLASSES, 2, s)) /
                       (2 * h);
        double target = s / CLASSES + (j == 2 ? 1 - s : 0);
        assert_true(fabs(slope - (exp(logits[j]) / total - target)) < 1e-9);
    }
}

static void guided_alignment_is_minus_log_of_the_aligned_weight(void **state)
{
    (void)state;
    const double weights[] = { 0.2, 0.8, 0 };
    assert_near(att_reference_guided_alignment(weights, 0), log(5), 2);
    assert_near(att_reference_guided_alignment(weights, 2), 6 * log(10), 4); /* not infinite */
}

/* ---- optimizers */

static const att_reference_gradient plain = { 1, 0 };

/* ---- copying: a source of four tokens, of which the first and the third have id 1, the second has
 * an id that the vocabulary lacks, and the last is padding */

enum { KEYS = 4 };
static const double copy_weights[KEYS] = { 0.2, 0.5, 0.3, 0 };
static const int32_t copy_ids[KEYS] = { 1, CLASSES + 3, 1, -1 };

static double copy_probability(double gate, int64_t target)
{
    const att_reference_copy_row row = { logits, CLASSES, gate, copy_weights, copy_ids, KEYS };
    return exp(-att_reference_copy_cross_entropy(&row, target, 0));
}

static double softmax_of(int j)
{
    return exp(-att_reference_cross_entropy(logits, CLASSES, j, 0));
}

static void copying_mixes_the_vocabulary_and_the_source_by_the_gate(void **state)
{
    (void)state;
    double g = 1 / (1 + exp(-0.4)), total = 0;
    assert_near(copy_probability(0.4, 0), g * softmax_of(0), 8);
    assert_near(copy_probability(0.4, 1), g * softmax_of(1) + (1 - g) * 0.5, 8);
    assert_near(copy_probability(0.4, CLASSES + 3), (1 - g) * 0.5, 8);
    for (int j = 0; j < CLASSES + 4; j++)
        if (j < CLASSES || j == CLASSES + 3)
            total += copy_probability(0.4, j);
    assert_near(total, 1, 20);
    assert_near(copy_probability(60, 1), softmax_of(1), 8); /* always generates */
    assert_near(copy_probability(-60, 1), 0.5, 8);          /* always copies */
}

static void a_source_token_without_weight_can_still_be_copied(void **state)
{
    (void)state;
    const double none[] = { 0, 1 };
    const int32_t ids[] = { CLASSES, 2 };
    const att_reference_copy_row row = { logits, CLASSES, 0, none, ids, 2 };
    assert_near(att_reference_copy_cross_entropy(&row, CLASSES, 0), -log(0.5e-9), 8);
}

/* A token that the vocabulary lacks has the smoothed part too. */
static void label_smoothing_of_copying_is_that_of_the_vocabulary(void **state)
{
    (void)state;
    const att_reference_copy_row row = { logits, CLASSES, 0.4, copy_weights, copy_ids, KEYS };
    double mean = 0;
    for (int j = 0; j < CLASSES; j++)
        mean += att_reference_cross_entropy(logits, CLASSES, j, 0) / CLASSES;
    for (int64_t target = 0; target < CLASSES + 4; target += CLASSES + 3)
        assert_near(att_reference_copy_cross_entropy(&row, target, 0.1),
                    -0.9 * log(copy_probability(0.4, target)) + 0.1 * mean, 8);
}

static void sgd_follows_the_gradient_with_momentum(void **state)
{
    (void)state;
    double x = 1, velocity = 0;
    const att_reference_sgd_options options = { plain, 0.1, 0.5 };
    for (int step = 0; step < 2; step++) {
        double g = x;
        att_reference_sgd(&x, &velocity, &g, 1, &options);
    }
    assert_near(x, 0.9 - 0.1 * (0.5 + 0.9), 4);
}

static void scale_and_l2_penalty_change_the_gradient(void **state)
{
    (void)state;
    double x = 2, velocity = 0, g = 3;
    const att_reference_sgd_options options = { { 0.5, 0.25 }, 1, 0 };
    att_reference_sgd(&x, &velocity, &g, 1, &options);
    assert_near(x, 2 - (1.5 + 0.5), 2);
}

static void the_first_step_of_adam_has_the_learning_rate_as_its_length(void **state)
{
    (void)state;
    for (double g = 1e-3; g < 1e4; g *= 10) {
        double x = 5, first = 0, second = 0;
        const att_reference_adam_options options = { plain, 0.01, 0.9, 0.98, 0, 0, 1 };
        att_reference_adam(&x, &first, &second, &g, 1, &options);
        assert_near(x, 4.99, 40);
    }
}

static void adam_decays_weights_apart_from_the_gradient(void **state)
{
    (void)state;
    double x = 5, first = 0, second = 0, g = 0;
    const att_reference_adam_options options = { plain, 0.01, 0.9, 0.98, 1e-8, 0.1, 1 };
    att_reference_adam(&x, &first, &second, &g, 1, &options);
    assert_near(x, 5 - 0.01 * 0.1 * 5, 4);
    assert_true(first == 0 && second == 0);
}

static void adadelta_starts_with_steps_of_the_size_of_epsilon(void **state)
{
    (void)state;
    double x = 1, squares = 0, changes = 0, g = 2;
    const att_reference_adadelta_options options = { plain, 1, 0.95, 1e-6 };
    att_reference_adadelta(&x, &squares, &changes, &g, 1, &options);
    double change = sqrt(1e-6) / sqrt(0.05 * 4 + 1e-6) * 2;
    assert_near(x, 1 - change, 4);
    assert_near(squares, 0.2, 4);
    assert_near(changes, 0.05 * change * change, 4);
}

/* On x²/2, whose gradient is x. */
static void every_optimizer_goes_down_a_parabola(void **state)
{
    (void)state;
    double x[3] = { 1, 1, 1 }, a[3] = { 0 }, b[3] = { 0 };
    for (int step = 1; step <= 500; step++) {
        const double g[3] = { x[0], x[1], x[2] };
        att_reference_sgd(&x[0], &a[0], &g[0], 1, &(att_reference_sgd_options){ plain, 0.1, 0.5 });
        att_reference_adam(&x[1], &a[1], &b[1], &g[1], 1,
                           &(att_reference_adam_options){ plain, 0.02, 0.9, 0.98, 1e-8, 0, step });
        att_reference_adadelta(&x[2], &a[2], &b[2], &g[2], 1,
                               &(att_reference_adadelta_options){ plain, 1, 0.9, 1e-4 });
    }
    for (int i = 0; i < 3; i++)
        assert_true(fabs(x[i]) < 0.1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cross_entropy_is_minus_log_softmax),
        cmocka_unit_test(label_smoothing_mixes_in_the_mean_over_classes),
        cmocka_unit_test(large_and_masked_logits_are_finite_where_the_loss_is),
        cmocka_unit_test(the_gradient_is_softmax_minus_target),
        cmocka_unit_test(guided_alignment_is_minus_log_of_the_aligned_weight),
        cmocka_unit_test(copying_mixes_the_vocabulary_and_the_source_by_the_gate),
        cmocka_unit_test(a_source_token_without_weight_can_still_be_copied),
        cmocka_unit_test(label_smoothing_of_copying_is_that_of_the_vocabulary),
        cmocka_unit_test(sgd_follows_the_gradient_with_momentum),
        cmocka_unit_test(scale_and_l2_penalty_change_the_gradient),
        cmocka_unit_test(the_first_step_of_adam_has_the_learning_rate_as_its_length),
        cmocka_unit_test(adam_decays_weights_apart_from_the_gradient),
        cmocka_unit_test(adadelta_starts_with_steps_of_the_size_of_epsilon),
        cmocka_unit_test(every_optimizer_goes_down_a_parabola),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
