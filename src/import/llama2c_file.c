/* The numbers of a llama2.c checkpoint; see llama2c_file.h. */
#include "import/llama2c_file.h"

#include "base/alloc.h"
#include "base/error.h"
#include "import/bytes.h"

#include <inttypes.h>

enum {
    MOST = 1 << 20,     /* of any number in the header: products of three stay below 2^63 */
    MAGIC = 0x616B3432, /* "ak42": what formats with a version begin with */
    QUANTISED_FORMAT = 2,
};

/* The header: where each number goes and what it is called there. */
static const struct field {
    const char *name;
    size_t offset;
} fields[] = {
    { "dim", offsetof(att_llama_file, width) },
    { "hidden_dim", offsetof(att_llama_file, feed_forward) },
    { "n_layers", offsetof(att_llama_file, layers) },
    { "n_heads", offsetof(att_llama_file, heads) },
    { "n_kv_heads", offsetof(att_llama_file, key_heads) },
    { "vocab_size", offsetof(att_llama_file, vocabulary) },
    { "seq_len", offsetof(att_llama_file, context) },
};
enum { FIELDS = sizeof fields / sizeof *fields };

/* A vocabulary is told as a number below 0 where the output layer is not the embedding. */
static att_status read_field(att_llama_file *file, const struct field *field, att_bytes *bytes,
                             att_error *err)
{
    uint32_t bits;
    ATT_TRY(att_bytes_number(bytes, &bits, 4, "its header", err));
    int64_t value = (int32_t)bits;
    if (field->offset == offsetof(att_llama_file, vocabulary)) {
        file->tied = value > 0;
        value = value < 0 ? -value : value;
    }
    if (value < 1 || value > MOST)
        return att_fail(err, ATT_BAD_INPUT, bytes->name,
                        "is no checkpoint of llama2.c: its %s would be %" PRId64, field->name,
                        value);
    *(int64_t *)((char *)file + field->offset) = value;
    return ATT_OK;
}

static att_status refuse_versions(const att_bytes *bytes, att_error *err)
{
    if (bytes->size < 8 || att_bytes_at(bytes->data, 4) != MAGIC)
        return ATT_OK;
    uint32_t version = att_bytes_at(bytes->data + 4, 4);
    return att_fail(err, ATT_BAD_INPUT, bytes->name,
                    "is a checkpoint of llama2.c in version %u%s; the format without a version is "
                    "read (export.py --version 0)",
                    version, version == QUANTISED_FORMAT ? ", which is quantised" : "");
}

static att_status read_header(att_llama_file *file, att_bytes *bytes, att_error *err)
{
    ATT_TRY(refuse_versions(bytes, err));
    for (int i = 0; i < FIELDS; i++)
        ATT_TRY(read_field(file, &fields[i], bytes, err));
    if (file->width % file->heads != 0 || file->heads % file->key_heads != 0 ||
        file->width / file->heads % 2 != 0)
        return att_fail(err, ATT_BAD_INPUT, bytes->name,
                        "is no checkpoint of llama2.c: %" PRId64 " columns, %" PRId64
                        " heads and %" PRId64 " heads of keys do not go together",
                        file->width, file->heads, file->key_heads);
    file->head = file->width / file->heads;
    file->key_width = file->key_heads * file->head;
    return ATT_OK;
}

/* How many numbers each array has. */
static void count_arrays(int64_t counts[ATT_LLAMA_ARRAYS], const att_llama_file *f)
{
    int64_t square = f->layers * f->width * f->width, key = f->layers * f->key_width * f->width;
    int64_t feed = f->layers * f->feed_forward * f->width, norm = f->layers * f->width;
    int64_t table = f->vocabulary * f->width, turns = f->context * f->head / 2;
    const int64_t all[ATT_LLAMA_ARRAYS] = {
        [ATT_LLAMA_EMBED] = table,        [ATT_LLAMA_SELF_NORM] = norm,
        [ATT_LLAMA_QUERY] = square,       [ATT_LLAMA_KEY] = key,
        [ATT_LLAMA_VALUE] = key,          [ATT_LLAMA_OUT] = square,
        [ATT_LLAMA_FEED_NORM] = norm,     [ATT_LLAMA_GATE] = feed,
        [ATT_LLAMA_SECOND] = feed,        [ATT_LLAMA_FIRST] = feed,
        [ATT_LLAMA_LAST_NORM] = f->width, [ATT_LLAMA_COSINES] = turns,
        [ATT_LLAMA_SINES] = turns,        [ATT_LLAMA_OUTPUT] = f->tied ? 0 : table,
    };
    for (int i = 0; i < ATT_LLAMA_ARRAYS; i++)
        counts[i] = all[i];
}

static att_status read_arrays(att_llama_file *file, att_bytes *bytes, att_error *err)
{
    int64_t counts[ATT_LLAMA_ARRAYS], total = 0;
    count_arrays(counts, file);
    for (int i = 0; i < ATT_LLAMA_ARRAYS; i++)
        total += counts[i];
    if ((uint64_t)total > SIZE_MAX / sizeof(float) ||
        att_bytes_left(bytes) != (size_t)total * sizeof(float))
        return att_fail(err, ATT_BAD_INPUT, bytes->name,
                        "has %zu bytes after its header, which asks for %" PRId64 " floats",
                        att_bytes_left(bytes), total);
    file->values = att_alloc((size_t)total, sizeof *file->values);
    if (!file->values)
        return att_fail_memory(err);
    for (int64_t i = 0; i < total; i++)
        file->values[i] = att_float_at(bytes->data + bytes->at + (size_t)i * sizeof(float));
    const float *at = file->values;
    for (int i = 0; i < ATT_LLAMA_ARRAYS; at += counts[i++])
        file->arrays[i] = at;
    return ATT_OK;
}

att_status att_llama_read(att_llama_file *out, const att_llama_bytes *from, att_error *err)
{
    att_bytes bytes = { .data = from->data, .size = from->size, .name = from->name };
    *out = (att_llama_file){ 0 };
    ATT_TRY(read_header(out, &bytes, err));
    return read_arrays(out, &bytes, err);
}

void att_llama_free(att_llama_file *file)
{
    att_free(file->values);
    *file = (att_llama_file){ 0 };
}

att_status att_llama_vocabulary(int64_t *out, const att_llama_bytes *from, att_error *err)
{
    att_bytes bytes = { .data = from->data, .size = from->size, .name = from->name };
    att_llama_file file = { 0 };
    ATT_TRY(read_header(&file, &bytes, err));
    *out = file.vocabulary;
    return ATT_OK;
}
