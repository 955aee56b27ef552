/* Transformer layers on a worksheet: attention head by head, norms, residuals and the feed-forward
 * network. A small model is worked out whole; of a larger one the last layer alone, for the last
 * position alone, from the input that the model computed. */
#include "inspect/attention_map.h"
#include "inspect/model_sheet.h"

#include "base/error.h"
#include "base/math.h"

#include <stdio.h>

/* The stack of layers that is being written. */
typedef struct layer_stack {
    att_model_sheet_writer *s;
    const char *side; /* "encoder" or "decoder" */
    const att_transformer_layer *layer;
    int64_t layers;           /* of the stack */
    int64_t index;            /* of the layer, from 0 */
    int64_t tokens;           /* rows of x */
    bool causal;              /* decoder */
    bool last_only;           /* only the last row is computed */
    const int32_t *positions; /* of the rows, or NULL: 0, 1, … */
} layer_stack;

static void put_norm(const layer_stack *l, const char *to, const char *from, const char *norm)
{
    att_sheet_writer *w = &l->s->w;
    bool mean = l->s->model->settings->norm_kind == ATT_NORM_LAYER;
    att_sheet_put(w, "%s = %s(%s, ", to, mean ? "layernorm" : "rmsnorm", from);
    att_sheet_put_load(w, "%s.gain", norm);
    if (mean) {
        att_sheet_put(w, ", ");
        att_sheet_put_load(w, "%s.bias", norm);
    }
    att_sheet_put(w, ", eps = 1e-5)\n");
}

/* The norm before a sublayer. Returns the name of the sublayer's input. */
static const char *begin_sublayer(const layer_stack *l, const char *sublayer)
{
    char norm[64];
    if (l->s->model->settings->norm != ATT_NORM_PRE)
        return "x";
    snprintf(norm, sizeof norm, "%s.%lld.%s.norm", l->side, (long long)l->index, sublayer);
    put_norm(l, "n", "x", norm);
    return "n";
}

/* The residual connection, and the norm after it. */
static void end_sublayer(const layer_stack *l, const char *sublayer, const char *result, bool last)
{
    const att_settings *settings = l->s->model->settings;
    char norm[64];
    if (settings->residuals && last && l->tokens > 1)
        att_sheet_put(&l->s->w, "x = x[%lld, :] + %s\n", (long long)l->tokens, result);
    else
        att_sheet_put(&l->s->w, settings->residuals ? "x = x + %s\n" : "x = %s\n", result);
    if (settings->norm != ATT_NORM_POST)
        return;
    snprintf(norm, sizeof norm, "%s.%lld.%s.norm", l->side, (long long)l->index, sublayer);
    put_norm(l, "x", "x", norm);
}

/* name = from times columns [first, first + width) of a matrix, with their bias. */
static void put_projection(const layer_stack *l, const char *name, const char *from,
                           const char *matrix, int64_t first, int64_t width)
{
    att_sheet_writer *w = &l->s->w;
    long long begin = (long long)first + 1, end = (long long)(first + width);
    att_sheet_put(w, "%s = linear(%s, ", name, from);
    att_sheet_put_load(w, "%s.%lld.%s", l->side, (long long)l->index, matrix);
    att_sheet_put(w, "[:, %lld:%lld]", begin, end);
    if (l->s->model->settings->biases) {
        att_sheet_put(w, ", ");
        att_sheet_put_load(w, "%s.%lld.%s_bias", l->side, (long long)l->index, matrix);
        att_sheet_put(w, "[%lld:%lld]", begin, end);
    }
    att_sheet_put(w, ")\n");
}

/* Rotary position embedding of `heads` heads side by side in matrix `name`. */
static void put_rotation(const layer_stack *l, const char *name, int64_t heads, bool last)
{
    att_sheet_writer *w = &l->s->w;
    long long width = (long long)l->layer->self.head_size, half = width / 2;
    char angle[32] = "angle";
    if (last && l->tokens > 1)
        snprintf(angle, sizeof angle, "angle[%lld, :]", (long long)l->tokens);
    att_sheet_put(w, "%s = [", name);
    for (long long h = 0; h < heads; h++) {
        long long at = h * width + 1;
        att_sheet_put(w,
                      "%s%s[:, %lld:%lld] .* cos(%s) - %s[:, %lld:%lld] .* sin(%s), "
                      "%s[:, %lld:%lld] .* cos(%s) + %s[:, %lld:%lld] .* sin(%s)",
                      h > 0 ? ", " : "", name, at, at + half - 1, angle, name, at + half,
                      at + width - 1, angle, name, at + half, at + width - 1, angle, name, at,
                      at + half - 1, angle);
    }
    att_sheet_put(w, "]\n");
}

static void put_rope(const layer_stack *l, bool last)
{
    att_sheet_writer *w = &l->s->w;
    int64_t width = l->layer->self.head_size;
    att_sheet_put(w,
                  "\nRotary position embedding (RoPE): columns j and j + %lld of each head's "
                  "queries and keys are rotated by the position times the frequency of the "
                  "pair.\n\nangle = [",
                  (long long)width / 2);
    for (int64_t i = 0; i < l->tokens; i++)
        att_sheet_put(w, i > 0 ? "; %lld" : "%lld",
                      (long long)(l->positions ? l->positions[i] : i));
    att_sheet_put(w, "] * [");
    for (int64_t j = 0; j < width / 2; j++)
        att_sheet_put(w, j > 0 ? " %.17g" : "%.17g",
                      1 / att_pow(10000, 2 * (double)j / (double)width));
    att_sheet_put(w, "]\n");
    put_rotation(l, "q", l->layer->self.heads, last);
    put_rotation(l, "k", l->layer->self.kv_heads, false);
}

/* The heads, one after the other, and the output projection. */
static void put_heads(const layer_stack *l, const att_multihead_attention *attention,
                      const char *matrix, bool causal)
{
    att_sheet_writer *w = &l->s->w;
    int64_t width = attention->head_size;
    for (int64_t h = 0; h < attention->heads; h++) {
        int64_t group = h / (attention->heads / attention->kv_heads);
        long long from = (long long)(h * width), key = (long long)(group * width);
        att_sheet_put(w,
                      "a_%lld = attention(q[:, %lld:%lld], k[:, %lld:%lld], v[:, %lld:%lld], score "
                      "= %s%s)\n",
                      (long long)h + 1, from + 1, from + (long long)width, key + 1,
                      key + (long long)width, key + 1, key + (long long)width,
                      attention->scaled ? "scaled" : "dot", causal ? ", mask = causal" : "");
    }
    att_sheet_put(w, "o = linear([");
    for (int64_t h = 0; h < attention->heads; h++)
        att_sheet_put(w, h > 0 ? ", a_%lld" : "a_%lld", (long long)h + 1);
    att_sheet_put(w, "], ");
    att_sheet_put_load(w, "%s.%lld.%s", l->side, (long long)l->index, matrix);
    if (l->s->model->settings->biases) {
        att_sheet_put(w, ", ");
        att_sheet_put_load(w, "%s.%lld.%s_bias", l->side, (long long)l->index, matrix);
    }
    att_sheet_put(w, ")\n");
}

static void put_self_attention(const layer_stack *l)
{
    att_sheet_writer *w = &l->s->w;
    const att_multihead_attention *attention = &l->layer->self;
    int64_t queries = attention->heads * attention->head_size;
    int64_t keys = attention->kv_heads * attention->head_size;
    char row[32];
    att_sheet_put(w, "\n### Self-attention\n\n");
    const char *from = begin_sublayer(l, "self"), *query = from;
    bool last = l->last_only && l->tokens > 1;
    if (last) {
        snprintf(row, sizeof row, "%s[%lld, :]", from, (long long)l->tokens);
        query = row;
    }
    put_projection(l, "q", query, "self.query_key_value", 0, queries);
    put_projection(l, "k", from, "self.query_key_value", queries, keys);
    put_projection(l, "v", from, "self.query_key_value", queries + keys, keys);
    if (attention->rope)
        put_rope(l, last);
    put_heads(l, attention, "self.out", l->causal && !last);
    end_sublayer(l, "self", "o", l->last_only);
}

/* The attention of the last position to the cells of an image, the mean of the heads. */
static void put_cells_seen(const layer_stack *l, const att_multihead_attention *attention)
{
    att_sheet_writer *w = &l->s->w;
    for (long long h = 0; h < attention->heads; h++) {
        att_sheet_put(w, h > 0 ? " + a_%lld.weights" : "seen = (a_%lld.weights", h + 1);
        if (!l->last_only && l->tokens > 1)
            att_sheet_put(w, "[%lld, :]", (long long)l->tokens);
    }
    att_sheet_put(w, ") / %lld\n", (long long)attention->heads);
    att_image_sheet_put_grid(l->s, "seen");
}

static void put_cross_attention(const layer_stack *l)
{
    att_sheet_writer *w = &l->s->w;
    const att_multihead_attention *attention = &l->layer->cross;
    int64_t keys = attention->kv_heads * attention->head_size;
    att_sheet_put(w, "\n### Cross attention to the encoder states y\n\n");
    const char *from = begin_sublayer(l, "cross");
    put_projection(l, "q", from, "cross.query", 0, attention->heads * attention->head_size);
    put_projection(l, "k", "y", "cross.key_value", 0, keys);
    put_projection(l, "v", "y", "cross.key_value", keys, keys);
    put_heads(l, attention, "cross.out", false);
    if (l->s->image.values && l->index + 1 == l->layers)
        put_cells_seen(l, attention);
    end_sublayer(l, "cross", "o", false);
}

static void put_ffn(const layer_stack *l)
{
    static const char *const functions[] = { [ATT_FFN_RELU] = "relu", [ATT_FFN_GELU] = "gelu" };
    att_sheet_writer *w = &l->s->w;
    const att_settings *settings = l->s->model->settings;
    long long inner = (long long)settings->ffn_size;
    char name[64];
    if (!l->layer->ffn.present)
        return;
    att_sheet_put(w, "\n### Feed-forward network\n\n");
    const char *from = begin_sublayer(l, "feed");
    snprintf(name, sizeof name, "%s.%lld.feed.first", l->side, (long long)l->index);
    att_sheet_put_linear(w, "f", from, name, settings->biases);
    if (l->layer->ffn.swiglu)
        att_sheet_put(w, "f = f[:, 1:%lld] .* sigmoid(f[:, 1:%lld]) .* f[:, %lld:%lld]\n", inner,
                      inner, inner + 1, 2 * inner);
    else
        att_sheet_put(w, "f = %s(f)\n", functions[settings->activation]);
    snprintf(name, sizeof name, "%s.%lld.feed.second", l->side, (long long)l->index);
    att_sheet_put_linear(w, "o", "f", name, settings->biases);
    end_sublayer(l, "feed", "o", false);
}

/* ---- stacks of layers */

bool att_transformer_sheet_is_small(const att_model *model, int64_t layers)
{
    return layers <= ATT_SHEET_SMALL_LAYERS && model->settings->heads <= ATT_SHEET_SMALL_HEADS &&
           model->settings->hidden_size <= ATT_SHEET_SMALL_SIZE;
}

/* Leaves out the layers before the last, whose input the model computed. */
static void put_left_out(layer_stack *l, const att_node *input)
{
    int64_t layers = l->layers;
    att_sheet_put(&l->s->w,
                  "\nLeft out: the embeddings and the first %lld of %lld %s layers. x is their "
                  "output, as the model computed it.\n\nx = ",
                  (long long)layers - 1, (long long)layers, l->side);
    att_sheet_put_matrix(&l->s->w, input->value, input->shape[1], input->shape[2], input->shape[2]);
    att_sheet_put(&l->s->w, "\n");
    l->index = layers - 1;
}

static void put_layer(const layer_stack *l, bool cross)
{
    att_sheet_put(&l->s->w, "\n## %s layer %lld\n", l->causal ? "Decoder" : "Encoder",
                  (long long)l->index + 1);
    put_self_attention(l);
    if (cross)
        put_cross_attention(l);
    put_ffn(l);
}

static void put_final_norm(const layer_stack *l, const att_norm_layer *norm)
{
    char name[32];
    if (norm->gain == ATT_NO_PARAM)
        return;
    snprintf(name, sizeof name, "%s.norm", l->side);
    att_sheet_put(&l->s->w, "\n### Final norm\n\n");
    put_norm(l, "x", "x", name);
}

void att_transformer_sheet_put_encoder(att_model_sheet_writer *s,
                                       const att_transformer_network *network,
                                       const att_attention_probe *probe)
{
    layer_stack l = { .s = s,
                      .side = "encoder",
                      .layers = network->encoder_layers,
                      .tokens = (int64_t)s->source_length,
                      .positions = att_model_sheet_positions(s, network->first_tag) };
    if (!att_transformer_sheet_is_small(s->model, network->encoder_layers)) {
        put_left_out(&l, probe->x[network->encoder_layers - 1]);
        att_model_sheet_put_source_labels(s, "x");
    }
    for (; l.index < network->encoder_layers; l.index++) {
        l.layer = &network->encoder[l.index];
        put_layer(&l, false);
    }
    put_final_norm(&l, &network->encoder_norm);
}

/* ---- seq2seq and language models */

static void put_source_embeddings(att_model_sheet_writer *s, const att_transformer_network *network)
{
    att_sheet_writer *w = &s->w;
    bool shared = s->model->settings->tie_embeddings == ATT_TIE_ALL;
    att_sheet_put(w, "\n## Source embeddings\n\n");
    att_sheet_put_embeddings(
        w, &network->source_embedding,
        &(att_sheet_tokens){ .name = "x",
                             .side = "source",
                             .table = shared ? "target.embed" : "source.embed",
                             .ids = s->source.items,
                             .count = s->source_length,
                             .positions = att_model_sheet_positions(s, network->first_tag) });
    att_model_sheet_put_source_labels(s, "x");
}

static att_status put_source(att_model_sheet_writer *s, const att_transformer_network *network,
                             const att_node *encoder_output, att_error *err)
{
    att_sheet_writer *w = &s->w;
    if (!att_transformer_sheet_is_small(s->model, network->encoder_layers)) {
        att_sheet_put(w, "\n## Encoder\n\nLeft out: the encoder. y is its output, as the model "
                         "computed it.\n\n");
        att_sheet_put(w, "y = ");
        att_sheet_put_matrix(w, encoder_output->value, encoder_output->shape[1],
                             encoder_output->shape[2], encoder_output->shape[2]);
        att_sheet_put(w, "\n");
        att_model_sheet_put_source_labels(s, "y");
        return ATT_OK;
    }
    if (s->image.values)
        ATT_TRY(att_image_sheet_put(s, &network->image_embedding, err));
    else
        put_source_embeddings(s, network);
    att_transformer_sheet_put_encoder(s, network, NULL);
    att_sheet_put(w, "y = x\n");
    att_sheet_put_claim(w, "y", encoder_output->value, encoder_output->shape[1],
                        encoder_output->shape[2], encoder_output->shape[2]);
    if (s->image.values)
        att_model_sheet_put_source_labels(s, "y");
    return ATT_OK;
}

static void put_target(att_model_sheet_writer *s, const att_transformer_network *network,
                       const att_attention_capture *run)
{
    att_sheet_writer *w = &s->w;
    int64_t layers = network->decoder_layers, n = (int64_t)s->target.count;
    layer_stack l = { .s = s, .side = "decoder", .layers = layers, .tokens = n, .causal = true };
    if (att_transformer_sheet_is_small(s->model, layers)) {
        att_sheet_put(w,
                      network->has_encoder ? "\n## Target embeddings\n\n" : "\n## Embeddings\n\n");
        att_sheet_put_embeddings(w, &network->target_embedding,
                                 &(att_sheet_tokens){ .name = "x",
                                                      .side = "target",
                                                      .table = "target.embed",
                                                      .ids = s->target.items,
                                                      .count = s->target.count });
    } else {
        put_left_out(&l, run->probe.x[layers - 1]);
        l.last_only = true;
    }
    att_sheet_put_labels(w, "x", s->model->target_vocab, &s->target);
    for (; l.index < layers; l.index++) {
        l.layer = &network->decoder[l.index];
        put_layer(&l, network->has_encoder);
    }
    put_final_norm(&l, &network->decoder_norm);
    if (n > 1 && !l.last_only)
        att_sheet_put(w, "x = x[%lld, :]\n", (long long)n);
    att_sheet_put_claim(w, "x", run->output->value + (n - 1) * network->hidden_size, 1,
                        network->hidden_size, network->hidden_size);
}

static void put_next_token(att_model_sheet_writer *s, const att_transformer_network *network)
{
    att_sheet_writer *w = &s->w;
    const char *last =
        att_vocab_token(s->model->target_vocab, s->target.items[s->target.count - 1]);
    att_sheet_put(w,
                  "\n## The next token\n\nThe state of the last position predicts what follows ");
    att_sheet_put_string(w, last);
    att_sheet_put(w, ".\n\n");
    if (network->copy.enabled && s->copy_ids) {
        att_sheet_put_linear(w, "q", "x", "copy.query", false);
        att_sheet_put_linear(w, "k", "y", "copy.key", false);
        att_sheet_put(w, "a = attention(q, k, y, score = scaled)\n");
    }
    att_model_sheet_put_probabilities(s, "x", "a.weights", &network->copy,
                                      network->output_w == ATT_NO_PARAM,
                                      network->output_b != ATT_NO_PARAM, s->target.count - 1);
}

att_status att_transformer_sheet_write(att_model_sheet_writer *s, att_error *err)
{
    const att_transformer_network *network = s->model->network;
    att_attention_capture run;
    if (s->step > 0)
        s->target.count = (size_t)s->step; /* the steps before are positions of the same pass */
    att_status status =
        att_attention_capture_run_ids(&run, s->model, s->input, s->image.values, &s->target, err);
    if (status == ATT_OK && network->has_encoder)
        status = put_source(s, network, run.probe.encoder_output, err);
    if (status == ATT_OK) {
        put_target(s, network, &run);
        put_next_token(s, network);
    }
    att_attention_capture_free(&run);
    return status;
}
