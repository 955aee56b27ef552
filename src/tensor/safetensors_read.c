/* Reading .safetensors files, strictly by the format:
 *
 *   8 bytes: the length of the header, little-endian; the header, a JSON object; the tensor data.
 *
 * The header maps names to {"dtype", "shape", "data_offsets": [begin, end]}, offsets counted from
 * the end of the header, and "__metadata__" to an object of strings. The tensors cover the data
 * without gap or overlap. Every value of the header is checked against the bytes present before it
 * is used. Files of attend have a checksum (tensor/checksum.h), which is compared before any tensor
 * is used. */
#include "tensor/bundle.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/minmax.h"
#include "base/options.h"
#include "base/progress.h"
#include "base/quote.h"
#include "tensor/checksum.h"
#include "tensor/storage_dtype.h"
#include "tensor/tensor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The deepest place of a header is inside "shape": the header's object, the tensor's object, the
 * array. */
enum { LENGTH_SIZE = 8, MAX_DEPTH = 3 };

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
    entry *entries; /* [entry_count] */
    size_t entry_count;
    att_verify_scope scope;
    att_checksum_report *report; /* only compare the file with its checksum; NULL: read it */
    bool keeps_int8;             /* of a model: tensors of int8 stay so, else they become float */
    bool can_borrow_bytes;       /* the bytes outlive the bundle: tensors may be views of them */
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
    if (length > ATT_SAFETENSORS_MAX_HEADER)
        return fail(in, "states a header of %llu bytes, more than the %d allowed",
                    (unsigned long long)length, ATT_SAFETENSORS_MAX_HEADER);
    if (length > size - LENGTH_SIZE)
        return fail(in, "states a header of %llu bytes, but only %zu follow",
                    (unsigned long long)length, size - LENGTH_SIZE);
    in->header = (const char *)bytes + LENGTH_SIZE;
    in->header_size = (size_t)length;
    in->data = bytes + LENGTH_SIZE + length;
    in->data_size = size - LENGTH_SIZE - in->header_size;
    return ATT_OK;
}

/* The format is stricter than JSON: no white space in front, and only spaces as padding. */
static att_status check_padding(const reader *in)
{
    const char *text = in->header;
    size_t length = in->header_size;
    if (length == 0 || text[0] != '{')
        return fail(in, "the header does not begin with '{'");
    while (text[length - 1] == ' ')
        length--;
    if (text[length - 1] != '}')
        return fail(in, "the header does not end with '}' and spaces");
    return ATT_OK;
}

static att_status parse_header(att_json_doc *out, const reader *in)
{
    const att_json_limits limits = { .size = ATT_SAFETENSORS_MAX_HEADER,
                                     .depth = MAX_DEPTH,
                                     .string = ATT_SAFETENSORS_MAX_STRING };
    att_error cause = { 0 };
    *out = (att_json_doc){ 0 };
    ATT_TRY(check_padding(in));
    if (att_json_read(out, in->header, in->header_size, in->file, &limits, &cause) == ATT_OK)
        return ATT_OK;
    return att_json_fail_in(in->err, &cause, "the header", in->file);
}

/* ---- the entry of one tensor */

static bool is_size(const att_json *value)
{
    return value->type == ATT_JSON_INTEGER && value->integer >= 0;
}

static att_status parse_dtype(const reader *in, entry *out, const att_json *value)
{
    char quoted[ATT_QUOTED_SIZE];
    if (value->type != ATT_JSON_STRING)
        return fail_tensor(in, out->name, "dtype is not a string");
    out->storage = att_storage_dtype_from_safetensors(value->string);
    if (!out->storage)
        return fail_tensor(in, out->name, "dtype '%s' is not supported",
                           att_quote(quoted, value->string, value->length));
    return ATT_OK;
}

static att_status parse_shape(const reader *in, entry *out, const att_json *value)
{
    if (value->type != ATT_JSON_ARRAY)
        return fail_tensor(in, out->name, "shape is not an array");
    if (value->count > ATT_MAX_RANK)
        return fail_tensor(in, out->name, "shape has %zu dimensions, at most %d are supported",
                           value->count, ATT_MAX_RANK);
    out->rank = (int)value->count;
    for (size_t i = 0; i < value->count; i++) {
        if (!is_size(&value->items[i]))
            return fail_tensor(in, out->name,
                               "dimension %zu of the shape is not a whole number from 0 to 2^63-1",
                               i);
        out->shape[i] = value->items[i].integer;
    }
    return ATT_OK;
}

static att_status parse_offsets(const reader *in, entry *out, const att_json *value)
{
    if (value->type != ATT_JSON_ARRAY || value->count != 2)
        return fail_tensor(in, out->name, "data_offsets is not a pair [begin, end]");
    if (!is_size(&value->items[0]) || !is_size(&value->items[1]))
        return fail_tensor(in, out->name,
                           "data_offsets are not two whole numbers from 0 to 2^63-1");
    out->begin = (uint64_t)value->items[0].integer;
    out->end = (uint64_t)value->items[1].integer;
    return ATT_OK;
}

typedef struct field {
    const char *name;
    att_status (*parse)(const reader *in, entry *out, const att_json *value);
} field;

static const field fields[] = {
    { "dtype", parse_dtype },
    { "shape", parse_shape },
    { "data_offsets", parse_offsets },
};

/* Compares the offsets with the size of the data and with the size that dtype and shape need. */
static att_status check_offsets(const reader *in, entry *one)
{
    unsigned long long begin = one->begin, end = one->end;
    char shape[ATT_SHAPE_STRING_SIZE];
    att_shape_to_string(shape, one->rank, one->shape);
    /* An element may be wider in memory than in the file: 8 bytes at most. */
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

static const field *find_field(const char *name)
{
    for (size_t i = 0; i < ATT_COUNT(fields); i++)
        if (strcmp(fields[i].name, name) == 0)
            return &fields[i];
    return NULL;
}

static att_status parse_entry(const reader *in, entry *out, const att_json *value)
{
    char quoted[ATT_QUOTED_SIZE];
    *out = (entry){ .name = value->key };
    if (value->type != ATT_JSON_OBJECT)
        return fail_tensor(in, out->name, "is not an object with dtype, shape and data_offsets");
    for (size_t i = 0; i < ATT_COUNT(fields); i++) {
        const att_json *member = att_json_find(value, fields[i].name);
        if (!member)
            return fail_tensor(in, out->name, "lacks %s", fields[i].name);
        ATT_TRY(fields[i].parse(in, out, member));
    }
    for (size_t i = 0; i < value->count; i++) {
        const char *key = value->items[i].key;
        if (!find_field(key))
            return fail_tensor(in, out->name, "unknown field '%s'",
                               att_quote(quoted, key, strlen(key)));
    }
    return check_offsets(in, out);
}

/* ---- all entries */

static att_status parse_metadata(const reader *in, att_bundle *bundle, const att_json *metadata)
{
    char quoted[ATT_QUOTED_SIZE];
    if (metadata->type != ATT_JSON_OBJECT)
        return fail(in, "__metadata__ is not an object");
    for (size_t i = 0; i < metadata->count; i++) {
        const att_json *value = &metadata->items[i];
        if (value->type != ATT_JSON_STRING)
            return fail(in, "__metadata__: the value of '%s' is not a string",
                        att_quote(quoted, value->key, strlen(value->key)));
        if (att_checksum_is_value(value->string) && strcmp(value->key, ATT_KEY_CHECKSUM) != 0)
            return fail(in,
                        "the metadata '%s' is a checksum, expected its key '" ATT_KEY_CHECKSUM
                        "': the file was damaged or changed",
                        att_quote(quoted, value->key, strlen(value->key)));
        ATT_TRY(att_bundle_meta_set(bundle, value->key, value->string, in->err));
    }
    return ATT_OK;
}

static att_status parse_entries(reader *in, att_bundle *bundle, const att_json *root)
{
    in->entries = att_alloc(root->count, sizeof *in->entries);
    if (!in->entries)
        return att_fail_memory(in->err);
    for (size_t i = 0; i < root->count; i++) {
        const att_json *value = &root->items[i];
        if (strcmp(value->key, "__metadata__") == 0)
            ATT_TRY(parse_metadata(in, bundle, value));
        else
            ATT_TRY(parse_entry(in, &in->entries[in->entry_count++], value));
    }
    return ATT_OK;
}

/* By position in the file; empty tensors, which begin where the next one begins, by name. */
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

/* Compares the file with its checksum, if it has one. */
static att_status check_checksum(const reader *in, const att_bundle *bundle)
{
    const char *value = att_bundle_meta_get(bundle, ATT_KEY_CHECKSUM);
    if (!value)
        return ATT_OK;
    att_checksum_part *parts = att_alloc(in->entry_count, sizeof *parts);
    if (!parts)
        return att_fail_memory(in->err);
    for (size_t i = 0; i < in->entry_count; i++) {
        const entry *one = &in->entries[i];
        parts[i] = (att_checksum_part){ .name = one->name,
                                        .bytes = in->data + one->begin,
                                        .size = (size_t)(one->end - one->begin) };
    }
    const att_checksum_source source = { .file = in->file,
                                         .value = value,
                                         .header = in->header - LENGTH_SIZE,
                                         .header_size = LENGTH_SIZE + in->header_size,
                                         .parts = parts,
                                         .count = in->entry_count };
    att_status status = att_checksum_compare(&source, in->scope == ATT_VERIFY_FILE, in->err);
    att_free(parts);
    return status;
}

static att_dtype dtype_in_memory(const reader *in, const entry *one)
{
    bool int8 = one->storage == att_storage_dtype_of(ATT_I8);
    return int8 && in->keeps_int8 ? ATT_I8 : one->storage->dtype;
}

/* Whether a tensor can be a view of the bytes of the file. */
static bool can_alias(const reader *in, const entry *one)
{
    const att_storage_dtype *element = one->storage;
    return in->can_borrow_bytes && element == att_storage_dtype_of(dtype_in_memory(in, one)) &&
           att_byte_order_native() == ATT_LITTLE_ENDIAN &&
           (uintptr_t)(in->data + one->begin) % element->size == 0;
}

static att_status add_tensor(const reader *in, att_bundle *bundle, const entry *one)
{
    att_tensor tensor;
    att_dtype dtype = dtype_in_memory(in, one);
    if (can_alias(in, one)) {
        tensor = att_tensor_view(in->data + one->begin, dtype, one->rank, one->shape);
        return att_bundle_take(bundle, one->name, &tensor, in->err);
    }
    ATT_TRY(att_tensor_new_uninitialized(&tensor, dtype, one->rank, one->shape, in->err));
    int64_t unfit = -1;
    if (dtype == ATT_I8)
        memcpy(tensor.data, in->data + one->begin, (size_t)one->count);
    else
        unfit = att_storage_decode(tensor.data, one->storage, in->data + one->begin, one->count,
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

/* A token file has integers of 64 bits that a tensor cannot hold: where a model is expected, say
 * what the file is rather than which integer. */
static att_status refuse_tokens(const reader *in, const att_bundle *bundle)
{
    const char *format = att_bundle_meta_get(bundle, ATT_KEY_FORMAT);
    if (!in->keeps_int8 || !format ||
        strncmp(format, ATT_TOKENS_FORMAT_PREFIX, strlen(ATT_TOKENS_FORMAT_PREFIX)) != 0)
        return ATT_OK;
    return fail(in, ATT_TOKENS_NOT_MODEL);
}

/* The names of the entries belong to the document. */
static att_status read_tensors(reader *in, att_bundle *bundle, const att_json *root)
{
    ATT_TRY(parse_entries(in, bundle, root));
    ATT_TRY(check_coverage(in));
    ATT_TRY(check_checksum(in, bundle));
    if (in->report) {
        in->report->recorded = att_bundle_meta_get(bundle, ATT_KEY_CHECKSUM) != NULL;
        in->report->tensors = in->entry_count;
        in->report->bytes = in->data_size;
        return ATT_OK;
    }
    ATT_TRY(refuse_tokens(in, bundle));
    for (size_t i = 0; i < in->entry_count; i++) {
        ATT_TRY(att_progress_check(in->err));
        ATT_TRY(add_tensor(in, bundle, &in->entries[i]));
    }
    return att_progress_check(in->err);
}

static att_status read_bundle(att_bundle **out, reader *in, const void *bytes, size_t size)
{
    *out = NULL;
    ATT_TRY(find_header(in, bytes, size));
    att_bundle *bundle;
    ATT_TRY(att_bundle_new(&bundle, in->err));
    att_json_doc header;
    att_status status = parse_header(&header, in);
    if (status == ATT_OK)
        status = read_tensors(in, bundle, header.root);
    att_json_free(&header);
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

att_status att_safetensors_read_model(att_bundle **out, const void *bytes, size_t size,
                                      const char *name, att_error *err)
{
    return read_bundle(out, &(reader){ .file = name, .err = err, .keeps_int8 = true }, bytes, size);
}

att_status att_safetensors_read_in_place(att_bundle **out, att_string *bytes,
                                         att_safetensors_options options, const char *name,
                                         att_error *err)
{
    reader in = { .file = name,
                  .err = err,
                  .scope = options.scope,
                  .keeps_int8 = options.keeps_int8,
                  .can_borrow_bytes = true };
    ATT_TRY(read_bundle(out, &in, bytes->data, bytes->length));
    att_bundle_take_bytes(*out, bytes);
    return ATT_OK;
}

static att_status verify_bytes(att_checksum_report *out, const att_string *bytes, const char *path,
                               att_error *err)
{
    att_bundle *unused;
    att_file_format format = att_file_format_detect(bytes->data, bytes->length);
    if (format != ATT_FILE_SAFETENSORS)
        return att_fail(err, ATT_BAD_INPUT, path, "is %s (%zu bytes), expected a model",
                        att_file_format_name(format), bytes->length);
    reader in = { .file = path, .err = err, .report = out };
    ATT_TRY(read_bundle(&unused, &in, bytes->data, bytes->length));
    att_bundle_free(unused);
    return ATT_OK;
}

att_status att_checksum_verify(att_checksum_report *out, const char *path, att_error *err)
{
    att_checksum_report report = ATT_INIT(att_checksum_report);
    att_string bytes = { 0 };
    att_progress_scope scope;
    att_progress_begin(&scope, "verifying", 0);
    att_status status = att_file_read(&bytes, path, SIZE_MAX, err);
    if (status == ATT_OK)
        status = verify_bytes(&report, &bytes, path, err);
    status = att_progress_end(&scope, status, err);
    att_string_free(&bytes);
    return status == ATT_OK ? ATT_RESULT_COPY(att_checksum_report, out, &report, err) : status;
}
