/* Shapes, views and copies. */
#include "tensor/tensor.h"
#include "base/minmax.h"

#include "base/alloc.h"

#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define SHAPE(...) ((const int64_t[]){ __VA_ARGS__ })

/* A [2,3,4] tensor whose element [a,b,c] is 100a + 10b + c. */
static att_tensor numbered(att_dtype dtype)
{
    att_tensor tensor;
    assert_int_equal(att_tensor_new(&tensor, dtype, 3, SHAPE(2, 3, 4), NULL), ATT_OK);
    for (int64_t a = 0; a < 2; a++)
        for (int64_t b = 0; b < 3; b++)
            for (int64_t c = 0; c < 4; c++)
                att_tensor_set(&tensor, SHAPE(a, b, c), (double)(100 * a + 10 * b + c));
    return tensor;
}

static void a_new_tensor_is_zero_and_row_major(void **state)
{
    (void)state;
    for (int dtype = ATT_F32; dtype <= ATT_F64; dtype++) {
        att_tensor tensor;
        assert_int_equal(att_tensor_new(&tensor, (att_dtype)dtype, 3, SHAPE(2, 3, 4), NULL),
                         ATT_OK);
        assert_int_equal(att_tensor_count(&tensor), 24);
        assert_int_equal(tensor.stride[0], 12);
        assert_int_equal(tensor.stride[1], 4);
        assert_int_equal(tensor.stride[2], 1);
        assert_ptr_equal(tensor.data, tensor.owned);
        for (int64_t i = 0; i < 24; i++)
            assert_true(att_tensor_get(&tensor, SHAPE(i / 12, i / 4 % 3, i % 4)) == 0);
        att_tensor_free(&tensor);
        assert_null(tensor.data);
    }
}

static void a_scalar_has_one_element_and_an_empty_tensor_none(void **state)
{
    (void)state;
    att_tensor scalar, empty, wide;
    assert_int_equal(att_tensor_new(&scalar, ATT_F64, 0, NULL, NULL), ATT_OK);
    assert_int_equal(att_tensor_count(&scalar), 1);
    att_tensor_set(&scalar, NULL, 2.5);
    assert_true(att_tensor_get(&scalar, NULL) == 2.5);
    assert_int_equal(att_tensor_new(&empty, ATT_F32, 2, SHAPE(3, 0), NULL), ATT_OK);
    assert_int_equal(att_tensor_count(&empty), 0);
    assert_non_null(empty.data);
    assert_int_equal(att_tensor_new(&wide, ATT_F32, 8, SHAPE(1, 2, 1, 2, 1, 2, 1, 2), NULL),
                     ATT_OK);
    assert_int_equal(att_tensor_count(&wide), 16);
    att_tensor_free(&scalar);
    att_tensor_free(&empty);
    att_tensor_free(&wide);
    att_tensor_free(NULL);
}

static void impossible_shapes_are_refused(void **state)
{
    (void)state;
    static const struct {
        int rank;
        int64_t shape[9];
        const char *message;
    } cases[] = {
        { 9, { 1, 1, 1, 1, 1, 1, 1, 1, 1 }, "has 9 dimensions, expected 0 to 8" },
        { -1, { 0 }, "has -1 dimensions, expected 0 to 8" },
        { 2, { 3, -1 }, "shape [3, -1] is negative or too large to address" },
        { 2,
          { INT64_MIN, 0 },
          "shape [-9223372036854775808, 0] is negative or too large to address" },
        { 1, { INT64_MAX }, "shape [9223372036854775807] is negative or too large to address" },
        { 2,
          { INT64_C(1) << 31, INT64_C(1) << 31 },
          "shape [2147483648, 2147483648] is negative or too large to address" },
        { 3,
          { 0, INT64_C(1) << 40, INT64_C(1) << 40 },
          "shape [0, 1099511627776, 1099511627776] is negative or too large to address" },
    };
    for (size_t i = 0; i < ATT_COUNT(cases); i++) {
        att_tensor tensor;
        att_error err = { 0 };
        assert_int_equal(att_tensor_new(&tensor, ATT_F64, cases[i].rank, cases[i].shape, &err),
                         ATT_BAD_INPUT);
        assert_string_equal(err.message, cases[i].message);
        assert_null(tensor.data);
    }
    att_tensor tensor;
    assert_int_equal(att_tensor_new(&tensor, (att_dtype)6, 0, NULL, NULL), ATT_BAD_INPUT);
    assert_int_equal(att_tensor_new(&tensor, (att_dtype)0, 0, NULL, NULL), ATT_BAD_INPUT);
}

/* A sanitizer aborts the program instead of refusing the allocation. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static void more_memory_than_there_is_is_reported(void **state)
{
    (void)state;
    att_tensor tensor;
    att_error err = { 0 };
    assert_int_equal(att_tensor_new(&tensor, ATT_F32, 1, SHAPE(INT64_C(1) << 59), &err),
                     ATT_NO_MEMORY);
    assert_string_equal(err.message, "out of memory");
    assert_null(tensor.data);
}

static void the_longest_shape_fits_its_text(void **state)
{
    (void)state;
    int64_t shape[8];
    for (int i = 0; i < 8; i++)
        shape[i] = INT64_MIN;
    char text[ATT_SHAPE_STRING_SIZE];
    att_shape_to_string(text, 8, shape);
    assert_int_equal(strlen(text), 8 * 20 + 7 * 2 + 2);
    assert_string_equal(att_shape_to_string(text, 0, NULL), "[]");
}

static void a_slice_shows_the_same_elements(void **state)
{
    (void)state;
    att_tensor tensor = numbered(ATT_F32), slice;
    assert_int_equal(att_tensor_slice(&slice, &tensor, 1, 1, 2, NULL), ATT_OK);
    assert_int_equal(slice.shape[1], 2);
    assert_null(slice.owned);
    assert_true(att_tensor_get(&slice, SHAPE(1, 1, 3)) == 123);
    att_tensor_set(&slice, SHAPE(0, 0, 0), -5);
    assert_true(att_tensor_get(&tensor, SHAPE(0, 1, 0)) == -5);
    assert_false(att_tensor_is_contiguous(&slice));
    assert_int_equal(att_tensor_slice(&slice, &slice, 0, 1, 1, NULL), ATT_OK); /* in place */
    assert_true(att_tensor_get(&slice, SHAPE(0, 0, 0)) == 110);
    att_tensor_free(&slice);
    att_tensor_free(&tensor);
}

static void a_slice_may_be_empty_but_not_outside(void **state)
{
    (void)state;
    att_tensor tensor = numbered(ATT_F64), slice;
    att_error err = { 0 };
    assert_int_equal(att_tensor_slice(&slice, &tensor, 2, 4, 0, NULL), ATT_OK);
    assert_int_equal(att_tensor_count(&slice), 0);
    assert_ptr_equal(slice.data, tensor.data);
    assert_int_equal(att_tensor_slice(&slice, &tensor, 2, 3, 2, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "2 entries from 3 on exceed dimension 2 of size 4");
    assert_int_equal(att_tensor_slice(&slice, &tensor, 2, -1, 1, NULL), ATT_BAD_INPUT);
    assert_int_equal(att_tensor_slice(&slice, &tensor, 2, 1, INT64_MAX, NULL), ATT_BAD_INPUT);
    assert_int_equal(att_tensor_slice(&slice, &tensor, 2, 1, -1, NULL), ATT_BAD_INPUT);
    assert_int_equal(att_tensor_slice(&slice, &tensor, 2, 5, 0, NULL), ATT_BAD_INPUT);
    assert_int_equal(att_tensor_slice(&slice, &tensor, 3, 0, 1, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "found dimension 3, expected 0 to 2");
    assert_int_equal(att_tensor_slice(&slice, &tensor, -1, 0, 1, NULL), ATT_BAD_INPUT);
    att_tensor_free(&tensor);
}

static void a_transpose_exchanges_two_dimensions(void **state)
{
    (void)state;
    att_tensor tensor = numbered(ATT_F64), turned;
    assert_int_equal(att_tensor_transpose(&turned, &tensor, 0, 2, NULL), ATT_OK);
    assert_int_equal(turned.shape[0], 4);
    assert_int_equal(turned.shape[2], 2);
    assert_true(att_tensor_get(&turned, SHAPE(3, 2, 1)) == 123);
    assert_int_equal(att_tensor_transpose(&turned, &turned, 1, 1, NULL), ATT_OK);
    assert_true(att_tensor_get(&turned, SHAPE(3, 2, 1)) == 123);
    assert_int_equal(att_tensor_transpose(&turned, &tensor, 0, 3, NULL), ATT_BAD_INPUT);
    assert_int_equal(att_tensor_transpose(&turned, &tensor, -1, 0, NULL), ATT_BAD_INPUT);
    att_tensor_free(&tensor);
}

static void a_reshape_keeps_the_order_of_elements(void **state)
{
    (void)state;
    att_tensor tensor = numbered(ATT_F32), flat, turned;
    att_error err = { 0 };
    assert_int_equal(att_tensor_reshape(&flat, &tensor, 2, SHAPE(6, 4), NULL), ATT_OK);
    assert_true(att_tensor_get(&flat, SHAPE(5, 3)) == 123);
    assert_ptr_equal(flat.data, tensor.data);
    assert_int_equal(att_tensor_reshape(&flat, &tensor, 2, SHAPE(5, 5), &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "shape [5, 5] does not have as many elements as [2, 3, 4]");
    assert_int_equal(att_tensor_reshape(&flat, &tensor, 2, SHAPE(-6, -4), NULL), ATT_BAD_INPUT);
    assert_int_equal(att_tensor_reshape(&flat, &tensor, 9, SHAPE(24), NULL), ATT_BAD_INPUT);
    assert_int_equal(att_tensor_transpose(&turned, &tensor, 0, 1, NULL), ATT_OK);
    assert_int_equal(att_tensor_reshape(&flat, &turned, 1, SHAPE(24), &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "the tensor of shape [3, 2, 4] is not contiguous: "
                                     "copy it first");
    att_tensor_free(&tensor);
}

static void dimensions_of_one_do_not_make_gaps(void **state)
{
    (void)state;
    float data[4] = { 1, 2, 3, 4 };
    att_tensor view = att_tensor_view(data, ATT_F32, 3, SHAPE(1, 4, 1));
    view.stride[0] = 99;
    view.stride[2] = -7;
    assert_true(att_tensor_is_contiguous(&view));
    att_tensor flat;
    assert_int_equal(att_tensor_reshape(&flat, &view, 1, SHAPE(4), NULL), ATT_OK);
    assert_true(att_tensor_get(&flat, SHAPE(3)) == 4);
}

static void a_copy_is_row_major_whatever_the_strides(void **state)
{
    (void)state;
    att_tensor tensor = numbered(ATT_F32), view, copy;
    assert_int_equal(att_tensor_transpose(&view, &tensor, 0, 2, NULL), ATT_OK);
    view.data = (float *)view.data + 2 * view.stride[1]; /* rows backwards */
    view.stride[1] = -view.stride[1];
    assert_int_equal(att_tensor_copy(&copy, &view, ATT_F64, NULL), ATT_OK);
    assert_true(att_tensor_is_contiguous(&copy));
    const double *got = copy.data;
    for (int64_t c = 0; c < 4; c++)
        for (int64_t b = 0; b < 3; b++)
            for (int64_t a = 0; a < 2; a++)
                assert_true(*got++ == (double)(100 * a + 10 * (2 - b) + c));
    att_tensor_free(&copy);
    att_tensor_free(&tensor);
}

static void a_copy_repeats_broadcast_elements(void **state)
{
    (void)state;
    double data[2] = { 3, 4 };
    att_tensor view = att_tensor_view(data, ATT_F64, 2, SHAPE(3, 2)), copy;
    view.stride[0] = 0;
    assert_int_equal(att_tensor_copy(&copy, &view, ATT_F64, NULL), ATT_OK);
    const double expected[] = { 3, 4, 3, 4, 3, 4 };
    assert_memory_equal(copy.data, expected, sizeof expected);
    att_tensor_free(&copy);
}

static void a_view_too_large_to_count_is_refused_not_wrapped(void **state)
{
    (void)state;
    double data[2] = { 3, 4 };
    const int64_t huge[] = { INT64_C(1) << 40, INT64_C(1) << 40, 2 };
    att_tensor view = att_tensor_view(data, ATT_F64, 1, SHAPE(2)), out;
    view.rank = 3;
    memcpy(view.shape, huge, sizeof huge);
    view.stride[0] = view.stride[1] = 0;
    view.stride[2] = 1;
    assert_int_equal(att_tensor_count(&view), -1);
    assert_false(att_tensor_is_contiguous(&view));
    assert_int_equal(att_tensor_copy(&out, &view, ATT_F64, NULL), ATT_BAD_INPUT);
    assert_int_equal(att_tensor_slice(&out, &view, 2, 1, 1, NULL), ATT_OK);
    assert_true(att_tensor_get(&out, SHAPE(5, 7, 0)) == 4);
    view.stride[1] = 2; /* as if contiguous, if that did not overflow */
    view.stride[0] = INT64_C(1) << 41;
    assert_false(att_tensor_is_contiguous(&view));
    assert_int_equal(att_tensor_reshape(&out, &view, 3, huge, NULL), ATT_BAD_INPUT);
}

static void a_copy_converts_and_rounds_once(void **state)
{
    (void)state;
    double data[4] = { 1.0 / 3, 1e300, -0.0, NAN };
    att_tensor view = att_tensor_view(data, ATT_F64, 1, SHAPE(4)), copy;
    assert_int_equal(att_tensor_copy(&copy, &view, ATT_F32, NULL), ATT_OK);
    const float *got = copy.data;
    assert_true(got[0] == 1.0f / 3);
    assert_true(isinf(got[1]));
    assert_true(got[2] == 0 && signbit(got[2]));
    assert_true(isnan(got[3]));
    att_tensor_free(&copy);
}

static void elements_of_every_type_are_set_and_got(void **state)
{
    (void)state;
    static const struct {
        att_dtype dtype;
        double third; /* 1/3 rounded once */
    } rows[] = { { ATT_F32, (double)(1.0f / 3) },
                 { ATT_F64, 1.0 / 3 },
                 { ATT_F16, 0.333251953125 },
                 { ATT_BF16, 0.333984375 } };
    for (size_t i = 0; i < ATT_COUNT(rows); i++) {
        uint64_t data[4] = { 0 };
        att_tensor view = att_tensor_view(data, rows[i].dtype, 1, SHAPE(4));
        att_tensor_set(&view, SHAPE(1), 1.0 / 3);
        att_tensor_set(&view, SHAPE(2), -2.5);
        assert_true(att_tensor_get(&view, SHAPE(0)) == 0);
        assert_true(att_tensor_get(&view, SHAPE(1)) == rows[i].third);
        assert_true(att_tensor_get(&view, SHAPE(2)) == -2.5);
        assert_true(att_tensor_get(&view, SHAPE(3)) == 0);
        att_error err = { 0 };
        bool wide = rows[i].dtype == ATT_F32 || rows[i].dtype == ATT_F64;
        assert_int_equal(att_tensor_check_float("call", "x", &view, &err),
                         wide ? ATT_OK : ATT_BAD_INPUT);
        if (!wide)
            assert_non_null(strstr(err.message, "x: expected float32 or float64, found "));
    }
}

static void an_empty_tensor_and_a_scalar_can_be_copied(void **state)
{
    (void)state;
    double one = 7;
    att_tensor scalar = att_tensor_view(&one, ATT_F64, 0, NULL), copy;
    assert_int_equal(att_tensor_copy(&copy, &scalar, ATT_F32, NULL), ATT_OK);
    assert_true(att_tensor_get(&copy, NULL) == 7);
    att_tensor_free(&copy);
    att_tensor empty = att_tensor_view(NULL, ATT_F64, 2, SHAPE(0, 5));
    assert_int_equal(att_tensor_copy(&copy, &empty, ATT_F64, NULL), ATT_OK);
    assert_int_equal(att_tensor_count(&copy), 0);
    att_tensor_free(&copy);
}

static void a_copy_without_memory_leaves_nothing_behind(void **state)
{
    (void)state;
    double one = 7;
    att_tensor scalar = att_tensor_view(&one, ATT_F64, 0, NULL), copy;
    size_t live = att_alloc_live();
    att_alloc_fail_at(1);
    assert_int_equal(att_tensor_copy(&copy, &scalar, ATT_F32, NULL), ATT_NO_MEMORY);
    att_alloc_fail_at(0);
    assert_int_equal(att_alloc_live(), live);
}

static void a_view_of_no_tensors_shape_is_cleared(void **state)
{
    (void)state;
    static const float data[1] = { 7 };
    static const int64_t ones[] = { 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    const int64_t wide = INT64_C(1) << 40;
    const att_tensor views[] = {
        att_tensor_view(data, ATT_F32, ATT_MAX_RANK + 1, ones),
        att_tensor_view(data, ATT_F32, INT_MAX, ones),
        att_tensor_view(data, ATT_F32, -1, ones),
        att_tensor_view(data, ATT_F32, 3, SHAPE(1, wide, wide)),
        att_tensor_view(data, ATT_F32, 3, SHAPE(0, wide, wide)),
    };
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        assert_null(views[i].data);
        assert_int_equal(views[i].rank, 0);
        att_tensor copy;
        assert_int_equal(att_tensor_copy(&copy, &views[i], ATT_F32, NULL), ATT_BAD_INPUT);
    }
    att_tensor eight = att_tensor_view(data, ATT_F32, ATT_MAX_RANK, ones);
    assert_ptr_equal(eight.data, data);
    assert_int_equal(eight.stride[0], 1);
}

static void int8_rounds_to_nearest_within_its_range(void **state)
{
    (void)state;
    static const struct {
        double from;
        int8_t to;
    } cases[] = { { 0.4, 0 },     { 0.5, 1 },       { -0.5, -1 },      { 126.6, 127 },
                  { 1e300, 127 }, { -127.4, -127 }, { -128.6, -128 },  { -1e300, -128 },
                  { -128, -128 }, { NAN, 0 },       { INFINITY, 127 }, { -INFINITY, -128 } };
    for (size_t i = 0; i < ATT_COUNT(cases); i++) {
        att_tensor from = att_tensor_view(&cases[i].from, ATT_F64, 0, NULL), to, back;
        assert_int_equal(att_tensor_copy(&to, &from, ATT_I8, NULL), ATT_OK);
        assert_int_equal(*(int8_t *)to.data, cases[i].to);
        assert_int_equal(att_tensor_copy(&back, &to, ATT_F32, NULL), ATT_OK);
        assert_true(*(float *)back.data == (float)cases[i].to);
        att_tensor_free(&to);
        att_tensor_free(&back);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(int8_rounds_to_nearest_within_its_range),
        cmocka_unit_test(a_new_tensor_is_zero_and_row_major),
        cmocka_unit_test(a_scalar_has_one_element_and_an_empty_tensor_none),
        cmocka_unit_test(impossible_shapes_are_refused),
        cmocka_unit_test(more_memory_than_there_is_is_reported),
        cmocka_unit_test(the_longest_shape_fits_its_text),
        cmocka_unit_test(a_slice_shows_the_same_elements),
        cmocka_unit_test(a_slice_may_be_empty_but_not_outside),
        cmocka_unit_test(a_transpose_exchanges_two_dimensions),
        cmocka_unit_test(a_reshape_keeps_the_order_of_elements),
        cmocka_unit_test(dimensions_of_one_do_not_make_gaps),
        cmocka_unit_test(a_copy_is_row_major_whatever_the_strides),
        cmocka_unit_test(a_copy_repeats_broadcast_elements),
        cmocka_unit_test(a_view_too_large_to_count_is_refused_not_wrapped),
        cmocka_unit_test(a_view_of_no_tensors_shape_is_cleared),
        cmocka_unit_test(a_copy_converts_and_rounds_once),
        cmocka_unit_test(elements_of_every_type_are_set_and_got),
        cmocka_unit_test(an_empty_tensor_and_a_scalar_can_be_copied),
        cmocka_unit_test(a_copy_without_memory_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
