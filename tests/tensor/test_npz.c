/* .npz files: reading those of NumPy, and refusing invalid archives assembled byte by byte. */
#include "tensor/bundle.h"
#include "tensor/archive.h"
#include "base/minmax.h"
#include "failing_memory.h"
#include "tensor/files.h"

#include "base/file.h"

#include <stdlib.h>

#ifdef ATT_HAVE_ZIP

/* ---- libzip allocates by malloc(), which is replaced here so that a call can be made to fail (not
 * under a sanitizer, which replaces it too) */

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
#define CAN_FAIL_MALLOC 1

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);

static size_t calls, fail_at; /* the n-th call fails, and every one after it; 0: none */

static bool must_fail(void)
{
    return ++calls >= fail_at && fail_at > 0;
}

void *malloc(size_t size)
{
    return must_fail() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return must_fail() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return must_fail() ? NULL : __libc_realloc(old, size);
}
#endif

/* A .npy file with these bytes as data. */
static att_string npy_of(const char *bytes, size_t size)
{
    char dict[128];
    snprintf(dict, sizeof dict, "{'descr': '|u1', 'fortran_order': False, 'shape': (%zu,), }\n",
             size);
    att_string file = { 0 };
    put(&file, "\x93NUMPY\1\0", 8);
    put_number(&file, strlen(dict), 2);
    put(&file, dict, strlen(dict));
    put(&file, bytes, size);
    return file;
}

/* The array [1, 2, 3] as a .npy file; the same as a deflated stream; other contents. */
static att_string npy, deflated, garbage, empty;

static int make_contents(void **state)
{
    (void)state;
    npy = npy_of("\1\2\3", 3);
    put_number(&deflated, 1, 1);
    put_number(&deflated, npy.length, 2);
    put_number(&deflated, ~(uint64_t)npy.length, 2);
    put(&deflated, npy.data, npy.length);
    put(&garbage, "\xff\xff\xff\xff\xffgarbage", 12);
    put(&empty, "", 0);
    return 0;
}

static int free_contents(void **state)
{
    (void)state;
    att_string_free(&npy);
    att_string_free(&deflated);
    att_string_free(&garbage);
    att_string_free(&empty);
    return 0;
}

/* ---- good files */

static void assert_good(const entry *entries, size_t count)
{
    att_string file = archive(entries, count);
    att_bundle *bundle;
    att_error err = { 0 };
    if (att_npz_read(&bundle, file.data, file.length, "f", &err) != ATT_OK)
        fail_msg("%s", err.message);
    assert_int_equal(att_bundle_count(bundle), count);
    for (size_t i = 0; i < count; i++)
        assert_true(att_tensor_get(att_bundle_at(bundle, i), SHAPE(2)) == 3);
    att_bundle_free(bundle);
    att_string_free(&file);
}

static void a_handmade_archive_is_read(void **state)
{
    (void)state;
    const entry entries[] = { { .name = "a.npy", .content = &npy },
                              { .name = "b/c.npy", .content = &deflated, .method = DEFLATED },
                              { .name = ".npy", .content = &npy } };
    assert_good(entries, 3);
}

static void files_written_by_numpy_are_read(void **state)
{
    (void)state;
    static const char *const paths[] = { GOLDEN("stored.npz"), GOLDEN("deflated.npz") };
    for (size_t i = 0; i < 2; i++) {
        att_bundle *bundle;
        assert_int_equal(att_bundle_load(&bundle, paths[i], NULL), ATT_OK);
        assert_int_equal(att_bundle_count(bundle), i == 0 ? 2 : 3);
        assert_string_equal(att_bundle_name(bundle, 1), "layer/bias");
        assert_true(att_tensor_get(att_bundle_get(bundle, "weight"), SHAPE(1, 2)) == 5);
        assert_true(att_tensor_get(att_bundle_get(bundle, "layer/bias"), SHAPE(1)) == -2);
        att_bundle_free(bundle);
    }
    att_bundle *bundle;
    assert_int_equal(att_bundle_load(&bundle, GOLDEN("nothing.npz"), NULL), ATT_OK);
    assert_int_equal(att_bundle_count(bundle), 0);
    att_bundle_free(bundle);
}

/* ---- bad files */

static void assert_refused(const att_string *file, const char *message, const char *row)
{
    void *bytes = exact_copy(file);
    att_bundle *bundle;
    att_error err = { 0 };
    size_t live = att_alloc_live();
    att_status status = att_npz_read(&bundle, bytes, file->length, "x.npz", &err);
    if (status != ATT_BAD_INPUT)
        fail_msg("%s: status %s, expected %s", row, att_status_name(status), message);
    assert_message(err.message, message, row);
    assert_string_equal(err.place, "x.npz");
    assert_null(bundle);
    assert_int_equal(att_alloc_live(), live);
    att_free(bytes);
}

static void bad_entries_are_refused(void **state)
{
    (void)state;
    const struct {
        entry entries[2];
        size_t count;
        const char *message;
    } rows[] = {
        { { { .name = "a.txt", .content = &npy } }, 1, "entry 'a.txt' is not a .npy file" },
        { { { .name = "a/", .content = &empty } }, 1, "entry 'a/' is not a .npy file" },
        { { { .name = "npy", .content = &npy } }, 1, "entry 'npy' is not a .npy file" },
        { { { .name = "a.NPY", .content = &npy } }, 1, "entry 'a.NPY' is not a .npy file" },
        { { { .name = "\x1b[2J", .content = &npy } }, 1, "entry '…" },
        { { { .name = "a.npy", .content = &npy }, { .name = "a.npy", .content = &npy } },
          2,
          "has two entries of the same name" },
        { { { .name = "a.npy", .content = &npy, .flags = 1 } }, 1, "entry 'a.npy' is encrypted" },
        { { { .name = "a.npy", .content = &npy, .method = 12 } },
          1,
          "entry 'a.npy' is neither stored nor deflated" },
        { { { .name = "a.npy", .content = &npy, .method = 99 } },
          1,
          "is not a valid .npz file: …" },
        { { { .name = "a.npy", .content = &npy, .checksum_error = 1 } },
          1,
          "entry 'a.npy' cannot be unpacked: …" },
        { { { .name = "a.npy", .content = &deflated, .method = DEFLATED, .checksum_error = 1 } },
          1,
          "entry 'a.npy' cannot be unpacked: …" },
        { { { .name = "a.npy", .content = &garbage, .method = DEFLATED } },
          1,
          "entry 'a.npy' cannot be unpacked: …" },
        { { { .name = "a.npy", .content = &empty, .method = DEFLATED } },
          1,
          "tensor 'a': has 0 bytes, too few for a .npy file" },
        { { { .name = "a.npy", .content = &npy, .size = 1000 } },
          1,
          "entry 'a.npy' states more bytes than it can hold" },
        { { { .name = "a.npy", .content = &deflated, .method = DEFLATED, .size = 0xFFFFFFFE } },
          1,
          "entry 'a.npy' states more bytes than it can hold" },
        { { { .name = "a.npy", .content = &deflated, .method = DEFLATED, .size = 1000 } },
          1,
          "entry 'a.npy' does not have the size that the archive states" },
        { { { .name = "a.npy", .content = &deflated, .method = DEFLATED, .size = 10 } },
          1,
          "entry 'a.npy' …" },
        { { { .name = "a.npy", .content = &npy, .packed = 100000 } }, 1, "…" },
        { { { .name = "a.npy", .content = &npy, .offset_error = 1 } },
          1,
          "is not a valid .npz file: …" },
        { { { .name = "a.npy", .content = &npy, .offset_error = 0x7FFFFFFF } },
          1,
          "is not a valid .npz file: …" },
        { { { .name = "a.npy", .content = &garbage } },
          1,
          "tensor 'a': is not a .npy file: expected \\x93NUMPY at its start" },
        { { { .name = "a.npy", .content = &empty } },
          1,
          "tensor 'a': has 0 bytes, too few for a .npy file" },
    };
    for (size_t i = 0; i < ATT_COUNT(rows); i++) {
        att_string file = archive(rows[i].entries, rows[i].count);
        assert_refused(&file, rows[i].message, rows[i].message);
        att_string_free(&file);
    }
}

/* Each entry contains the next one, header included, as its array: with thousands of such entries a
 * small file would unpack to a huge one (zip bomb). */
static void entries_within_entries_are_refused(void **state)
{
    (void)state;
    static const char ones[1000] = { 1 };
    static const char *const names[] = { "a.npy", "b.npy", "c.npy" };
    entry entries[3];
    att_string contents[3], inner = { 0 };
    put(&inner, ones, sizeof ones);
    for (int i = 2; i >= 0; i--) {
        contents[i] = npy_of(inner.data, inner.length);
        entries[i] = (entry){ .name = names[i], .content = &contents[i] };
        inner.length = 0;
        put_entry(&inner, &entries[i]);
    }
    size_t starts[3] = { 0 };
    for (int i = 1; i < 3; i++) /* the entry ends where the one around it ends */
        starts[i] = inner.length - (30 + 5 + contents[i].length);
    put_directory(&inner, entries, starts, 3);
    assert_refused(&inner, "entry 'b.npy' and those before it have more bytes than the file",
                   "abc");
    att_string_free(&inner);
    for (int i = 0; i < 3; i++)
        att_string_free(&contents[i]);
}

static void an_archive_cut_off_anywhere_is_refused(void **state)
{
    (void)state;
    att_string file =
        archive((entry[]){ { .name = "a.npy", .content = &npy },
                           { .name = "b.npy", .content = &deflated, .method = DEFLATED } },
                2);
    for (size_t size = 0; size < file.length; size++) {
        att_string cut = { .data = file.data, .length = size };
        char message[64];
        snprintf(message, sizeof message, "has %zu bytes, too few for a .npz file", size);
        assert_refused(&cut, size < 22 ? message : "is not a valid .npz file: …", "cut off");
    }
    att_string_free(&file);
}

static void trailing_bytes_are_refused(void **state)
{
    (void)state;
    att_string file = archive((entry[]){ { .name = "a.npy", .content = &npy } }, 1);
    put(&file, "x", 1);
    assert_refused(&file, "is not a valid .npz file: …", "trailing");
    att_string_free(&file);
}

/* With any single byte changed, the file is refused or read with the same numbers. */
static void no_changed_byte_changes_a_number(void **state)
{
    (void)state;
    att_string file = archive((entry[]){ { .name = "a.npy", .content = &npy } }, 1);
    for (size_t i = 0; i < file.length; i++)
        for (int bit = 0; bit < 8; bit++) {
            file.data[i] = (char)(file.data[i] ^ 1 << bit);
            att_bundle *bundle;
            if (att_npz_read(&bundle, file.data, file.length, "f", NULL) == ATT_OK) {
                for (size_t k = 0; k < att_bundle_count(bundle); k++)
                    assert_true(att_tensor_get(att_bundle_at(bundle, k), SHAPE(1)) == 2);
                att_bundle_free(bundle);
            }
            file.data[i] = (char)(file.data[i] ^ 1 << bit);
        }
    att_string_free(&file);
}

static att_status load_deflated(void *context)
{
    (void)context;
    att_bundle *bundle;
    att_error err = { 0 };
    att_status status = att_bundle_load(&bundle, GOLDEN("deflated.npz"), &err);
    if (status != ATT_OK) {
        assert_string_equal(err.message, "out of memory");
        assert_null(bundle);
    }
    att_bundle_free(bundle);
    return status;
}

static void every_allocation_of_ours_may_fail(void **state)
{
    (void)state;
    assert_true(every_allocation_fails(load_deflated, NULL, 1000) > 10);
}

#ifdef CAN_FAIL_MALLOC
/* While it searches for the directory, libzip reports lack of memory as a missing archive. It also
 * leaks some blocks, so that only our own are counted. */
static void every_allocation_of_libzip_may_fail(void **state)
{
    (void)state;
    att_string file = { 0 };
    assert_int_equal(att_file_read(&file, GOLDEN("deflated.npz"), 1 << 20, NULL), ATT_OK);
    size_t live = att_alloc_live(), n = 0;
    att_status status = ATT_NO_MEMORY;
    while (status != ATT_OK) {
        att_bundle *bundle;
        att_error err = { 0 };
        calls = 0;
        fail_at = ++n;
        status = att_npz_read(&bundle, file.data, file.length, "f", &err);
        fail_at = 0;
        att_bundle_free(bundle);
        if (status != ATT_OK && status != ATT_NO_MEMORY)
            assert_message(err.message, "is not a valid .npz file: Not a zip archive", "no memory");
        assert_int_equal(att_alloc_live(), live);
    }
    att_string_free(&file);
    if (calls == 0) /* valgrind has put its own malloc() in the place of ours */
        skip();
    assert_true(n > 30);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_handmade_archive_is_read),
        cmocka_unit_test(files_written_by_numpy_are_read),
        cmocka_unit_test(bad_entries_are_refused),
        cmocka_unit_test(entries_within_entries_are_refused),
        cmocka_unit_test(an_archive_cut_off_anywhere_is_refused),
        cmocka_unit_test(trailing_bytes_are_refused),
        cmocka_unit_test(no_changed_byte_changes_a_number),
        cmocka_unit_test(every_allocation_of_ours_may_fail),
#ifdef CAN_FAIL_MALLOC
        cmocka_unit_test(every_allocation_of_libzip_may_fail),
#endif
    };
    return cmocka_run_group_tests(tests, make_contents, free_contents);
}

#else

static void a_build_without_libzip_says_so(void **state)
{
    (void)state;
    att_bundle *bundle;
    att_error err = { 0 };
    assert_int_equal(att_bundle_load(&bundle, GOLDEN("stored.npz"), &err), ATT_UNSUPPORTED);
    assert_string_equal(err.message, "this build cannot read .npz files: it has no libzip");
    assert_null(bundle);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_build_without_libzip_says_so) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
