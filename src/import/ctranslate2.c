/* Transformers of CTranslate2: model.bin, and beside it source_vocabulary.txt and
 * target_vocabulary.txt, or shared_vocabulary.txt for both sides, a token a line.
 *
 * These models have their norms before each part and after the last layer, scaled embeddings, and
 * positions as sinusoids; what we lack of that is their layout of sinusoids, so the positions
 * become a table that is looked up like a learned one. */
#include "import/ctranslate2.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/math.h"
#include "base/quote.h"
#include "base/text.h"
#include "base/utf8.h"
#include "import/import.h"
#include "tensor/tensor.h"
#include "text/lines.h"

#include <stdio.h>
#include <string.h>

enum {
    LAST_REVISION = 3,
    POSITIONS = 1024, /* tokens that CTranslate2 reads of a line, unless told otherwise */
    MOST_LAYERS = 64,
    NAME_ROOM = 160,
};

/* Kinds of model that carry the number of their heads in their name alone; 0: in a variable. */
static const struct kind {
    const char *name;
    int64_t heads;
} kinds[] = { { "TransformerBase", 8 }, { "TransformerBig", 16 }, { "TransformerSpec", 0 } };

/* What each variable of a layer becomes. Matrices stand there with a row for each result, and
 * queries, keys and values below each other in the order in which we have them side by side. */
typedef struct part {
    const char *from, *into;
    bool matrix;
} part;

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

static const part layer_parts[] = {
    NORM("self_attention", "self"),
    AFFINE("self_attention/linear_0", "self.query_key_value"),
    AFFINE("self_attention/linear_1", "self.out"),
    NORM("ffn", "feed"),
    AFFINE("ffn/linear_0", "feed.first"),
    AFFINE("ffn/linear_1", "feed.second"),
};

static const part cross_parts[] = {
    NORM("attention", "cross"),
    AFFINE("attention/linear_0", "cross.query"),
    AFFINE("attention/linear_1", "cross.key_value"),
    AFFINE("attention/linear_2", "cross.out"),
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* An import under way. */
typedef struct import {
    att_ct2_file *file;
    const att_ct2_words *words;
    att_tokens tokens;
    att_graft graft;
    att_graft_words source, target;
    int64_t width, heads, layers, decoder_layers, feed_forward, positions;
    att_error *err;
} import;

/* ---- what the model is like */

static int64_t count_layers(import *in, const char *side)
{
    char name[NAME_ROOM];
    int count = 0;
    for (; count < MOST_LAYERS; count++) { /* those beyond are refused as not known */
        snprintf(name, sizeof name, "%s/layer_%d/self_attention/linear_0/weight", side, count);
        if (!att_ct2_find(in->file, name))
            break;
    }
    return count;
}

static att_status find_heads(import *in)
{
    const att_ct2_file *file = in->file;
    char quoted[ATT_QUOTED];
    const struct kind *kind = NULL;
    for (size_t i = 0; i < COUNT(kinds); i++)
        if (strcmp(kinds[i].name, file->kind) == 0)
            kind = &kinds[i];
    if (!kind)
        return att_fail(in->err, ATT_BAD_INPUT, file->name,
                        "is a '%s'; of CTranslate2's models, those that translate with a "
                        "Transformer can be imported",
                        att_quote(quoted, file->kind, strlen(file->kind)));
    if (file->revision < 2 || file->revision > LAST_REVISION)
        return att_fail(in->err, ATT_BAD_INPUT, file->name,
                        "is revision %u of a %s; 2 to %d are known", file->revision, kind->name,
                        LAST_REVISION);
    const att_ct2_variable *number = att_ct2_find(in->file, "num_heads");
    in->heads =
        number && number->count == 1 && number->item == 1 ? (int8_t)number->data[0] : kind->heads;
    if (in->heads < 1)
        return att_fail(in->err, ATT_BAD_INPUT, file->name,
                        "does not say how many heads it has, in a variable 'num_heads'");
    return ATT_OK;
}

/* The dimensions of a matrix that others have to fit. */
static att_status find_matrix(import *in, const char *name, int64_t *rows, int64_t *columns)
{
    const att_ct2_variable *variable = att_ct2_find(in->file, name);
    if (!variable || variable->rank != 2)
        return att_fail(in->err, ATT_BAD_INPUT, in->file->name, "%s the matrix '%s'",
                        variable ? "has in another shape" : "lacks", name);
    *rows = variable->shape[0];
    *columns = variable->shape[1];
    return ATT_OK;
}

static att_status find_sizes(import *in)
{
    static const char first[] = "encoder/layer_0/self_attention/linear_0/weight";
    int64_t rows = 0, width = 0;
    ATT_TRY(find_heads(in));
    ATT_TRY(find_matrix(in, "encoder/embeddings/weight", &rows, &in->width));
    ATT_TRY(find_matrix(in, "encoder/layer_0/ffn/linear_0/weight", &in->feed_forward, &width));
    ATT_TRY(find_matrix(in, first, &rows, &width));
    if (width != in->width || rows != 3 * width || width < 1) /* so the file has room for it */
        return att_fail(in->err, ATT_BAD_INPUT, in->file->name,
                        "embeddings are %lld wide, and '%s' is [%lld, %lld]", (long long)in->width,
                        first, (long long)rows, (long long)width);
    in->layers = count_layers(in, "encoder");
    in->decoder_layers = count_layers(in, "decoder");
    const att_ct2_variable *places = att_ct2_find(in->file, "encoder/position_encodings/encodings");
    in->positions = places && places->rank == 2 ? places->shape[0] : POSITIONS;
    if (!places && (in->width < 4 || in->width % 2 != 0))
        return att_fail(in->err, ATT_BAD_INPUT, in->file->name,
                        "is %lld wide, which its sinusoids cannot be", (long long)in->width);
    return ATT_OK;
}

/* ---- vocabularies */

/* The tokens of a list; the file adds <unk> where the list lacks it and the table has a row more.
 */
static att_status split_words(import *in, const att_ct2_list *list, int64_t rows,
                              const char **tokens, size_t *count, att_arena *memory)
{
    att_lines lines = att_lines_start(list->text, list->length);
    att_line line;
    *count = 0;
    while (att_lines_next(&lines, &line)) {
        if ((int64_t)*count >= rows)
            break;
        if (!att_utf8_valid(line.text, line.length) || memchr(line.text, 0, line.length))
            return att_fail_at(in->err, ATT_BAD_INPUT, list->name, (int)line.number, 0, NULL,
                               "the token is not UTF-8");
        tokens[*count] = att_arena_copy(memory, line.text, line.length);
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

static att_status name_words(import *in, att_graft_words *out, const att_ct2_list *list,
                             int64_t rows, const char **tokens, att_arena *memory)
{
    size_t count, lines = (size_t)att_lines_count(list->text, list->length);
    ATT_TRY(split_words(in, list, rows, tokens, &count, memory));
    if (lines + 1 == (size_t)rows && find_token(tokens, count, "<unk>") < 0)
        tokens[count++] = "<unk>";
    else if (lines != (size_t)rows)
        return att_fail(in->err, ATT_BAD_INPUT, list->name,
                        "has %zu tokens, and the model %lld embeddings", lines, (long long)rows);
    const att_foreign_words foreign = { .tokens = tokens,
                                        .count = count,
                                        .unknown = find_token(tokens, count, "<unk>"),
                                        .start = find_token(tokens, count, "<s>"),
                                        .end = find_token(tokens, count, "</s>"),
                                        .kind = in->tokens };
    if (foreign.start < 0 || foreign.end < 0)
        return att_fail(in->err, ATT_BAD_INPUT, list->name, "lacks the token '%s'",
                        foreign.start < 0 ? "<s>" : "</s>");
    att_error inner = { 0 };
    att_status status = att_graft_words_new(out, &foreign, &inner);
    return status == ATT_OK ? ATT_OK : att_fail(in->err, status, list->name, "%s", inner.message);
}

/* The words of a side, which has as many as its embeddings have rows. */
static att_status make_words(import *in, att_graft_words *out, const att_ct2_list *list,
                             const char *table)
{
    int64_t rows = 0, width = 0;
    att_arena memory = { 0 };
    ATT_TRY(find_matrix(in, table, &rows, &width));
    const char **tokens = att_alloc((size_t)rows, sizeof *tokens);
    att_status status =
        tokens ? name_words(in, out, list, rows, tokens, &memory) : att_fail_memory(in->err);
    att_arena_free(&memory);
    att_free(tokens);
    return status;
}

/* ---- tensors */

static att_status add_part(import *in, const char *from, const char *into, int rank, bool turned)
{
    att_tensor values, view;
    ATT_TRY(att_ct2_floats(&values, in->file, from, rank, in->err));
    view = values;
    att_status status = turned ? att_tensor_transpose(&view, &values, 0, 1, in->err) : ATT_OK;
    if (status == ATT_OK)
        status = att_graft_add(&in->graft, into, &view, in->err);
    att_tensor_free(&values);
    return status;
}

static att_status add_parts(import *in, const part *parts, size_t count, const char *side,
                            int64_t layer)
{
    for (size_t i = 0; i < count; i++) {
        char from[NAME_ROOM], into[NAME_ROOM];
        snprintf(from, sizeof from, "%s/layer_%d/%s", side, (int)layer, parts[i].from);
        snprintf(into, sizeof into, "%s.%d.%s", side, (int)layer, parts[i].into);
        ATT_TRY(add_part(in, from, into, parts[i].matrix ? 2 : 1, parts[i].matrix));
    }
    return ATT_OK;
}

static att_status add_layers(import *in)
{
    for (int64_t i = 0; i < in->layers; i++)
        ATT_TRY(add_parts(in, layer_parts, COUNT(layer_parts), "encoder", i));
    for (int64_t i = 0; i < in->decoder_layers; i++) {
        ATT_TRY(add_parts(in, layer_parts, COUNT(layer_parts), "decoder", i));
        ATT_TRY(add_parts(in, cross_parts, COUNT(cross_parts), "decoder", i));
    }
    ATT_TRY(add_part(in, "encoder/layer_norm/gamma", "encoder.norm.gain", 1, false));
    ATT_TRY(add_part(in, "encoder/layer_norm/beta", "encoder.norm.bias", 1, false));
    ATT_TRY(add_part(in, "decoder/layer_norm/gamma", "decoder.norm.gain", 1, false));
    return add_part(in, "decoder/layer_norm/beta", "decoder.norm.bias", 1, false);
}

typedef att_status add_words(const att_graft *graft, const char *into, const att_tensor *values,
                             const att_graft_words *words, att_error *err);

static att_status add_by_words(import *in, add_words *add, const char *from, const char *into,
                               int rank, const att_graft_words *words)
{
    att_tensor values;
    ATT_TRY(att_ct2_floats(&values, in->file, from, rank, in->err));
    att_status status = add(&in->graft, into, &values, words, in->err);
    att_tensor_free(&values);
    return status;
}

static att_status add_tables(import *in)
{
    ATT_TRY(add_by_words(in, att_graft_table, "encoder/embeddings/weight", "source.embed", 2,
                         &in->source));
    ATT_TRY(add_by_words(in, att_graft_table, "decoder/embeddings/weight", "target.embed", 2,
                         &in->target));
    ATT_TRY(add_by_words(in, att_graft_output, "decoder/projection/weight", "output.w", 2,
                         &in->target));
    return add_by_words(in, att_graft_output_bias, "decoder/projection/bias", "output.bias", 1,
                        &in->target);
}

/* Positions count from 1, the sines of all frequencies stand before their cosines, and frequencies
 * fall from 1 to 1/10000, both included. */
static att_status sinusoids(att_tensor *out, int64_t positions, int64_t width, att_error *err)
{
    ATT_TRY(att_tensor_new_raw(out, ATT_F32, 2, (const int64_t[]){ positions, width }, err));
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

static att_status add_positions(import *in, const char *side, const char *into)
{
    char name[NAME_ROOM];
    snprintf(name, sizeof name, "%s/position_encodings/encodings", side);
    if (att_ct2_find(in->file, name))
        return add_part(in, name, into, 2, false);
    att_tensor table;
    ATT_TRY(sinusoids(&table, in->positions, in->width, in->err));
    att_status status = att_graft_add(&in->graft, into, &table, in->err);
    att_tensor_free(&table);
    return status;
}

/* ---- all of it */

static att_status finish(import *in)
{
    static const char *const types[] = { [1] = "int8", [2] = "int16", [4] = "float32" };
    const char *tokens = in->tokens == ATT_TOKENS_CHAR ? "char" : "space";
    const att_graft_choice choices[] = {
        { "family", "transformer", 0 },
        { "layers", NULL, in->layers },
        { "decoder-layers", NULL, in->decoder_layers },
        { "width", NULL, in->width },
        { "heads", NULL, in->heads },
        { "feed-forward", NULL, in->feed_forward },
        { "norm", "before", 0 },
        { "activation", "relu", 0 },
        { "embed-scale", "yes", 0 },
        { "biases", "yes", 0 },
        { "positions", "learned", 0 },
        { "max-length", NULL, in->positions },
        { "source-tokens", tokens, 0 },
        { "target-tokens", tokens, 0 },
    };
    const att_note notes[] = {
        { "format", "ctranslate2", 0 },          { "version", NULL, in->file->version },
        { "kind", in->file->kind, 0 },           { "revision", NULL, in->file->revision },
        { "weights", types[in->file->item], 0 },
    };
    const att_graft_model model = { choices,          COUNT(choices), in->source.vocab,
                                    in->target.vocab, notes,          COUNT(notes) };
    return att_graft_finish(&in->graft, &model, in->err);
}

static att_status convert(import *in)
{
    ATT_TRY(find_sizes(in));
    ATT_TRY(make_words(in, &in->source, &in->words->source, "encoder/embeddings/weight"));
    ATT_TRY(make_words(in, &in->target, &in->words->target, "decoder/embeddings/weight"));
    ATT_TRY(add_tables(in));
    ATT_TRY(add_positions(in, "encoder", "source.positions"));
    ATT_TRY(add_positions(in, "decoder", "target.positions"));
    ATT_TRY(add_layers(in));
    ATT_TRY(att_ct2_all_used(in->file, in->err));
    return finish(in);
}

att_status att_ct2_convert(att_bundle **out, att_ct2_file *file, const att_ct2_words *words,
                           att_tokens tokens, att_error *err)
{
import in = {.file = file, .words = words, .tokens = tokens, .err = err };
    *out = NULL;
    in.graft.name = file->name;
    ATT_TRY(att_bundle_new(&in.graft.bundle, err));
    att_status status = convert(&in);
    att_graft_words_free(&in.source);
    att_graft_words_free(&in.target);
    if (status == ATT_OK)
        *out = in.graft.bundle;
    else
        att_bundle_free(in.graft.bundle);
    return status;
}
