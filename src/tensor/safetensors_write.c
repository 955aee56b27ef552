/* Writing .safetensors files as the reference implementation does: tensors with wider elements
 * first, then by name; the header in the same order and padded with spaces to a multiple of 8, so
 * that every tensor is aligned. The same bundle is always written as the same bytes.
 *
 * A file of attend, which the metadata ATT_KEY_FORMAT shows, gets a checksum. Digests of tensors
 * are in front of the tensors, so the header is written twice: first with the right length, and
 * again when the bytes of the tensors are there to be hashed. */
#include "tensor/bundle.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "base/quote.h"
#include "base/string.h"
#include "base/utf8.h"
#include "tensor/checksum.h"
#include "tensor/storage_dtype.h"
#include "tensor/tensor.h"

#include <stdlib.h>
#include <string.h>

enum { LENGTH_SIZE = 8, ALIGNMENT = 8 };

typedef struct item {
    const char *name;
    const att_tensor *tensor;
} item;

/* What a file is written from. */
typedef struct writer {
    const char *name; /* of the file, for errors */
    att_error *err;
    const att_bundle *bundle;
    item *items; /* [count], in the order of the file */
    size_t count;
    att_checksum_part *parts; /* [count], parallel to items; NULL: the file gets no checksum */
    att_string checksum;      /* its value, or empty */
} writer;

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

/* The metadata, sorted by key, with the checksum of this file instead of any other. */
static size_t list_metadata(pair *pairs, const writer *in)
{
    size_t count = 0;
    for (size_t i = 0; i < att_bundle_meta_count(in->bundle); i++) {
        att_bundle_meta_at(in->bundle, i, &pairs[count].key, &pairs[count].value);
        count += !in->parts || strcmp(pairs[count].key, ATT_KEY_CHECKSUM) != 0;
    }
    if (in->parts)
        pairs[count++] = (pair){ ATT_KEY_CHECKSUM, in->checksum.data };
    if (count > 0)
        qsort(pairs, count, sizeof *pairs, compare_pairs);
    return count;
}

static att_status put_metadata(att_json_writer *out, const writer *in)
{
    pair *pairs = att_alloc(att_bundle_meta_count(in->bundle) + 1, sizeof *pairs);
    if (!pairs)
        return ATT_NO_MEMORY;
    size_t count = list_metadata(pairs, in);
    if (count > 0) {
        att_json_begin_object(out, "__metadata__");
        for (size_t i = 0; i < count; i++)
            att_json_put_string(out, pairs[i].key, pairs[i].value);
        att_json_end(out);
    }
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

static att_status put_header(att_string *out, const writer *in)
{
    att_json_writer json = att_json_begin(out, ATT_JSON_EXACT);
    att_json_begin_object(&json, NULL);
    if (put_metadata(&json, in) != ATT_OK)
        return att_fail_memory(in->err);
    int64_t begin = 0;
    for (size_t i = 0; i < in->count; i++) {
        const att_tensor *tensor = in->items[i].tensor;
        int64_t end = begin + att_tensor_count(tensor) * (int64_t)att_dtype_size(tensor->dtype);
        put_entry(&json, &in->items[i], begin, end);
        begin = end;
    }
    att_json_end(&json);
    return att_json_finish(&json, in->name, in->err);
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
        if (strlen(value) > ATT_SAFETENSORS_MAX_STRING)
            return att_fail(err, ATT_BAD_INPUT, path,
                            "the metadata '%s' has %zu bytes, at most %d are allowed", quoted,
                            strlen(value), ATT_SAFETENSORS_MAX_STRING);
    }
    return ATT_OK;
}

static att_status add_header(att_string *out, const writer *in)
{
    static const char unknown[LENGTH_SIZE];
    size_t start = out->length;
    if (att_string_append(out, unknown, LENGTH_SIZE) != ATT_OK)
        return att_fail_memory(in->err);
    ATT_TRY(put_header(out, in));
    if (att_string_repeat(out, " ", (int64_t)((start - out->length) % ALIGNMENT)) != ATT_OK)
        return att_fail_memory(in->err);
    size_t length = out->length - start - LENGTH_SIZE;
    if (length > ATT_SAFETENSORS_MAX_HEADER)
        return att_fail(in->err, ATT_BAD_INPUT, in->name,
                        "needs a header of %zu bytes, at most %d are allowed", length,
                        ATT_SAFETENSORS_MAX_HEADER);
    for (int i = 0; i < LENGTH_SIZE; i++)
        out->data[start + (size_t)i] = (char)((uint64_t)length >> 8 * i & 0xFF);
    return ATT_OK;
}

static att_status add_tensors(att_string *out, const writer *in)
{
    for (size_t i = 0; i < in->count; i++)
        if (att_storage_encode(out, in->items[i].tensor) != ATT_OK)
            return att_fail_memory(in->err);
    return ATT_OK;
}

/* Sets the value of the checksum by the digests of the parts as they are now. */
static att_status set_checksum(writer *in)
{
    in->checksum.length = 0;
    return att_checksum_value(&in->checksum, in->parts, in->count, in->err);
}

static att_status start_checksum(writer *in)
{
    in->parts = att_alloc(in->count, sizeof *in->parts);
    if (!in->parts)
        return att_fail_memory(in->err);
    for (size_t i = 0; i < in->count; i++) {
        in->parts[i] = (att_checksum_part){ .name = in->items[i].name };
        memset(in->parts[i].digest, '0', sizeof in->parts[i].digest - 1);
    }
    return set_checksum(in);
}

/* Hashes the tensors, which are at the end of *out, and replaces the header before them. */
static att_status finish_checksum(att_string *out, size_t start, size_t header_size, writer *in)
{
    const char *at = out->data + start + header_size;
    for (size_t i = 0; i < in->count; i++) {
        const att_tensor *tensor = in->items[i].tensor;
        in->parts[i].bytes = at;
        in->parts[i].size = (size_t)att_tensor_count(tensor) * att_dtype_size(tensor->dtype);
        at += in->parts[i].size;
    }
    ATT_TRY(att_checksum_parts(in->parts, in->count, in->err));
    ATT_TRY(set_checksum(in));
    att_string header = { 0 };
    att_status status = add_header(&header, in);
    if (status == ATT_OK) {
        att_checksum_seal_header(header.data, header_size);
        memcpy(out->data + start, header.data, header_size);
    }
    att_string_free(&header);
    return status;
}

static att_status write_file(att_string *out, writer *in)
{
    size_t start = out->length;
    if (att_bundle_meta_get(in->bundle, ATT_KEY_FORMAT))
        ATT_TRY(start_checksum(in));
    ATT_TRY(add_header(out, in));
    size_t header_size = out->length - start;
    ATT_TRY(add_tensors(out, in));
    return in->parts ? finish_checksum(out, start, header_size, in) : ATT_OK;
}

att_status att_safetensors_write(att_string *out, const att_bundle *bundle, const char *name,
                                 att_error *err)
{
    size_t start = out->length;
    writer in = { .name = name, .err = err, .bundle = bundle, .count = att_bundle_count(bundle) };
    ATT_TRY(check_names(bundle, name, err));
    in.items = att_alloc(in.count, sizeof *in.items);
    if (!in.items)
        return att_fail_memory(err);
    for (size_t i = 0; i < in.count; i++)
        in.items[i] = (item){ att_bundle_name(bundle, i), att_bundle_at(bundle, i) };
    if (in.count > 0)
        qsort(in.items, in.count, sizeof *in.items, compare_items);
    att_status status = write_file(out, &in);
    if (status != ATT_OK)
        out->length = start;
    att_string_free(&in.checksum);
    att_free(in.parts);
    att_free(in.items);
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
