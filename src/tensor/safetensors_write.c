/* Writing .safetensors files as the reference implementation does: tensors with wider elements
 * first, then by name; the header in the same order and padded with spaces to a multiple of 8, so
 * that every tensor is aligned. The same bundle is always written as the same bytes. */
#include "tensor/bundle.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "base/quote.h"
#include "base/string.h"
#include "base/utf8.h"
#include "tensor/storage_dtype.h"
#include "tensor/tensor.h"

#include <stdlib.h>
#include <string.h>

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

/* ---- the header as JSON */

/* Writes the metadata, sorted by key. */
static att_status put_metadata(att_json_writer *out, const att_bundle *bundle)
{
    size_t count = att_bundle_meta_count(bundle);
    if (count == 0)
        return ATT_OK;
    pair *pairs = att_alloc(count, sizeof *pairs);
    if (!pairs)
        return ATT_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        att_bundle_meta_at(bundle, i, &pairs[i].key, &pairs[i].value);
    qsort(pairs, count, sizeof *pairs, compare_pairs);
    att_json_begin_object(out, "__metadata__");
    for (size_t i = 0; i < count; i++)
        att_json_put_string(out, pairs[i].key, pairs[i].value);
    att_json_end(out);
    att_free(pairs);
    return ATT_OK;
}

static void put_integers(att_json_writer *out, const char *key, const int64_t *values, int count)
{
    att_json_begin_array(out, key);
    for (int i = 0; i < count; i++)
        att_json_put_integer(out, NULL, values[i]);
    att_json_end(out);
}

static void put_entry(att_json_writer *out, const item *one, int64_t begin, int64_t end)
{
    const att_tensor *tensor = one->tensor;
    att_json_begin_object(out, one->name);
    att_json_put_string(out, "dtype", att_storage_dtype_of(tensor->dtype)->safetensors);
    put_integers(out, "shape", tensor->shape, tensor->rank);
    put_integers(out, "data_offsets", (int64_t[]){ begin, end }, 2);
    att_json_end(out);
}

static att_status put_header(att_string *out, const att_bundle *bundle, const item *items,
                             const char *name, att_error *err)
{
    att_json_writer json = att_json_begin(out, ATT_JSON_EXACT);
    att_json_begin_object(&json, NULL);
    if (put_metadata(&json, bundle) != ATT_OK)
        return att_fail_memory(err);
    int64_t begin = 0;
    for (size_t i = 0; i < att_bundle_count(bundle); i++) {
        const att_tensor *tensor = items[i].tensor;
        int64_t end = begin + att_tensor_count(tensor) * (int64_t)att_dtype_size(tensor->dtype);
        put_entry(&json, &items[i], begin, end);
        begin = end;
    }
    att_json_end(&json);
    return att_json_finish(&json, name, err);
}

/* ---- the file */

/* Refuses names and metadata that the format cannot represent. */
static att_status check_names(const att_bundle *bundle, const char *path, att_error *err)
{
    char quoted[ATT_QUOTED_SIZE];
    for (size_t i = 0; i < att_bundle_count(bundle); i++) {
        const char *name = att_bundle_name(bundle, i);
        att_quote(quoted, name, strlen(name));
        if (strcmp(name, "__metadata__") == 0)
            return att_fail(err, ATT_BAD_INPUT, path, "a tensor cannot have the name '%s'", name);
        if (!att_utf8_valid(name, strlen(name)))
            return att_fail(err, ATT_BAD_INPUT, path, "the tensor name '%s' is not UTF-8", quoted);
    }
    for (size_t i = 0; i < att_bundle_meta_count(bundle); i++) {
        const char *key, *value;
        att_bundle_meta_at(bundle, i, &key, &value);
        att_quote(quoted, key, strlen(key));
        if (!att_utf8_valid(key, strlen(key)) || !att_utf8_valid(value, strlen(value)))
            return att_fail(err, ATT_BAD_INPUT, path, "the metadata '%s' is not UTF-8", quoted);
    }
    return ATT_OK;
}

static att_status add_header(att_string *out, const att_bundle *bundle, const item *items,
                             const char *name, att_error *err)
{
    static const char unknown[LENGTH_SIZE];
    size_t start = out->length;
    if (att_string_append(out, unknown, LENGTH_SIZE) != ATT_OK)
        return att_fail_memory(err);
    ATT_TRY(put_header(out, bundle, items, name, err));
    if (att_string_repeat(out, " ", (int64_t)((start - out->length) % ALIGNMENT)) != ATT_OK)
        return att_fail_memory(err);
    size_t length = out->length - start - LENGTH_SIZE;
    if (length > ATT_SAFETENSORS_MAX_HEADER)
        return att_fail(err, ATT_BAD_INPUT, name,
                        "needs a header of %zu bytes, at most %d are allowed", length,
                        ATT_SAFETENSORS_MAX_HEADER);
    for (int i = 0; i < LENGTH_SIZE; i++)
        out->data[start + (size_t)i] = (char)((uint64_t)length >> 8 * i & 0xFF);
    return ATT_OK;
}

static att_status add_tensors(att_string *out, const item *items, size_t count, att_error *err)
{
    for (size_t i = 0; i < count; i++)
        if (att_storage_encode(out, items[i].tensor) != ATT_OK)
            return att_fail_memory(err);
    return ATT_OK;
}

att_status att_safetensors_write(att_string *out, const att_bundle *bundle, const char *name,
                                 att_error *err)
{
    size_t count = att_bundle_count(bundle);
    ATT_TRY(check_names(bundle, name, err));
    item *items = att_alloc(count, sizeof *items);
    if (!items)
        return att_fail_memory(err);
    for (size_t i = 0; i < count; i++)
        items[i] = (item){ att_bundle_name(bundle, i), att_bundle_at(bundle, i) };
    if (count > 0)
        qsort(items, count, sizeof *items, compare_items);
    att_status status = add_header(out, bundle, items, name, err);
    if (status == ATT_OK)
        status = add_tensors(out, items, count, err);
    att_free(items);
    return status;
}

att_status att_safetensors_save(const att_bundle *bundle, const char *path, att_error *err)
{
    att_string bytes = { 0 };
    att_status status = att_safetensors_write(&bytes, bundle, path, err);
    if (status == ATT_OK)
        status = att_file_save(path, bytes.data, bytes.length, err);
    att_string_free(&bytes);
    return status;
}
