/* Writing .safetensors files as the reference implementation does: wider elements first, then by
 * name, the header in the same order and padded with spaces to a multiple of 8, so that every
 * tensor lies aligned. The same bundle gives the same bytes. */
#include "tensor/bundle.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/quote.h"
#include "base/string.h"
#include "base/utf8.h"
#include "tensor/storage_dtype.h"
#include "tensor/tensor.h"

#include <stdlib.h>
#include <string.h>

#ifdef ATT_HAVE_JANSSON
#include <jansson.h>

enum { LENGTH_SIZE = 8, ALIGNMENT = 8 };

typedef struct item {
    const char *name;
    const att_tensor *tensor;
} item;

typedef struct pair {
    const char *key;
    const char *value;
} pair;

static int compare_items(const void *a, const void *b)
{
    const item *left = a, *right = b;
    size_t left_size = att_dtype_size(left->tensor->dtype);
    size_t right_size = att_dtype_size(right->tensor->dtype);
    if (left_size != right_size)
        return left_size > right_size ? -1 : 1;
    return strcmp(left->name, right->name);
}

static int compare_pairs(const void *a, const void *b)
{
    return strcmp(((const pair *)a)->key, ((const pair *)b)->key);
}

/* ---- the header as JSON. A constructor of jansson that runs out of memory gives NULL, which the
 * calls around it pass on; "_new" functions take over the value even when they fail. */

static json_t *metadata_json(const att_bundle *bundle)
{
    size_t count = att_bundle_meta_count(bundle);
    pair *pairs = att_alloc(count, sizeof *pairs);
    json_t *object = json_object();
    bool good = pairs && object;
    for (size_t i = 0; i < count && good; i++)
        att_bundle_meta_at(bundle, i, &pairs[i].key, &pairs[i].value);
    if (good && count > 0)
        qsort(pairs, count, sizeof *pairs, compare_pairs);
    for (size_t i = 0; i < count && good; i++)
        good = json_object_set_new(object, pairs[i].key, json_string(pairs[i].value)) == 0;
    att_free(pairs);
    if (good)
        return object;
    json_decref(object);
    return NULL;
}

/* An array of numbers. */
static json_t *numbers_json(const int64_t *numbers, int count)
{
    json_t *array = json_array();
    for (int i = 0; i < count && array; i++)
        if (json_array_append_new(array, json_integer(numbers[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static json_t *entry_json(const att_tensor *tensor, int64_t begin, int64_t end)
{
    const char *dtype = att_storage_dtype_of(tensor->dtype)->safetensors;
    const int64_t offsets[] = { begin, end };
    json_t *entry = json_object();
    if (json_object_set_new(entry, "dtype", json_string(dtype)) == 0 &&
        json_object_set_new(entry, "shape", numbers_json(tensor->shape, tensor->rank)) == 0 &&
        json_object_set_new(entry, "data_offsets", numbers_json(offsets, 2)) == 0)
        return entry;
    json_decref(entry);
    return NULL;
}

/* The whole header, or NULL when memory is out. */
static json_t *header_json(const att_bundle *bundle, const item *items)
{
    json_t *root = json_object();
    bool good = root;
    if (good && att_bundle_meta_count(bundle) > 0)
        good = json_object_set_new(root, "__metadata__", metadata_json(bundle)) == 0;
    int64_t begin = 0;
    for (size_t i = 0; i < att_bundle_count(bundle) && good; i++) {
        const att_tensor *tensor = items[i].tensor;
        int64_t size = att_tensor_count(tensor) * (int64_t)att_dtype_size(tensor->dtype);
        good =
            json_object_set_new(root, items[i].name, entry_json(tensor, begin, begin + size)) == 0;
        begin += size;
    }
    if (good)
        return root;
    json_decref(root);
    return NULL;
}

/* ---- the file */

/* The names and texts that the format cannot hold. */
static att_status check_utf8(const att_bundle *bundle, const char *path, att_error *err)
{
    char quoted[ATT_QUOTED_SIZE];
    for (size_t i = 0; i < att_bundle_count(bundle); i++) {
        const char *name = att_bundle_name(bundle, i);
        att_quote(quoted, name, strlen(name));
        if (strcmp(name, "__metadata__") == 0)
            return att_fail(err, ATT_BAD_INPUT, path, "no tensor may be called '%s'", name);
        if (!att_utf8_valid(name, strlen(name)))
            return att_fail(err, ATT_BAD_INPUT, path, "the tensor name '%s' is not UTF-8", quoted);
    }
    for (size_t i = 0; i < att_bundle_meta_count(bundle); i++) {
        const char *key, *value;
        att_bundle_meta_at(bundle, i, &key, &value);
        att_quote(quoted, key, strlen(key));
        if (!att_utf8_valid(key, strlen(key)) || !att_utf8_valid(value, strlen(value)))
            return att_fail(err, ATT_BAD_INPUT, path, "the metadata '%s' are not UTF-8", quoted);
    }
    return ATT_OK;
}

static bool add_header(att_string *out, const att_bundle *bundle, const item *items)
{
    static const char unknown[LENGTH_SIZE];
    size_t start = out->length;
    json_t *header = header_json(bundle, items);
    bool good = header && att_string_append(out, unknown, LENGTH_SIZE) == ATT_OK &&
                json_dump_callback(header, att_string_write_callback, out, JSON_COMPACT) == 0 &&
                att_string_repeat(out, " ", (int64_t)((start - out->length) % ALIGNMENT)) == ATT_OK;
    json_decref(header);
    for (int i = 0; i < LENGTH_SIZE && good; i++)
        out->data[start + (size_t)i] = (char)((out->length - start - LENGTH_SIZE) >> 8 * i & 0xFF);
    return good;
}

/* The bytes of the whole file; false when memory is out. */
static bool write_all(att_string *out, const att_bundle *bundle)
{
    size_t count = att_bundle_count(bundle);
    item *items = att_alloc(count, sizeof *items);
    if (!items)
        return false;
    for (size_t i = 0; i < count; i++)
        items[i] = (item){ att_bundle_name(bundle, i), att_bundle_at(bundle, i) };
    if (count > 0)
        qsort(items, count, sizeof *items, compare_items);
    bool good = add_header(out, bundle, items);
    for (size_t i = 0; i < count && good; i++)
        good = att_storage_encode(out, items[i].tensor) == ATT_OK;
    att_free(items);
    return good;
}

att_status att_safetensors_write(att_string *out, const att_bundle *bundle, const char *name,
                                 att_error *err)
{
    ATT_TRY(check_utf8(bundle, name, err));
    return write_all(out, bundle) ? ATT_OK : att_fail_memory(err);
}

#else

att_status att_safetensors_write(att_string *out, const att_bundle *bundle, const char *name,
                                 att_error *err)
{
    (void)out;
    (void)bundle;
    return att_fail(err, ATT_UNSUPPORTED, name,
                    "this build cannot write .safetensors files: it lacks jansson");
}

#endif

att_status att_safetensors_save(const att_bundle *bundle, const char *path, att_error *err)
{
    att_string bytes = { 0 };
    att_status status = att_safetensors_write(&bytes, bundle, path, err);
    if (status == ATT_OK)
        status = att_file_save(path, bytes.data, bytes.length, err);
    att_string_free(&bytes);
    return status;
}
