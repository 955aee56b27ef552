/* .npy files: reading those of NumPy, writing, and refusing invalid ones. */
#include "tensor/files.h"
#include "base/minmax.h"
#include "failing_memory.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- good files */

static void assert_golden(const char *name, att_dtype dtype, const double expected[6])
{
    char path[512];
    snprintf(path, sizeof path, GOLDEN("%s.npy"), name);
    att_tensor tensor;
    att_error err = { 0 };
    if (att_npy_load(&tensor, path, &err) != ATT_OK)
        fail_msg("%s: %s", path, err.message);
    assert_int_equal(tensor.dtype, dtype);
    assert_int_equal(tensor.rank, 2);
    assert_int_equal(tensor.shape[0], 2);
    assert_int_equal(tensor.shape[1], 3);
    for (int64_t i = 0; i < 6; i++) {
        double got = att_tensor_get(&tensor, SHAPE(i / 3, i % 3));
        if (!(got == expected[i] && !signbit(got) == !signbit(expected[i])))
            fail_msg("%s: element %d is %g, expected %g", name, (int)i, got, expected[i]);
    }
    att_tensor_free(&tensor);
}

static void every_type_that_numpy_writes_is_converted(void **state)
{
    (void)state;
    static const double whole[] = { 0, 1, -2, 3, -4, 5 }, natural[] = { 0, 1, 2, 3, 4, 255 };
    static const double floats[] = { 0.5, -1.25, 65504, INFINITY, -0.0, 0x1p-24 };
    static const double truth[] = { 1, 0, 1, 0, 0, 1 };
    static const struct {
        const char *name;
        att_dtype dtype;
        const double *values;
    } rows[] = {
        { "b1", ATT_F32, truth },      { "i1", ATT_F32, whole },      { "u1", ATT_F32, natural },
        { "i2_le", ATT_F32, whole },   { "i2_be", ATT_F32, whole },   { "u2_le", ATT_F32, natural },
        { "u2_be", ATT_F32, natural }, { "i4_le", ATT_F64, whole },   { "i4_be", ATT_F64, whole },
        { "u4_le", ATT_F64, natural }, { "u4_be", ATT_F64, natural }, { "i8_le", ATT_F64, whole },
        { "i8_be", ATT_F64, whole },   { "u8_le", ATT_F64, natural }, { "u8_be", ATT_F64, natural },
        { "f2_le", ATT_F32, floats },  { "f2_be", ATT_F32, floats },  { "f4_le", ATT_F32, floats },
        { "f4_be", ATT_F32, floats },  { "f8_le", ATT_F64, floats },  { "f8_be", ATT_F64, floats },
    };
    for (size_t i = 0; i < ATT_COUNT(rows); i++)
        assert_golden(rows[i].name, rows[i].dtype, rows[i].values);
}

static void every_version_and_order_gives_the_same_tensor(void **state)
{
    (void)state;
    static const char *const paths[] = { GOLDEN("c_order.npy"), GOLDEN("fortran_order.npy"),
                                         GOLDEN("version_2.npy"), GOLDEN("version_3.npy") };
    for (size_t i = 0; i < ATT_COUNT(paths); i++) {
        att_tensor tensor;
        assert_int_equal(att_npy_load(&tensor, paths[i], NULL), ATT_OK);
        assert_int_equal(tensor.rank, 3);
        assert_memory_equal(tensor.shape, SHAPE(2, 3, 4), 3 * sizeof(int64_t));
        assert_memory_equal(tensor.stride, SHAPE(12, 4, 1), 3 * sizeof(int64_t));
        for (int k = 0; k < 24; k++)
            assert_true(((const float *)tensor.data)[k] == (float)k);
        att_tensor_free(&tensor);
    }
}

static void ranks_from_0_to_8_and_empty_arrays_are_read(void **state)
{
    (void)state;
    att_tensor tensor;
    assert_int_equal(att_npy_load(&tensor, GOLDEN("scalar.npy"), NULL), ATT_OK);
    assert_int_equal(tensor.rank, 0);
    assert_true(att_tensor_get(&tensor, NULL) == 2.5);
    att_tensor_free(&tensor);
    assert_int_equal(att_npy_load(&tensor, GOLDEN("rank_8.npy"), NULL), ATT_OK);
    assert_int_equal(tensor.rank, 8);
    assert_true(att_tensor_get(&tensor, SHAPE(0, 1, 0, 1, 0, 0, 0, 1)) == 13);
    att_tensor_free(&tensor);
    assert_int_equal(att_npy_load(&tensor, GOLDEN("empty.npy"), NULL), ATT_OK);
    assert_int_equal(tensor.rank, 3);
    assert_int_equal(tensor.shape[1], 0);
    att_tensor_free(&tensor);
}

/* A file of the given version with this header and `zeros` zero bytes of data. */
static att_string with_header(int version, const char *dict, size_t data)
{
    att_string file = { 0 };
    put(&file, "\x93NUMPY", 6);
    put_number(&file, (uint64_t)version, 2);
    put_number(&file, strlen(dict), version == 1 ? 2 : 4);
    put(&file, dict, strlen(dict));
    put_zeros(&file, data);
    return file;
}

static void the_literal_may_be_written_as_python_allows(void **state)
{
    (void)state;
    static const char *const dicts[] = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}\n",
        "{\"shape\":(2,3),\"descr\":\"<f4\",\"fortran_order\":True}     \n",
        " { 'shape' : ( 2 , 3 , ) , 'fortran_order' : True , 'descr' : '=f4' , }  \n",
        "{'descr': '>f4', 'fortran_order': False, 'shape': (2L, 3L), }\n",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (24,), }\n",
        "{'descr': '<b1', 'fortran_order': False, 'shape': (3, 8), }\n",
    };
    for (size_t i = 0; i < ATT_COUNT(dicts); i++) {
        att_string file = with_header(1, dicts[i], 24);
        att_tensor tensor;
        att_error err = { 0 };
        if (att_npy_read(&tensor, file.data, file.length, "f", &err) != ATT_OK)
            fail_msg("%s%s", dicts[i], err.message);
        att_tensor_free(&tensor);
        att_string_free(&file);
    }
}

static att_status read_integer(const char *descr, uint64_t bits, double *out, att_error *err)
{
    char dict[128];
    snprintf(dict, sizeof dict, "{'descr': '%s', 'fortran_order': False, 'shape': (), }\n", descr);
    att_string file = with_header(1, dict, 0);
    put_number(&file, bits, 8);
    att_tensor tensor;
    att_status status = att_npy_read(&tensor, file.data, file.length, "f", err);
    if (status == ATT_OK)
        *out = att_tensor_get(&tensor, NULL);
    att_tensor_free(&tensor);
    att_string_free(&file);
    return status;
}

static void integers_that_a_double_holds_exactly_are_read(void **state)
{
    (void)state;
    static const struct {
        uint64_t bits;
        double as_signed, as_unsigned;
    } rows[] = {
        { UINT64_C(1) << 53, 0x1p53, 0x1p53 },
        { (UINT64_C(1) << 53) - 1, 0x1.fffffffffffffp52, 0x1.fffffffffffffp52 },
        { (UINT64_C(1) << 53) + 2, 0x1.0000000000001p53, 0x1.0000000000001p53 },
        { UINT64_C(1) << 63, -0x1p63, 0x1p63 },
        { UINT64_C(0xFFFFFFFFFFFFF800), -2048, 0x1.fffffffffffffp63 },
    };
    for (size_t i = 0; i < ATT_COUNT(rows); i++) {
        double got;
        assert_int_equal(read_integer("<i8", rows[i].bits, &got, NULL), ATT_OK);
        assert_true(got == rows[i].as_signed);
        assert_int_equal(read_integer("<u8", rows[i].bits, &got, NULL), ATT_OK);
        assert_true(got == rows[i].as_unsigned);
    }
}

static void integers_that_a_double_cannot_hold_are_refused(void **state)
{
    (void)state;
    static const char message[] =
        "element 0 of the data is an integer that a double cannot hold exactly";
    const uint64_t odd = (UINT64_C(1) << 53) + 1;
    att_error err = { 0 };
    double got;
    assert_int_equal(read_integer("<i8", odd, &got, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, message);
    assert_int_equal(read_integer("<u8", odd, &got, &err), ATT_BAD_INPUT);
    assert_int_equal(read_integer("<i8", -odd, &got, &err), ATT_BAD_INPUT);
    assert_int_equal(read_integer("<u8", UINT64_MAX, &got, &err), ATT_BAD_INPUT);
    assert_int_equal(read_integer("<i8", INT64_MAX, &got, &err), ATT_BAD_INPUT);
    assert_int_equal(read_integer("<i8", UINT64_MAX, &got, &err), ATT_OK); /* -1 */
    assert_true(got == -1);
}

static void every_float16_converts_to_the_right_float(void **state)
{
    (void)state;
    att_string file =
        with_header(1, "{'descr': '<f2', 'fortran_order': False, 'shape': (65536,), }\n", 0);
    for (uint64_t bits = 0; bits < 65536; bits++)
        put_number(&file, bits, 2);
    att_tensor tensor;
    assert_int_equal(att_npy_read(&tensor, file.data, file.length, "f", NULL), ATT_OK);
    const float *got = tensor.data;
    for (int bits = 0; bits < 65536; bits++) {
        int exponent = bits >> 10 & 31, fraction = bits & 1023;
        double expected = exponent == 0    ? ldexp(fraction, -24)
                          : exponent == 31 ? (fraction ? NAN : INFINITY)
                                           : ldexp(1024 + fraction, exponent - 25);
        expected = bits >> 15 ? -expected : expected;
        if (isnan(expected))
            assert_true(isnan(got[bits]));
        else
            assert_true((double)got[bits] == expected && !signbit(got[bits]) == !(bits >> 15));
    }
    att_tensor_free(&tensor);
    att_string_free(&file);
}

/* ---- bad files */

#define F4   "'descr': '<f4', "
#define ROWS "'fortran_order': False, "
#define S23  "'shape': (2, 3), "

/* Invalid headers; each is followed by 24 bytes of data, the size of '<f4' of (2, 3). */
static const struct {
    const char *dict;
    const char *message;
} bad_headers[] = {
    { "", "header, byte 0: expected '{'" },
    { "\n", "header, byte 1: expected '{'" },
    { "(" F4 ROWS S23 ")\n", "header, byte 0: expected '{'" },
    { "{" F4 ROWS S23, "header, byte 58: expected a key in quotes" },
    { "{" F4 ROWS "'shape': (2, 3)\n", "header, byte 57: expected ',' or '}'" },
    { "{}\n", "header, byte 2: key 'descr' is missing" },
    { "{" F4 S23 "}\n", "header, byte 35: key 'fortran_order' is missing" },
    { "{" F4 ROWS "}\n", "header, byte 42: key 'shape' is missing" },
    { "{" F4 F4 ROWS S23 "}\n", "header, byte 24: key 'descr' occurs twice" },
    { "{" F4 ROWS S23 S23 "}\n", "header, byte 65: key 'shape' occurs twice" },
    { "{" F4 ROWS S23 "'x': 1}\n",
      "header, byte 61: unknown key 'x', expected descr, fortran_order and shape" },
    { "{descr: '<f4', " ROWS S23 "}\n", "header, byte 1: expected a key in quotes" },
    { "{'descr' '<f4', " ROWS S23 "}\n", "header, byte 9: expected ':' after 'descr'" },
    { "{'descr: '<f4', " ROWS S23 "}\n",
      "header, byte 10: unknown key 'descr: ', expected descr, fortran_order and shape" },
    { "{'descr", "header, byte 7: the string is not closed" },
    { "{'de\\x73cr': '<f4', " ROWS S23 "}\n", "header, byte 4: unexpected character in a string" },
    { "{'ddddddddddddddddddddddddddddddddddddddd': 1}\n",
      "header, byte 33: the string is too long" },
    { "{'\x1b[31m': 1}\n", "header, byte 2: unexpected character in a string" },
    { "{'\xff\xfe': 1}\n",
      "header, byte 5: unknown key '\\xFF\\xFE', expected descr, fortran_order and shape" },
    { "{" F4 ROWS S23 "} x\n", "header, byte 60: expected nothing but spaces after the '}'" },
    { "{" F4 ROWS S23 "}", "header, byte 59: expected a newline at the end of the header" },
    { "{" F4 ROWS S23 "}\n  ", "header, byte 62: expected a newline at the end of the header" },
    { "{'descr': '', " ROWS S23 "}\n", "header, byte 12: unknown type ''" },
    { "{'descr': 'f4', " ROWS S23 "}\n", "header, byte 14: unknown type 'f4'" },
    { "{'descr': '<<f4', " ROWS S23 "}\n", "header, byte 16: unknown type '<<f4'" },
    { "{'descr': '<f3', " ROWS S23 "}\n", "header, byte 15: unknown type '<f3'" },
    { "{'descr': '<f16', " ROWS S23 "}\n", "header, byte 16: unknown type '<f16'" },
    { "{'descr': '|f4', " ROWS S23 "}\n",
      "header, byte 15: type '|f4' of 4 bytes has no byte order" },
    { "{'descr': '<c8', " ROWS S23 "}\n",
      "header, byte 15: type '<c8' holds complex numbers, expected booleans, integers or floats" },
    { "{'descr': '|O', " ROWS S23 "}\n",
      "header, byte 14: type '|O' holds Python objects, expected booleans, integers or floats" },
    { "{'descr': '|S4', " ROWS S23 "}\n",
      "header, byte 15: type '|S4' holds byte strings, expected booleans, integers or floats" },
    { "{'descr': '<U1', " ROWS S23 "}\n",
      "header, byte 15: type '<U1' holds strings, expected booleans, integers or floats" },
    { "{'descr': '|V4', " ROWS S23 "}\n",
      "header, byte 15: type '|V4' holds raw bytes, expected booleans, integers or floats" },
    { "{'descr': '<M8[ns]', " ROWS S23 "}\n",
      "header, byte 19: type '<M8[ns]' holds dates, expected booleans, integers or floats" },
    { "{'descr': [('a', '<f4')], " ROWS S23 "}\n",
      "header, byte 10: the type is a structure, expected booleans, integers or floats" },
    { "{" F4 "'fortran_order': 0, " S23 "}\n", "header, byte 34: expected True or False" },
    { "{" F4 "'fortran_order': true, " S23 "}\n", "header, byte 34: expected True or False" },
    { "{" F4 ROWS "'shape': 6}\n",
      "header, byte 50: expected the shape as a tuple such as (3, 4)" },
    { "{" F4 ROWS "'shape': [2, 3]}\n",
      "header, byte 50: expected the shape as a tuple such as (3, 4)" },
    { "{" F4 ROWS "'shape': (6)}\n",
      "header, byte 53: the shape is a number in parentheses, expected "
      "a tuple such as (3,)" },
    { "{" F4 ROWS "'shape': (,)}\n", "header, byte 51: expected a dimension" },
    { "{" F4 ROWS "'shape': (2 3)}\n", "header, byte 53: expected ',' or ')' in the shape" },
    { "{" F4 ROWS "'shape': (2, 3", "header, byte 55: expected ',' or ')' in the shape" },
    { "{" F4 ROWS "'shape': (2, x)}\n", "header, byte 54: expected a dimension" },
    { "{" F4 ROWS "'shape': (2, -3)}\n", "header, byte 54: a dimension is negative" },
    { "{" F4 ROWS "'shape': (2, 03)}\n", "header, byte 56: a dimension begins with 0" },
    { "{" F4 ROWS "'shape': (2, 3.0)}\n", "header, byte 55: expected ',' or ')' in the shape" },
    { "{" F4 ROWS "'shape': (9223372036854775808,)}\n",
      "header, byte 69: a dimension is larger than 9223372036854775807" },
    { "{" F4 ROWS "'shape': (1, 1, 1, 1, 1, 1, 1, 1, 6)}\n",
      "header, byte 75: the shape has more than 8 dimensions" },
    { "{" F4 ROWS "'shape': (9223372036854775807,), }\n",
      "shape [9223372036854775807] has too many elements" },
    { "{" F4 ROWS "'shape': (4294967296, 4294967296), }\n",
      "shape [4294967296, 4294967296] has too many elements" },
    { "{" F4 ROWS "'shape': (0, 4294967296, 4294967296), }\n",
      "shape [0, 4294967296, 4294967296] has too many elements" },
    { "{" F4 ROWS "'shape': (2, 4), }\n",
      "has 24 bytes of data, expected 32 for shape [2, 4] of 'f4'" },
    { "{" F4 ROWS "'shape': (5,), }\n", "has 24 bytes of data, expected 20 for shape [5] of 'f4'" },
    { "{" F4 ROWS "'shape': (), }\n", "has 24 bytes of data, expected 4 for shape [] of 'f4'" },
    { "{" F4 ROWS "'shape': (0,), }\n", "has 24 bytes of data, expected 0 for shape [0] of 'f4'" },
    { "{" F4 ROWS "'shape': (1000000000000,), }\n",
      "has 24 bytes of data, expected 4000000000000 for shape [1000000000000] of 'f4'" },
};

static void assert_refused(const att_string *file, const char *message, const char *row)
{
    void *bytes = exact_copy(file);
    att_tensor tensor;
    att_error err = { 0 };
    size_t live = att_alloc_live();
    att_status status = att_npy_read(&tensor, bytes, file->length, "x.npy", &err);
    if (status != ATT_BAD_INPUT)
        fail_msg("%s: status %s, expected %s", row, att_status_name(status), message);
    assert_message(err.message, message, row);
    assert_string_equal(err.place, "x.npy");
    assert_null(tensor.data);
    assert_int_equal(att_alloc_live(), live);
    assert_int_equal(att_npy_read(&tensor, bytes, file->length, "x.npy", NULL), ATT_BAD_INPUT);
    att_free(bytes);
}

static void bad_headers_are_refused_in_every_version(void **state)
{
    (void)state;
    for (size_t i = 0; i < ATT_COUNT(bad_headers); i++)
        for (int version = 1; version <= 3; version++) {
            att_string file = with_header(version, bad_headers[i].dict, 24);
            assert_refused(&file, bad_headers[i].message, bad_headers[i].dict);
            att_string_free(&file);
        }
}

static void files_of_other_formats_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        const char *message;
    } rows[] = {
        { "", 0, "has 0 bytes, too few for a .npy file" },
        { "\x93NUMPY\1", 7, "has 7 bytes, too few for a .npy file" },
        { "\x93NUMPX\1\0\0\0", 10, "is not a .npy file: expected \\x93NUMPY at its start" },
        { "0.5 0.25 0.125", 14, "is not a .npy file: expected \\x93NUMPY at its start" },
        { "\x93NUMPY\0\0\0\0", 10, "has .npy version 0.0, expected 1.0, 2.0 or 3.0" },
        { "\x93NUMPY\4\0\0\0", 10, "has .npy version 4.0, expected 1.0, 2.0 or 3.0" },
        { "\x93NUMPY\1\1\0\0", 10, "has .npy version 1.1, expected 1.0, 2.0 or 3.0" },
        { "\x93NUMPY\1\0\0", 9, "ends after 9 bytes, in the length of the header" },
        { "\x93NUMPY\2\0\0\0\0", 11, "ends after 11 bytes, in the length of the header" },
        { "\x93NUMPY\1\0\5\0{}\n", 13,
          "expected a header of 5 bytes, found 3 before the end of the file" },
        { "\x93NUMPY\3\0\xff\xff\xff\xff{}\n", 15,
          "expected a header of 4294967295 bytes, found 3 before the end of the file" },
        { "\x93NUMPY\1\0\0\0", 10, "header, byte 0: expected '{'" },
    };
    for (size_t i = 0; i < ATT_COUNT(rows); i++) {
        att_string file = { 0 };
        put(&file, rows[i].bytes, rows[i].size);
        assert_refused(&file, rows[i].message, rows[i].message);
        att_string_free(&file);
    }
}

static void booleans_other_than_0_and_1_are_refused(void **state)
{
    (void)state;
    att_string file =
        with_header(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }\n", 0);
    put(&file, "\1\0\2", 3);
    assert_refused(&file, "element 2 of the data is a boolean other than 0 and 1", "b1");
    att_string_free(&file);
}

/* A truncated or extended file is refused. */
static void a_file_of_any_other_length_is_refused(void **state)
{
    (void)state;
    att_string file =
        with_header(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 24);
    for (size_t size = 0; size < file.length; size++) {
        att_string cut = { .data = file.data, .length = size };
        void *bytes = exact_copy(&cut);
        att_tensor tensor;
        assert_int_equal(att_npy_read(&tensor, bytes, size, "f", NULL), ATT_BAD_INPUT);
        att_free(bytes);
    }
    put(&file, "", 1);
    assert_refused(&file, "has 25 bytes of data, expected 24 for shape [2, 3] of 'f4'",
                   "one byte more");
    att_string_free(&file);
}

static void directories_and_missing_files_are_refused(void **state)
{
    (void)state;
    att_tensor tensor;
    att_error err = { 0 };
    assert_int_equal(att_npy_load(&tensor, GOLDEN(""), &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "is a directory, expected a file");
    assert_null(tensor.data);
    assert_int_equal(att_npy_load(&tensor, GOLDEN("none.npy"), &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "cannot open: No such file or directory");
    assert_int_equal(att_npy_load(&tensor, "/dev/zero", &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "is a device, expected a file");
}

/* ---- writing, and memory */

static char temporary[] = "/tmp/attend-npy-XXXXXX";

static int make_temporary(void **state)
{
    (void)state;
    int fd = mkstemp(temporary);
    return fd >= 0 ? close(fd) : -1;
}

static int remove_temporary(void **state)
{
    (void)state;
    return unlink(temporary);
}

static void assert_same_bytes(const char *path, const char *expected)
{
    char command[1024];
    snprintf(command, sizeof command, "cmp -s '%s' '%s'", path, expected);
    if (system(command) != 0)
        fail_msg("%s differs from %s", path, expected);
}

static void written_files_equal_those_of_numpy(void **state)
{
    (void)state;
    static const char *const paths[] = { GOLDEN("c_order.npy"), GOLDEN("scalar.npy"),
                                         GOLDEN("vector.npy"),  GOLDEN("empty.npy"),
                                         GOLDEN("rank_8.npy"),  GOLDEN("f8_le.npy") };
    for (size_t i = 0; i < ATT_COUNT(paths); i++) {
        att_tensor tensor;
        assert_int_equal(att_npy_load(&tensor, paths[i], NULL), ATT_OK);
        assert_int_equal(att_npy_save(&tensor, temporary, NULL), ATT_OK);
        assert_same_bytes(temporary, paths[i]);
        att_tensor_free(&tensor);
    }
}

static void a_view_is_written_row_major(void **state)
{
    (void)state;
    att_tensor tensor, turned, back;
    assert_int_equal(att_npy_load(&tensor, GOLDEN("c_order.npy"), NULL), ATT_OK);
    assert_int_equal(att_tensor_transpose(&turned, &tensor, 0, 2, NULL), ATT_OK);
    assert_int_equal(att_npy_save(&turned, temporary, NULL), ATT_OK);
    assert_int_equal(att_npy_load(&back, temporary, NULL), ATT_OK);
    assert_int_equal(back.shape[0], 4);
    assert_true(att_tensor_get(&back, SHAPE(3, 2, 1)) == 23);
    att_tensor_free(&back);
    att_tensor_free(&tensor);
}

static void saving_into_a_missing_directory_is_refused(void **state)
{
    (void)state;
    double one = 1;
    att_tensor tensor = att_tensor_view(&one, ATT_F64, 0, NULL);
    att_error err = { 0 };
    assert_int_equal(att_npy_save(&tensor, GOLDEN("none/x.npy"), &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "cannot create: No such file or directory");
}

static att_status load_fortran_order(void *context)
{
    (void)context;
    att_tensor tensor;
    att_status status = att_npy_load(&tensor, GOLDEN("fortran_order.npy"), NULL);
    if (status == ATT_OK)
        att_tensor_free(&tensor);
    return status;
}

static att_status save_tensor(void *context)
{
    return att_npy_save(context, temporary, NULL);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    att_tensor tensor;
    /* the file, the tensor, its row-major copy */
    assert_true(every_allocation_fails(load_fortran_order, NULL, 100) > 3);
    assert_int_equal(att_npy_load(&tensor, GOLDEN("fortran_order.npy"), NULL), ATT_OK);
    assert_true(every_allocation_fails(save_tensor, &tensor, 100) > 3);
    att_tensor_free(&tensor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_that_numpy_writes_is_converted),
        cmocka_unit_test(every_version_and_order_gives_the_same_tensor),
        cmocka_unit_test(ranks_from_0_to_8_and_empty_arrays_are_read),
        cmocka_unit_test(the_literal_may_be_written_as_python_allows),
        cmocka_unit_test(integers_that_a_double_holds_exactly_are_read),
        cmocka_unit_test(integers_that_a_double_cannot_hold_are_refused),
        cmocka_unit_test(every_float16_converts_to_the_right_float),
        cmocka_unit_test(bad_headers_are_refused_in_every_version),
        cmocka_unit_test(files_of_other_formats_are_refused),
        cmocka_unit_test(booleans_other_than_0_and_1_are_refused),
        cmocka_unit_test(a_file_of_any_other_length_is_refused),
        cmocka_unit_test(directories_and_missing_files_are_refused),
        cmocka_unit_test(written_files_equal_those_of_numpy),
        cmocka_unit_test(a_view_is_written_row_major),
        cmocka_unit_test(saving_into_a_missing_directory_is_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, make_temporary, remove_temporary);
}
