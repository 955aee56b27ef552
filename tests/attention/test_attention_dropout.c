/* Dropout of attention weights uses a counter-based random generator: whether a weight is dropped
 * depends on its position and the seed alone. */
#include "helper.h"

#include "attention/dropout.h"

#include <float.h>

static const att_attention_options quarter = { .size = sizeof(att_attention_options),
                                               .dropout = 0.25,
                                               .dropout_seed = 11,
                                               .dropout_step = 5,
                                               .dropout_layer = 2 };

static void a_weight_is_dropped_as_often_as_asked(void **state)
{
    (void)state;
    const double rates[] = { 0.01, 0.1, 0.25, 0.5, 0.9, 0.999 };
    for (size_t n = 0; n < COUNT(rates); n++) {
        att_attention_options options = quarter;
        options.dropout = rates[n];
        att_attention_dropout drop = att_attention_dropout_new(&options);
        double dropped = 0;
        const int64_t trials = 4 * 4 * 64 * 256;
        for (int64_t t = 0; t < trials; t++) {
            double factor =
                att_attention_dropout_factor(&drop, t & 3, t >> 2 & 3, t >> 4 & 63, t >> 10);
            assert_true(factor == 0 || factor == 1 / (1 - rates[n]));
            dropped += factor == 0;
        }
        /* five standard deviations of the binomial distribution */
        double mean = rates[n] * (double)trials;
        assert_true(fabs(dropped - mean) < 5 * sqrt(mean * (1 - rates[n])));
    }
}

static void nothing_is_dropped_at_probability_zero(void **state)
{
    (void)state;
    att_attention_options options = { .size = sizeof(att_attention_options), .dropout_seed = 1 };
    att_attention_dropout drop = att_attention_dropout_new(&options);
    for (int64_t j = 0; j < 1000; j++)
        assert_true(att_attention_dropout_factor(&drop, 0, 0, 0, j) == 1);
}

/* The share of weights on which two draws agree, where independent ones agree on 0.75² + 0.25². */
static double agreement(const att_attention_options *one, const att_attention_options *two,
                        int shift)
{
    att_attention_dropout a = att_attention_dropout_new(one), b = att_attention_dropout_new(two);
    double same = 0;
    for (int64_t t = 0; t < 1 << 16; t++)
        same +=
            (att_attention_dropout_factor(&a, 1, 1, t >> 8, t & 255) == 0) ==
            (att_attention_dropout_factor(&b, 1 + (shift == 1), 1 + (shift == 2),
                                          (t >> 8) + (shift == 3), (t & 255) + (shift == 4)) == 0);
    return same / (1 << 16);
}

static void each_part_of_the_key_gives_another_draw(void **state)
{
    (void)state;
    att_attention_options seed = quarter, step = quarter, layer = quarter, swapped = quarter;
    seed.dropout_seed++;
    step.dropout_step++;
    layer.dropout_layer++;
    swapped.dropout_step = quarter.dropout_layer;
    swapped.dropout_layer = quarter.dropout_step;
    att_attention_options high = quarter;
    high.dropout_step |= UINT64_C(1) << 40;
    const att_attention_options *others[] = { &seed, &step, &layer, &swapped, &high };
    assert_true(agreement(&quarter, &quarter, 0) == 1);
    const double expected = 0.75 * 0.75 + 0.25 * 0.25;
    const double five_deviations = 5 * sqrt(expected * (1 - expected) / (1 << 16));
    for (size_t n = 0; n < COUNT(others); n++)
        assert_true(fabs(agreement(&quarter, others[n], 0) - expected) < five_deviations);
    for (int shift = 1; shift <= 4; shift++) /* another b, h, i or j */
        assert_true(fabs(agreement(&quarter, &quarter, shift) - expected) < five_deviations);
}

/* These bits are part of the format: a resumed run and a fast kernel must draw them too. */
static void the_draws_are_fixed_for_all_time(void **state)
{
    (void)state;
    att_attention_dropout drop = att_attention_dropout_new(&quarter);
    char kept[65] = { 0 };
    for (int64_t n = 0; n < 64; n++)
        kept[n] = att_attention_dropout_factor(&drop, n >> 5, n >> 4 & 1, n >> 3 & 1, n & 7) == 0
                      ? '.'
                      : '1';
    assert_string_equal(kept, "..1111111111.1.11.11111111111111"
                              "11111.1..111111.111.11.111111111");
}

static void weights_come_out_before_dropout_and_outputs_after(void **state)
{
    (void)state;
    double zeros[64] = { 0 }, ones[64], output[8], weights[64], totals[8];
    for (int n = 0; n < 64; n++)
        ones[n] = 1;
    att_tensor query = view4(zeros, 1, 8, 1, 1), key = view4(zeros, 1, 8, 1, 1);
    att_tensor value = view4(ones, 1, 8, 1, 1), out = view4(output, 1, 8, 1, 1);
    att_tensor map = view4(weights, 1, 1, 8, 8), total = view3(totals, 1, 1, 8);
    att_attention_inputs in = { .query = &query, .key = &key, .value = &value };
    att_attention_outputs outs = { .output = &out, .weights = &map, .key_totals = &total };
    ASSERT_OK(att_attention_forward_reference(&quarter, &in, &outs, err));
    att_attention_dropout drop = att_attention_dropout_new(&quarter);
    for (int64_t i = 0; i < 8; i++) {
        double kept = 0;
        for (int64_t j = 0; j < 8; j++) {
            assert_close(weights[8 * i + j], 0.125, 0);
            kept += att_attention_dropout_factor(&drop, 0, 0, i, j) / 8;
        }
        assert_close(output[i], kept, 8 * DBL_EPSILON);
        assert_close(totals[i], 1, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_weight_is_dropped_as_often_as_asked),
        cmocka_unit_test(nothing_is_dropped_at_probability_zero),
        cmocka_unit_test(each_part_of_the_key_gives_another_draw),
        cmocka_unit_test(the_draws_are_fixed_for_all_time),
        cmocka_unit_test(weights_come_out_before_dropout_and_outputs_after),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
