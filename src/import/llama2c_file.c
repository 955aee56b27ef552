/* Reads the header and the arrays of a llama2.c checkpoint. */
#include "import/llama2c_file.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/byte_reader.h"

#include <inttypes.h>

enum {
    MAX_HEADER_VALUE = 1 << 20, /* so that products of three stay below 2^63 */
    MAGIC = 0x616B3432,         /* "ak42": the start of the formats with a version */
    QUANTIZED_FORMAT = 2,
};

/* The header fields in order, by their names in llama2.c. */
static const struct field {
    const char *name;
    size_t offset;
} fields[] = {
    { "dim", offsetof(att_llama_file, hidden_size) },
    { "hidden_dim", offsetof(att_llama_file, ffn_size) },
    { "n_layers", offsetof(att_llama_file, layers) },
    { "n_heads", offsetof(att_llama_file, heads) },
    { "n_kv_heads", offsetof(att_llama_file, kv_heads) },
    { "vocab_size", offsetof(att_llama_file, vocab_size) },
    { "seq_len", offsetof(att_llama_file, context_length) },
};
enum { FIELDS = ATT_COUNT(fields) };

/* A negative vocabulary size means that the output layer is not tied to the embedding. */
static att_status read_field(att_llama_file *file, const struct field *field,
                             att_byte_reader *bytes, att_error *err)
{
    uint32_t bits;
    ATT_TRY(att_byte_reader_uint(bytes, &bits, 4, "the header", err));
    int64_t value = (int32_t)bits;
    if (field->offset == offsetof(att_llama_file, vocab_size)) {
        file->tied = value > 0;
        value = value < 0 ? -value : value;
    }
    if (value < 1 || value > MAX_HEADER_VALUE)
        return att_fail(err, ATT_BAD_INPUT, bytes->name,
                        "is not a llama2.c checkpoint: its header has %s %" PRId64, field->name,
                        value);
    *(int64_t *)((char *)file + field->offset) = value;
    return ATT_OK;
}

static att_status refuse_versions(const att_byte_reader *bytes, att_error *err)
{
    if (bytes->size < 8 || att_read_uint_le(bytes->data, 4) != MAGIC)
        return ATT_OK;
    uint32_t version = att_read_uint_le(bytes->data + 4, 4);
    return att_fail(err, ATT_BAD_INPUT, bytes->name,
                    "is a llama2.c checkpoint of version %u%s, expected version 0 (export.py "
                    "--version 0)",
                    version, version == QUANTIZED_FORMAT ? " (quantized)" : "");
}

static att_status read_header(att_llama_file *file, att_byte_reader *bytes, att_error *err)
{
    ATT_TRY(refuse_versions(bytes, err));
    for (int i = 0; i < FIELDS; i++)
        ATT_TRY(read_field(file, &fields[i], bytes, err));
    if (file->hidden_size % file->heads != 0 || file->heads % file->kv_heads != 0 ||
        file->hidden_size / file->heads % 2 != 0)
        return att_fail(err, ATT_BAD_INPUT, bytes->name,
                        "is not a llama2.c checkpoint: its header has dim %" PRId64
                        ", n_heads %" PRId64 " and n_kv_heads %" PRId64,
                        file->hidden_size, file->heads, file->kv_heads);
    file->head_size = file->hidden_size / file->heads;
    file->kv_size = file->kv_heads * file->head_size;
    return ATT_OK;
}

/* The number of floats in each array. */
static void count_arrays(int64_t counts[ATT_LLAMA_ARRAY_COUNT], const att_llama_file *f)
{
    int64_t square = f->layers * f->hidden_size * f->hidden_size,
            key = f->layers * f->kv_size * f->hidden_size;
    int64_t ffn = f->layers * f->ffn_size * f->hidden_size, norm = f->layers * f->hidden_size;
    int64_t table = f->vocab_size * f->hidden_size, rope = f->context_length * f->head_size / 2;
    const int64_t all[ATT_LLAMA_ARRAY_COUNT] = {
        [ATT_LLAMA_EMBEDDING] = table,
        [ATT_LLAMA_ATTENTION_NORM] = norm,
        [ATT_LLAMA_QUERY] = square,
        [ATT_LLAMA_KEY] = key,
        [ATT_LLAMA_VALUE] = key,
        [ATT_LLAMA_OUT] = square,
        [ATT_LLAMA_FFN_NORM] = norm,
        [ATT_LLAMA_GATE] = ffn,
        [ATT_LLAMA_DOWN] = ffn,
        [ATT_LLAMA_UP] = ffn,
        [ATT_LLAMA_FINAL_NORM] = f->hidden_size,
        [ATT_LLAMA_ROPE_COS] = rope,
        [ATT_LLAMA_ROPE_SIN] = rope,
        [ATT_LLAMA_OUTPUT] = f->tied ? 0 : table,
    };
    for (int i = 0; i < ATT_LLAMA_ARRAY_COUNT; i++)
        counts[i] = all[i];
}

static att_status read_arrays(att_llama_file *file, att_byte_reader *bytes, att_error *err)
{
    int64_t counts[ATT_LLAMA_ARRAY_COUNT], total = 0;
    count_arrays(counts, file);
    for (int i = 0; i < ATT_LLAMA_ARRAY_COUNT; i++)
        total += counts[i];
    if ((uint64_t)total > SIZE_MAX / sizeof(float) ||
        att_byte_reader_left(bytes) != (size_t)total * sizeof(float))
        return att_fail(err, ATT_BAD_INPUT, bytes->name,
                        "has %zu bytes after its header, expected %" PRId64 " floats",
                        att_byte_reader_left(bytes), total);
    file->values = att_alloc((size_t)total, sizeof *file->values);
    if (!file->values)
        return att_fail_memory(err);
    for (int64_t i = 0; i < total; i++)
        file->values[i] =
            att_read_float_le(bytes->data + bytes->position + (size_t)i * sizeof(float));
    const float *at = file->values;
    for (int i = 0; i < ATT_LLAMA_ARRAY_COUNT; at += counts[i++])
        file->arrays[i] = at;
    return ATT_OK;
}

att_status att_llama_read(att_llama_file *out, const att_llama_bytes *from, att_error *err)
{
    att_byte_reader bytes = { .data = from->data, .size = from->size, .name = from->name };
    *out = (att_llama_file){ 0 };
    ATT_TRY(read_header(out, &bytes, err));
    return read_arrays(out, &bytes, err);
}

void att_llama_free(att_llama_file *file)
{
    att_free(file->values);
    *file = (att_llama_file){ 0 };
}

att_status att_llama_vocab_size(int64_t *out, const att_llama_bytes *from, att_error *err)
{
    att_byte_reader bytes = { .data = from->data, .size = from->size, .name = from->name };
    att_llama_file file = { 0 };
    ATT_TRY(read_header(&file, &bytes, err));
    *out = file.vocab_size;
    return ATT_OK;
}
