/* A file is taken apart into its header and the bytes of its tensors; the header is changed as
 * JSON; then the file is put together again with the offsets that the shapes ask for. */
#include "fuzz/mutate_safetensors.h"

#include "base/json.h"
#include "base/string.h"
#include "fuzz/mutate_json.h"

#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

enum { PREFIX = 8 };

typedef struct parts {
    const char *header;
    size_t header_size;
    const uint8_t *data; /* of all tensors */
    size_t data_size;
} parts;

static bool take_apart(parts *out, const uint8_t *data, size_t size)
{
    uint64_t length = 0;
    if (size < PREFIX)
        return false;
    for (int i = 0; i < PREFIX; i++)
        length |= (uint64_t)data[i] << 8 * i;
    if (length > size - PREFIX)
        return false;
    *out = (parts){ (const char *)data + PREFIX, (size_t)length, data + PREFIX + length,
                    size - PREFIX - (size_t)length };
    return true;
}

/* ---- putting together */

typedef struct rebuild {
    const parts *in;
    att_string tensors;
    size_t limit;
    bool failed;
} rebuild;

static int64_t dtype_size(const char *name)
{
    static const struct {
        const char *name;
        int64_t size;
    } rows[] = { { "F64", 8 }, { "I64", 8 }, { "U64", 8 },  { "F32", 4 }, { "I32", 4 },
                 { "U32", 4 }, { "F16", 2 }, { "BF16", 2 }, { "I16", 2 }, { "U16", 2 },
                 { "I8", 1 },  { "U8", 1 },  { "BOOL", 1 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(name, rows[i].name) == 0)
            return rows[i].size;
    return -1;
}

/* The bytes that a tensor should have, or -1. */
static int64_t tensor_bytes(const att_json *tensor, int64_t limit)
{
    const att_json *dtype = att_json_find(tensor, "dtype"), *shape = att_json_find(tensor, "shape");
    if (!dtype || dtype->type != ATT_JSON_STRING || !shape || shape->type != ATT_JSON_ARRAY)
        return -1;
    int64_t bytes = dtype_size(dtype->string);
    for (size_t i = 0; i < shape->count && bytes >= 0; i++) {
        const att_json *dim = &shape->items[i];
        bool fits = dim->type == ATT_JSON_INTEGER && dim->integer >= 0 && dim->integer <= limit;
        bytes = fits && bytes * dim->integer <= limit ? bytes * dim->integer : -1;
    }
    return bytes;
}

/* Copies what the tensor had at its old offset, then repeats zeros. */
static void add_tensor(rebuild *to, const att_json *tensor, int64_t bytes)
{
    const att_json *offsets = att_json_find(tensor, "data_offsets");
    int64_t from = 0;
    if (offsets && offsets->type == ATT_JSON_ARRAY && offsets->count > 0 &&
        offsets->items[0].type == ATT_JSON_INTEGER)
        from = offsets->items[0].integer;
    for (int64_t i = 0; i < bytes && !to->failed; i++) {
        bool there = from >= 0 && from <= INT64_MAX - i && (uint64_t)(from + i) < to->in->data_size;
        char byte = there ? (char)to->in->data[from + i] : 0;
        to->failed = att_string_append(&to->tensors, &byte, 1) != ATT_OK;
    }
}

static void put_value(att_json_writer *out, const char *key, const att_json *value)
{
    if (value->type == ATT_JSON_BOOL)
        att_json_put_bool(out, key, value->boolean);
    else if (value->type == ATT_JSON_INTEGER)
        att_json_put_integer(out, key, value->integer);
    else if (value->type == ATT_JSON_NUMBER)
        att_json_put_number(out, key, value->number);
    else if (value->type == ATT_JSON_STRING)
        att_json_put_bytes(out, key, value->string, value->length);
    else if (value->type == ATT_JSON_NULL)
        att_json_put_null(out, key);
    if (value->type != ATT_JSON_ARRAY && value->type != ATT_JSON_OBJECT)
        return;
    if (value->type == ATT_JSON_ARRAY)
        att_json_begin_array(out, key);
    else
        att_json_begin_object(out, key);
    for (size_t i = 0; i < value->count; i++)
        put_value(out, value->items[i].key, &value->items[i]);
    att_json_end(out);
}

/* A tensor's entry with the offsets of where its bytes now are. */
static void put_tensor(att_json_writer *out, const att_json *tensor, rebuild *to)
{
    int64_t bytes = tensor_bytes(tensor, (int64_t)to->limit);
    if (bytes < 0 || to->tensors.length + (size_t)bytes > to->limit) {
        put_value(out, tensor->key, tensor);
        return;
    }
    int64_t start = (int64_t)to->tensors.length;
    add_tensor(to, tensor, bytes);
    att_json_begin_object(out, tensor->key);
    for (size_t i = 0; i < tensor->count; i++)
        if (strcmp(tensor->items[i].key, "data_offsets") != 0)
            put_value(out, tensor->items[i].key, &tensor->items[i]);
    att_json_begin_array(out, "data_offsets");
    att_json_put_integer(out, NULL, start);
    att_json_put_integer(out, NULL, start + bytes);
    att_json_end(out);
    att_json_end(out);
}

/* Replaces the header by one whose offsets fit; false where it is no object. */
static bool fix_offsets(att_string *header, rebuild *to)
{
    att_json_doc doc;
    att_string text = { 0 };
    if (att_json_read(&doc, header->data, header->length, "header", NULL, NULL) != ATT_OK)
        return false;
    bool done = doc.root->type == ATT_JSON_OBJECT;
    att_json_writer out = att_json_begin(&text, ATT_JSON_REPLACE);
    att_json_begin_object(&out, NULL);
    for (size_t i = 0; done && i < doc.root->count; i++)
        if (strcmp(doc.root->items[i].key, "__metadata__") == 0)
            put_value(&out, doc.root->items[i].key, &doc.root->items[i]);
        else
            put_tensor(&out, &doc.root->items[i], to);
    att_json_end(&out);
    done = att_json_finish(&out, "header", NULL) == ATT_OK && done && !to->failed;
    att_json_free(&doc);
    if (done) {
        att_string old = *header;
        *header = text;
        text = old;
    }
    att_string_free(&text);
    return done;
}

static size_t put_together(uint8_t *data, size_t max_size, const att_string *header,
                           const void *tensors, size_t tensors_size)
{
    if (header->length + tensors_size + PREFIX > max_size)
        return 0;
    if (tensors_size > 0)
        memmove(data + PREFIX + header->length, tensors, tensors_size);
    memcpy(data + PREFIX, header->data, header->length);
    for (int i = 0; i < PREFIX; i++)
        data[i] = (uint8_t)((uint64_t)header->length >> 8 * i);
    return PREFIX + header->length + tensors_size;
}

/* ---- changes */

static size_t change_header(uint8_t *data, const parts *in, size_t max_size, uint64_t *random)
{
    att_string header = { 0 };
    size_t changes = 1 + mutate_random(random, 3), size = 0;
    bool done = att_string_append(&header, in->header, in->header_size) == ATT_OK;
    for (size_t i = 0; done && i < changes; i++) {
        att_string next = { 0 };
        done = mutate_json(&next, header.data, header.length, random);
        att_string_free(&header);
        header = next;
    }
    rebuild to = { .in = in, .limit = max_size };
    bool fixed = done && mutate_random(random, 8) != 0 && fix_offsets(&header, &to);
    if (done && fixed)
        size = put_together(data, max_size, &header, to.tensors.data, to.tensors.length);
    else if (done)
        size = put_together(data, max_size, &header, in->data, in->data_size);
    att_string_free(&header);
    att_string_free(&to.tensors);
    return size;
}

/* Sets a few floats to values at the edges. */
static void change_floats(uint8_t *data, size_t size, uint64_t *random)
{
    static const float edges[] = { 0, 1, -1, 1e38F, -1e38F, 3e19F, 1e-38F, 1e-45F, 100, -100 };
    size_t floats = size / sizeof(float), changes = 1 + mutate_random(random, 8);
    for (size_t i = 0; floats > 0 && i < changes; i++) {
        float value = edges[mutate_random(random, sizeof edges / sizeof *edges)];
        memcpy(data + mutate_random(random, floats) * sizeof value, &value, sizeof value);
    }
}

size_t mutate_safetensors(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    uint64_t random = mutate_seed(seed);
    parts in;
    size_t choice = mutate_random(&random, 8), changed = 0;
    if (choice > 0 && take_apart(&in, data, size)) {
        if (choice == 1) {
            change_floats(data + (size - in.data_size), in.data_size, &random);
            return size;
        }
        changed = change_header(data, &in, max_size, &random);
    }
    return changed > 0 ? changed : LLVMFuzzerMutate(data, size, max_size);
}
