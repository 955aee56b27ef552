/* One attention head of a trained Transformer as a worksheet (att_model_head_sheet): the sheet
 * loads the matrices of the head from the model file and computes it step by step in double
 * precision. At the end, an `expect` compares the weights that the model computed in single
 * precision. */
#include "base/error.h"
#include "base/math.h"
#include "base/progress.h"
#include "inspect/attention_map.h"
#include "inspect/sheet_writer.h"

#include <stdio.h>
#include <string.h>

/* Limits of a readable sheet: values in the `expect`, and tokens of a line. */
enum { MAX_EXPECTED_VALUES = 4096, MAX_TOKENS = 512 };

/* The sheet of a head while it is written. */
typedef struct head_writer {
    att_sheet_writer w;
    int64_t head; /* from 0 */
    att_attention_capture activations;
} head_writer;

static const char *part_name(att_attention_block part)
{
    static const char *const names[] = { "Encoder", "Decoder", "Decoder to encoder" };
    return names[part];
}

static bool is_cross(const head_writer *h)
{
    return h->activations.part == ATT_BLOCK_CROSS;
}

/* Loads a tensor of the layer: "self.out". */
static void put_layer_load(head_writer *h, const char *side, const char *name)
{
    att_sheet_put_load(&h->w, "%s.%lld.%s", side, (long long)h->activations.layer, name);
}

/* ---- the input of the layer */

static const att_ids *input_tokens(const head_writer *h)
{
    return h->activations.part == ATT_BLOCK_ENCODER ? &h->activations.source
                                                    : &h->activations.target;
}

static void write_embeddings(head_writer *h)
{
    const att_transformer_network *parts = h->activations.network;
    bool encoder = h->activations.part == ATT_BLOCK_ENCODER;
    bool shared = encoder && h->w.model->settings->tie_embeddings == ATT_TIE_ALL;
    const att_ids *ids = input_tokens(h);
    att_sheet_put_embeddings(
        &h->w, encoder ? &parts->source_embedding : &parts->target_embedding,
        &(att_sheet_tokens){ .name = "x",
                             .side = encoder ? "source" : "target",
                             .table = encoder && !shared ? "source.embed" : "target.embed",
                             .ids = ids->items,
                             .count = ids->count });
}

/* The input of a deeper layer is written out, as the model computed it. */
static void write_computed_input(head_writer *h, const char *name, const att_node *x)
{
    att_sheet_put(&h->w, "%s = ", name);
    att_sheet_put_matrix(&h->w, x->value, x->shape[1], x->shape[2], x->shape[2]);
    att_sheet_put(&h->w, "\n");
}

static void write_inputs(head_writer *h)
{
    bool first = h->activations.layer == 0 && !is_cross(h);
    /* features of characters are added to the embeddings, and tags have positions of their own */
    bool plain =
        h->w.model->settings->char_features == ATT_CHAR_FEATURES_NONE &&
        (h->activations.part != ATT_BLOCK_ENCODER || h->activations.network->first_tag == 0);
    att_sheet_put(&h->w, "\n## Input\n\n");
    if (first && plain) {
        write_embeddings(h);
    } else {
        att_sheet_put(&h->w, "%s, as the model computed %s.\n\n",
                      first ? "The embeddings" : "The output of the layers before",
                      first ? "them" : "it");
        write_computed_input(h, "x", h->activations.probe.x[h->activations.layer]);
    }
    att_sheet_put_labels(&h->w, "x",
                         h->activations.part == ATT_BLOCK_ENCODER ? h->w.model->source_vocab
                                                                  : h->w.model->target_vocab,
                         input_tokens(h));
    if (is_cross(h)) {
        att_sheet_put(&h->w, "\nThe encoder output for the source, as the model computed it.\n\n");
        write_computed_input(h, "y", h->activations.probe.encoder_output);
        att_sheet_put_labels(&h->w, "y", h->w.model->source_vocab, &h->activations.source);
    }
}

/* ---- the head */

static const char *side_name(const head_writer *h)
{
    return h->activations.part == ATT_BLOCK_ENCODER ? "encoder" : "decoder";
}

/* Writes the layer norm of a pre-norm layer. Returns the name of the input of the projections. */
static const char *write_norm(head_writer *h)
{
    const char *side = side_name(h), *name = is_cross(h) ? "cross.norm" : "self.norm";
    char full[64];
    if (h->w.model->settings->norm != ATT_NORM_PRE)
        return "x";
    bool layer_norm = h->w.model->settings->norm_kind == ATT_NORM_LAYER;
    att_sheet_put(&h->w, "n = %s(x, ", layer_norm ? "layernorm" : "rmsnorm");
    snprintf(full, sizeof full, "%s.gain", name);
    put_layer_load(h, side, full);
    if (layer_norm) {
        att_sheet_put(&h->w, ", ");
        snprintf(full, sizeof full, "%s.bias", name);
        put_layer_load(h, side, full);
    }
    att_sheet_put(&h->w, ", eps = 1e-5)\n");
    return "n";
}

/* name = from W + b, restricted to the columns of one head. */
static void write_projection(head_writer *h, const char *name, const char *from, const char *matrix,
                             int64_t first, int64_t width)
{
    char bias[64];
    long long begin = (long long)first + 1, end = (long long)(first + width);
    att_sheet_put(&h->w, "%s = linear(%s, ", name, from);
    put_layer_load(h, side_name(h), matrix);
    att_sheet_put(&h->w, "[:, %lld:%lld]", begin, end);
    if (h->w.model->settings->biases) {
        snprintf(bias, sizeof bias, "%s_bias", matrix);
        att_sheet_put(&h->w, ", ");
        put_layer_load(h, side_name(h), bias);
        att_sheet_put(&h->w, "[%lld:%lld]", begin, end);
    }
    att_sheet_put(&h->w, ")\n");
}

/* Rotary position embedding (RoPE) of queries and keys (Su et al. 2021). */
static void write_rope(head_writer *h, int64_t width)
{
    long long half = (long long)width / 2, all = (long long)width;
    att_sheet_put(
        &h->w,
        "\nRotary position embedding (RoPE): columns j and j + %lld of each query and key are\n"
        "rotated by the position times the frequency of the pair.\n\nangle = [",
        half);
    for (size_t i = 0; i < input_tokens(h)->count; i++)
        att_sheet_put(&h->w, i > 0 ? "; %zu" : "%zu", i);
    att_sheet_put(&h->w, "] * [");
    for (long long j = 0; j < half; j++)
        att_sheet_put(&h->w, j > 0 ? " %.17g" : "%.17g",
                      1 / att_pow(10000, 2 * (double)j / (double)width));
    att_sheet_put(&h->w, "]\n");
    for (int i = 0; i < 2; i++) {
        const char *x = i == 0 ? "q" : "k";
        att_sheet_put(&h->w,
                      "%s_rotated = [%s[:, 1:%lld] .* cos(angle) - %s[:, %lld:%lld] .* sin(angle), "
                      "%s[:, %lld:%lld] .* cos(angle) + %s[:, 1:%lld] .* sin(angle)]\n",
                      x, x, half, x, half + 1, all, x, half + 1, all, x, half);
    }
}

static void write_head(head_writer *h)
{
    const att_settings *settings = h->w.model->settings;
    int64_t width = settings->hidden_size / settings->heads, queries = settings->hidden_size;
    int64_t keys = settings->kv_heads * width;
    int64_t group = h->head / (settings->heads / settings->kv_heads);
    bool rotary = settings->positions == ATT_POSITIONS_ROTARY && !is_cross(h);
    att_sheet_put(&h->w, "\n## Queries, keys and values of the head\n\n");
    const char *from = write_norm(h);
    const char *into = is_cross(h) ? "cross.query" : "self.query_key_value";
    const char *other = is_cross(h) ? "cross.key_value" : into;
    int64_t first = (is_cross(h) ? 0 : queries) + group * width;
    write_projection(h, "q", from, into, h->head * width, width);
    write_projection(h, "k", is_cross(h) ? "y" : from, other, first, width);
    write_projection(h, "v", is_cross(h) ? "y" : from, other, first + keys, width);
    if (rotary)
        write_rope(h, width);
    att_sheet_put(&h->w, "\n## Attention\n\na = attention(%s, %s, v, score = %s%s)\n",
                  rotary ? "q_rotated" : "q", rotary ? "k_rotated" : "k",
                  settings->attention_scale ? "scaled" : "dot",
                  h->activations.part == ATT_BLOCK_DECODER ? ", mask = causal" : "");
}

/* Expects the weights of the head that the model computed; `weights` [1,H,N,S]. */
static void write_expectation(head_writer *h, const att_node *weights)
{
    int64_t rows = weights->shape[2], keys = weights->shape[3];
    if (rows * keys > MAX_EXPECTED_VALUES)
        return;
    att_sheet_put(
        &h->w, "\nThe model computed the same weights in single precision.\n\nexpect a.weights = ");
    att_sheet_put_matrix(&h->w, weights->value + h->head * rows * keys, rows, keys, keys);
    att_sheet_put(&h->w, " within 1e-4\n");
}

static void write_result(head_writer *h)
{
    const att_settings *settings = h->w.model->settings;
    int64_t width = settings->hidden_size / settings->heads;
    att_sheet_put(&h->w, "plot a.weights \"%s layer %lld, head %lld\"\n",
                  part_name(h->activations.part), (long long)h->activations.layer + 1,
                  (long long)h->head + 1);
    att_sheet_put(&h->w,
                  "\n## Output projection\n\nEach head uses its own rows of the output matrix. The "
                  "products of "
                  "all heads are added up%s%s.\n\nout = a * ",
                  settings->biases ? ", with a bias" : "",
                  settings->residuals ? ", and then added to x" : "");
    put_layer_load(h, side_name(h), is_cross(h) ? "cross.out" : "self.out");
    att_sheet_put(&h->w, "[%lld:%lld, :]\n", (long long)(h->head * width) + 1,
                  (long long)((h->head + 1) * width));
}

/* ---- the sheet */

static att_status write_sheet(head_writer *h, att_error *err)
{
    att_sheet_put(
        &h->w,
        "# %s layer %lld, head %lld\n\nOne attention head of a trained model, computed step by "
        "step.\n",
        part_name(h->activations.part), (long long)h->activations.layer + 1,
        (long long)h->head + 1);
    write_inputs(h);
    write_head(h);
    write_expectation(h, h->activations.attention);
    write_result(h);
    return h->w.status == ATT_OK ? ATT_OK : att_fail_memory(err);
}

att_status att_model_head_sheet(att_string *out, const att_model *model, const char *file,
                                const att_head_selection *which, att_error *err)
{
    ATT_TRY(att_model_require_float(model, NULL, "a worksheet", err));
    head_writer h = { .w = { .out = out, .model = model, .file = file },
                      .head = which->head > 0 ? which->head - 1 : 0 };
    size_t before = out->length;
    att_progress_scope scope;
    att_progress_begin(&scope, "writing a worksheet", 0);
    att_status status = att_attention_capture_run(&h.activations, model, which, 1, MAX_TOKENS, err);
    if (status == ATT_OK)
        status = write_sheet(&h, err);
    status = att_progress_end(&scope, status, err);
    att_attention_capture_free(&h.activations);
    if (status != ATT_OK)
        out->length = before;
    return status;
}
