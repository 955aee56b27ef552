/* Reading .safetensors files, to the letter of the format:
 *
 *   the header's length, 8 bytes little-endian; the header, a JSON object; the tensors' bytes.
 *
 * The header maps names to {"dtype", "shape", "data_offsets": [begin, end]}, offsets counted from
 * the end of the header, and "__metadata__" to an object of strings. The tensors cover the bytes
 * without gap or overlap. Nothing the header says is used before it has been checked against the
 * bytes present. */
#include "tensor/bundle.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/quote.h"
#include "tensor/storage_dtype.h"
#include "tensor/tensor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef ATT_HAVE_JANSSON
#include <jansson.h>

/* The reference implementation has the same limit. The deepest place in a header is inside "shape":
 * the header's object, the tensor's, the array. */
enum { LENGTH_SIZE = 8, MAX_HEADER_SIZE = 100 * 1000 * 1000, MAX_DEPTH = 3 };

typedef struct entry {
    const char *name;
    const att_storage_dtype *storage;
    int rank;
    int64_t shape[ATT_MAX_RANK];
    int64_t count;
    uint64_t begin;
    uint64_t end;
} entry;

typedef struct reader {
    const char *file; /* for errors */
    att_error *err;
    const char *header;
    size_t header_size;
    const unsigned char *data;
    size_t data_size;
    json_t *root;
    entry *entries; /* [entry_count] */
    size_t entry_count;
    bool can_borrow_bytes; /* the bytes outlive the bundle: tensors may be views of them */
} reader;

static att_status fail(const reader *in, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static att_status fail_tensor(const reader *in, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static att_status fail(const reader *in, const char *format, ...)
{
    char what[512];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return att_fail(in->err, ATT_BAD_INPUT, in->file, "%s", what);
}

static att_status fail_tensor(const reader *in, const char *name, const char *format, ...)
{
    char what[512], quoted[ATT_QUOTED_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return att_fail(in->err, ATT_BAD_INPUT, in->file, "tensor '%s': %s",
                    att_quote(quoted, name, strlen(name)), what);
}

/* ---- the header as JSON */

static att_status find_header(reader *in, const unsigned char *bytes, size_t size)
{
    if (size < LENGTH_SIZE)
        return fail(in, "has %zu bytes, too few for the length of a header", size);
    uint64_t length = 0;
    for (int i = LENGTH_SIZE - 1; i >= 0; i--)
        length = length << 8 | bytes[i];
    if (length > MAX_HEADER_SIZE)
        return fail(in, "states a header of %llu bytes, more than the %d allowed",
                    (unsigned long long)length, MAX_HEADER_SIZE);
    if (length > size - LENGTH_SIZE)
        return fail(in, "states a header of %llu bytes, but only %zu follow",
                    (unsigned long long)length, size - LENGTH_SIZE);
    in->header = (const char *)bytes + LENGTH_SIZE;
    in->header_size = (size_t)length;
    in->data = bytes + LENGTH_SIZE + length;
    in->data_size = size - LENGTH_SIZE - in->header_size;
    return ATT_OK;
}

/* Checks what a JSON parser would be too lenient with: the first byte, the padding, the depth. */
static att_status check_header(const reader *in)
{
    const char *text = in->header;
    size_t length = in->header_size;
    if (length == 0 || text[0] != '{')
        return fail(in, "the header does not begin with '{'");
    while (text[length - 1] == ' ')
        length--;
    if (text[length - 1] != '}')
        return fail(in, "the header does not end with '}' and spaces");
    int depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < length; i++) {
        if (quoted && text[i] == '\\')
            i++;
        else if (text[i] == '"')
            quoted = !quoted;
        else if (!quoted && (text[i] == '{' || text[i] == '['))
            depth++;
        else if (!quoted && (text[i] == '}' || text[i] == ']'))
            depth--;
        if (depth > MAX_DEPTH)
            return fail(in, "the header is nested deeper than %d at its byte %zu", MAX_DEPTH, i);
    }
    return ATT_OK;
}

static att_status parse_header(reader *in)
{
    json_error_t why;
    char quoted[ATT_QUOTED_SIZE];
    in->root = json_loadb(in->header, in->header_size, JSON_REJECT_DUPLICATES, &why);
    if (in->root)
        return ATT_OK;
    if (why.text[0] == '\0') /* jansson has words for everything but running out of memory */
        return att_fail_memory(in->err);
    return fail(in, "the header is no proper JSON at its byte %d: %s", why.position,
                att_quote(quoted, why.text, strlen(why.text)));
}

/* ---- one tensor's entry */

static att_status parse_dtype(const reader *in, entry *out, const json_t *value)
{
    char quoted[ATT_QUOTED_SIZE];
    if (!json_is_string(value))
        return fail_tensor(in, out->name, "dtype is no string");
    const char *name = json_string_value(value);
    out->storage = att_storage_dtype_from_safetensors(name);
    if (!out->storage)
        return fail_tensor(in, out->name, "dtype '%s' is not one that can be read",
                           att_quote(quoted, name, strlen(name)));
    return ATT_OK;
}

static att_status parse_shape(const reader *in, entry *out, const json_t *value)
{
    if (!json_is_array(value))
        return fail_tensor(in, out->name, "shape is no array");
    size_t rank = json_array_size(value);
    if (rank > ATT_MAX_RANK)
        return fail_tensor(in, out->name, "shape has %zu dimensions, at most %d can be read", rank,
                           ATT_MAX_RANK);
    out->rank = (int)rank;
    for (size_t i = 0; i < rank; i++) {
        const json_t *dimension = json_array_get(value, i);
        if (!json_is_integer(dimension) || json_integer_value(dimension) < 0)
            return fail_tensor(in, out->name,
                               "dimension %zu of the shape is no whole number from 0 on", i);
        out->shape[i] = json_integer_value(dimension);
    }
    return ATT_OK;
}

static att_status parse_offsets(const reader *in, entry *out, const json_t *value)
{
    if (!json_is_array(value) || json_array_size(value) != 2)
        return fail_tensor(in, out->name, "data_offsets is no pair [begin, end]");
    uint64_t *to[] = { &out->begin, &out->end };
    for (size_t i = 0; i < 2; i++) {
        const json_t *offset = json_array_get(value, i);
        if (!json_is_integer(offset) || json_integer_value(offset) < 0)
            return fail_tensor(in, out->name, "data_offsets holds no whole numbers from 0 on");
        *to[i] = (uint64_t)json_integer_value(offset);
    }
    return ATT_OK;
}

static const struct {
    const char *name;
    att_status (*parse)(const reader *in, entry *out, const json_t *value);
} fields[] = {
    { "dtype", parse_dtype },
    { "shape", parse_shape },
    { "data_offsets", parse_offsets },
};
enum { FIELD_COUNT = sizeof fields / sizeof *fields };

/* Compares the offsets with the file and with what type and shape need. */
static att_status check_offsets(const reader *in, entry *one)
{
    unsigned long long begin = one->begin, end = one->end;
    char shape[ATT_SHAPE_STRING_SIZE];
    att_shape_to_string(shape, one->rank, one->shape);
    /* Converted elements may be wider than those in the file: 8 bytes at most. */
    one->count = att_shape_count(one->rank, one->shape, INT64_MAX / 8);
    if (one->count < 0)
        return fail_tensor(in, one->name, "shape %s has too many elements", shape);
    if (begin > end)
        return fail_tensor(in, one->name, "data_offsets [%llu, %llu] run backwards", begin, end);
    if (end > in->data_size)
        return fail_tensor(in, one->name,
                           "data_offsets [%llu, %llu] reach beyond the %zu bytes of data", begin,
                           end, in->data_size);
    unsigned long long need = (unsigned long long)one->count * one->storage->size;
    if (end - begin != need)
        return fail_tensor(in, one->name,
                           "data_offsets [%llu, %llu] hold %llu bytes, shape %s of %s needs %llu",
                           begin, end, end - begin, shape, one->storage->safetensors, need);
    return ATT_OK;
}

static att_status parse_entry(const reader *in, entry *out, const char *name, json_t *value)
{
    char quoted[ATT_QUOTED_SIZE];
    *out = (entry){ .name = name };
    if (!json_is_object(value))
        return fail_tensor(in, name, "is no object with dtype, shape and data_offsets");
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        const json_t *field = json_object_get(value, fields[i].name);
        if (!field)
            return fail_tensor(in, name, "lacks %s", fields[i].name);
        ATT_TRY(fields[i].parse(in, out, field));
    }
    if (json_object_size(value) != FIELD_COUNT) {
        const char *key = "";
        json_t *unused;
        json_object_foreach(value, key, unused)
        {
            if (strcmp(key, "dtype") && strcmp(key, "shape") && strcmp(key, "data_offsets"))
                break;
        }
        return fail_tensor(in, name, "unknown field '%s'", att_quote(quoted, key, strlen(key)));
    }
    return check_offsets(in, out);
}

/* ---- all of them */

static att_status parse_metadata(const reader *in, att_bundle *bundle, json_t *metadata)
{
    char quoted[ATT_QUOTED_SIZE];
    if (!json_is_object(metadata))
        return fail(in, "__metadata__ is no object");
    const char *key;
    json_t *value;
    json_object_foreach(metadata, key, value)
    {
        if (!json_is_string(value))
            return fail(in, "__metadata__: the value of '%s' is no string",
                        att_quote(quoted, key, strlen(key)));
        ATT_TRY(att_bundle_meta_set(bundle, key, json_string_value(value), in->err));
    }
    return ATT_OK;
}

static att_status parse_entries(reader *in, att_bundle *bundle)
{
    in->entries = att_alloc(json_object_size(in->root), sizeof *in->entries);
    if (!in->entries)
        return att_fail_memory(in->err);
    const char *name;
    json_t *value;
    json_object_foreach(in->root, name, value)
    {
        if (strcmp(name, "__metadata__") == 0)
            ATT_TRY(parse_metadata(in, bundle, value));
        else
            ATT_TRY(parse_entry(in, &in->entries[in->entry_count++], name, value));
    }
    return ATT_OK;
}

/* By place in the file; empty tensors, which share a place with the next, by name. */
static int compare_entries(const void *a, const void *b)
{
    const entry *left = a, *right = b;
    if (left->begin != right->begin)
        return left->begin < right->begin ? -1 : 1;
    if (left->end != right->end)
        return left->end < right->end ? -1 : 1;
    return strcmp(left->name, right->name);
}

static att_status check_coverage(const reader *in)
{
    if (in->entry_count > 0)
        qsort(in->entries, in->entry_count, sizeof *in->entries, compare_entries);
    uint64_t covered = 0;
    for (size_t i = 0; i < in->entry_count; i++) {
        const entry *one = &in->entries[i];
        if (one->begin != covered)
            return fail_tensor(in, one->name, "begins at byte %llu of the data, %s",
                               (unsigned long long)one->begin,
                               one->begin < covered ? "inside the tensor before it"
                                                    : "leaving a gap before it");
        covered = one->end;
    }
    if (covered != in->data_size)
        return fail(in, "has %zu bytes of data, of which the tensors cover %llu", in->data_size,
                    (unsigned long long)covered);
    return ATT_OK;
}

/* Whether a tensor may lie where the file has it. */
static bool can_alias(const reader *in, const entry *one)
{
    const att_storage_dtype *element = one->storage;
    return in->can_borrow_bytes && element == att_storage_dtype_of(element->dtype) &&
           att_byte_order_native() == ATT_LITTLE_ENDIAN &&
           (uintptr_t)(in->data + one->begin) % element->size == 0;
}

static att_status add_tensor(const reader *in, att_bundle *bundle, const entry *one)
{
    att_tensor tensor;
    if (can_alias(in, one)) {
        tensor = att_tensor_view(in->data + one->begin, one->storage->dtype, one->rank, one->shape);
        return att_bundle_take(bundle, one->name, &tensor, in->err);
    }
    ATT_TRY(
        att_tensor_new_uninitialized(&tensor, one->storage->dtype, one->rank, one->shape, in->err));
    int64_t unfit = att_storage_decode(tensor.data, one->storage, in->data + one->begin, one->count,
                                       ATT_LITTLE_ENDIAN);
    att_status status = ATT_OK;
    if (unfit >= 0)
        status = fail_tensor(in, one->name, "element %lld is %s", (long long)unfit,
                             one->storage->invalid_reason);
    else
        status = att_bundle_take(bundle, one->name, &tensor, in->err);
    att_tensor_free(&tensor);
    return status;
}

static att_status read_all(reader *in, att_bundle *bundle)
{
    ATT_TRY(check_header(in));
    ATT_TRY(parse_header(in));
    ATT_TRY(parse_entries(in, bundle));
    ATT_TRY(check_coverage(in));
    for (size_t i = 0; i < in->entry_count; i++)
        ATT_TRY(add_tensor(in, bundle, &in->entries[i]));
    return ATT_OK;
}

static att_status read_bundle(att_bundle **out, reader *in, const void *bytes, size_t size)
{
    *out = NULL;
    ATT_TRY(find_header(in, bytes, size));
    att_bundle *bundle;
    ATT_TRY(att_bundle_new(&bundle, in->err));
    att_status status = read_all(in, bundle);
    json_decref(in->root);
    att_free(in->entries);
    if (status == ATT_OK)
        *out = bundle;
    else
        att_bundle_free(bundle);
    return status;
}

att_status att_safetensors_read(att_bundle **out, const void *bytes, size_t size, const char *name,
                                att_error *err)
{
    return read_bundle(out, &(reader){ .file = name, .err = err }, bytes, size);
}

att_status att_safetensors_read_in_place(att_bundle **out, att_string *bytes, const char *name,
                                         att_error *err)
{
    reader in = { .file = name, .err = err, .can_borrow_bytes = true };
    ATT_TRY(read_bundle(out, &in, bytes->data, bytes->length));
    att_bundle_take_bytes(*out, bytes);
    return ATT_OK;
}

#else

att_status att_safetensors_read_in_place(att_bundle **out, att_string *bytes, const char *name,
                                         att_error *err)
{
    return att_safetensors_read(out, bytes->data, bytes->length, name, err);
}

att_status att_safetensors_read(att_bundle **out, const void *bytes, size_t size, const char *name,
                                att_error *err)
{
    (void)bytes;
    (void)size;
    *out = NULL;
    return att_fail(err, ATT_UNSUPPORTED, name,
                    "this build cannot read .safetensors files: it lacks jansson");
}

#endif
