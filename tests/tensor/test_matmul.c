/* The matrix product of tensors: shapes, views, leading dimensions, and invalid arguments. */
#include "attend.h"
#include "base/cpu.h"
#include "base/minmax.h"
#include "failing_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
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

/* C += A B with A given as it is or transposed in memory, with gaps between its rows. */
static void multiply_into(float *c, const float *block, bool transposed, const int64_t *size,
                          const att_tensor *b)
{
    int64_t rows = size[0], depth = size[1], columns = size[2], gap = 3;
    att_tensor a = att_tensor_view(block, ATT_F32, 2, (int64_t[]){ rows, depth });
    att_tensor out = att_tensor_view(c, ATT_F32, 2, (int64_t[]){ rows, columns });
    a.stride[0] = transposed ? 1 : depth + gap;
    a.stride[1] = transposed ? rows + gap : 1;
    att_matmul_options add = ATT_INIT(att_matmul_options);
    add.add = true;
    assert_int_equal(att_matmul(&out, &a, b, &add, NULL), ATT_OK);
}

/* Many rows of a transposed A are copied in parts; few are used in place. */
static void a_transposed_a_has_the_same_bits(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = { { 31, 300, 40 },   { 32, 255, 32 },  { 60, 256, 33 },
                                        { 61, 257, 47 },   { 121, 1, 64 },   { 169, 600, 31 },
                                        { 168, 513, 80 },  { 337, 40, 128 }, { 61, 300, 400 },
                                        { 169, 270, 1000 } };
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
        int64_t rows = sizes[n][0], depth = sizes[n][1], columns = sizes[n][2];
        size_t a_count = (size_t)((rows + 3) * (depth + 3)), c_count = (size_t)(rows * columns);
        float *a = calloc(a_count, sizeof *a), *turned = calloc(a_count, sizeof *a);
        float *b = calloc((size_t)(depth * columns), sizeof *b);
        float *c = calloc(c_count, sizeof *c), *found = calloc(c_count, sizeof *c);
        for (int64_t i = 0; i < rows; i++)
            for (int64_t k = 0; k < depth; k++)
                a[i * (depth + 3) + k] = turned[k * (rows + 3) + i] =
                    (float)((i * 31 + k * 17) % 101) / 7 - 6;
        for (int64_t i = 0; i < depth * columns; i++)
            b[i] = (float)(i % 97) / 11 - 4;
        att_tensor weights = VIEW(b, depth, columns);
        ATT_FOR_EACH_CPU (cpu) {
            assert_true(att_cpu_set((att_cpu)cpu));
            att_threads_set(1 + cpu % 3);
            multiply_into(c, a, false, sizes[n], &weights);
            multiply_into(found, turned, true, sizes[n], &weights);
            assert_memory_equal(found, c, c_count * sizeof *c);
        }
        free(a), free(turned), free(b), free(c), free(found);
    }
    att_cpu_set(att_cpu_best());
    att_threads_set(1);
}

/* relu(A B + bias) with B in place, whose steps along the depth are copied where its rows are long,
 * and with B packed. */
static void a_b_in_place_has_the_same_bits_as_packed(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = { { 47, 300, 400 },  { 48, 257, 384 },   { 60, 256, 448 },
                                        { 61, 600, 1024 }, { 170, 255, 397 },  { 300, 20, 512 },
                                        { 257, 520, 416 }, { 400, 300, 1030 }, { 350, 3, 64 } };
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
        int64_t rows = sizes[n][0], depth = sizes[n][1], columns = sizes[n][2];
        size_t c_size = (size_t)(rows * columns) * sizeof(float);
        float *a = malloc((size_t)(rows * depth) * sizeof *a);
        float *b = malloc((size_t)(depth * columns) * sizeof *b);
        float *bias = malloc((size_t)columns * sizeof *bias);
        float *c = malloc(c_size), *found = malloc(c_size);
        for (int64_t i = 0; i < rows * depth; i++)
            a[i] = (float)(i * 31 % 101) / 7 - 6;
        for (int64_t i = 0; i < depth * columns; i++)
            b[i] = (float)(i % 97) / 11 - 4;
        for (int64_t i = 0; i < columns; i++)
            bias[i] = (float)(i % 13) - 6;
        att_tensor left = VIEW(a, rows, depth), right = VIEW(b, depth, columns);
        att_tensor of_bias = VIEW(bias, columns);
        att_tensor want = VIEW(c, rows, columns), got = VIEW(found, rows, columns);
        att_matmul_options options = ATT_INIT(att_matmul_options);
        options.bias = &of_bias;
        options.activation = ATT_ACTIVATION_RELU;
        ATT_FOR_EACH_CPU (cpu) {
            assert_true(att_cpu_set((att_cpu)cpu));
            att_threads_set(1 + cpu % 3);
            att_packed_matrix *packed;
            assert_int_equal(att_packed_matrix_new(&packed, &right, NULL), ATT_OK);
            assert_int_equal(att_matmul_packed(&want, &left, packed, &options, NULL), ATT_OK);
            assert_int_equal(att_matmul(&got, &left, &right, &options, NULL), ATT_OK);
            assert_memory_equal(found, c, c_size);
            att_packed_matrix_free(packed);
        }
        free(a), free(b), free(bias), free(c), free(found);
    }
    att_cpu_set(att_cpu_best());
    att_threads_set(1);
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

/* Rows and columns enough for copies of both operands. */
static att_status multiply_large(void *context)
{
    att_tensor *t = context;
    return att_matmul(&t[0], &t[1], &t[2], NULL, NULL);
}

static void a_product_without_memory_for_copies_says_so(void **state)
{
    (void)state;
    enum { ROWS = 64, DEPTH = 70, COLUMNS = 390 };
    float *a = calloc(ROWS * DEPTH, sizeof *a), *b = calloc(DEPTH * COLUMNS, sizeof *b);
    float *c = calloc(ROWS * COLUMNS, sizeof *c);
    att_tensor t[3] = { VIEW(c, ROWS, COLUMNS), VIEW(a, DEPTH, ROWS), VIEW(b, DEPTH, COLUMNS) };
    assert_int_equal(att_tensor_transpose(&t[1], &t[1], 0, 1, NULL), ATT_OK);
    every_single_failure_is_reported(multiply_large, t);
    free(a), free(b), free(c);
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
        cmocka_unit_test(a_transposed_a_has_the_same_bits),
        cmocka_unit_test(a_b_in_place_has_the_same_bits_as_packed),
        cmocka_unit_test(packed_weights_outlive_what_they_were_packed_from),
        cmocka_unit_test(bias_activation_and_adding),
        cmocka_unit_test(leading_dimensions_are_repeated),
        cmocka_unit_test(five_dimensions_are_walked_in_order),
        cmocka_unit_test(wrong_arguments_are_refused_by_name),
        cmocka_unit_test(a_product_without_memory_for_copies_says_so),
        cmocka_unit_test(only_a_matrix_can_be_packed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
