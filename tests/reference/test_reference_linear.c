/* Linear layer, batched product, convolutions and pooling: values worked out by hand. */
#include "reference/conv.h"
#include "reference/linear.h"
#include "reference/pool.h"

#include "reference/reference_check.h"

static void a_linear_layer_multiplies_adds_the_bias_and_activates(void **state)
{
    (void)state;
    const double x[] = { 1, 2, -1, 3 }, w[] = { 1, 0, 2, 3, -1, 1 }, bias[] = { 10, 20, -30 };
    const att_reference_linear_weights weights = { w, bias, 2, 3, false };
    const double want[] = { 17, 18, -26, 18, 17, -29 };
    double y[6];
    att_reference_linear(y, x, 2, &weights, ATT_ACTIVATION_NONE);
    assert_all_near(y, want, 6, 0);
    att_reference_linear(y, x, 2, &weights, ATT_ACTIVATION_RELU);
    assert_true(y[0] == 17 && y[2] == 0 && y[5] == 0);
}

static void a_transposed_matrix_gives_the_same(void **state)
{
    (void)state;
    double x[3 * 5], w[5 * 4], turned[4 * 5], a[3 * 4], b[3 * 4];
    fill_random(x, 15, 1);
    fill_random(w, 20, 2);
    for (int k = 0; k < 5; k++)
        for (int j = 0; j < 4; j++)
            turned[j * 5 + k] = w[k * 4 + j];
    att_reference_linear(a, x, 3, &(att_reference_linear_weights){ w, NULL, 5, 4, false },
                         ATT_ACTIVATION_NONE);
    att_reference_linear(b, x, 3, &(att_reference_linear_weights){ turned, NULL, 5, 4, true },
                         ATT_ACTIVATION_NONE);
    assert_all_near(a, b, 12, 0);
}

static void a_batched_product_multiplies_item_by_item(void **state)
{
    (void)state;
    const double a[] = { 1, 2, 3, 4 }, b[] = { 5, 6, 7, 8, 1, 0, 0, 1 };
    const double want[] = { 19, 22, 3, 4 };
    double c[4];
    att_reference_bmm(c, a, b, 2, 1, 2, 2);
    assert_all_near(c, want, 4, 0);
}

static void a_convolution_over_rows_skips_what_lies_outside(void **state)
{
    (void)state;
    const double x[] = { 1, 10, 2, 20, 3, 30 }, first[] = { 1, 0 }, second[] = { 100, 1 };
    const double *const taps[] = { first, second };
    const att_reference_conv1d conv = { x, 3, 2, 2, taps, 2, 1 };
    assert_true(att_reference_conv1d_at(&conv, 0, 0, 5) == 5 + 1 + 200 + 20);
    assert_true(att_reference_conv1d_at(&conv, -1, 0, 0) == 100 + 10);
    assert_true(att_reference_conv1d_at(&conv, 2, 0, 0) == 3);
    assert_true(att_reference_conv1d_at(&conv, 3, 0, 7) == 7);
}

static void a_convolution_of_an_image_pads_with_zeros_and_strides(void **state)
{
    (void)state;
    const double x[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 }, w[] = { 1, 0, 0, 10 }, bias[] = { 0.5 };
    att_reference_conv2d_shape s = { 1, 3, 3, 1, 2, 2, 1, 2, 2, 1, 0 };
    double y[4];
    const double valid[] = { 51.5, 62.5, 84.5, 95.5 }, padded[] = { 10.5, 30.5, 70.5, 95.5 };
    att_reference_conv2d(y, &s, x, w, bias, ATT_ACTIVATION_NONE);
    assert_all_near(y, valid, 4, 0);
    s.padding = 1;
    s.stride = 2;
    att_reference_conv2d(y, &s, x, w, bias, ATT_ACTIVATION_NONE);
    assert_all_near(y, padded, 4, 0);
}

/* A 1 x 1 convolution is a linear layer over pixels. */
static void a_pointwise_convolution_is_a_linear_layer(void **state)
{
    (void)state;
    double x[2 * 3 * 2 * 4], w[4 * 5], bias[5], conv[12 * 5], linear[12 * 5];
    fill_random(x, 48, 1);
    fill_random(w, 20, 2);
    fill_random(bias, 5, 3);
    const att_reference_conv2d_shape s = { 2, 3, 2, 4, 3, 2, 5, 1, 1, 1, 0 };
    att_reference_conv2d(conv, &s, x, w, bias, ATT_ACTIVATION_TANH);
    att_reference_linear(linear, x, 12, &(att_reference_linear_weights){ w, bias, 4, 5, false },
                         ATT_ACTIVATION_TANH);
    assert_all_near(conv, linear, 60, 0);
}

static void pooling_windows_end_at_the_border(void **state)
{
    (void)state;
    const double x[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
    const att_reference_pool2d_shape s = { 1, 3, 3, 1, 2, 2, 2, 2, 2, 2 };
    const double max[] = { 5, 6, 8, 9 }, mean[] = { 3, 4.5, 7.5, 9 };
    double y[4];
    att_reference_max_pool2d(y, &s, x);
    assert_all_near(y, max, 4, 0);
    att_reference_avg_pool2d(y, &s, x);
    assert_all_near(y, mean, 4, 0);
}

static void sequences_are_pooled_by_column(void **state)
{
    (void)state;
    static void (*const pools[])(double *, const double *, int64_t, int64_t) = {
        att_reference_sequence_mean, att_reference_sequence_max, att_reference_sequence_last
    };
    const double x[] = { 1, 8, 3, 2, 2, 5 }, zeros[] = { 0, 0 };
    const double want[3][2] = { { 2, 5 }, { 3, 8 }, { 2, 5 } };
    for (int i = 0; i < 3; i++) {
        double y[2] = { 7, 7 };
        pools[i](y, x, 3, 2);
        assert_all_near(y, want[i], 2, 0);
        pools[i](y, x, 0, 2);
        assert_all_near(y, zeros, 2, 0);
    }
}

static void a_maximum_does_not_hide_a_nan(void **state)
{
    (void)state;
    for (int at = 0; at < 3; at++) {
        double x[] = { 1, 2, 3 }, y;
        x[at] = NAN;
        att_reference_sequence_max(&y, x, 3, 1);
        assert_true(isnan(y));
        const att_reference_pool2d_shape s = { 1, 1, 3, 1, 1, 1, 1, 3, 1, 3 };
        att_reference_max_pool2d(&y, &s, x);
        assert_true(isnan(y));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_linear_layer_multiplies_adds_the_bias_and_activates),
        cmocka_unit_test(a_transposed_matrix_gives_the_same),
        cmocka_unit_test(a_batched_product_multiplies_item_by_item),
        cmocka_unit_test(a_convolution_over_rows_skips_what_lies_outside),
        cmocka_unit_test(a_convolution_of_an_image_pads_with_zeros_and_strides),
        cmocka_unit_test(a_pointwise_convolution_is_a_linear_layer),
        cmocka_unit_test(pooling_windows_end_at_the_border),
        cmocka_unit_test(sequences_are_pooled_by_column),
        cmocka_unit_test(a_maximum_does_not_hide_a_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
