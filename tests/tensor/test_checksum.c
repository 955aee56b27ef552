/* The checksum of .safetensors files: every flipped bit is refused, a tensor by its name; files
 * without a checksum are read as before. */
#include "tensor/checksum.h"

#include "base/alloc.h"
#include "base/cpu.h"
#include "base/sha256.h"
#include "failing_memory.h"
#include "tensor/bundle.h"
#include "tensor/tensor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DIFFERS "its SHA-256 differs from the recorded one: the file was damaged or changed"

/* A bundle with tensors of both dtypes, an empty one, and metadata with escapes, whose hexadecimal
 * digits mean the same in either case. */
static att_bundle *make_bundle(const char *format)
{
    static const float floats[6] = { 1, -2, 0.5F, 3, 1e-30F, 7 };
    static const double doubles[2] = { 3.25, -1 };
    const att_tensor a = att_tensor_view(floats, ATT_F32, 2, (int64_t[]){ 2, 3 });
    const att_tensor b = att_tensor_view(doubles, ATT_F64, 1, (int64_t[]){ 2 });
    const att_tensor none = att_tensor_view(floats, ATT_F32, 1, (int64_t[]){ 0 });
    att_bundle *bundle;
    assert_int_equal(att_bundle_new(&bundle, NULL), ATT_OK);
    assert_int_equal(att_bundle_add(bundle, "a \"quoted\" one", &a, NULL), ATT_OK);
    assert_int_equal(att_bundle_add(bundle, "wide", &b, NULL), ATT_OK);
    assert_int_equal(att_bundle_add(bundle, "empty", &none, NULL), ATT_OK);
    assert_int_equal(att_bundle_meta_set(bundle, "text", "\x1b[2J é \x1f \\ \"", NULL), ATT_OK);
    if (format)
        assert_int_equal(att_bundle_meta_set(bundle, "attend.format", format, NULL), ATT_OK);
    return bundle;
}

static att_string write_bundle(const att_bundle *bundle)
{
    att_string file = { 0 };
    assert_int_equal(att_safetensors_write(&file, bundle, "m", NULL), ATT_OK);
    return file;
}

static att_string make_file(const char *format)
{
    att_bundle *bundle = make_bundle(format);
    att_string file = write_bundle(bundle);
    att_bundle_free(bundle);
    return file;
}

static size_t data_start(const att_string *file)
{
    size_t length = 0;
    for (int i = 7; i >= 0; i--)
        length = length << 8 | (unsigned char)file->data[i];
    return 8 + length;
}

static att_status read_file(const att_string *file, att_error *err)
{
    att_bundle *bundle;
    att_status status = att_safetensors_read(&bundle, file->data, file->length, "m", err);
    att_bundle_free(bundle);
    return status;
}

static void replace_once(att_string *file, const char *from, const char *to)
{
    char *at = NULL;
    assert_int_equal(strlen(from), strlen(to));
    for (size_t i = 0; i + strlen(from) <= file->length && !at; i++)
        if (memcmp(file->data + i, from, strlen(from)) == 0)
            at = file->data + i;
    assert_non_null(at);
    memcpy(at, to, strlen(to));
}

static void every_flipped_bit_is_refused(void **state)
{
    (void)state;
    att_string file = make_file("2");
    size_t data = data_start(&file);
    assert_int_equal(read_file(&file, NULL), ATT_OK);
    for (size_t bit = 0; bit < 8 * file.length; bit++) {
        att_error err = { 0 };
        file.data[bit / 8] ^= (char)(1 << bit % 8);
        if (read_file(&file, &err) != ATT_BAD_INPUT)
            fail_msg("bit %zu of byte %zu was accepted", bit % 8, bit / 8);
        assert_string_equal(err.place, "m");
        size_t at = bit / 8; /* wider elements come first in a file */
        if (at >= data)
            assert_string_equal(err.message, at - data < 16
                                                 ? "tensor 'wide': " DIFFERS
                                                 : "tensor 'a \"quoted\" one': " DIFFERS);
        file.data[bit / 8] ^= (char)(1 << bit % 8);
    }
    att_string_free(&file);
}

/* A difference in metadata that parses is named as such. */
static void changed_metadata_is_refused_as_the_header(void **state)
{
    (void)state;
    static const char message[] = "the header (metadata, names and shapes of tensors): " DIFFERS;
    static const char *const changes[][2] = {
        { "\\u001F", "\\u001f" }, /* the same text */
        { "\"attend.format\":\"2\"", "\"attend.format\":\"3\"" },
        { "\"shape\":[2,3]", "\"shape\":[3,2]" },
        { "\"wide\"", "\"vide\"" },
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        att_string file = make_file("2");
        att_error err = { 0 };
        replace_once(&file, changes[i][0], changes[i][1]);
        assert_int_equal(read_file(&file, &err), ATT_BAD_INPUT);
        assert_string_equal(err.message, message);
        att_string_free(&file);
    }
}

/* Computes the digest of a changed header anew, as a forger would. */
static void sign_header(att_string *file)
{
    static const char key[] = "\\\"header\\\":\\\"";
    char *at = NULL, zeros[ATT_SHA256_HEX_SIZE], hex[ATT_SHA256_HEX_SIZE];
    att_sha256 hash;
    for (size_t i = 0; i + sizeof key < data_start(file) && !at; i++)
        if (memcmp(file->data + i, key, sizeof key - 1) == 0)
            at = file->data + i + sizeof key - 1;
    assert_non_null(at);
    memset(zeros, '0', sizeof zeros);
    memcpy(at, zeros, ATT_SHA256_HEX_SIZE - 1);
    att_sha256_begin(&hash);
    att_sha256_add(&hash, file->data, data_start(file));
    att_sha256_end_hex(&hash, hex);
    memcpy(at, hex, ATT_SHA256_HEX_SIZE - 1);
}

static void a_tensor_without_a_digest_is_refused_by_name(void **state)
{
    (void)state;
    att_string file = make_file("2");
    att_error err = { 0 };
    sign_header(&file);
    assert_int_equal(read_file(&file, NULL), ATT_OK); /* nothing was changed yet */
    replace_once(&file, "\\\"wide\\\"", "\\\"vide\\\"");
    sign_header(&file);
    assert_int_equal(read_file(&file, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "the metadata 'attend.checksum' lacks the tensor 'wide'");
    att_string_free(&file);
}

static void a_checksum_under_another_key_is_refused(void **state)
{
    (void)state;
    att_string file = make_file("2");
    att_error err = { 0 };
    replace_once(&file, "attend.checksum", "attend.chocolat");
    assert_int_equal(read_file(&file, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message,
                        "the metadata 'attend.chocolat' is a checksum, expected its key "
                        "'attend.checksum': the file was damaged or changed");
    att_string_free(&file);
}

static void files_of_other_programs_get_no_checksum_and_are_read(void **state)
{
    (void)state;
    att_bundle *bundle;
    att_string file = make_file(NULL);
    assert_int_equal(att_safetensors_read(&bundle, file.data, file.length, "m", NULL), ATT_OK);
    assert_null(att_bundle_meta_get(bundle, ATT_KEY_CHECKSUM));
    att_bundle_free(bundle);
    file.data[file.length - 1] ^= 1;
    assert_int_equal(read_file(&file, NULL), ATT_OK);
    att_string_free(&file);
}

/* A value that does not describe the file is named, whoever wrote it. */
static void a_malformed_checksum_is_refused(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        { "no JSON", "the metadata 'attend.checksum': line 1, column 1: " },
        { "[]", "expected an object, found an array" },
        { "{}", "the metadata 'attend.checksum': expected a string for \"algorithm\"" },
        { "{\"algorithm\":\"md5\"}", "expected the algorithm 'sha256', found 'md5'" },
        { "{\"algorithm\":\"sha256\",\"header\":7}", "expected a string for \"header\"" },
        { "{\"algorithm\":\"sha256\",\"header\":\"\"}", "for \"tensors\"" },
        { "{\"algorithm\":\"sha256\",\"header\":\"\",\"tensors\":{}}",
          "the header (metadata, names" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        att_error err = { 0 };
        att_bundle *bundle = make_bundle(NULL);
        assert_int_equal(att_bundle_meta_set(bundle, ATT_KEY_CHECKSUM, rows[i][0], NULL), ATT_OK);
        att_string file = write_bundle(bundle);
        assert_int_equal(read_file(&file, &err), ATT_BAD_INPUT);
        if (!strstr(err.message, rows[i][1]))
            fail_msg("%s: %s", rows[i][0], err.message);
        att_string_free(&file);
        att_bundle_free(bundle);
    }
}

/* Saving what was loaded writes the same bytes; changed contents get a new checksum, never the one
 * that was loaded. */
static void a_loaded_bundle_is_saved_with_its_own_checksum(void **state)
{
    (void)state;
    att_bundle *bundle;
    att_string file = make_file("2");
    assert_int_equal(att_safetensors_read(&bundle, file.data, file.length, "m", NULL), ATT_OK);
    att_string again = write_bundle(bundle);
    assert_int_equal(again.length, file.length);
    assert_memory_equal(again.data, file.data, file.length);
    assert_int_equal(att_bundle_meta_set(bundle, "text", "another", NULL), ATT_OK);
    att_string_free(&again);
    again = write_bundle(bundle);
    assert_int_equal(read_file(&again, NULL), ATT_OK);
    att_string_free(&again);
    att_string_free(&file);
    att_bundle_free(bundle);
}

/* Enough bytes to be hashed on several threads; every digest is compared with that of one call. */
static void digests_are_the_same_at_any_number_of_threads(void **state)
{
    (void)state;
    enum { PARTS = 9, LARGEST = 300000 };
    unsigned char *bytes = malloc(LARGEST * PARTS);
    att_checksum_part parts[PARTS];
    char expected[PARTS][ATT_SHA256_HEX_SIZE];
    assert_non_null(bytes);
    for (size_t i = 0; i < LARGEST * PARTS; i++)
        bytes[i] = (unsigned char)(i * i >> 3);
    for (size_t i = 0; i < PARTS; i++) {
        parts[i] = (att_checksum_part){ .bytes = bytes + LARGEST * i, .size = LARGEST - 30007 * i };
        att_sha256 hash;
        att_sha256_begin(&hash);
        att_sha256_add(&hash, parts[i].bytes, parts[i].size);
        att_sha256_end_hex(&hash, expected[i]);
    }
    int before = att_threads_get();
    for (int threads = 1; threads <= 5; threads += 2) {
        att_threads_set(threads);
        for (size_t i = 0; i < PARTS; i++)
            parts[i].digest[0] = '\0';
        assert_int_equal(att_checksum_parts(parts, PARTS, NULL), ATT_OK);
        for (size_t i = 0; i < PARTS; i++)
            assert_string_equal(parts[i].digest, expected[i]);
    }
    att_threads_set(before);
    free(bytes);
}

static void the_report_counts_tensors_and_bytes(void **state)
{
    (void)state;
    char path[] = "/tmp/attend-checksum-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    for (int i = 0; i < 2; i++) {
        att_checksum_report report = ATT_INIT(att_checksum_report);
        att_error err = { 0 };
        att_string file = make_file(i == 0 ? "2" : NULL);
        assert_int_equal(att_file_save(path, file.data, file.length, NULL), ATT_OK);
        assert_int_equal(att_checksum_verify(&report, path, NULL), ATT_OK);
        assert_int_equal(report.recorded, i == 0);
        assert_int_equal(report.tensors, 3);
        assert_int_equal(report.bytes, 16 + 24);
        file.data[file.length - 1] ^= 1;
        assert_int_equal(att_file_save(path, file.data, file.length, NULL), ATT_OK);
        assert_int_equal(att_checksum_verify(&report, path, &err), i == 0 ? ATT_BAD_INPUT : ATT_OK);
        assert_string_equal(err.place, i == 0 ? path : "");
        att_string_free(&file);
    }
    unlink(path);
}

static att_status write_and_read(void *context)
{
    att_string file = { 0 };
    att_status status = att_safetensors_write(&file, context, "m", NULL);
    if (status == ATT_OK)
        status = read_file(&file, NULL);
    else
        assert_int_equal(file.length, 0);
    att_string_free(&file);
    return status;
}

static void a_failed_allocation_is_reported(void **state)
{
    (void)state;
    att_bundle *bundle = make_bundle("2");
    every_allocation_fails(write_and_read, bundle, 200);
    att_bundle_free(bundle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_flipped_bit_is_refused),
        cmocka_unit_test(changed_metadata_is_refused_as_the_header),
        cmocka_unit_test(a_checksum_under_another_key_is_refused),
        cmocka_unit_test(a_tensor_without_a_digest_is_refused_by_name),
        cmocka_unit_test(files_of_other_programs_get_no_checksum_and_are_read),
        cmocka_unit_test(a_malformed_checksum_is_refused),
        cmocka_unit_test(a_loaded_bundle_is_saved_with_its_own_checksum),
        cmocka_unit_test(digests_are_the_same_at_any_number_of_threads),
        cmocka_unit_test(the_report_counts_tensors_and_bytes),
        cmocka_unit_test(a_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
