/* The matrix product of tensors: shapes, views, leading dimensions, and invalid arguments. */
#include "attend.h"
#include "base/minmax.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* A view of numbers in memory. */
#define VIEW(data, ...)                                                                            \
    att_tensor_view(data, ATT_F32, (int)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)),    \
                    (int64_t[]){ __VA_ARGS__ })

static const float a_data[6] = { 1, 2, 3, 4, 5, 6 };
static const float b_data[6] = { 1, 0, 0, 1, 2, 2 };
static const float ab[4] = { 7, 8, 16, 17 }; /* [2,3] times [3,2] */

static void a_small_product_by_hand(void **state)
{
    (void)state;
    float out[4];
    att_tensor a = VIEW(a_data, 2, 3), b = VIEW(b_data, 3, 2), c = VIEW(out, 2, 2);
    assert_int_equal(att_matmul(&c, &a, &b, NULL, NULL), ATT_OK);
    assert_memory_equal(out, ab, sizeof ab);
}

static void transposed_views_mean_the_same(void **state)
{
    (void)state;
    const float at_data[6] = { 1, 4, 2, 5, 3, 6 }, bt_data[6] = { 1, 0, 2, 0, 1, 2 };
    float out[4];
    att_tensor a = VIEW(at_data, 3, 2), b = VIEW(bt_data, 2, 3), c = VIEW(out, 2, 2);
    assert_int_equal(att_tensor_transpose(&a, &a, 0, 1, NULL), ATT_OK);
    assert_int_equal(att_tensor_transpose(&b, &b, 0, 1, NULL), ATT_OK);
    assert_int_equal(att_matmul(&c, &a, &b, NULL, NULL), ATT_OK);
    assert_memory_equal(out, ab, sizeof ab);
}

static void packed_weights_outlive_what_they_were_packed_from(void **state)
{
    (void)state;
    float weights[6], out[4];
    memcpy(weights, b_data, sizeof weights);
    att_tensor a = VIEW(a_data, 2, 3), b = VIEW(weights, 3, 2), c = VIEW(out, 2, 2);
    att_packed_matrix *packed;
    assert_int_equal(att_packed_matrix_new(&packed, &b, NULL), ATT_OK);
    memset(weights, 0, sizeof weights);
    assert_int_equal(att_matmul_packed(&c, &a, packed, NULL, NULL), ATT_OK);
    assert_memory_equal(out, ab, sizeof ab);
    att_packed_matrix_free(packed);
    att_packed_matrix_free(NULL);
}

static void bias_activation_and_adding(void **state)
{
    (void)state;
    float out[4] = { -100, 0, 0, -100 };
    const float bias_data[2] = { 1, 2 }, want[4] = { 0, 10, 17, 0 };
    att_tensor a = VIEW(a_data, 2, 3), b = VIEW(b_data, 3, 2), c = VIEW(out, 2, 2);
    att_tensor bias = VIEW(bias_data, 2);
    att_matmul_options how = { .size = sizeof(att_matmul_options),
                               .add = true,
                               .bias = &bias,
                               .activation = ATT_ACTIVATION_RELU };
    assert_int_equal(att_matmul(&c, &a, &b, &how, NULL), ATT_OK);
    assert_memory_equal(out, want, sizeof want);
}

/* a [2,1,2,2], b [3,2,1] repeated along the first, c [2,3,2,1]. */
static void leading_dimensions_are_repeated(void **state)
{
    (void)state;
    const float left[8] = { 1, 2, 3, 4, 10, 20, 30, 40 }, right[6] = { 1, 0, 0, 1, 1, 1 };
    const float want[12] = { 1, 3, 2, 4, 3, 7, 10, 30, 20, 40, 30, 70 };
    float out[12];
    att_tensor a = VIEW(left, 2, 1, 2, 2), b = VIEW(right, 3, 2, 1), c = VIEW(out, 2, 3, 2, 1);
    assert_int_equal(att_matmul(&c, &a, &b, NULL, NULL), ATT_OK);
    assert_memory_equal(out, want, sizeof want);
}

static void five_dimensions_are_walked_in_order(void **state)
{
    (void)state;
    float left[2 * 3 * 2 * 4 * 5], right[5 * 6], out[2 * 3 * 2 * 4 * 6], flat[2 * 3 * 2 * 4 * 6];
    for (size_t i = 0; i < ATT_COUNT(left); i++)
        left[i] = (float)(i % 17) - 8;
    for (size_t i = 0; i < ATT_COUNT(right); i++)
        right[i] = (float)(i % 7) - 3;
    att_tensor a = VIEW(left, 2, 3, 2, 4, 5), b = VIEW(right, 5, 6), c = VIEW(out, 2, 3, 2, 4, 6);
    att_tensor flat_a = VIEW(left, 48, 5), flat_c = VIEW(flat, 48, 6);
    assert_int_equal(att_matmul(&c, &a, &b, NULL, NULL), ATT_OK);
    assert_int_equal(att_matmul(&flat_c, &flat_a, &b, NULL, NULL), ATT_OK);
    assert_memory_equal(out, flat, sizeof out);
}

/* Checks that a product is refused with this message. */
static void refused(att_tensor c, att_tensor a, att_tensor b, const att_matmul_options *how,
                    const char *says)
{
    att_error err = { 0 };
    assert_int_equal(att_matmul(&c, &a, &b, how, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, says);
    assert_string_equal(err.place, "matmul");
}

static void wrong_arguments_are_refused_by_name(void **state)
{
    (void)state;
    float out[64] = { 0 };
    att_tensor a = VIEW(a_data, 2, 3), b = VIEW(b_data, 3, 2), c = VIEW(out, 2, 2);
    refused(c, a, VIEW(b_data, 2, 2), NULL,
            "a has 3 columns and b has 2 rows, expected the same number");
    refused(VIEW(out, 2, 3), a, b, NULL,
            "c is [2, 3], expected [2, 2], the rows of a by the columns of b");
    refused(VIEW(out, 4), a, b, NULL, "c has shape [4], expected two dimensions or more");
    refused(VIEW(out, 2, 2), VIEW(out, 2, 2, 3), b, NULL,
            "the leading dimensions of a [2, 2, 3] cannot be broadcast to those of c [2, 2]");
    refused(VIEW(out, 3, 2, 2), VIEW(out, 2, 2, 3), b, NULL,
            "the leading dimensions of a [2, 2, 3] cannot be broadcast to those of c [3, 2, 2]");
    att_tensor wide = att_tensor_view(out, ATT_F64, 2, (int64_t[]){ 3, 2 });
    refused(c, a, wide, NULL, "b: expected float32, found float64");
    att_tensor gaps = VIEW(out, 3, 2);
    gaps.stride[0] = 8;
    gaps.stride[1] = 3;
    refused(c, a, gaps, NULL,
            "neither of the last two dimensions of b has stride 1, copy it first");
    att_tensor backwards = a;
    backwards.stride[1] = -1;
    refused(c, backwards, b, NULL, "a has a negative stride in dimension 2, copy it first");
    att_tensor sparse = c;
    sparse.stride[1] = 2;
    refused(sparse, a, b, NULL, "the last dimension of c has stride 2, expected 1");
    att_tensor repeated = c;
    repeated.stride[0] = 0;
    refused(repeated, a, b, NULL,
            "c is broadcast in dimension 1 (stride 0), expected separate elements");
    refused(c, VIEW(NULL, 2, 3), b, NULL, "a [2, 3] has no data");
    refused(c, VIEW(a_data, -2, 3), b, NULL, "a [-2, 3] has a negative size");
    att_tensor missing = VIEW(NULL, 2);
    refused(c, a, b, &(att_matmul_options){ .size = sizeof(att_matmul_options), .bias = &missing },
            "the bias has no data");
    att_tensor bias = VIEW(b_data, 3);
    refused(c, a, b, &(att_matmul_options){ .size = sizeof(att_matmul_options), .bias = &bias },
            "the bias is [3] of type float32, expected [2] of float32 with stride 1");
    refused(c, a, b,
            &(att_matmul_options){ .size = sizeof(att_matmul_options),
                                   .activation = (att_activation)99 },
            "unknown activation 99");
}

static void only_a_matrix_can_be_packed(void **state)
{
    (void)state;
    att_packed_matrix *packed;
    att_error err;
    att_tensor b = VIEW(b_data, 1, 3, 2);
    assert_int_equal(att_packed_matrix_new(&packed, &b, &err), ATT_BAD_INPUT);
    assert_null(packed);
    assert_string_equal(err.message, "b has shape [1, 3, 2], expected two dimensions");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_product_by_hand),
        cmocka_unit_test(transposed_views_mean_the_same),
        cmocka_unit_test(packed_weights_outlive_what_they_were_packed_from),
        cmocka_unit_test(bias_activation_and_adding),
        cmocka_unit_test(leading_dimensions_are_repeated),
        cmocka_unit_test(five_dimensions_are_walked_in_order),
        cmocka_unit_test(wrong_arguments_are_refused_by_name),
        cmocka_unit_test(only_a_matrix_can_be_packed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
