/* Import of CTranslate2 Transformers: model.bin, and in the same folder source_vocabulary.txt and
 * target_vocabulary.txt, or shared_vocabulary.txt for both sides, with one token per line.
 *
 * These models are pre-norm with a final layer norm, scaled embeddings and sinusoidal positions.
 * Their layout of the sinusoids differs from ours, so they are stored as a table of learned
 * positions. */
#include "import/ctranslate2.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/math.h"
#include "base/minmax.h"
#include "base/quote.h"
#include "base/string.h"
#include "base/utf8.h"
#include "import/import.h"
#include "tensor/tensor.h"
#include "text/lines.h"

#include <stdio.h>
#include <string.h>

enum {
    LAST_REVISION = 3,
    POSITIONS = 1024, /* default maximum length of CTranslate2 */
    MAX_LAYERS = 64,
    MAX_NAME = 160,
};

/* Model types. The name of the older ones implies the number of heads; 0: it is in a variable. */
static const struct model_type {
    const char *name;
    int64_t heads;
} model_types[] = { { "TransformerBase", 8 }, { "TransformerBig", 16 }, { "TransformerSpec", 0 } };

/* The tensor that each variable of a layer becomes. Matrices of CTranslate2 are [out, in], ours
 * [in, out]; queries, keys and values are concatenated in the same order in both. */
typedef struct tensor_mapping {
    const char *from, *into;
    bool matrix;
} tensor_mapping;

#define NORM(from, into)                                                                           \
    { from "/layer_norm/gamma", into ".norm.gain", false },                                        \
    {                                                                                              \
        from "/layer_norm/beta", into ".norm.bias", false                                          \
    }
#define AFFINE(from, into)                                                                         \
    { from "/weight", into, true },                                                                \
    {                                                                                              \
        from "/bias", into "_bias", false                                                          \
    }

static const tensor_mapping layer_mappings[] = {
    NORM("self_attention", "self"),
    AFFINE("self_attention/linear_0", "self.query_key_value"),
    AFFINE("self_attention/linear_1", "self.out"),
    NORM("ffn", "feed"),
    AFFINE("ffn/linear_0", "feed.first"),
    AFFINE("ffn/linear_1", "feed.second"),
};

static const tensor_mapping cross_mappings[] = {
    NORM("attention", "cross"),
    AFFINE("attention/linear_0", "cross.query"),
    AFFINE("attention/linear_1", "cross.key_value"),
    AFFINE("attention/linear_2", "cross.out"),
};

/* The state of a conversion. */
typedef struct converter {
    att_ct2_file *file;
    const att_ct2_vocabularies *vocabularies;
    att_tokenizer_kind tokenizer_kind;
    att_model_writer writer;
    att_imported_vocab source, target;
    int64_t hidden_size, heads, layers, decoder_layers, ffn_size, positions;
    att_error *err;
} converter;

static const char encoder_positions[] = "encoder/position_encodings/encodings";
static const char decoder_positions[] = "decoder/position_encodings/encodings";

/* ---- sizes */

static int64_t count_layers(converter *in, const char *side)
{
    char name[MAX_NAME];
    int count = 0;
    for (; count < MAX_LAYERS; count++) { /* further layers are refused as unknown variables */
        snprintf(name, sizeof name, "%s/layer_%d/self_attention/linear_0/weight", side, count);
        if (!att_ct2_find(in->file, name))
            break;
    }
    return count;
}

static att_status find_heads(converter *in)
{
    const att_ct2_file *file = in->file;
    char quoted[ATT_QUOTED_SIZE];
    const struct model_type *type = NULL;
    for (size_t i = 0; i < ATT_COUNT(model_types); i++)
        if (strcmp(model_types[i].name, file->kind) == 0)
            type = &model_types[i];
    if (!type)
        return att_fail(in->err, ATT_BAD_INPUT, file->name,
                        "is a CTranslate2 model of type '%s', expected an encoder-decoder "
                        "Transformer",
                        att_quote(quoted, file->kind, strlen(file->kind)));
    if (file->revision < 2 || file->revision > LAST_REVISION)
        return att_fail(in->err, ATT_BAD_INPUT, file->name,
                        "is revision %u of a %s, expected 2 to %d", file->revision, type->name,
                        LAST_REVISION);
    const att_ct2_variable *number = att_ct2_find(in->file, "num_heads");
    in->heads = number && number->count == 1 && number->item_size == 1 ? (int8_t)number->data[0]
                                                                       : type->heads;
    if (in->heads < 1)
        return att_fail(in->err, ATT_BAD_INPUT, file->name, "the variable 'num_heads' is missing");
    return ATT_OK;
}

/* The dimensions of a matrix that defines a size of the model. */
static att_status find_matrix(converter *in, const char *name, int64_t *rows, int64_t *columns)
{
    const att_ct2_variable *variable = att_ct2_find(in->file, name);
    if (!variable || variable->rank != 2)
        return att_fail(in->err, ATT_BAD_INPUT, in->file->name, "the variable '%s' is %s", name,
                        variable ? "not a matrix" : "missing");
    *rows = variable->shape[0];
    *columns = variable->shape[1];
    return ATT_OK;
}

/* The length of the position table. Its width is checked here, so that the size of the file bounds
 * the length: the table of the other side may have to be computed. */
static att_status find_positions(converter *in)
{
    int64_t width = in->hidden_size;
    in->positions = POSITIONS;
    if (att_ct2_find(in->file, encoder_positions)) {
        ATT_TRY(find_matrix(in, encoder_positions, &in->positions, &width));
        if (width == in->hidden_size)
            return ATT_OK;
        return att_fail(in->err, ATT_BAD_INPUT, in->file->name,
                        "the variable '%s' is [%lld, %lld], expected %lld columns",
                        encoder_positions, (long long)in->positions, (long long)width,
                        (long long)in->hidden_size);
    }
    if (width < 4 || width % 2 != 0)
        return att_fail(in->err, ATT_BAD_INPUT, in->file->name,
                        "has hidden size %lld, expected an even number of at least 4",
                        (long long)width);
    return ATT_OK;
}

static att_status find_sizes(converter *in)
{
    static const char first[] = "encoder/layer_0/self_attention/linear_0/weight";
    int64_t rows = 0, width = 0;
    ATT_TRY(find_heads(in));
    ATT_TRY(find_matrix(in, "encoder/embeddings/weight", &rows, &in->hidden_size));
    ATT_TRY(find_matrix(in, "encoder/layer_0/ffn/linear_0/weight", &in->ffn_size, &width));
    ATT_TRY(find_matrix(in, first, &rows, &width));
    if (width != in->hidden_size || rows != 3 * width ||
        width < 1) /* so the size of the file bounds the hidden size */
        return att_fail(in->err, ATT_BAD_INPUT, in->file->name,
                        "the embedding size is %lld, but '%s' is [%lld, %lld]",
                        (long long)in->hidden_size, first, (long long)rows, (long long)width);
    in->layers = count_layers(in, "encoder");
    in->decoder_layers = count_layers(in, "decoder");
    return find_positions(in);
}

/* ---- vocabularies */

/* Reads at most `rows` tokens of a vocabulary file. */
static att_status read_vocabulary(converter *in, const att_ct2_vocabulary *list, int64_t rows,
                                  const char **tokens, size_t *count, att_arena *memory)
{
    att_line_reader lines = att_line_reader_start(list->text, list->length);
    att_line_view line;
    *count = 0;
    while (att_line_reader_next(&lines, &line)) {
        if ((int64_t)*count >= rows)
            break;
        if (!att_utf8_valid(line.text, line.length) || memchr(line.text, 0, line.length))
            return att_fail_at(in->err, ATT_BAD_INPUT, list->name, (int)line.number, 0, NULL,
                               "the token is not UTF-8");
        tokens[*count] = att_arena_strndup(memory, line.text, line.length);
        if (!tokens[(*count)++])
            return att_fail_memory(in->err);
    }
    return ATT_OK;
}

static int32_t find_token(const char *const *tokens, size_t count, const char *token)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(tokens[i], token) == 0)
            return (int32_t)i;
    return -1;
}

static att_status map_vocabulary(converter *in, att_imported_vocab *out,
                                 const att_ct2_vocabulary *list, int64_t rows, const char **tokens,
                                 att_arena *memory)
{
    size_t count, lines = (size_t)att_line_reader_count(list->text, list->length);
    ATT_TRY(read_vocabulary(in, list, rows, tokens, &count, memory));
    /* The last row of the embeddings is <unk> if the file does not list it. */
    if (lines + 1 == (size_t)rows && find_token(tokens, count, "<unk>") < 0)
        tokens[count++] = "<unk>";
    else if (lines != (size_t)rows)
        return att_fail(in->err, ATT_BAD_INPUT, list->name,
                        "has %zu tokens, but the model has %lld embeddings", lines,
                        (long long)rows);
    const att_foreign_vocab foreign = { .tokens = tokens,
                                        .count = count,
                                        .unk_id = find_token(tokens, count, "<unk>"),
                                        .bos_id = find_token(tokens, count, "<s>"),
                                        .eos_id = find_token(tokens, count, "</s>"),
                                        .kind = in->tokenizer_kind };
    if (foreign.bos_id < 0 || foreign.eos_id < 0)
        return att_fail(in->err, ATT_BAD_INPUT, list->name, "the token '%s' is missing",
                        foreign.bos_id < 0 ? "<s>" : "</s>");
    att_error inner = { 0 };
    att_status status = att_imported_vocab_new(out, &foreign, &inner);
    return status == ATT_OK ? ATT_OK : att_fail(in->err, status, list->name, "%s", inner.message);
}

/* The vocabulary of one side, with as many tokens as its embeddings have rows. */
static att_status make_vocabulary(converter *in, att_imported_vocab *out,
                                  const att_ct2_vocabulary *list, const char *table)
{
    int64_t rows = 0, width = 0;
    att_arena memory = { 0 };
    ATT_TRY(find_matrix(in, table, &rows, &width));
    const char **tokens = att_alloc((size_t)rows, sizeof *tokens);
    att_status status =
        tokens ? map_vocabulary(in, out, list, rows, tokens, &memory) : att_fail_memory(in->err);
    att_arena_free(&memory);
    att_free(tokens);
    return status;
}

/* ---- tensors */

/* Adds an int8 matrix with the integers of the file; `vocab`: of its rows, or NULL. */
static att_status add_int8(converter *in, const char *from, const char *into, bool transposed,
                           const att_imported_vocab *vocab)
{
    att_tensor integers, scales;
    ATT_TRY(att_ct2_integers(&integers, &scales, in->file, from, in->err));
    const att_int8_rows_view matrix = { &integers, &scales, transposed, vocab };
    att_status status = att_model_writer_add_int8(&in->writer, into, &matrix, in->err);
    att_tensor_free(&integers);
    att_tensor_free(&scales);
    return status;
}

static att_status add_tensor(converter *in, const char *from, const char *into, int rank,
                             bool transposed)
{
    att_tensor values, view;
    ATT_TRY(att_ct2_floats(&values, in->file, from, rank, in->err));
    view = values;
    att_status status = transposed ? att_tensor_transpose(&view, &values, 0, 1, in->err) : ATT_OK;
    if (status == ATT_OK)
        status = att_model_writer_add(&in->writer, into, &view, in->err);
    att_tensor_free(&values);
    return status;
}

static att_status add_layer_tensors(converter *in, const tensor_mapping *mappings, size_t count,
                                    const char *side, int64_t layer)
{
    for (size_t i = 0; i < count; i++) {
        char from[MAX_NAME], into[MAX_NAME];
        snprintf(from, sizeof from, "%s/layer_%d/%s", side, (int)layer, mappings[i].from);
        snprintf(into, sizeof into, "%s.%d.%s", side, (int)layer, mappings[i].into);
        bool matrix = mappings[i].matrix;
        ATT_TRY(matrix && att_ct2_keeps_int8(in->file, from)
                    ? add_int8(in, from, into, true, NULL)
                    : add_tensor(in, from, into, matrix ? 2 : 1, matrix));
    }
    return ATT_OK;
}

static att_status add_layers(converter *in)
{
    for (int64_t i = 0; i < in->layers; i++)
        ATT_TRY(add_layer_tensors(in, layer_mappings, ATT_COUNT(layer_mappings), "encoder", i));
    for (int64_t i = 0; i < in->decoder_layers; i++) {
        ATT_TRY(add_layer_tensors(in, layer_mappings, ATT_COUNT(layer_mappings), "decoder", i));
        ATT_TRY(add_layer_tensors(in, cross_mappings, ATT_COUNT(cross_mappings), "decoder", i));
    }
    ATT_TRY(add_tensor(in, "encoder/layer_norm/gamma", "encoder.norm.gain", 1, false));
    ATT_TRY(add_tensor(in, "encoder/layer_norm/beta", "encoder.norm.bias", 1, false));
    ATT_TRY(add_tensor(in, "decoder/layer_norm/gamma", "decoder.norm.gain", 1, false));
    return add_tensor(in, "decoder/layer_norm/beta", "decoder.norm.bias", 1, false);
}

typedef att_status add_by_vocab_fn(const att_model_writer *writer, const char *into,
                                   const att_tensor *values, const att_imported_vocab *vocab,
                                   att_error *err);

static att_status add_by_vocab(converter *in, add_by_vocab_fn *add, const char *from,
                               const char *into, int rank, const att_imported_vocab *vocab)
{
    att_tensor values;
    if (att_ct2_keeps_int8(in->file, from))
        return add_int8(in, from, into, add == att_model_writer_add_output, vocab);
    ATT_TRY(att_ct2_floats(&values, in->file, from, rank, in->err));
    att_status status = add(&in->writer, into, &values, vocab, in->err);
    att_tensor_free(&values);
    return status;
}

static att_status add_tables(converter *in)
{
    ATT_TRY(add_by_vocab(in, att_model_writer_add_embedding, "encoder/embeddings/weight",
                         "source.embed", 2, &in->source));
    ATT_TRY(add_by_vocab(in, att_model_writer_add_embedding, "decoder/embeddings/weight",
                         "target.embed", 2, &in->target));
    ATT_TRY(add_by_vocab(in, att_model_writer_add_output, "decoder/projection/weight", "output.w",
                         2, &in->target));
    return add_by_vocab(in, att_model_writer_add_output_bias, "decoder/projection/bias",
                        "output.bias", 1, &in->target);
}

/* The sinusoids of CTranslate2: positions count from 1, the sines of all frequencies come before
 * the cosines, and frequencies fall from 1 to 1/10000 inclusive. */
static att_status sinusoids(att_tensor *out, int64_t positions, int64_t width, att_error *err)
{
    ATT_TRY(
        att_tensor_new_uninitialized(out, ATT_F32, 2, (const int64_t[]){ positions, width }, err));
    float *to = out->data;
    int64_t half = width / 2;
    for (int64_t i = 0; i < half; i++) {
        double frequency = att_exp(-att_log(10000) * (double)i / (double)(half - 1));
        for (int64_t p = 0; p < positions; p++) {
            to[p * width + i] = (float)att_sin((double)(p + 1) * frequency);
            to[p * width + half + i] = (float)att_cos((double)(p + 1) * frequency);
        }
    }
    return ATT_OK;
}

static att_status add_sinusoids(converter *in, const char *into)
{
    att_tensor table;
    ATT_TRY(sinusoids(&table, in->positions, in->hidden_size, in->err));
    att_status status = att_model_writer_add(&in->writer, into, &table, in->err);
    att_tensor_free(&table);
    return status;
}

/* The positions of both sides. Sinusoids take longer than everything else, so variables that are
 * unknown are refused before them. */
static att_status add_positions(converter *in)
{
    static const char *const names[2][2] = { { encoder_positions, "source.positions" },
                                             { decoder_positions, "target.positions" } };
    bool given[2];
    for (int i = 0; i < 2; i++)
        given[i] = att_ct2_find(in->file, names[i][0]) != NULL;
    ATT_TRY(att_ct2_all_used(in->file, in->err));
    for (int i = 0; i < 2; i++)
        ATT_TRY(given[i] ? add_tensor(in, names[i][0], names[i][1], 2, false)
                         : add_sinusoids(in, names[i][1]));
    return ATT_OK;
}

/* ---- the model */

static att_status finish(converter *in)
{
    static const char *const types[] = { [1] = "int8", [2] = "int16", [4] = "float32" };
    const char *tokens = att_tokenizer_kind_names[in->tokenizer_kind];
    const att_model_writer_setting settings[] = {
        { "architecture", "transformer", 0 },
        { "layers", NULL, in->layers },
        { "decoder-layers", NULL, in->decoder_layers },
        { "hidden-size", NULL, in->hidden_size },
        { "heads", NULL, in->heads },
        { "ffn-size", NULL, in->ffn_size },
        { "norm", "pre", 0 },
        { "activation", "relu", 0 },
        { "embedding-scale", "yes", 0 },
        { "biases", "yes", 0 },
        { "positions", "learned", 0 },
        { "max-length", NULL, in->positions },
        { "source-tokens", tokens, 0 },
        { "target-tokens", tokens, 0 },
    };
    const att_metadata_entry metadata[] = {
        { "format", "ctranslate2", 0 },
        { "version", NULL, in->file->version },
        { "kind", in->file->kind, 0 },
        { "revision", NULL, in->file->revision },
        { "weights", types[in->file->min_item_size], 0 },
    };
    const att_model_writer_metadata model = { settings,         ATT_COUNT(settings),
                                              in->source.vocab, in->target.vocab,
                                              metadata,         ATT_COUNT(metadata) };
    return att_model_writer_finish(&in->writer, &model, in->err);
}

static att_status convert(converter *in)
{
    ATT_TRY(find_sizes(in));
    ATT_TRY(
        make_vocabulary(in, &in->source, &in->vocabularies->source, "encoder/embeddings/weight"));
    ATT_TRY(
        make_vocabulary(in, &in->target, &in->vocabularies->target, "decoder/embeddings/weight"));
    ATT_TRY(add_tables(in));
    ATT_TRY(add_layers(in));
    ATT_TRY(add_positions(in));
    return finish(in);
}

att_status att_ct2_convert(att_bundle **out, att_ct2_file *file,
                           const att_ct2_vocabularies *vocabularies, att_tokenizer_kind tokens,
                           att_error *err)
{
    converter in = {
        .file = file, .vocabularies = vocabularies, .tokenizer_kind = tokens, .err = err
    };
    *out = NULL;
    in.writer.name = file->name;
    ATT_TRY(att_bundle_new(&in.writer.bundle, err));
    att_status status = convert(&in);
    att_imported_vocab_free(&in.source);
    att_imported_vocab_free(&in.target);
    if (status == ATT_OK)
        *out = in.writer.bundle;
    else
        att_bundle_free(in.writer.bundle);
    return status;
}
