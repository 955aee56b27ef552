/* Norms, positions, SwiGLU, dropout and the local window. */
#include "reference/norm.h"
#include "reference/positions.h"

#include "reference/activation.h"
#include "reference/reference_check.h"

enum { N = 7 };

static void a_layer_norm_has_mean_0_and_variance_1(void **state)
{
    (void)state;
    double x[N], y[N], mean = 0, variance = 0;
    fill_random(x, N, 1);
    att_reference_layer_norm(y, x, N, 0, NULL, NULL);
    for (int i = 0; i < N; i++)
        mean += y[i] / N;
    for (int i = 0; i < N; i++)
        variance += y[i] * y[i] / N;
    assert_near(mean, 0, 20);
    assert_near(variance, 1, 20);
}

static void a_layer_norm_applies_epsilon_gain_and_bias(void **state)
{
    (void)state;
    const double x[] = { 1, 3 }, gain[] = { 2, 5 }, bias[] = { 10, 20 }, constant[] = { 4, 4 };
    double y[2];
    att_reference_layer_norm(y, x, 2, 0, gain, bias);
    assert_near(y[0], 10 - 2, 4);
    assert_near(y[1], 20 + 5, 4);
    att_reference_layer_norm(y, x, 2, 3, NULL, NULL); /* variance 1, epsilon 3 */
    assert_near(y[1], 0.5, 4);
    att_reference_layer_norm(y, constant, 2, 1e-5, gain, bias);
    assert_true(y[0] == 10 && y[1] == 20);
}

static void an_rms_norm_divides_by_the_root_of_the_mean_square(void **state)
{
    (void)state;
    const double x[] = { 3, 4 }, gain[] = { 1, 2 };
    double y[2];
    att_reference_rms_norm(y, x, 2, 0, gain);
    assert_near(y[0], 3 / sqrt(12.5), 4);
    assert_near(y[1], 8 / sqrt(12.5), 4);
}

static void sinusoids_are_sine_and_cosine_of_one_angle(void **state)
{
    (void)state;
    double all[7 * 6], rest[3 * 6];
    att_reference_sinusoids(all, 0, 7, 6, ATT_POSITION_BASE);
    att_reference_sinusoids(rest, 4, 3, 6, ATT_POSITION_BASE);
    assert_memory_equal(all + 4 * 6, rest, sizeof rest);
    for (int j = 0; j < 6; j++)
        assert_true(all[j] == j % 2);
    assert_near(all[3 * 6], sin(3), 2);
    assert_near(all[3 * 6 + 3], cos(3 / pow(10000, 2.0 / 6)), 4);
    for (int i = 0; i < 7 * 3; i++)
        assert_near(all[2 * i] * all[2 * i] + all[2 * i + 1] * all[2 * i + 1], 1, 4);
}

/* The dot product of rotated vectors depends on the distance of their positions alone. */
static void rope_keeps_lengths_and_sees_distances_alone(void **state)
{
    (void)state;
    enum { K = 6 };
    double x[2 * K], y[2 * K], dot[2] = { 0 };
    fill_random(x, 2 * K, 1);
    for (int shift = 0; shift < 2; shift++) {
        const int32_t positions[] = { 5 + 30 * shift, 12 + 30 * shift };
        double before = 0, after = 0;
        att_reference_rope(y, x, 2, K, 1, K, positions, ATT_POSITION_BASE);
        for (int j = 0; j < K; j++) {
            dot[shift] += y[j] * y[K + j];
            before += x[j] * x[j];
            after += y[j] * y[j];
        }
        assert_near(after, before, 20);
    }
    assert_near(dot[0], dot[1], 60);
}

static void rope_copies_position_0_and_columns_after_the_heads(void **state)
{
    (void)state;
    double x[2 * 7], y[2 * 7];
    const int32_t positions[] = { 0, 9 };
    fill_random(x, 14, 1);
    att_reference_rope(y, x, 2, 7, 1, 4, positions, ATT_POSITION_BASE);
    assert_all_near(y, x, 7, 0);
    assert_all_near(y + 7 + 4, x + 7 + 4, 3, 0);
    assert_near(att_reference_rope_angle(9, 1, 4, ATT_POSITION_BASE), 0.09, 2);
    assert_near(y[7 + 1], x[7 + 1] * cos(0.09) - x[7 + 3] * sin(0.09), 6);
    assert_near(y[7 + 3], x[7 + 3] * cos(0.09) + x[7 + 1] * sin(0.09), 6);
}

static void swiglu_gates_the_second_half_by_the_first(void **state)
{
    (void)state;
    const double x[] = { 0, 1, 5, 7, -2, 100, 3, 0.5 };
    double y[4];
    att_reference_swiglu(y, x, 2, 2);
    assert_true(y[0] == 0);
    assert_near(y[1], 7 * att_reference_silu(1), 2);
    assert_near(y[2], 3 * att_reference_silu(-2), 2);
    assert_near(y[3], 50, 2);
}

static void dropout_drops_by_the_draws_and_keeps_the_mean(void **state)
{
    (void)state;
    enum { COUNT = 20000 };
    static double x[COUNT], y[COUNT];
    double sum = 0;
    for (int i = 0; i < COUNT; i++)
        x[i] = 1;
    att_reference_dropout(y, x, COUNT, 3, 4, 0.25f);
    for (int i = 0; i < COUNT; i++) {
        bool dropped = att_random_float(3, 4, (uint64_t)i) < 0.25f;
        assert_true(y[i] == (dropped ? 0 : 1 / 0.75));
        sum += y[i];
    }
    /* five standard deviations: each element has variance 1/3 */
    assert_true(fabs(sum / COUNT - 1) < 5 * sqrt(1.0 / 3 / COUNT));
    att_reference_dropout(y, x, COUNT, 3, 4, 0);
    assert_memory_equal(x, y, sizeof x);
}

static void a_local_window_is_0_at_its_center_and_falls_as_a_parabola(void **state)
{
    (void)state;
    double bias[6];
    att_reference_local_window(bias, 6, 0.4, 5, 1.5); /* center 2 */
    for (int s = 0; s < 6; s++)
        assert_near(bias[s], -(s - 2.0) * (s - 2.0) / 4.5, 8);
    att_reference_local_window(bias, 1, 0.4, 0, 2); /* an empty source: center 0 */
    assert_true(bias[0] == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_layer_norm_has_mean_0_and_variance_1),
        cmocka_unit_test(a_layer_norm_applies_epsilon_gain_and_bias),
        cmocka_unit_test(an_rms_norm_divides_by_the_root_of_the_mean_square),
        cmocka_unit_test(sinusoids_are_sine_and_cosine_of_one_angle),
        cmocka_unit_test(rope_keeps_lengths_and_sees_distances_alone),
        cmocka_unit_test(rope_copies_position_0_and_columns_after_the_heads),
        cmocka_unit_test(swiglu_gates_the_second_half_by_the_first),
        cmocka_unit_test(dropout_drops_by_the_draws_and_keeps_the_mean),
        cmocka_unit_test(a_local_window_is_0_at_its_center_and_falls_as_a_parabola),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
