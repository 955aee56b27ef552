/* Bundles: named tensors and text metadata, as a .safetensors or .npz file holds them, and the
 * detection of file formats. */
#include "tensor/bundle.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/minmax.h"
#include "base/name_table.h"
#include "base/progress.h"
#include "base/quote.h"
#include "tensor/tensor.h"

#include <string.h>

struct att_bundle {
    att_name_table names;
    att_tensor *tensors; /* [capacity], parallel to names.items */
    size_t capacity;
    att_name_table keys;
    const char **values; /* [value_capacity], parallel to keys.items; in `strings` */
    size_t value_capacity;
    att_arena strings;
    att_string file_bytes; /* the file that tensors are views of, or empty */
};

att_status att_bundle_new(att_bundle **out, att_error *err)
{
    *out = att_alloc_zero(1, sizeof **out);
    return *out ? ATT_OK : att_fail_memory(err);
}

void att_bundle_free(att_bundle *bundle)
{
    if (!bundle)
        return;
    for (size_t i = 0; i < bundle->names.count; i++)
        att_tensor_free(&bundle->tensors[i]);
    att_free(bundle->tensors);
    att_free(bundle->values);
    att_name_table_free(&bundle->names);
    att_name_table_free(&bundle->keys);
    att_arena_free(&bundle->strings);
    att_string_free(&bundle->file_bytes);
    att_free(bundle);
}

void att_bundle_take_bytes(att_bundle *bundle, att_string *bytes)
{
    att_string_free(&bundle->file_bytes);
    bundle->file_bytes = *bytes;
    *bytes = (att_string){ 0 };
}

/* ---- tensors */

size_t att_bundle_count(const att_bundle *bundle)
{
    return bundle->names.count;
}

const char *att_bundle_name(const att_bundle *bundle, size_t index)
{
    return index < bundle->names.count ? bundle->names.items[index] : NULL;
}

const att_tensor *att_bundle_at(const att_bundle *bundle, size_t index)
{
    return index < bundle->names.count ? &bundle->tensors[index] : NULL;
}

const att_tensor *att_bundle_get(const att_bundle *bundle, const char *name)
{
    ptrdiff_t index = att_name_table_find(&bundle->names, name);
    return index == ATT_NO_NAME ? NULL : &bundle->tensors[index];
}

att_status att_bundle_take(att_bundle *bundle, const char *name, att_tensor *tensor, att_error *err)
{
    char quoted[ATT_QUOTED_SIZE];
    if (att_bundle_get(bundle, name))
        return att_fail(err, ATT_BAD_INPUT, "bundle", "tensor '%s' exists already",
                        att_quote(quoted, name, strlen(name)));
    void *tensors = bundle->tensors;
    bool room = att_array_grow(&tensors, &bundle->capacity, bundle->names.count, sizeof *tensor);
    bundle->tensors = tensors;
    if (!room || !att_name_table_add(&bundle->names, name))
        return att_fail_memory(err);
    bundle->tensors[bundle->names.count - 1] = *tensor;
    *tensor = (att_tensor){ 0 };
    return ATT_OK;
}

att_status att_bundle_add(att_bundle *bundle, const char *name, const att_tensor *tensor,
                          att_error *err)
{
    att_tensor copy;
    ATT_TRY(att_tensor_check_float("bundle", name, tensor, err));
    ATT_TRY(att_tensor_copy(&copy, tensor, tensor->dtype, err));
    att_status status = att_bundle_take(bundle, name, &copy, err);
    if (status != ATT_OK)
        att_tensor_free(&copy);
    return status;
}

/* ---- metadata */

size_t att_bundle_meta_count(const att_bundle *bundle)
{
    return bundle->keys.count;
}

void att_bundle_meta_at(const att_bundle *bundle, size_t index, const char **key,
                        const char **value)
{
    *key = bundle->keys.items[index];
    *value = bundle->values[index];
}

const char *att_bundle_meta_get(const att_bundle *bundle, const char *key)
{
    ptrdiff_t index = att_name_table_find(&bundle->keys, key);
    return index == ATT_NO_NAME ? NULL : bundle->values[index];
}

att_status att_bundle_meta_set(att_bundle *bundle, const char *key, const char *value,
                               att_error *err)
{
    const char *copy = att_arena_strndup(&bundle->strings, value, strlen(value));
    if (!copy)
        return att_fail_memory(err);
    ptrdiff_t index = att_name_table_find(&bundle->keys, key);
    if (index == ATT_NO_NAME) {
        void *values = bundle->values;
        bool room =
            att_array_grow(&values, &bundle->value_capacity, bundle->keys.count, sizeof copy);
        bundle->values = values;
        if (!room || !att_name_table_add(&bundle->keys, key))
            return att_fail_memory(err);
        index = (ptrdiff_t)bundle->keys.count - 1;
    }
    bundle->values[index] = copy;
    return ATT_OK;
}

/* ---- loading */

/* Bytes at the start of a file that decide between text and binary data. */
enum { SNIFF_BYTES = 4096 };

/* Whether the bytes have no control characters other than white space and escape. */
static bool is_text(const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i] < ' ' && !(bytes[i] >= '\t' && bytes[i] <= '\r') && bytes[i] != '\033')
            return false;
    return true;
}

/* The order matters: a .safetensors file may begin with any eight bytes, but the brace that follows
 * them would be an unknown compression method in a .zip file. */
att_file_format att_file_format_detect(const void *bytes, size_t size)
{
    const char *at = bytes;
    if (size >= 6 && memcmp(at, "\x93NUMPY", 6) == 0)
        return ATT_FILE_NPY;
    if (size > 8 && at[8] == '{')
        return ATT_FILE_SAFETENSORS;
    if (size >= 4 && (memcmp(at, "PK\3\4", 4) == 0 || memcmp(at, "PK\5\6", 4) == 0))
        return ATT_FILE_ZIP;
    if (size == 0)
        return ATT_FILE_EMPTY;
    return is_text(bytes, att_min_size(size, SNIFF_BYTES)) ? ATT_FILE_TEXT : ATT_FILE_BINARY;
}

const char *att_file_format_name(att_file_format kind)
{
    static const char *const names[] = {
        [ATT_FILE_SAFETENSORS] = "a .safetensors file",
        [ATT_FILE_ZIP] = "a .npz or .zip file",
        [ATT_FILE_NPY] = "a .npy file",
        [ATT_FILE_TEXT] = "text",
        [ATT_FILE_BINARY] = "binary data",
        [ATT_FILE_EMPTY] = "empty",
    };
    return names[kind];
}

static att_status read_any(att_bundle **out, att_string *bytes, const char *path, att_error *err)
{
    switch (att_file_format_detect(bytes->data, bytes->length)) {
    case ATT_FILE_SAFETENSORS:
        return att_safetensors_read_in_place(out, bytes, (att_safetensors_options){ 0 }, path, err);
    case ATT_FILE_ZIP:
        return att_npz_read(out, bytes->data, bytes->length, path, err);
    case ATT_FILE_NPY:
        return att_fail(err, ATT_BAD_INPUT, path,
                        "is a .npy file with a single array, expected .npz or .safetensors");
    default:
        return att_fail(err, ATT_BAD_INPUT, path,
                        "is not a .npy, .npz or .safetensors file (%zu bytes)", bytes->length);
    }
}

att_status att_bundle_read(att_bundle **out, const void *bytes, size_t size, const char *name,
                           att_error *err)
{
    *out = NULL;
    att_string copy = { 0 };
    if (att_string_append(&copy, bytes, size) != ATT_OK)
        return att_fail_memory(err);
    att_progress_scope scope;
    att_progress_begin(&scope, "loading", 0);
    att_status status = read_any(out, &copy, name, err);
    status = att_progress_end(&scope, status, err);
    att_string_free(&copy);
    if (status != ATT_OK) {
        att_bundle_free(*out);
        *out = NULL;
    }
    return status;
}

att_status att_bundle_load(att_bundle **out, const char *path, att_error *err)
{
    *out = NULL;
    att_string bytes = { 0 };
    att_progress_scope scope;
    att_progress_begin(&scope, "loading", 0);
    att_status status = att_file_read(&bytes, path, SIZE_MAX, err);
    if (status == ATT_OK)
        status = read_any(out, &bytes, path, err);
    status = att_progress_end(&scope, status, err);
    att_string_free(&bytes);
    if (status != ATT_OK) {
        att_bundle_free(*out);
        *out = NULL;
    }
    return status;
}
