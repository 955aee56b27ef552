/* One attention head of a trained Transformer as a worksheet (att_model_head_sheet): the sheet
 * loads the matrices of the head from the model file and computes it step by step in double
 * precision. At the end, an `expect` compares the weights that the model computed in single
 * precision. */
#include "base/error.h"
#include "base/math.h"
#include "base/minmax.h"
#include "base/progress.h"
#include "base/string.h"
#include "inspect/attention_map.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Limits of a readable sheet: values in the `expect`, and tokens of a line. */
enum { MAX_EXPECTED_VALUES = 4096, MAX_TOKENS = 512 };

/* A sheet being written. After a failure, nothing more is written. */
typedef struct sheet_writer {
    att_string *out;
    att_status status;
    const att_model *model;
    const char *file;
    int64_t head; /* from 0 */
    att_attention_capture activations;
} sheet_writer;

#define PRINT(w, ...)                                                                              \
    do {                                                                                           \
        if ((w)->status == ATT_OK)                                                                 \
            (w)->status = att_string_printf((w)->out, __VA_ARGS__);                                \
    } while (0)

static const char *part_name(att_attention_block part)
{
    static const char *const names[] = { "Encoder", "Decoder", "Decoder to encoder" };
    return names[part];
}

static bool is_cross(const sheet_writer *w)
{
    return w->activations.part == ATT_BLOCK_CROSS;
}

/* ---- worksheet syntax */

static void write_string(sheet_writer *w, const char *text)
{
    PRINT(w, "\"");
    for (; *text; text++)
        PRINT(w, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    PRINT(w, "\"");
}

/* Loads a tensor of the model. With a side, `name` is relative to the layer: "self.out". */
static void write_load(sheet_writer *w, const char *side, const char *name)
{
    PRINT(w, "(load ");
    write_string(w, w->file);
    if (side)
        PRINT(w, " \"%s.%lld.%s\")", side, (long long)w->activations.layer, name);
    else
        PRINT(w, " \"%s\")", name);
}

/* A matrix [rows,columns] as numbers that read back as the same floats. */
static void write_matrix(sheet_writer *w, const float *values, int64_t rows, int64_t columns,
                         int64_t stride)
{
    PRINT(w, "[");
    for (int64_t i = 0; i < rows; i++) {
        PRINT(w, i > 0 ? "; " : "");
        for (int64_t j = 0; j < columns; j++)
            PRINT(w, j > 0 ? " %.9g" : "%.9g", (double)values[i * stride + j]);
    }
    PRINT(w, "]");
}

static void write_labels(sheet_writer *w, const char *name, const att_vocab *vocab,
                         const att_ids *ids)
{
    PRINT(w, "label %s", name);
    for (size_t i = 0; i < ids->count; i++) {
        PRINT(w, " ");
        write_string(w, att_vocab_token(vocab, ids->items[i]));
    }
    PRINT(w, "\n");
}

/* ---- the input of the layer */

static const att_ids *input_tokens(const sheet_writer *w)
{
    return w->activations.part == ATT_BLOCK_ENCODER ? &w->activations.source
                                                    : &w->activations.target;
}

static void write_embeddings(sheet_writer *w)
{
    const att_transformer_network *parts = w->activations.network;
    bool encoder = w->activations.part == ATT_BLOCK_ENCODER;
    const att_embedding *embedding = encoder ? &parts->source_embedding : &parts->target_embedding;
    const att_ids *ids = input_tokens(w);
    bool shared = encoder && w->model->settings->tie_embeddings == ATT_TIE_ALL;
    PRINT(w, "tokens = %.9g * ", (double)embedding->scale);
    write_load(w, NULL, encoder && !shared ? "source.embed" : "target.embed");
    PRINT(w, "[[");
    for (size_t i = 0; i < ids->count; i++)
        PRINT(w, i > 0 ? " %ld" : "%ld", (long)ids->items[i] + 1);
    PRINT(w, "]]\n");
    if (embedding->positions == ATT_POSITIONS_SINUSOIDAL)
        PRINT(w, "positions = positional(%zu, %lld)\n", ids->count,
              (long long)embedding->embedding_size);
    else if (embedding->positions == ATT_POSITIONS_LEARNED) {
        PRINT(w, "positions = ");
        write_load(w, NULL, encoder ? "source.positions" : "target.positions");
        PRINT(w, "[[");
        for (size_t i = 0; i < ids->count; i++) {
            int64_t last = embedding->max_positions - 1;
            PRINT(w, i > 0 ? " %lld" : "%lld", (long long)att_min_i64((int64_t)i, last) + 1);
        }
        /* a single index selects columns of a table that has one row */
        PRINT(w, embedding->max_positions == 1 ? "], :]\n" : "]]\n");
    } else {
        PRINT(w, "x = tokens\n");
        return;
    }
    PRINT(w, embedding->join == ATT_POSITIONS_ADD ? "x = tokens + positions\n"
                                                  : "x = [tokens, positions]\n");
}

/* The input of a deeper layer is written out, as the model computed it. */
static void write_computed_input(sheet_writer *w, const char *name, const att_node *x)
{
    PRINT(w, "%s = ", name);
    write_matrix(w, x->value, x->shape[1], x->shape[2], x->shape[2]);
    PRINT(w, "\n");
}

static void write_inputs(sheet_writer *w)
{
    bool first = w->activations.layer == 0 && !is_cross(w);
    /* features of characters are added to the embeddings, and tags have positions of their own */
    bool plain =
        w->model->settings->char_features == ATT_CHAR_FEATURES_NONE &&
        (w->activations.part != ATT_BLOCK_ENCODER || w->activations.network->first_tag == 0);
    PRINT(w, "\n## Input\n\n");
    if (first && plain) {
        write_embeddings(w);
    } else {
        PRINT(w, "%s, as the model computed %s.\n\n",
              first ? "The embeddings" : "The output of the layers before", first ? "them" : "it");
        write_computed_input(w, "x", w->activations.probe.x[w->activations.layer]);
    }
    write_labels(w, "x",
                 w->activations.part == ATT_BLOCK_ENCODER ? w->model->source_vocab
                                                          : w->model->target_vocab,
                 input_tokens(w));
    if (is_cross(w)) {
        PRINT(w, "\nThe encoder output for the source, as the model computed it.\n\n");
        write_computed_input(w, "y", w->activations.probe.encoder_output);
        write_labels(w, "y", w->model->source_vocab, &w->activations.source);
    }
}

/* ---- the head */

static const char *side_name(const sheet_writer *w)
{
    return w->activations.part == ATT_BLOCK_ENCODER ? "encoder" : "decoder";
}

/* Writes the layer norm of a pre-norm layer. Returns the name of the input of the projections. */
static const char *write_norm(sheet_writer *w)
{
    const char *side = side_name(w), *name = is_cross(w) ? "cross.norm" : "self.norm";
    char full[64];
    if (w->model->settings->norm != ATT_NORM_PRE)
        return "x";
    bool layer_norm = w->model->settings->norm_kind == ATT_NORM_LAYER;
    PRINT(w, "n = %s(x, ", layer_norm ? "layernorm" : "rmsnorm");
    snprintf(full, sizeof full, "%s.gain", name);
    write_load(w, side, full);
    if (layer_norm) {
        PRINT(w, ", ");
        snprintf(full, sizeof full, "%s.bias", name);
        write_load(w, side, full);
    }
    PRINT(w, ", eps = 1e-5)\n");
    return "n";
}

/* name = from W + b, restricted to the columns of one head. */
static void write_projection(sheet_writer *w, const char *name, const char *from,
                             const char *matrix, int64_t first, int64_t width)
{
    char bias[64];
    long long begin = (long long)first + 1, end = (long long)(first + width);
    PRINT(w, "%s = linear(%s, ", name, from);
    write_load(w, side_name(w), matrix);
    PRINT(w, "[:, %lld:%lld]", begin, end);
    if (w->model->settings->biases) {
        snprintf(bias, sizeof bias, "%s_bias", matrix);
        PRINT(w, ", ");
        write_load(w, side_name(w), bias);
        PRINT(w, "[%lld:%lld]", begin, end);
    }
    PRINT(w, ")\n");
}

/* Rotary position embedding (RoPE) of queries and keys (Su et al. 2021). */
static void write_rope(sheet_writer *w, int64_t width)
{
    long long half = (long long)width / 2, all = (long long)width;
    PRINT(w,
          "\nRotary position embedding (RoPE): columns j and j + %lld of each query and key are\n"
          "rotated by the position times the frequency of the pair.\n\nangle = [",
          half);
    for (size_t i = 0; i < input_tokens(w)->count; i++)
        PRINT(w, i > 0 ? "; %zu" : "%zu", i);
    PRINT(w, "] * [");
    for (long long j = 0; j < half; j++)
        PRINT(w, j > 0 ? " %.17g" : "%.17g", 1 / att_pow(10000, 2 * (double)j / (double)width));
    PRINT(w, "]\n");
    for (int i = 0; i < 2; i++) {
        const char *x = i == 0 ? "q" : "k";
        PRINT(w,
              "%s_rotated = [%s[:, 1:%lld] .* cos(angle) - %s[:, %lld:%lld] .* sin(angle), "
              "%s[:, %lld:%lld] .* cos(angle) + %s[:, 1:%lld] .* sin(angle)]\n",
              x, x, half, x, half + 1, all, x, half + 1, all, x, half);
    }
}

static void write_head(sheet_writer *w)
{
    const att_settings *settings = w->model->settings;
    int64_t width = settings->hidden_size / settings->heads, queries = settings->hidden_size;
    int64_t keys = settings->kv_heads * width;
    int64_t group = w->head / (settings->heads / settings->kv_heads);
    bool rotary = settings->positions == ATT_POSITIONS_ROTARY && !is_cross(w);
    PRINT(w, "\n## Queries, keys and values of the head\n\n");
    const char *from = write_norm(w);
    const char *into = is_cross(w) ? "cross.query" : "self.query_key_value";
    const char *other = is_cross(w) ? "cross.key_value" : into;
    int64_t first = (is_cross(w) ? 0 : queries) + group * width;
    write_projection(w, "q", from, into, w->head * width, width);
    write_projection(w, "k", is_cross(w) ? "y" : from, other, first, width);
    write_projection(w, "v", is_cross(w) ? "y" : from, other, first + keys, width);
    if (rotary)
        write_rope(w, width);
    PRINT(w, "\n## Attention\n\na = attention(%s, %s, v, score = %s%s)\n",
          rotary ? "q_rotated" : "q", rotary ? "k_rotated" : "k",
          settings->attention_scale ? "scaled" : "dot",
          w->activations.part == ATT_BLOCK_DECODER ? ", mask = causal" : "");
}

/* Expects the weights of the head that the model computed; `weights` [1,H,N,S]. */
static void write_expectation(sheet_writer *w, const att_node *weights)
{
    int64_t rows = weights->shape[2], keys = weights->shape[3];
    if (rows * keys > MAX_EXPECTED_VALUES)
        return;
    PRINT(w, "\nThe model computed the same weights in single precision.\n\nexpect a.weights = ");
    write_matrix(w, weights->value + w->head * rows * keys, rows, keys, keys);
    PRINT(w, " within 1e-4\n");
}

static void write_result(sheet_writer *w)
{
    const att_settings *settings = w->model->settings;
    int64_t width = settings->hidden_size / settings->heads;
    PRINT(w, "plot a.weights \"%s layer %lld, head %lld\"\n", part_name(w->activations.part),
          (long long)w->activations.layer + 1, (long long)w->head + 1);
    PRINT(w,
          "\n## Output projection\n\nEach head uses its own rows of the output matrix. The "
          "products of "
          "all heads are added up%s%s.\n\nout = a * ",
          settings->biases ? ", with a bias" : "",
          settings->residuals ? ", and then added to x" : "");
    write_load(w, side_name(w), is_cross(w) ? "cross.out" : "self.out");
    PRINT(w, "[%lld:%lld, :]\n", (long long)(w->head * width) + 1,
          (long long)((w->head + 1) * width));
}

/* ---- the sheet */

static att_status write_sheet(sheet_writer *w, att_error *err)
{
    PRINT(w,
          "# %s layer %lld, head %lld\n\nOne attention head of a trained model, computed step by "
          "step.\n",
          part_name(w->activations.part), (long long)w->activations.layer + 1,
          (long long)w->head + 1);
    write_inputs(w);
    write_head(w);
    write_expectation(w, w->activations.attention);
    write_result(w);
    return w->status == ATT_OK ? ATT_OK : att_fail_memory(err);
}

att_status att_model_head_sheet(att_string *out, const att_model *model, const char *file,
                                const att_head_selection *which, att_error *err)
{
    sheet_writer w = {
        .out = out, .model = model, .file = file, .head = which->head > 0 ? which->head - 1 : 0
    };
    size_t before = out->length;
    att_progress_scope scope;
    att_progress_begin(&scope, "writing a worksheet", 0);
    att_status status = att_attention_capture_run(&w.activations, model, which, 1, MAX_TOKENS, err);
    if (status == ATT_OK)
        status = write_sheet(&w, err);
    status = att_progress_end(&scope, status, err);
    att_attention_capture_free(&w.activations);
    if (status != ATT_OK)
        out->length = before;
    return status;
}
