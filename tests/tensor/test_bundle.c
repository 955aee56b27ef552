/* Bundles: named tensors, and the detection of file formats. */
#include "tensor/files.h"
#include "base/minmax.h"

#include "base/file.h"
#include "tensor/bundle.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Replaces libc's function in this program: the file named here is truncated before the first read,
 * as if another process were rewriting it. */
static const char *shrinking;

ssize_t read(int fd, void *to, size_t size)
{
    if (shrinking) {
        assert_int_equal(truncate(shrinking, 20), 0);
        shrinking = NULL;
    }
    return syscall(SYS_read, fd, to, size);
}

static att_bundle *new_bundle(void)
{
    att_bundle *bundle;
    assert_int_equal(att_bundle_new(&bundle, NULL), ATT_OK);
    return bundle;
}

static void tensors_are_found_by_name_and_kept_in_order(void **state)
{
    (void)state;
    enum { MANY = 3000 };
    att_bundle *bundle = new_bundle();
    for (int i = 0; i < MANY; i++) {
        char name[32];
        double value = i;
        att_tensor tensor = att_tensor_view(&value, ATT_F64, 0, NULL);
        snprintf(name, sizeof name, "layer.%d.weight", i);
        assert_null(att_bundle_get(bundle, name));
        assert_int_equal(att_bundle_add(bundle, name, &tensor, NULL), ATT_OK);
    }
    assert_int_equal(att_bundle_count(bundle), MANY);
    for (int i = 0; i < MANY; i++) {
        char name[32];
        snprintf(name, sizeof name, "layer.%d.weight", i);
        assert_string_equal(att_bundle_name(bundle, (size_t)i), name);
        assert_ptr_equal(att_bundle_get(bundle, name), att_bundle_at(bundle, (size_t)i));
        assert_true(att_tensor_get(att_bundle_get(bundle, name), NULL) == i);
    }
    assert_null(att_bundle_get(bundle, "layer.3000.weight"));
    assert_null(att_bundle_name(bundle, MANY));
    att_bundle_free(bundle);
    att_bundle_free(NULL);
}

static void a_bundle_holds_a_copy(void **state)
{
    (void)state;
    float data[6] = { 1, 2, 3, 4, 5, 6 };
    att_tensor tensor = att_tensor_view(data, ATT_F32, 2, SHAPE(2, 3)), turned;
    assert_int_equal(att_tensor_transpose(&turned, &tensor, 0, 1, NULL), ATT_OK);
    att_bundle *bundle = new_bundle();
    assert_int_equal(att_bundle_add(bundle, "t", &turned, NULL), ATT_OK);
    data[1] = 99;
    const att_tensor *held = att_bundle_get(bundle, "t");
    const float expected[] = { 1, 4, 2, 5, 3, 6 };
    assert_int_equal(held->dtype, ATT_F32);
    assert_memory_equal(held->data, expected, sizeof expected);
    att_bundle_free(bundle);
}

static void a_name_may_be_used_once(void **state)
{
    (void)state;
    double value = 1;
    att_tensor tensor = att_tensor_view(&value, ATT_F64, 0, NULL);
    att_bundle *bundle = new_bundle();
    att_error err = { 0 };
    assert_int_equal(att_bundle_add(bundle, "w", &tensor, NULL), ATT_OK);
    assert_int_equal(att_bundle_add(bundle, "w", &tensor, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "tensor 'w' exists already");
    assert_int_equal(att_bundle_count(bundle), 1);
    att_bundle_free(bundle);
}

static void metadata_can_be_replaced(void **state)
{
    (void)state;
    att_bundle *bundle = new_bundle();
    assert_null(att_bundle_meta_get(bundle, "k"));
    for (int i = 0; i < 100; i++) {
        char key[16], value[16];
        snprintf(key, sizeof key, "k%d", i);
        snprintf(value, sizeof value, "v%d", i);
        assert_int_equal(att_bundle_meta_set(bundle, key, value, NULL), ATT_OK);
    }
    assert_int_equal(att_bundle_meta_set(bundle, "k7", "other", NULL), ATT_OK);
    assert_string_equal(att_bundle_meta_get(bundle, "k7"), "other");
    assert_string_equal(att_bundle_meta_get(bundle, "k99"), "v99");
    assert_int_equal(att_bundle_meta_count(bundle), 100);
    att_bundle_free(bundle);
}

/* Builds a bundle with every allocation failing in turn; tensors added before are kept. */
static void every_allocation_may_fail(void **state)
{
    (void)state;
    double value = 1;
    att_tensor tensor = att_tensor_view(&value, ATT_F64, 0, NULL);
    size_t live = att_alloc_live();
    att_status status = ATT_NO_MEMORY;
    for (size_t n = 1; status != ATT_OK; n++) {
        att_bundle *bundle = NULL;
        size_t added = 0;
        att_alloc_fail_at(n);
        status = att_bundle_new(&bundle, NULL);
        while (status == ATT_OK && added < 20) {
            char name[32];
            snprintf(name, sizeof name, "%zu", added);
            status = att_bundle_add(bundle, name, &tensor, NULL);
            if (status == ATT_OK)
                added++;
            if (status == ATT_OK)
                status = att_bundle_meta_set(bundle, name, name, NULL);
        }
        att_alloc_fail_at(0);
        if (bundle) {
            assert_int_equal(att_bundle_count(bundle), added);
            for (size_t i = 0; i < added; i++)
                assert_ptr_equal(att_bundle_get(bundle, att_bundle_name(bundle, i)),
                                 att_bundle_at(bundle, i));
        }
        assert_true(status == ATT_OK || status == ATT_NO_MEMORY);
        att_bundle_free(bundle);
        assert_int_equal(att_alloc_live(), live);
    }
}

/* ---- loading by content */

static char temporary[] = "/tmp/attend-bundle-XXXXXX";

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

static void other_file_formats_are_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        const char *message;
    } rows[] = {
        { "", 0, "is not a .npy, .npz or .safetensors file (0 bytes)" },
        { "PK", 2, "is not a .npy, .npz or .safetensors file (2 bytes)" },
        { "hello, world", 12, "is not a .npy, .npz or .safetensors file (12 bytes)" },
        { "\x93NUMPY\1\0{\0", 10,
          "is a .npy file with a single array, expected .npz or .safetensors" },
        { "\2\0\0\0\0\0\0\0{ ", 10, "the header does not end with '}' and spaces" },
        { "PK\3\4\0\0\0\0{}", 10,
          "states a header of 67324752 bytes, more than the 67108864 allowed" },
#ifdef ATT_HAVE_ZIP
        { "PK\3\4\24\0\0\0\0\0", 10, "has 10 bytes, too few for a .npz file" },
#endif
    };
    for (size_t i = 0; i < ATT_COUNT(rows); i++) {
        att_bundle *bundle;
        att_error err = { 0 };
        assert_int_equal(att_file_save(temporary, rows[i].bytes, rows[i].size, NULL), ATT_OK);
        assert_int_equal(att_bundle_load(&bundle, temporary, &err), ATT_BAD_INPUT);
        assert_message(err.message, rows[i].message, rows[i].message);
        assert_string_equal(err.place, temporary);
        assert_null(bundle);
    }
}

static void a_file_that_shrinks_while_being_read_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *path, *message;
    } rows[] = {
        { GOLDEN("ours.safetensors"), "shrank while being read: from 472 bytes to 20" },
        { GOLDEN("stored.npz"), "shrank while being read: from 518 bytes to 20" },
        { GOLDEN("vector.npy"), "shrank while being read: from 152 bytes to 20" },
    };
    for (size_t i = 0; i < ATT_COUNT(rows); i++) {
        att_string file = { 0 };
        att_bundle *bundle;
        att_tensor tensor;
        att_error err = { 0 };
        assert_int_equal(att_file_read(&file, rows[i].path, 1 << 20, NULL), ATT_OK);
        for (int reader = 0; reader < 2; reader++) {
            assert_int_equal(att_file_save(temporary, file.data, file.length, NULL), ATT_OK);
            shrinking = temporary;
            if (reader == 0)
                assert_int_equal(att_bundle_load(&bundle, temporary, &err), ATT_BAD_INPUT);
            else
                assert_int_equal(att_npy_load(&tensor, temporary, &err), ATT_BAD_INPUT);
            assert_string_equal(err.message, rows[i].message);
        }
        att_string_free(&file);
    }
}

static void a_directory_is_not_a_bundle(void **state)
{
    (void)state;
    att_bundle *bundle;
    att_error err = { 0 };
    assert_int_equal(att_bundle_load(&bundle, "/", &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "is a directory, expected a file");
    assert_null(bundle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_are_found_by_name_and_kept_in_order),
        cmocka_unit_test(a_bundle_holds_a_copy),
        cmocka_unit_test(a_name_may_be_used_once),
        cmocka_unit_test(metadata_can_be_replaced),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(other_file_formats_are_refused_by_name),
        cmocka_unit_test(a_file_that_shrinks_while_being_read_is_refused),
        cmocka_unit_test(a_directory_is_not_a_bundle),
    };
    return cmocka_run_group_tests(tests, make_temporary, remove_temporary);
}
