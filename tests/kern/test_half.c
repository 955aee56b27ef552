/* 16-bit floating point: all 65,536 patterns of both formats against their definition, rounding
 * from double against the nearest of all values, and tensors of these types. */
#include "tensor/tensor.h"

#include "base/minmax.h"
#include "kern/kern.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct format {
    int fraction, bias; /* bits of the fraction, bias of the exponent */
    uint16_t infinity;
    uint16_t (*round)(double);
    float (*widen)(uint16_t);
    att_dtype dtype;
} format;

static const format formats[] = {
    { 10, 15, 0x7c00, att_float64_to_float16, att_float16_to_float32, ATT_F16 },
    { 7, 127, 0x7f80, att_float64_to_bfloat16, att_bfloat16_to_float32, ATT_BF16 },
};

/* By the definition of IEEE 754: sign, exponent, fraction. */
static double value_of(const format *f, uint16_t bits)
{
    int exponent = (bits & 0x7fff) >> f->fraction, fraction = bits & ((1 << f->fraction) - 1);
    int top = (1 << (15 - f->fraction)) - 1;
    double magnitude = exponent == top ? (fraction ? (double)NAN : (double)INFINITY)
                       : exponent == 0
                           ? ldexp(fraction, 1 - f->bias - f->fraction)
                           : ldexp(fraction + (1 << f->fraction), exponent - f->bias - f->fraction);
    return bits & 0x8000 ? -magnitude : magnitude;
}

static void every_pattern_widens_to_its_value(void **state)
{
    (void)state;
    for (size_t n = 0; n < ATT_COUNT(formats); n++)
        for (uint32_t bits = 0; bits < 65536; bits++) {
            double found = (double)formats[n].widen((uint16_t)bits);
            double wanted = value_of(&formats[n], (uint16_t)bits);
            assert_true(isnan(wanted) ? isnan(found) : memcmp(&found, &wanted, sizeof found) == 0);
        }
}

static void every_instruction_set_widens_alike(void **state)
{
    (void)state;
    static uint16_t bits[65536];
    static float found[65536];
    for (uint32_t n = 0; n < 65536; n++)
        bits[n] = (uint16_t)n;
    ATT_FOR_EACH_CPU (cpu) {
        const att_kernels *kernels = att_kernels_for((att_cpu)cpu);
        att_kern_from_half *widen[] = { kernels->float16_to_float32, kernels->bfloat16_to_float32 };
        for (size_t f = 0; f < ATT_COUNT(formats); f++) {
            widen[f](found, bits, 65536);
            for (uint32_t n = 0; n < 65536; n++) {
                float wanted = formats[f].widen((uint16_t)n);
                assert_true(isnan(wanted) ? isnan(found[n])
                                          : memcmp(&found[n], &wanted, sizeof wanted) == 0);
            }
        }
    }
}

/* Between two neighbors: each rounds to itself, the middle to the even one, a double just beside
 * the middle to the nearer one. The value after the largest finite one is infinity. */
static void doubles_round_to_the_nearest_and_ties_to_even(void **state)
{
    (void)state;
    for (size_t n = 0; n < ATT_COUNT(formats); n++) {
        const format *f = &formats[n];
        for (uint16_t bits = 0; bits < f->infinity; bits++) {
            double low = value_of(f, bits), high = value_of(f, (uint16_t)(bits + 1));
            if (isinf(high))
                high = low + (low - value_of(f, (uint16_t)(bits - 1)));
            double middle = low + (high - low) / 2;
            uint16_t even = bits % 2 ? (uint16_t)(bits + 1) : bits;
            for (int negative = 0; negative < 2; negative++) {
                double sign = negative ? -1 : 1;
                uint16_t with = negative ? 0x8000 : 0;
                assert_int_equal(f->round(sign * low), with | bits);
                assert_int_equal(f->round(sign * middle), with | even);
                assert_int_equal(f->round(sign * nextafter(middle, low)), with | bits);
                assert_int_equal(f->round(sign * nextafter(middle, high)), with | (bits + 1));
            }
        }
        assert_int_equal(f->round((double)INFINITY), f->infinity);
        assert_int_equal(f->round(-1e300), 0x8000 | f->infinity);
        assert_int_equal(f->round(1e-320), 0);
        assert_true(isnan((double)f->widen(f->round((double)NAN))));
    }
}

static void tensors_of_halves_are_made_set_read_and_copied(void **state)
{
    (void)state;
    for (size_t n = 0; n < ATT_COUNT(formats); n++) {
        att_tensor t, wide, back;
        const int64_t shape[] = { 2, 3 };
        assert_int_equal(att_tensor_new(&t, formats[n].dtype, 2, shape, NULL), ATT_OK);
        for (int64_t i = 0; i < 6; i++)
            att_tensor_set(&t, (int64_t[]){ i / 3, i % 3 }, (double)i / 4 + 0.01);
        assert_int_equal(att_tensor_copy(&wide, &t, ATT_F64, NULL), ATT_OK);
        assert_int_equal(att_tensor_copy(&back, &wide, formats[n].dtype, NULL), ATT_OK);
        for (int64_t i = 0; i < 6; i++) {
            int64_t index[] = { i / 3, i % 3 };
            double wanted = value_of(&formats[n], formats[n].round((double)i / 4 + 0.01));
            assert_true(att_tensor_get(&t, index) == wanted);
            assert_true(att_tensor_get(&wide, index) == wanted);
        }
        assert_memory_equal(back.data, t.data, 6 * sizeof(uint16_t));
        att_error err;
        assert_int_equal(att_npy_save(&t, "/nonexistent/x.npy", &err), ATT_BAD_INPUT);
        assert_string_equal(err.message, n == 0
                                             ? "tensor: expected float32 or float64, found float16"
                                             : "tensor: expected float32 or float64, found "
                                               "bfloat16");
        assert_int_equal(att_matmul(&wide, &t, &t, NULL, &err), ATT_BAD_INPUT);
        att_tensor_free(&t);
        att_tensor_free(&wide);
        att_tensor_free(&back);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pattern_widens_to_its_value),
        cmocka_unit_test(every_instruction_set_widens_alike),
        cmocka_unit_test(doubles_round_to_the_nearest_and_ties_to_even),
        cmocka_unit_test(tensors_of_halves_are_made_set_read_and_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
