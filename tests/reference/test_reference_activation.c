/* Activations: known values, limits and derivatives. */
#include "reference/activation.h"

#include "reference/reference_check.h"

static void known_values(void **state)
{
    (void)state;
    assert_true(att_reference_relu(-2) == 0 && att_reference_relu(3) == 3);
    assert_true(att_reference_sigmoid(0) == 0.5);
    assert_near(att_reference_sigmoid(1), 0.7310585786300048793, 2);
    assert_near(att_reference_silu(1), 0.7310585786300048793, 2);
    assert_near(att_reference_silu(-2), -0.23840584404423517, 2);
    assert_near(att_reference_gelu(1), 0.84134474606854294859, 2);
    assert_near(att_reference_gelu(-1), -0.15865525393145705141, 2);
    assert_true(att_reference_gelu(0) == 0);
    assert_near(att_reference_activation(ATT_ACTIVATION_TANH, 0.5), 0.46211715726000975850, 2);
}

static void limits_and_nan(void **state)
{
    (void)state;
    assert_true(att_reference_sigmoid(-800) == 0 && att_reference_sigmoid(800) == 1);
    assert_true(att_reference_gelu(-40) == 0 && att_reference_gelu(40) == 40);
    assert_true(att_reference_silu(800) == 800);
    for (att_activation a = ATT_ACTIVATION_NONE; a <= ATT_ACTIVATION_SIGMOID; a++)
        assert_true(isnan(att_reference_activation(a, NAN)));
}

static void functions_are_found_by_name(void **state)
{
    (void)state;
    for (double x = -3; x <= 3; x += 0.375) {
        assert_true(att_reference_activation(ATT_ACTIVATION_NONE, x) == x);
        assert_true(att_reference_activation(ATT_ACTIVATION_RELU, x) == att_reference_relu(x));
        assert_true(att_reference_activation(ATT_ACTIVATION_GELU, x) == att_reference_gelu(x));
        assert_true(att_reference_activation(ATT_ACTIVATION_SILU, x) == att_reference_silu(x));
        assert_true(att_reference_activation(ATT_ACTIVATION_SIGMOID, x) ==
                    att_reference_sigmoid(x));
    }
}

/* sigmoid' = s (1 - s), silu' = s (1 + x (1 - s)), gelu' = Φ(x) + x φ(x). */
static void derivatives(void **state)
{
    (void)state;
    for (double x = -3; x <= 3; x += 0.25) {
        double s = att_reference_sigmoid(x), bound = 1e-9;
        double normal = erfc(-x / sqrt(2)) / 2, density = exp(-x * x / 2) / sqrt(2 * acos(-1));
        assert_true(fabs(central_difference(att_reference_sigmoid, x) - s * (1 - s)) < bound);
        assert_true(fabs(central_difference(att_reference_silu, x) - s * (1 + x * (1 - s))) <
                    bound);
        assert_true(fabs(central_difference(att_reference_gelu, x) - (normal + x * density)) <
                    bound);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(limits_and_nan),
        cmocka_unit_test(functions_are_found_by_name),
        cmocka_unit_test(derivatives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
