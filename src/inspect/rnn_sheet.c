/* RNN encoders and decoders on a worksheet: the layers of the encoder over the whole source, then
 * the decoder step by step, with its attention, readout and output layer. */
#include "inspect/model_sheet.h"

#include "base/error.h"
#include "model/rnn.h"

#include <stdio.h>

enum { NAME_SIZE = 64 };

/* `name` = a cell over the rows of `x`, from the states `h` and `c`. */
static void put_cell(att_sheet_writer *w, const char *name, const char *x,
                     const att_rnn_layer *layer, const char *prefix, const char *h, const char *c)
{
    static const char *const functions[] = {
        [ATT_RNN_CELL_VANILLA] = "rnn", [ATT_RNN_CELL_GRU] = "gru", [ATT_RNN_CELL_LSTM] = "lstm"
    };
    att_sheet_put(w, "%s = %s(%s, %s, ", name, functions[layer->cell], x, h);
    if (layer->cell == ATT_RNN_CELL_LSTM)
        att_sheet_put(w, "%s, ", c);
    att_sheet_put_load(w, "%s.w", prefix);
    att_sheet_put(w, ", ");
    att_sheet_put_load(w, "%s.u", prefix);
    att_sheet_put(w, ", ");
    att_sheet_put_load(w, "%s.bias", prefix);
    if (layer->cell == ATT_RNN_CELL_GRU) {
        att_sheet_put(w, ", ");
        att_sheet_put_load(w, "%s.bias_u", prefix);
    }
    att_sheet_put(w, ")\n");
}

/* ---- the encoder */

/* `name` = matrix with its rows in reverse order. */
static void put_reversed(att_sheet_writer *w, const char *name, const char *matrix, size_t rows)
{
    att_sheet_put(w, "%s = %s[[", name, matrix);
    for (size_t i = rows; i > 0; i--)
        att_sheet_put(w, i < rows ? " %zu" : "%zu", i);
    att_sheet_put(w, "], :]\n");
}

/* The states behind the sentence: h_i, and c_i of an LSTM. */
static void put_final_states(att_model_sheet_writer *s, const att_rnn_encoder *encoder, int index)
{
    att_sheet_writer *w = &s->w;
    const att_rnn_encoder_layer *layer = &encoder->layer[index];
    bool lstm = layer->forward.cell == ATT_RNN_CELL_LSTM;
    int number = index + 1;
    size_t last = s->source_length;
    for (int c = 0; c <= lstm; c++) {
        const char *part = lstm ? c ? ".c" : ".h" : "";
        if (encoder->bidirectional)
            att_sheet_put(w, "%s_%d = [forward%s[%zu, :], backward%s[%zu, :]]\n", c ? "c" : "h",
                          number, part, last, part, last);
        else
            att_sheet_put(w, "%s_%d = forward%s[%zu, :]\n", c ? "c" : "h", number, part, last);
    }
    if (layer->bridge_w == ATT_NO_PARAM)
        return;
    long long n = (long long)encoder->hidden_size;
    att_sheet_put(w, "\nA linear layer predicts the first state of the decoder.\n\n");
    att_sheet_put(w, lstm ? "bridge = linear([h_%d, c_%d], " : "bridge = linear(h_%d, ", number,
                  number);
    att_sheet_put_load(w, "bridge.%d.w", index);
    att_sheet_put(w, ", ");
    att_sheet_put_load(w, "bridge.%d.bias", index);
    att_sheet_put(w, ")\n");
    att_sheet_put(w, "s_%d = bridge[:, 1:%lld]\n", number, n);
    if (lstm)
        att_sheet_put(w, "m_%d = bridge[:, %lld:%lld]\n", number, n + 1, 2 * n);
}

static void put_encoder_layer(att_model_sheet_writer *s, const att_rnn_encoder *encoder, int index)
{
    att_sheet_writer *w = &s->w;
    const att_rnn_encoder_layer *layer = &encoder->layer[index];
    char prefix[NAME_SIZE], zero[NAME_SIZE];
    snprintf(zero, sizeof zero, "zeros(1, %lld)", (long long)layer->forward.hidden_size);
    snprintf(prefix, sizeof prefix, "encoder.%d.forward", index);
    att_sheet_put(w, "\n## Encoder layer %d\n\n", index + 1);
    put_cell(w, "forward", "x", &layer->forward, prefix, zero, zero);
    if (!encoder->bidirectional) {
        att_sheet_put(w, "x = forward\n");
        return;
    }
    att_sheet_put(w, "\nThe other direction reads the sentence from its end.\n\n");
    put_reversed(w, "reversed", "x", s->source_length);
    snprintf(prefix, sizeof prefix, "encoder.%d.backward", index);
    put_cell(w, "backward", "reversed", &layer->backward, prefix, zero, zero);
    put_reversed(w, "back", "backward", s->source_length);
    att_sheet_put(w, "x = [forward, back]\n");
}

void att_rnn_sheet_put_encoder(att_model_sheet_writer *s, const att_rnn_encoder *encoder,
                               bool final_states)
{
    for (int i = 0; i < encoder->layers; i++) {
        put_encoder_layer(s, encoder, i);
        if (final_states)
            put_final_states(s, encoder, i);
    }
}

/* ---- the attention of the decoder */

static void put_option(att_sheet_writer *w, const char *option, const char *tensor,
                       const char *suffix)
{
    att_sheet_put(w, ", %s = ", option);
    att_sheet_put_load(w, "attention.%s", tensor);
    att_sheet_put(w, "%s", suffix);
}

static void put_score(att_model_sheet_writer *s, const att_decoder_attention *attention)
{
    att_sheet_writer *w = &s->w;
    char columns[NAME_SIZE];
    switch (attention->mechanism) {
    case ATT_MECHANISM_SCALED:
        att_sheet_put(w, ", score = scaled");
        break;
    case ATT_MECHANISM_ADDITIVE:
    case ATT_MECHANISM_COVERAGE:
        att_sheet_put(w, ", score = additive");
        put_option(w, "W", "w", "'");
        put_option(w, "U", "u", "'");
        put_option(w, "b", "b", "");
        put_option(w, "v", "v", "");
        break;
    case ATT_MECHANISM_CONCAT:
        att_sheet_put(w, ", score = concat");
        put_option(w, "v", "v", "");
        break;
    case ATT_MECHANISM_LOCATION:
        att_sheet_put(w, ", score = location");
        snprintf(columns, sizeof columns, "[1:%zu, :]'", s->source_length);
        put_option(w, "W", "w", columns);
        snprintf(columns, sizeof columns, "[1:%zu]", s->source_length);
        put_option(w, "b", "b", columns);
        break;
    default: /* general and local scores multiply by projected keys */
        att_sheet_put(w, ", score = dot");
    }
}

/* The window of local attention around a predicted place, as a bias on the scores. */
static void put_window(att_model_sheet_writer *s, const att_decoder_attention *attention,
                       const char *query)
{
    att_sheet_writer *w = &s->w;
    att_sheet_put(w, "place = %zu * sigmoid(tanh(%s * ", s->source_length, query);
    att_sheet_put_load(w, "attention.place.w");
    att_sheet_put(w, ") * ");
    att_sheet_put_load(w, "attention.place.v");
    att_sheet_put(w, ")\nwindow = -([");
    for (size_t i = 0; i < s->source_length; i++)
        att_sheet_put(w, i > 0 ? " %zu" : "%zu", i);
    att_sheet_put(w, "] - place)^2 / %.9g\n",
                  2 * (double)attention->window * (double)attention->window);
}

/* a = attention of the row `query` to the encoder states y, and its claim. */
static void put_attention(att_model_sheet_writer *s, const att_decoder_attention *attention,
                          const char *query, size_t step)
{
    att_sheet_writer *w = &s->w;
    bool local = attention->mechanism == ATT_MECHANISM_LOCAL;
    bool coverage = attention->mechanism == ATT_MECHANISM_COVERAGE;
    bool projected = local || attention->mechanism == ATT_MECHANISM_GENERAL;
    if (local)
        put_window(s, attention, query);
    att_sheet_put(w, "a = attention(%s, %s, y", query, projected ? "keys" : "y");
    put_score(s, attention);
    if (local)
        att_sheet_put(w, ", bias = window");
    if (coverage && step > 0) {
        att_sheet_put(w, ", bias = ");
        att_sheet_put_load(w, "attention.covered");
        att_sheet_put(w, " * covered");
    }
    att_sheet_put(w, ", normalizer = %s)\n", att_normalizer_name(attention->normalizer));
    if (coverage)
        att_sheet_put(w, step > 0 ? "covered = covered + a.weights\n" : "covered = a.weights\n");
    const float *weights = s->steps[step].weights;
    int64_t keys = (int64_t)s->source_length;
    if (weights)
        att_sheet_put_claim(w, "a.weights", weights, 1, keys, keys);
    if (s->image.values)
        att_image_sheet_put_grid(s, "a.weights");
}

/* ---- the decoder */

/* The context vector of a step. */
static const char *put_context(att_model_sheet_writer *s, const att_rnn_network *network,
                               size_t step)
{
    char query[NAME_SIZE];
    if (network->fixed_context)
        return "fixed";
    snprintf(query, sizeof query, "s_%d", network->layers);
    put_attention(s, &network->attention, query, step);
    return "a";
}

static void put_decoder_layers(att_model_sheet_writer *s, const att_rnn_network *network,
                               const char *input)
{
    for (int i = 0; i < network->layers; i++) {
        char prefix[NAME_SIZE], name[NAME_SIZE], h[NAME_SIZE], c[NAME_SIZE];
        snprintf(prefix, sizeof prefix, "decoder.%d", i);
        snprintf(name, sizeof name, "layer_%d", i + 1);
        snprintf(h, sizeof h, "s_%d", i + 1);
        snprintf(c, sizeof c, "m_%d", i + 1);
        put_cell(&s->w, name, input, &network->decoder[i], prefix, h, c);
        bool lstm = network->decoder[i].cell == ATT_RNN_CELL_LSTM;
        if (lstm)
            att_sheet_put(&s->w, "%s = %s.c\n", c, name);
        att_sheet_put(&s->w, lstm ? "%s = %s.h\n" : "%s = %s\n", h, name);
        if (i + 1 < network->layers)
            att_sheet_put(&s->w, "below = %s\n", h);
        input = "below";
    }
}

static void put_readout(att_model_sheet_writer *s, const att_rnn_network *network, size_t step)
{
    att_sheet_writer *w = &s->w;
    int top = network->layers;
    if (network->readout_w != ATT_NO_PARAM) {
        const char *context = put_context(s, network, step);
        att_sheet_put(w, "r = tanh([%s, s_%d] * ", context, top);
        att_sheet_put_load(w, "output.join");
        att_sheet_put(w, ")\n");
    } else if (network->projection_w != ATT_NO_PARAM) {
        att_sheet_put(w, "r = s_%d * ", top);
        att_sheet_put_load(w, "output.project");
        att_sheet_put(w, "\n");
    } else {
        att_sheet_put(w, "r = s_%d\n", top);
    }
}

static void put_step(att_model_sheet_writer *s, const att_rnn_network *network, size_t step)
{
    att_sheet_writer *w = &s->w;
    att_sheet_put(w, "\n## Step %zu: after ", step + 1);
    att_sheet_put(w, "%s\n\n", att_vocab_token(s->model->target_vocab, s->target.items[step]));
    att_sheet_put_embeddings(w, &network->target_embedding,
                             &(att_sheet_tokens){ .name = "e",
                                                  .side = "target",
                                                  .table = "target.embed",
                                                  .ids = &s->target.items[step],
                                                  .count = 1,
                                                  .first = (int64_t)step });
    if (network->context_at_input) {
        const char *context = put_context(s, network, step);
        att_sheet_put(w, "e = [e, %s]\n", context);
    }
    if (network->readout_at_input) {
        if (step == 0)
            att_sheet_put(w, "r = zeros(1, %lld)\n", (long long)network->readout_size);
        att_sheet_put(w, "e = [e, r]\n");
    }
    put_decoder_layers(s, network, "e");
    put_readout(s, network, step);
    att_sheet_put(w, "\n### The next token\n\n");
    att_model_sheet_put_probabilities(s, "r", "a.weights", &network->copy,
                                      network->output_w == ATT_NO_PARAM, true, step);
}

/* ---- a step in the middle: the states before it, as the model computed them */

static void put_row(att_sheet_writer *w, const char *name, const float *values, int64_t count)
{
    att_sheet_put(w, "%s = ", name);
    att_sheet_put_matrix(w, values, 1, count, count);
    att_sheet_put(w, "\n");
}

static void put_states(att_model_sheet_writer *s, const att_rnn_decoder *pass)
{
    const att_rnn_network *network = pass->network;
    int64_t n = network->hidden_size;
    for (int i = 0; i < network->layers; i++) {
        char name[NAME_SIZE];
        snprintf(name, sizeof name, "s_%d", i + 1);
        put_row(&s->w, name, pass->state[i]->value, n);
        snprintf(name, sizeof name, "m_%d", i + 1);
        if (network->decoder[i].cell == ATT_RNN_CELL_LSTM)
            put_row(&s->w, name, pass->state[i]->value + n, n);
    }
    if (network->readout_at_input && pass->readout)
        put_row(&s->w, "r", pass->readout->value, network->readout_size);
    if (pass->coverage)
        put_row(&s->w, "covered", pass->coverage->value, (int64_t)s->source_length);
}

static att_status put_states_before(att_model_sheet_writer *s, size_t step, att_error *err)
{
    const int64_t length = (int64_t)s->source_length;
    const att_sources sources = att_model_sheet_sources(s, &length);
    att_rnn_decoder pass = { .network = s->model->network };
    ATT_TRY(att_tape_new(&pass.tape, &s->model->params, err));
    pass.network->encode(&pass, &sources);
    (void)att_rnn_decoder_run(&pass, s->target.items, (int64_t)step);
    att_status status = att_tape_status(pass.tape, err);
    if (status == ATT_OK) {
        att_sheet_put(&s->w,
                      "\n## Before step %zu\n\nLeft out: steps 1 to %zu. The states of the decoder "
                      "after them, as the model computed them:\n\n",
                      step + 1, step);
        put_states(s, &pass);
    }
    att_tape_free(pass.tape);
    return status;
}

/* ---- models */

static void put_tokens(att_model_sheet_writer *s, const att_rnn_network *network)
{
    att_sheet_writer *w = &s->w;
    bool bridges = s->model->settings->decoder_init == ATT_DECODER_INIT_PROJECT;
    att_sheet_put(w, "\n## Source embeddings\n\n");
    att_sheet_put_embeddings(w, &network->encoder.embedding,
                             &(att_sheet_tokens){ .name = "x",
                                                  .side = "source",
                                                  .table = "source.embed",
                                                  .ids = s->source.items,
                                                  .count = s->source_length });
    att_model_sheet_put_source_labels(s, "x");
    att_rnn_sheet_put_encoder(s, &network->encoder, true);
    att_sheet_put(w, "y = x\n");
    att_model_sheet_put_source_labels(s, "y");
    for (int i = 1; !bridges && i <= network->layers; i++) {
        att_sheet_put(w, "s_%d = h_%d\n", i, i);
        if (network->decoder[i - 1].cell == ATT_RNN_CELL_LSTM)
            att_sheet_put(w, "m_%d = c_%d\n", i, i);
    }
    if (network->fixed_context)
        att_sheet_put(w, "fixed = h_%d\n", network->layers);
}

/* The mean of the cells of an image predicts the first states of the decoder. */
static att_status put_image(att_model_sheet_writer *s, const att_rnn_network *network,
                            att_error *err)
{
    att_sheet_writer *w = &s->w;
    long long n = (long long)network->hidden_size;
    ATT_TRY(att_image_sheet_put(s, &network->image_embedding, err));
    att_sheet_put(w, "y = x\n");
    att_model_sheet_put_source_labels(s, "y");
    if (network->fixed_context || network->image_init)
        att_sheet_put(w, "fixed = mean(y, cols)\n");
    att_sheet_put(w, network->image_init
                         ? "\nThe mean of the cells predicts the first states of the decoder.\n\n"
                         : "\nThe first states of the decoder are zeros.\n\n");
    for (int i = 0; i < network->layers; i++) {
        bool lstm = network->decoder[i].cell == ATT_RNN_CELL_LSTM;
        char matrix[NAME_SIZE];
        snprintf(matrix, sizeof matrix, "start.%d.w", i);
        if (network->image_init) {
            att_sheet_put_linear(w, "start", "fixed", matrix, true);
            att_sheet_put(w, "s_%d = tanh(start[:, 1:%lld])\n", i + 1, n);
        } else {
            att_sheet_put(w, "s_%d = zeros(1, %lld)\n", i + 1, n);
        }
        if (lstm && network->image_init)
            att_sheet_put(w, "m_%d = tanh(start[:, %lld:%lld])\n", i + 1, n + 1, 2 * n);
        else if (lstm)
            att_sheet_put(w, "m_%d = zeros(1, %lld)\n", i + 1, n);
    }
    return ATT_OK;
}

/* The keys of scores that multiply by them. */
static void put_keys(att_model_sheet_writer *s, const att_decoder_attention *attention)
{
    att_sheet_writer *w = &s->w;
    if (attention->mechanism == ATT_MECHANISM_GENERAL ||
        attention->mechanism == ATT_MECHANISM_LOCAL) {
        att_sheet_put(w, "\nThe keys of the %s score, once for all steps:\n\nkeys = y * ",
                      attention->mechanism == ATT_MECHANISM_LOCAL ? "local" : "general");
        att_sheet_put_load(w, "attention.key");
        att_sheet_put(w, "\n");
    }
}

static att_status write_seq2seq(att_model_sheet_writer *s, const att_rnn_network *network,
                                att_error *err)
{
    size_t first = 0, end = s->target.count;
    bool small = network->hidden_size <= ATT_SHEET_SMALL_SIZE &&
                 network->layers <= ATT_SHEET_SMALL_LAYERS && end <= ATT_SHEET_SMALL_STEPS &&
                 (!s->image.values || s->source_length <= ATT_SHEET_SMALL_CELLS);
    if (s->step > 0 || !small) {
        first = s->step > 0 ? (size_t)s->step - 1 : 0;
        end = first + 1;
    }
    if (s->image.values)
        ATT_TRY(put_image(s, network, err));
    else
        put_tokens(s, network);
    put_keys(s, &network->attention);
    if (first > 0)
        ATT_TRY(put_states_before(s, first, err));
    for (size_t t = first; t < end; t++)
        put_step(s, network, t);
    if (end < s->target.count)
        att_sheet_put(&s->w, "\nLeft out: steps %zu to %zu, which are computed in the same way.\n",
                      end + 1, s->target.count);
    return ATT_OK;
}

/* A language model has no attention, so that each layer runs over the whole text. */
static void write_lm(att_model_sheet_writer *s, const att_rnn_network *network)
{
    att_sheet_writer *w = &s->w;
    size_t last = s->step > 0 ? (size_t)s->step : s->target.count;
    char zero[NAME_SIZE], prefix[NAME_SIZE];
    s->target.count = last;
    snprintf(zero, sizeof zero, "zeros(1, %lld)", (long long)network->hidden_size);
    att_sheet_put(w, "\n## Embeddings\n\n");
    att_sheet_put_embeddings(w, &network->target_embedding,
                             &(att_sheet_tokens){ .name = "x",
                                                  .side = "target",
                                                  .table = "target.embed",
                                                  .ids = s->target.items,
                                                  .count = last });
    att_sheet_put_labels(w, "x", s->model->target_vocab, &s->target);
    for (int i = 0; i < network->layers; i++) {
        att_sheet_put(w, "\n## Layer %d\n\n", i + 1);
        snprintf(prefix, sizeof prefix, "decoder.%d", i);
        put_cell(w, "x", "x", &network->decoder[i], prefix, zero, zero);
    }
    att_sheet_put(w, "\n## The next token\n\nThe state after the last token predicts what follows "
                     "it.\n\n");
    att_sheet_put(w, "s_%d = x[%zu, :]\n", network->layers, last);
    put_readout(s, network, last - 1);
    att_model_sheet_put_probabilities(s, "r", "", &network->copy, network->output_w == ATT_NO_PARAM,
                                      true, last - 1);
}

att_status att_rnn_sheet_write(att_model_sheet_writer *s, att_error *err)
{
    const att_rnn_network *network = s->model->network;
    if (network->has_encoder)
        return write_seq2seq(s, network, err);
    write_lm(s, network);
    return ATT_OK;
}
