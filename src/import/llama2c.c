/* Import of llama2.c checkpoints: pre-norm decoders with RMS norm, rotary position embedding
 * (RoPE), SwiGLU, grouped-query attention and no biases.
 *
 * Two layouts differ. RoPE rotates adjacent columns of a head there, and columns half a head apart
 * in our models: queries and keys are permuted alike, which leaves their dot products unchanged.
 * And matrices are [out, in] there, [in, out] here. */
#include "import/llama2c.h"

#include "base/error.h"
#include "base/minmax.h"
#include "import/model_writer.h"
#include "import/llama2c_file.h"
#include "import/llama2c_tokenizer.h"
#include "tensor/tensor.h"

#include <stdio.h>

enum { MAX_NAME = 64 };

/* The state of a conversion. */
typedef struct converter {
    att_llama_file file;
    att_vocab *vocab;
    att_model_writer writer;
    att_error *err;
} converter;

/* ---- tensors */

static att_status add(const converter *in, const char *name, int rank, int64_t rows,
                      int64_t columns, const float *values)
{
    att_tensor view = att_tensor_view(values, ATT_F32, rank, (const int64_t[]){ rows, columns });
    return att_model_writer_add(&in->writer, name, &view, in->err);
}

/* Adds the transpose of a matrix [rows, columns]. */
static att_status add_transposed(const converter *in, const char *name, int64_t rows,
                                 int64_t columns, const float *values)
{
    att_tensor transposed,
        view = att_tensor_view(values, ATT_F32, 2, (const int64_t[]){ rows, columns });
    ATT_TRY(att_tensor_transpose(&transposed, &view, 0, 1, in->err));
    return att_model_writer_add(&in->writer, name, &transposed, in->err);
}

/* A matrix [out, in] that becomes some columns of a matrix [in, out]. */
typedef struct matrix_block {
    const float *values; /* [rows, columns] */
    int64_t rows;
    int64_t head_size; /* rows per head, if RoPE applies; else 0 */
} matrix_block;

/* The row of the file for our row i: the first of each rotated pair, then the second. */
static int64_t rope_row(const matrix_block *b, int64_t i)
{
    if (b->head_size == 0)
        return i;
    int64_t within = i % b->head_size, half = b->head_size / 2;
    return i - within + (within < half ? 2 * within : 2 * (within - half) + 1);
}

static att_status add_blocks(const converter *in, const char *name, const matrix_block *blocks,
                             size_t count, int64_t columns)
{
    int64_t rows = 0, first = 0;
    for (size_t b = 0; b < count; b++)
        rows += blocks[b].rows;
    att_tensor whole;
    ATT_TRY(att_tensor_new_uninitialized(&whole, ATT_F32, 2, (const int64_t[]){ columns, rows },
                                         in->err));
    float *to = whole.data;
    for (size_t b = 0; b < count; first += blocks[b++].rows)
        for (int64_t i = 0; i < blocks[b].rows; i++)
            for (int64_t j = 0; j < columns; j++)
                to[j * rows + first + i] = blocks[b].values[rope_row(&blocks[b], i) * columns + j];
    att_status status = att_model_writer_add(&in->writer, name, &whole, in->err);
    att_tensor_free(&whole);
    return status;
}

static const char *tensor_name(char out[MAX_NAME], int64_t layer, const char *name)
{
    snprintf(out, MAX_NAME, "decoder.%d.%s", (int)layer, name);
    return out;
}

static att_status add_layer(const converter *in, int64_t i)
{
    const att_llama_file *f = &in->file;
    int64_t width = f->hidden_size, keys = f->kv_size, ffn = f->ffn_size;
    char name[MAX_NAME];
    const matrix_block heads[] = {
        { f->arrays[ATT_LLAMA_QUERY] + i * width * width, width, f->head_size },
        { f->arrays[ATT_LLAMA_KEY] + i * keys * width, keys, f->head_size },
        { f->arrays[ATT_LLAMA_VALUE] + i * keys * width, keys, 0 },
    };
    const matrix_block gated[] = {
        { f->arrays[ATT_LLAMA_GATE] + i * ffn * width, ffn, 0 },
        { f->arrays[ATT_LLAMA_UP] + i * ffn * width, ffn, 0 },
    };
    ATT_TRY(add(in, tensor_name(name, i, "self.norm.gain"), 1, width, 1,
                f->arrays[ATT_LLAMA_ATTENTION_NORM] + i * width));
    ATT_TRY(add_blocks(in, tensor_name(name, i, "self.query_key_value"), heads, ATT_COUNT(heads),
                       width));
    ATT_TRY(add_transposed(in, tensor_name(name, i, "self.out"), width, width,
                           f->arrays[ATT_LLAMA_OUT] + i * width * width));
    ATT_TRY(add(in, tensor_name(name, i, "feed.norm.gain"), 1, width, 1,
                f->arrays[ATT_LLAMA_FFN_NORM] + i * width));
    ATT_TRY(add_blocks(in, tensor_name(name, i, "feed.first"), gated, ATT_COUNT(gated), width));
    return add_transposed(in, tensor_name(name, i, "feed.second"), width, ffn,
                          f->arrays[ATT_LLAMA_DOWN] + i * width * ffn);
}

static att_status add_tensors(const converter *in)
{
    const att_llama_file *f = &in->file;
    ATT_TRY(
        add(in, "target.embed", 2, f->vocab_size, f->hidden_size, f->arrays[ATT_LLAMA_EMBEDDING]));
    for (int64_t i = 0; i < f->layers; i++)
        ATT_TRY(add_layer(in, i));
    ATT_TRY(add(in, "decoder.norm.gain", 1, f->hidden_size, 1, f->arrays[ATT_LLAMA_FINAL_NORM]));
    if (f->tied)
        return ATT_OK;
    return add_transposed(in, "output.w", f->vocab_size, f->hidden_size,
                          f->arrays[ATT_LLAMA_OUTPUT]);
}

/* ---- the model */

static att_status finish(const converter *in)
{
    const att_llama_file *f = &in->file;
    const att_model_writer_setting settings[] = {
        { "task", "lm", 0 },
        { "architecture", "transformer", 0 },
        { "layers", NULL, f->layers },
        { "hidden-size", NULL, f->hidden_size },
        { "heads", NULL, f->heads },
        { "kv-heads", NULL, f->kv_heads },
        { "ffn-size", NULL, f->ffn_size },
        { "norm", "pre", 0 },
        { "norm-kind", "rms", 0 },
        { "activation", "swiglu", 0 },
        { "biases", "no", 0 },
        { "embedding-scale", "no", 0 },
        { "positions", "rotary", 0 },
        { "tie-embeddings", f->tied ? "output" : "no", 0 },
        { "tokens", "bpe", 0 },
        { "sequence-length", NULL, f->context_length },
    };
    const att_metadata_entry metadata[] = { { "format", "llama2c", 0 },
                                            { "weights", "float32", 0 } };
    const att_model_writer_metadata model = { .settings = settings,
                                              .setting_count = ATT_COUNT(settings),
                                              .target_vocab = in->vocab,
                                              .entries = metadata,
                                              .entry_count = ATT_COUNT(metadata) };
    return att_model_writer_finish(&in->writer, &model, in->err);
}

static att_status convert(converter *in, const att_llama_bytes *weights,
                          const att_llama_bytes *tokenizer)
{
    ATT_TRY(att_llama_read(&in->file, weights, in->err));
    ATT_TRY(att_llama_tokenizer_vocab(&in->vocab, tokenizer, in->file.vocab_size, in->err));
    att_vocab_set_whole_text(in->vocab);
    att_vocab_set_prepend_bos(in->vocab);
    ATT_TRY(add_tensors(in));
    return finish(in);
}

att_status att_llama_convert(att_bundle **out, const att_llama_bytes *weights,
                             const att_llama_bytes *tokenizer, att_error *err)
{
    converter in = { .writer = { .name = weights->name }, .err = err };
    *out = NULL;
    ATT_TRY(att_bundle_new(&in.writer.bundle, err));
    att_status status = convert(&in, weights, tokenizer);
    att_llama_free(&in.file);
    att_vocab_free(in.vocab);
    if (status == ATT_OK)
        *out = in.writer.bundle;
    else
        att_bundle_free(in.writer.bundle);
    return status;
}
