/* .safetensors files: those of the reference implementation, those that we write, and those that
 * must be refused. */
#include "tensor/files.h"

#include "base/file.h"
#include "base/string.h"
#include "failing_memory.h"
#include "tensor/bundle.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

/* A file with this header, its length stated rightly, and this many zero bytes after it. */
static att_string with_header(const char *header, size_t data)
{
    att_string file = { 0 };
    put_number(&file, strlen(header), 8);
    put(&file, header, strlen(header));
    put_zeros(&file, data);
    return file;
}

static att_bundle *load(const char *path)
{
    att_bundle *bundle;
    att_error err = { 0 };
    if (att_bundle_load(&bundle, path, &err) != ATT_OK)
        fail_msg("%s: %s", path, err.message);
    return bundle;
}

/* ---- good files */

static void every_type_of_the_format_is_converted(void **state)
{
    (void)state;
    static const double whole[] = { 0, 1, -2 }, natural[] = { 0, 1, 255 };
    static const double floats[] = { 0.5, -1.25, INFINITY }, truth[] = { 1, 0, 1 };
    static const struct {
        const char *name;
        att_dtype dtype;
        const double *values;
    } rows[] = {
        { "BOOL", ATT_F32, truth },  { "U8", ATT_F32, natural },  { "I8", ATT_F32, whole },
        { "I16", ATT_F32, whole },   { "U16", ATT_F32, natural }, { "F16", ATT_F32, floats },
        { "BF16", ATT_F32, floats }, { "I32", ATT_F64, whole },   { "U32", ATT_F64, natural },
        { "F32", ATT_F32, floats },  { "F64", ATT_F64, floats },  { "I64", ATT_F64, whole },
        { "U64", ATT_F64, natural },
    };
    att_bundle *bundle = load(GOLDEN("every_type.safetensors"));
    assert_int_equal(att_bundle_count(bundle), sizeof rows / sizeof *rows);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const att_tensor *tensor = att_bundle_get(bundle, rows[i].name);
        assert_non_null(tensor);
        assert_int_equal(tensor->dtype, rows[i].dtype);
        assert_int_equal(att_tensor_count(tensor), 3);
        for (int64_t k = 0; k < 3; k++)
            assert_true(att_tensor_get(tensor, &k) == rows[i].values[k]);
    }
    att_bundle_free(bundle);
}

static void names_shapes_and_metadata_are_read(void **state)
{
    (void)state;
    att_bundle *bundle = load(GOLDEN("ours.safetensors"));
    assert_int_equal(att_bundle_count(bundle), 6);
    assert_string_equal(att_bundle_name(bundle, 0), "wide"); /* first in the file */
    assert_string_equal(att_bundle_name(bundle, 1), "a.bias");
    assert_null(att_bundle_name(bundle, 6));
    assert_null(att_bundle_at(bundle, 6));
    const att_tensor *weight = att_bundle_get(bundle, "b.weight");
    assert_int_equal(weight->rank, 2);
    assert_true(att_tensor_get(weight, SHAPE(1, 2)) == 5);
    assert_int_equal(att_bundle_get(bundle, "scalar")->rank, 0);
    assert_int_equal(att_tensor_count(att_bundle_get(bundle, "empty")), 0);
    assert_non_null(att_bundle_get(bundle, "name with \" and \\ and \u0995"));
    assert_null(att_bundle_get(bundle, "weight"));
    assert_string_equal(att_bundle_meta_get(bundle, "made by"), "NumPy");
    assert_null(att_bundle_meta_get(bundle, "made"));
    att_bundle_free(bundle);
}

static void a_file_without_tensors_is_read(void **state)
{
    (void)state;
    att_bundle *bundle = load(GOLDEN("nothing.safetensors"));
    assert_int_equal(att_bundle_count(bundle), 0);
    att_bundle_free(bundle);
}

static void what_the_format_allows_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        size_t data;
    } rows[] = {
        { "{}", 0 },
        { "{ \"a\" :\t{\"dtype\":\"U8\",\r\n\"shape\":[ 2 ],\"data_offsets\":[0 , 2]} }   ", 2 },
        { "{\"__metadata__\":{}}", 0 },
        { "{\"b\":{\"data_offsets\":[1,2],\"shape\":[1],\"dtype\":\"I8\"},"
          "\"a\":{\"dtype\":\"BOOL\",\"shape\":[],\"data_offsets\":[0,1]}}",
          2 },
        { "{\"x\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]},"
          "\"y\":{\"dtype\":\"F64\",\"shape\":[3,0],\"data_offsets\":[0,0]},"
          "\"a\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1],\"data_offsets\":[0,1]},"
          "\"z\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[1,1]}}",
          1 },
        { "{\"\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1 },
        { "{\"[{[{[{\\\"[{[\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        att_string file = with_header(rows[i].header, rows[i].data);
        void *bytes = exact_copy(&file);
        att_bundle *bundle;
        att_error err = { 0 };
        if (att_safetensors_read(&bundle, bytes, file.length, "f", &err) != ATT_OK)
            fail_msg("%s: %s", rows[i].header, err.message);
        att_bundle_free(bundle);
        att_free(bytes);
        att_string_free(&file);
    }
}

/* ---- bad files */

#define T(dtype, shape, offsets)                                                                   \
    "{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static const struct {
    const char *header;
    size_t data;
    const char *message;
} bad_headers[] = {
    /* not the JSON that it should be */
    { "", 0, "the header does not begin with '{'" },
    { " {}", 0, "the header does not begin with '{'" },
    { "[]", 0, "the header does not begin with '{'" },
    { "\xef\xbb\xbf{}", 0, "the header does not begin with '{'" },
    { "{", 0, "the header does not end with '}' and spaces" },
    { "{}\n", 0, "the header does not end with '}' and spaces" },
    { "{}\t ", 0, "the header does not end with '}' and spaces" },
    { "{} x", 0, "the header does not end with '}' and spaces" },
    { "{\"a\":}", 0, "the header: line 1, column 6: expected a value, found '}'" },
    { "{'a':1}", 0, "the header: line 1, column 2: expected a key in double quotes, found '''" },
    { "{}{}", 0, "the header: line 1, column 3: expected the end of the text, found '{'" },
    { "{\"a\":1,}", 0, "the header: line 1, column 8: expected a key in double quotes, found '}'" },
    { "{\"\xff\":1}", 0, "the header: line 1, column 3: a string is not UTF-8" },
    { "{\"\xed\xa0\x80\":1}", 0, "the header: line 1, column 3: a string is not UTF-8" },
    { "{\"\\ud800\":1}", 0, "the header: line 1, column 3: a surrogate has no partner: …" },
    { "{\"a\\u0000b\":1}", 0,
      "the header: line 1, column 4: a string contains U+0000, which is not allowed" },
    { "{\"a\x01\":1}", 0,
      "the header: line 1, column 4: a control character in a string must be escaped" },
    { "{\"a\":[[[[[1]]]]]}", 0,
      "the header: line 1, column 8: arrays and objects are nested deeper than the 3 levels "
      "allowed" },
    { "{\"a\":{\"b\":{\"c\":{}}}}", 0,
      "the header: line 1, column 16: arrays and objects are nested deeper than the 3 levels "
      "allowed" },
    /* duplicates */
    { "{\"a\":" T("U8", "[1]", "[0,1]") ",\"a\":" T("U8", "[1]", "[1,2]") "}", 2,
      "the header: line 1, column 105: the object that ends here has the key \"a\" twice" },
    { "{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1,
      "the header: line 1, column 65: the object that ends here has the key \"dtype\" twice" },
    /* metadata */
    { "{\"__metadata__\":[]}", 0, "__metadata__ is not an object" },
    { "{\"__metadata__\":null}", 0, "__metadata__ is not an object" },
    { "{\"__metadata__\":{\"k\":1}}", 0, "__metadata__: the value of 'k' is not a string" },
    { "{\"__metadata__\":{\"k\":{\"l\":\"m\"}}}", 0,
      "__metadata__: the value of 'k' is not a string" },
    /* fields */
    { "{\"a\":1}", 0, "tensor 'a': is not an object with dtype, shape and data_offsets" },
    { "{\"a\":{}}", 0, "tensor 'a': lacks dtype" },
    { "{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,1]}}", 1, "tensor 'a': lacks shape" },
    { "{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}", 1, "tensor 'a': lacks data_offsets" },
    { "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1],\"stride\":[1]}}", 1,
      "tensor 'a': unknown field 'stride'" },
    { "{\"a\\u001b[2J\":1}", 0,
      "tensor 'a\\x1B[2J': is not an object with dtype, shape and data_offsets" },
    /* types */
    { "{\"a\":{\"dtype\":8,\"shape\":[1],\"data_offsets\":[0,1]}}", 1,
      "tensor 'a': dtype is not a string" },
    { "{\"a\":" T("F8_E4M3", "[1]", "[0,1]") "}", 1,
      "tensor 'a': dtype 'F8_E4M3' is not supported" },
    { "{\"a\":" T("f32", "[1]", "[0,4]") "}", 4, "tensor 'a': dtype 'f32' is not supported" },
    { "{\"a\":" T("C64", "[1]", "[0,8]") "}", 8, "tensor 'a': dtype 'C64' is not supported" },
    { "{\"a\":" T("", "[1]", "[0,1]") "}", 1, "tensor 'a': dtype '' is not supported" },
    /* shapes */
    { "{\"a\":" T("U8", "1", "[0,1]") "}", 1, "tensor 'a': shape is not an array" },
    { "{\"a\":" T("U8", "[-1]", "[0,1]") "}", 1,
      "tensor 'a': dimension 0 of the shape is not a whole number from 0 to 2^63-1" },
    { "{\"a\":" T("U8", "[1,1.0]", "[0,1]") "}", 1,
      "tensor 'a': dimension 1 of the shape is not a whole number from 0 to 2^63-1" },
    { "{\"a\":" T("U8", "[1e0]", "[0,1]") "}", 1,
      "tensor 'a': dimension 0 of the shape is not a whole number from 0 to 2^63-1" },
    { "{\"a\":" T("U8", "[\"1\"]", "[0,1]") "}", 1,
      "tensor 'a': dimension 0 of the shape is not a whole number from 0 to 2^63-1" },
    { "{\"a\":" T("U8", "[true]", "[0,1]") "}", 1,
      "tensor 'a': dimension 0 of the shape is not a whole number from 0 to 2^63-1" },
    { "{\"a\":" T("U8", "[1,1,1,1,1,1,1,1,1]", "[0,1]") "}", 1,
      "tensor 'a': shape has 9 dimensions, at most 8 are supported" },
    { "{\"a\":" T("U8", "[9223372036854775808]", "[0,1]") "}", 1,
      "tensor 'a': dimension 0 of the shape is not a whole number from 0 to 2^63-1" },
    { "{\"a\":" T("F32", "[9223372036854775807]", "[0,4]") "}", 4,
      "tensor 'a': shape [9223372036854775807] has too many elements" },
    { "{\"a\":" T("U8", "[4294967296,4294967296]", "[0,0]") "}", 0,
      "tensor 'a': shape [4294967296, 4294967296] has too many elements" },
    { "{\"a\":" T("F64", "[2305843009213693953]", "[0,8]") "}", 8,
      "tensor 'a': shape [2305843009213693953] has too many elements" },
    /* offsets */
    { "{\"a\":" T("U8", "[1]", "1") "}", 1, "tensor 'a': data_offsets is not a pair [begin, end]" },
    { "{\"a\":" T("U8", "[1]", "[0]") "}", 1,
      "tensor 'a': data_offsets is not a pair [begin, end]" },
    { "{\"a\":" T("U8", "[1]", "[0,1,2]") "}", 1,
      "tensor 'a': data_offsets is not a pair [begin, end]" },
    { "{\"a\":" T("U8", "[1]", "[-1,0]") "}", 1,
      "tensor 'a': data_offsets are not two whole numbers from 0 to 2^63-1" },
    { "{\"a\":" T("U8", "[1]", "[0,1.5]") "}", 1,
      "tensor 'a': data_offsets are not two whole numbers from 0 to 2^63-1" },
    { "{\"a\":" T("U8", "[1]", "[1,0]") "}", 1, "tensor 'a': data_offsets [1, 0] run backwards" },
    { "{\"a\":" T("U8", "[2]", "[0,2]") "}", 1,
      "tensor 'a': data_offsets [0, 2] reach beyond the 1 bytes of data" },
    { "{\"a\":" T("U8", "[1]", "[9223372036854775806,9223372036854775807]") "}", 1,
      "tensor 'a': data_offsets [9223372036854775806, 9223372036854775807] reach beyond the 1 "
      "bytes "
      "of data" },
    { "{\"a.b\":" T("F32", "[3]", "[0,16]") "}", 16,
      "tensor 'a.b': data_offsets [0, 16] hold 16 bytes, shape [3] of F32 needs 12" },
    { "{\"a\":" T("F16", "[2,2]", "[0,4]") "}", 4,
      "tensor 'a': data_offsets [0, 4] hold 4 bytes, shape [2, 2] of F16 needs 8" },
    { "{\"a\":" T("U8", "[0]", "[0,1]") "}", 1,
      "tensor 'a': data_offsets [0, 1] hold 1 bytes, shape [0] of U8 needs 0" },
    /* cover */
    { "{\"a\":" T("U8", "[2]", "[0,2]") ",\"b\":" T("U8", "[2]", "[1,3]") "}", 3,
      "tensor 'b': begins at byte 1 of the data, inside the tensor before it" },
    { "{\"a\":" T("U8", "[2]", "[0,2]") ",\"b\":" T("U8", "[2]", "[0,2]") "}", 2,
      "tensor 'b': begins at byte 0 of the data, inside the tensor before it" },
    { "{\"a\":" T("U8", "[4]", "[0,4]") ",\"b\":" T("U8", "[0]", "[2,2]") "}", 4,
      "tensor 'b': begins at byte 2 of the data, inside the tensor before it" },
    { "{\"a\":" T("U8", "[1]", "[0,1]") ",\"b\":" T("U8", "[1]", "[2,3]") "}", 3,
      "tensor 'b': begins at byte 2 of the data, leaving a gap before it" },
    { "{\"a\":" T("U8", "[1]", "[1,2]") "}", 2,
      "tensor 'a': begins at byte 1 of the data, leaving a gap before it" },
    { "{\"a\":" T("U8", "[1]", "[0,1]") "}", 2,
      "has 2 bytes of data, of which the tensors cover 1" },
    { "{}", 1, "has 1 bytes of data, of which the tensors cover 0" },
};

static void assert_refused(const att_string *file, const char *message, const char *row)
{
    void *bytes = exact_copy(file);
    att_bundle *bundle;
    att_error err = { 0 };
    size_t live = att_alloc_live();
    att_status status = att_safetensors_read(&bundle, bytes, file->length, "x.safetensors", &err);
    if (status != ATT_BAD_INPUT)
        fail_msg("%s: status %s, expected %s", row, att_status_name(status), message);
    assert_message(err.message, message, row);
    assert_string_equal(err.place, "x.safetensors");
    assert_null(bundle);
    assert_int_equal(att_alloc_live(), live);
    assert_int_equal(att_safetensors_read(&bundle, bytes, file->length, "x", NULL), ATT_BAD_INPUT);
    att_free(bytes);
}

static void bad_headers_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_headers / sizeof *bad_headers; i++) {
        att_string file = with_header(bad_headers[i].header, bad_headers[i].data);
        assert_refused(&file, bad_headers[i].message, bad_headers[i].header);
        att_string_free(&file);
    }
}

static void bad_lengths_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint64_t length;
        const char *message;
    } rows[] = {
        { 3, "states a header of 3 bytes, but only 2 follow" },
        { 67108864, "states a header of 67108864 bytes, but only 2 follow" },
        { 67108865, "states a header of 67108865 bytes, more than the 67108864 allowed" },
        { UINT64_MAX,
          "states a header of 18446744073709551615 bytes, more than the 67108864 allowed" },
        { UINT64_MAX - 7,
          "states a header of 18446744073709551608 bytes, more than the 67108864 allowed" },
        { UINT64_C(1) << 63,
          "states a header of 9223372036854775808 bytes, more than the 67108864 allowed" },
        { 1, "the header does not end with '}' and spaces" },
        { 0, "the header does not begin with '{'" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        att_string file = { 0 };
        put_number(&file, rows[i].length, 8);
        put(&file, "{}", 2);
        assert_refused(&file, rows[i].message, rows[i].message);
        att_string_free(&file);
    }
    static const char *const short_messages[] = {
        "has 0 bytes, too few for the length of a header",
        "has 7 bytes, too few for the length of a header",
    };
    for (size_t i = 0; i < 2; i++) {
        att_string file = { 0 };
        put_zeros(&file, i * 7);
        assert_refused(&file, short_messages[i], short_messages[i]);
        att_string_free(&file);
    }
}

static void bad_elements_are_refused(void **state)
{
    (void)state;
    att_string file = with_header("{\"b\":" T("BOOL", "[2]", "[0,2]") "}", 1);
    put(&file, "\2", 1);
    assert_refused(&file, "tensor 'b': element 1 is a boolean other than 0 and 1", "BOOL");
    att_string_free(&file);
    file = with_header("{\"n\":" T("I64", "[1]", "[0,8]") "}", 0);
    put_number(&file, (UINT64_C(1) << 53) + 1, 8);
    assert_refused(&file, "tensor 'n': element 0 is an integer that a double cannot hold exactly",
                   "I64");
    att_string_free(&file);
}

static void a_header_of_a_million_brackets_is_refused_at_the_fourth(void **state)
{
    (void)state;
    att_string file = { 0 };
    put_number(&file, 1000006, 8);
    put(&file, "{\"a\":", 5);
    char *brackets = malloc(1000000);
    memset(brackets, '[', 1000000);
    put(&file, brackets, 1000000);
    put(&file, "}", 1);
    free(brackets);
    assert_refused(&file,
                   "the header: line 1, column 8: arrays and objects are nested deeper than the 3 "
                   "levels allowed",
                   "brackets");
    att_string_free(&file);
}

static void a_file_cut_off_anywhere_is_refused(void **state)
{
    (void)state;
    att_string file = { 0 };
    assert_int_equal(att_file_read(&file, GOLDEN("ours.safetensors"), 1 << 20, NULL), ATT_OK);
    for (size_t size = 0; size < file.length; size++) {
        att_string cut = { .data = file.data, .length = size };
        void *bytes = exact_copy(&cut);
        att_bundle *bundle;
        assert_int_equal(att_safetensors_read(&bundle, bytes, size, "f", NULL), ATT_BAD_INPUT);
        att_free(bytes);
    }
    att_string_free(&file);
}

/* ---- writing */

static char temporary[] = "/tmp/attend-safetensors-XXXXXX";

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
    att_string a = { 0 }, b = { 0 };
    assert_int_equal(att_file_read(&a, path, 1 << 20, NULL), ATT_OK);
    assert_int_equal(att_file_read(&b, expected, 1 << 20, NULL), ATT_OK);
    assert_int_equal(a.length, b.length);
    assert_memory_equal(a.data, b.data, a.length);
    att_string_free(&a);
    att_string_free(&b);
}

static void what_we_write_is_what_the_reference_writes(void **state)
{
    (void)state;
    static const char *const paths[] = { GOLDEN("ours.safetensors"),
                                         GOLDEN("nothing.safetensors") };
    for (size_t i = 0; i < 2; i++) {
        att_bundle *bundle = load(paths[i]);
        assert_int_equal(att_safetensors_save(bundle, temporary, NULL), ATT_OK);
        assert_same_bytes(temporary, paths[i]);
        att_bundle_free(bundle);
    }
}

static void the_order_of_adding_does_not_change_the_file(void **state)
{
    (void)state;
    att_bundle *from = load(GOLDEN("ours.safetensors")), *to;
    assert_int_equal(att_bundle_new(&to, NULL), ATT_OK);
    for (size_t i = att_bundle_count(from); i-- > 0;)
        assert_int_equal(att_bundle_add(to, att_bundle_name(from, i), att_bundle_at(from, i), NULL),
                         ATT_OK);
    assert_int_equal(att_bundle_meta_set(to, "made by", "someone", NULL), ATT_OK);
    assert_int_equal(att_bundle_meta_set(to, "made by", "NumPy", NULL), ATT_OK);
    assert_int_equal(att_safetensors_save(to, temporary, NULL), ATT_OK);
    assert_same_bytes(temporary, GOLDEN("ours.safetensors"));
    att_bundle_free(from);
    att_bundle_free(to);
}

static void metadata_are_written_in_the_order_of_their_keys(void **state)
{
    (void)state;
    att_bundle *bundle;
    assert_int_equal(att_bundle_new(&bundle, NULL), ATT_OK);
    assert_int_equal(att_bundle_meta_set(bundle, "b", "line\nbreak", NULL), ATT_OK);
    assert_int_equal(att_bundle_meta_set(bundle, "a", "", NULL), ATT_OK);
    assert_int_equal(att_safetensors_save(bundle, temporary, NULL), ATT_OK);
    att_string file = { 0 };
    assert_int_equal(att_file_read(&file, temporary, 1 << 20, NULL), ATT_OK);
    assert_string_equal(file.data + 8,
                        "{\"__metadata__\":{\"a\":\"\",\"b\":\"line\\nbreak\"}}     ");
    att_string_free(&file);
    att_bundle_free(bundle);
}

static void what_the_format_cannot_hold_is_not_written(void **state)
{
    (void)state;
    double one = 1;
    att_tensor tensor = att_tensor_view(&one, ATT_F64, 0, NULL);
    static const struct {
        const char *name, *message;
    } rows[] = {
        { "__metadata__", "a tensor cannot have the name '__metadata__'" },
        { "bad \xc3", "the tensor name 'bad \\xC3' is not UTF-8" },
    };
    att_error err = { 0 };
    att_bundle *bundle;
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(att_bundle_new(&bundle, NULL), ATT_OK);
        assert_int_equal(att_bundle_add(bundle, rows[i].name, &tensor, NULL), ATT_OK);
        assert_int_equal(att_safetensors_save(bundle, temporary, &err), ATT_BAD_INPUT);
        assert_string_equal(err.message, rows[i].message);
        att_bundle_free(bundle);
    }
    assert_int_equal(att_bundle_new(&bundle, NULL), ATT_OK);
    assert_int_equal(att_bundle_meta_set(bundle, "key", "\xff", NULL), ATT_OK);
    assert_int_equal(att_safetensors_save(bundle, temporary, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "the metadata 'key' is not UTF-8");
    att_bundle_free(bundle);
}

/* `count` letters; release with free(). */
static char *letters(size_t count)
{
    char *text = malloc(count + 1);
    assert_non_null(text);
    memset(text, 'a', count);
    text[count] = '\0';
    return text;
}

static void a_header_that_could_not_be_read_back_is_not_written(void **state)
{
    (void)state;
    char *value = letters(ATT_SAFETENSORS_MAX_STRING + 1);
    att_bundle *bundle;
    att_error err = { 0 };
    assert_int_equal(att_bundle_new(&bundle, NULL), ATT_OK);
    assert_int_equal(att_bundle_meta_set(bundle, "one", value, NULL), ATT_OK);
    assert_int_equal(att_safetensors_save(bundle, temporary, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message,
                        "the metadata 'one' has 33554433 bytes, at most 33554432 are allowed");
    value[ATT_SAFETENSORS_MAX_STRING] = '\0';
    assert_int_equal(att_bundle_meta_set(bundle, "one", value, NULL), ATT_OK);
    assert_int_equal(att_bundle_meta_set(bundle, "two", value, NULL), ATT_OK);
    assert_int_equal(att_safetensors_save(bundle, temporary, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message,
                        "needs a header of 67108904 bytes, at most 67108864 are allowed");
    att_bundle_free(bundle);
    free(value);
}

static void a_metadata_string_beyond_the_limit_is_refused(void **state)
{
    (void)state;
    for (int more = THIN > 1; more < 2; more++) {
        char *value = letters(ATT_SAFETENSORS_MAX_STRING + (size_t)more);
        att_string header = { 0 };
        assert_int_equal(att_string_printf(&header, "{\"__metadata__\":{\"key\":\"%s\"}}", value),
                         ATT_OK);
        att_string file = with_header(header.data, 0);
        att_bundle *bundle;
        att_error err = { 0 };
        assert_int_equal(att_safetensors_read(&bundle, file.data, file.length, "x", &err),
                         more ? ATT_BAD_INPUT : ATT_OK);
        if (more)
            assert_string_equal(err.message, "the header: line 1, column 24: a string has 33554433 "
                                             "bytes, at most 33554432 are allowed");
        att_bundle_free(bundle);
        att_string_free(&file);
        att_string_free(&header);
        free(value);
    }
}

/* ---- memory */

static att_status read_golden(void *context)
{
    att_bundle *bundle;
    att_status status = att_bundle_load(&bundle, context, NULL);
    att_bundle_free(bundle);
    return status;
}

static void every_allocation_of_reading_may_fail(void **state)
{
    (void)state;
    every_arena_allocation_fails(read_golden, GOLDEN("every_type.safetensors"), 1000);
    every_arena_allocation_fails(read_golden, GOLDEN("ours.safetensors"), 1000);
}

static att_status write_bundle(void *context)
{
    return att_safetensors_save(context, temporary, NULL);
}

static void every_allocation_of_writing_may_fail(void **state)
{
    (void)state;
    att_bundle *bundle = load(GOLDEN("ours.safetensors"));
    every_arena_allocation_fails(write_bundle, bundle, 1000);
    assert_same_bytes(temporary, GOLDEN("ours.safetensors"));
    att_bundle_free(bundle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_of_the_format_is_converted),
        cmocka_unit_test(names_shapes_and_metadata_are_read),
        cmocka_unit_test(a_file_without_tensors_is_read),
        cmocka_unit_test(what_the_format_allows_is_read),
        cmocka_unit_test(bad_headers_are_refused),
        cmocka_unit_test(bad_lengths_are_refused),
        cmocka_unit_test(bad_elements_are_refused),
        cmocka_unit_test(a_header_of_a_million_brackets_is_refused_at_the_fourth),
        cmocka_unit_test(a_file_cut_off_anywhere_is_refused),
        cmocka_unit_test(what_we_write_is_what_the_reference_writes),
        cmocka_unit_test(the_order_of_adding_does_not_change_the_file),
        cmocka_unit_test(metadata_are_written_in_the_order_of_their_keys),
        cmocka_unit_test(what_the_format_cannot_hold_is_not_written),
        cmocka_unit_test(a_header_that_could_not_be_read_back_is_not_written),
        cmocka_unit_test(a_metadata_string_beyond_the_limit_is_refused),
        cmocka_unit_test(every_allocation_of_reading_may_fail),
        cmocka_unit_test(every_allocation_of_writing_may_fail),
    };
    return cmocka_run_group_tests(tests, make_temporary, remove_temporary);
}
