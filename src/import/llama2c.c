/* Checkpoints of llama2.c: decoders with RMS norms before each part, rotary positions, gated units,
 * grouped heads and no biases.
 *
 * Two things stand otherwise there. Columns that turn together lie beside each other in a head, and
 * ours half a head apart: queries and keys are made in our order, which leaves all their products
 * as they were. And matrices have a row for each result. */
#include "import/llama2c.h"

#include "base/error.h"
#include "import/graft.h"
#include "import/llama2c_file.h"
#include "import/llama2c_tokens.h"
#include "tensor/tensor.h"

#include <stdio.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { NAME_ROOM = 64 };

/* An import under way. */
typedef struct import {
    att_llama_file file;
    att_vocab *words;
    att_graft graft;
    att_error *err;
} import;

/* ---- tensors */

static att_status add(const import *in, const char *name, int rank, int64_t rows, int64_t columns,
                      const float *values)
{
    att_tensor view = att_tensor_view(values, ATT_F32, rank, (const int64_t[]){ rows, columns });
    return att_graft_add(&in->graft, name, &view, in->err);
}

/* A matrix of `rows` results, turned. */
static att_status add_turned(const import *in, const char *name, int64_t rows, int64_t columns,
                             const float *values)
{
    att_tensor turned,
        view = att_tensor_view(values, ATT_F32, 2, (const int64_t[]){ rows, columns });
    ATT_TRY(att_tensor_transpose(&turned, &view, 0, 1, in->err));
    return att_graft_add(&in->graft, name, &turned, in->err);
}

/* Matrices of as many columns below each other, which become one with all results side by side. */
typedef struct block {
    const float *values; /* [rows, columns] */
    int64_t rows;
    int64_t head; /* rows that turn as one head; 0: they do not */
} block;

/* Which row of a head that turns our row i is: the first of each pair, then the second. */
static int64_t row_of(const block *b, int64_t i)
{
    if (b->head == 0)
        return i;
    int64_t within = i % b->head, half = b->head / 2;
    return i - within + (within < half ? 2 * within : 2 * (within - half) + 1);
}

static att_status add_blocks(const import *in, const char *name, const block *blocks, size_t count,
                             int64_t columns)
{
    int64_t rows = 0, first = 0;
    for (size_t b = 0; b < count; b++)
        rows += blocks[b].rows;
    att_tensor whole;
    ATT_TRY(att_tensor_new_raw(&whole, ATT_F32, 2, (const int64_t[]){ columns, rows }, in->err));
    float *to = whole.data;
    for (size_t b = 0; b < count; first += blocks[b++].rows)
        for (int64_t i = 0; i < blocks[b].rows; i++)
            for (int64_t j = 0; j < columns; j++)
                to[j * rows + first + i] = blocks[b].values[row_of(&blocks[b], i) * columns + j];
    att_status status = att_graft_add(&in->graft, name, &whole, in->err);
    att_tensor_free(&whole);
    return status;
}

static const char *named(char room[NAME_ROOM], int64_t layer, const char *name)
{
    snprintf(room, NAME_ROOM, "decoder.%d.%s", (int)layer, name);
    return room;
}

static att_status add_layer(const import *in, int64_t i)
{
    const att_llama_file *f = &in->file;
    int64_t width = f->width, keys = f->key_width, between = f->feed_forward;
    char name[NAME_ROOM];
    const block heads[] = {
        { f->arrays[ATT_LLAMA_QUERY] + i * width * width, width, f->head },
        { f->arrays[ATT_LLAMA_KEY] + i * keys * width, keys, f->head },
        { f->arrays[ATT_LLAMA_VALUE] + i * keys * width, keys, 0 },
    };
    const block gated[] = {
        { f->arrays[ATT_LLAMA_GATE] + i * between * width, between, 0 },
        { f->arrays[ATT_LLAMA_FIRST] + i * between * width, between, 0 },
    };
    ATT_TRY(add(in, named(name, i, "self.norm.gain"), 1, width, 1,
                f->arrays[ATT_LLAMA_SELF_NORM] + i * width));
    ATT_TRY(add_blocks(in, named(name, i, "self.query_key_value"), heads, COUNT(heads), width));
    ATT_TRY(add_turned(in, named(name, i, "self.out"), width, width,
                       f->arrays[ATT_LLAMA_OUT] + i * width * width));
    ATT_TRY(add(in, named(name, i, "feed.norm.gain"), 1, width, 1,
                f->arrays[ATT_LLAMA_FEED_NORM] + i * width));
    ATT_TRY(add_blocks(in, named(name, i, "feed.first"), gated, COUNT(gated), width));
    return add_turned(in, named(name, i, "feed.second"), width, between,
                      f->arrays[ATT_LLAMA_SECOND] + i * width * between);
}

static att_status add_tensors(const import *in)
{
    const att_llama_file *f = &in->file;
    ATT_TRY(add(in, "target.embed", 2, f->vocabulary, f->width, f->arrays[ATT_LLAMA_EMBED]));
    for (int64_t i = 0; i < f->layers; i++)
        ATT_TRY(add_layer(in, i));
    ATT_TRY(add(in, "decoder.norm.gain", 1, f->width, 1, f->arrays[ATT_LLAMA_LAST_NORM]));
    if (f->tied)
        return ATT_OK;
    return add_turned(in, "output.w", f->vocabulary, f->width, f->arrays[ATT_LLAMA_OUTPUT]);
}

/* ---- all of it */

static att_status finish(const import *in)
{
    const att_llama_file *f = &in->file;
    const att_graft_choice choices[] = {
        { "task", "lm", 0 },
        { "family", "transformer", 0 },
        { "layers", NULL, f->layers },
        { "width", NULL, f->width },
        { "heads", NULL, f->heads },
        { "key-heads", NULL, f->key_heads },
        { "feed-forward", NULL, f->feed_forward },
        { "norm", "before", 0 },
        { "norm-kind", "rms", 0 },
        { "activation", "gated", 0 },
        { "biases", "no", 0 },
        { "embed-scale", "no", 0 },
        { "positions", "rotary", 0 },
        { "tie", f->tied ? "output" : "no", 0 },
        { "tokens", "subword", 0 },
        { "chunk", NULL, f->context },
    };
    const att_note notes[] = { { "format", "llama2c", 0 }, { "weights", "float32", 0 } };
    const att_graft_model model = { .choices = choices,
                                    .choice_count = COUNT(choices),
                                    .target = in->words,
                                    .notes = notes,
                                    .note_count = COUNT(notes) };
    return att_graft_finish(&in->graft, &model, in->err);
}

static att_status convert(import *in, const att_llama_bytes *weights,
                          const att_llama_bytes *tokeniser)
{
    ATT_TRY(att_llama_read(&in->file, weights, in->err));
    ATT_TRY(att_llama_tokens(&in->words, tokeniser, in->file.vocabulary, in->err));
    att_vocab_take_texts(in->words);
    att_vocab_begin_texts(in->words);
    ATT_TRY(add_tensors(in));
    return finish(in);
}

att_status att_llama_convert(att_bundle **out, const att_llama_bytes *weights,
                             const att_llama_bytes *tokeniser, att_error *err)
{
import in = {.graft = {.name = weights->name }, .err = err };
    *out = NULL;
    ATT_TRY(att_bundle_new(&in.graft.bundle, err));
    att_status status = convert(&in, weights, tokeniser);
    att_llama_free(&in.file);
    att_vocab_free(in.words);
    if (status == ATT_OK)
        *out = in.graft.bundle;
    else
        att_bundle_free(in.graft.bundle);
    return status;
}
