/* The RNN encoder: layers over the source tokens, in one direction or bidirectional, and the
 * bridges from their final states to the initial states of the decoder. */
#include "model/rnn_encoder.h"

#include "base/error.h"

#include <stdio.h>

enum { MAX_PREFIX = 64 };

/* ---- parameters */

att_status att_rnn_encoder_check(const att_settings *settings, att_error *err)
{
    ATT_TRY(att_embedding_check(settings, err));
    if (settings->layers > ATT_MAX_RNN_LAYERS)
        return att_fail(err, ATT_BAD_INPUT, NULL, "layers is %lld, at most %d",
                        (long long)settings->layers, ATT_MAX_RNN_LAYERS);
    if (settings->bidirectional && settings->hidden_size % 2 != 0)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "hidden-size %lld is odd, and bidirectional needs half of it per direction",
                        (long long)settings->hidden_size);
    return ATT_OK;
}

void att_rnn_encoder_build_embedding(att_rnn_encoder *out, att_param_builder *builder,
                                     const att_settings *settings, int64_t vocabulary)
{
    *out = (att_rnn_encoder){ .layers = (int)settings->layers,
                              .bidirectional = settings->bidirectional,
                              .hidden_size = settings->hidden_size,
                              .dropout = (float)settings->dropout };
    att_embedding_build(&out->embedding, builder, settings, vocabulary, "source",
                        att_dropout_stream(ATT_DROPOUT_SOURCE, 0));
}

/* Each of two directions has half the hidden size, so that both together are as wide as a decoder
 * state, for any attention score. */
static void build_layer(att_rnn_encoder *encoder, att_param_builder *builder, att_rnn_cell cell,
                        int index, bool bridge)
{
    att_rnn_encoder_layer *layer = &encoder->layer[index];
    int64_t in = index == 0 ? encoder->embedding.output_size : encoder->hidden_size;
    int64_t width = encoder->bidirectional ? encoder->hidden_size / 2 : encoder->hidden_size;
    char prefix[MAX_PREFIX];
    layer->bridge_w = layer->bridge_b = ATT_NO_PARAM;
    snprintf(prefix, sizeof prefix, "encoder.%d.forward", index);
    att_rnn_layer_build(&layer->forward, builder, cell, in, width, prefix);
    snprintf(prefix, sizeof prefix, "encoder.%d.backward", index);
    if (encoder->bidirectional)
        att_rnn_layer_build(&layer->backward, builder, cell, in, width, prefix);
    if (!bridge)
        return;
    snprintf(prefix, sizeof prefix, "bridge.%d", index);
    int64_t state = att_rnn_cell_states(cell) * encoder->hidden_size;
    layer->bridge_w = att_build_matrix(builder, state, state, prefix, "w");
    layer->bridge_b = att_build_zeros(builder, state, prefix, "bias");
}

void att_rnn_encoder_build_layers(att_rnn_encoder *encoder, att_param_builder *builder,
                                  const att_settings *settings, bool bridges)
{
    for (int i = 0; i < encoder->layers; i++)
        build_layer(encoder, builder, (att_rnn_cell)settings->rnn_cell, i,
                    bridges && settings->decoder_init == ATT_DECODER_INIT_PROJECT);
}

/* ---- running */

/* The final states of both directions side by side, hidden parts first: [B, states N]. */
static att_node *concat_final_states(att_tape *tape, att_node *forward, att_node *backward,
                                     int64_t width, int states)
{
    att_node *parts[4] = { NULL };
    int count = 0;
    for (int i = 0; i < states; i++) {
        parts[count++] = att_slice(tape, forward, i * width, width);
        parts[count++] = att_slice(tape, backward, i * width, width);
    }
    return att_concat(tape, parts, count);
}

/* The initial state of a decoder layer from the final states of an encoder layer. */
static att_node *apply_bridge(const att_rnn_encoder_layer *layer, int index, att_tape *tape,
                              att_node *end)
{
    if (layer->bridge_w == ATT_NO_PARAM)
        return end;
    end = att_linear(tape, end, att_tape_param(tape, layer->bridge_w),
                     att_tape_param(tape, layer->bridge_b), ATT_ACTIVATION_NONE, false);
    return att_tape_name_layer(tape, end, "bridge of encoder layer", index + 1);
}

/* Runs one layer over x: its hidden states. */
static att_node *run_layer(const att_rnn_encoder *encoder, att_tape *tape, att_node *x,
                           const int64_t *lengths, int index, att_rnn_encoder_final_states *ends)
{
    const att_rnn_encoder_layer *layer = &encoder->layer[index];
    att_node *forward =
        att_rnn_layer_run(&layer->forward, tape, x, &(att_rnn_layer_input){ .lengths = lengths });
    att_node *forward_end = att_rnn_final_state(tape, forward);
    if (!encoder->bidirectional) {
        ends->last_layer = forward_end;
        ends->decoder_init[index] = apply_bridge(layer, index, tape, forward_end);
        return att_tape_name_layer(tape, forward, "encoder layer", index + 1);
    }
    att_node *backward = att_rnn_layer_run(
        &layer->backward, tape, x, &(att_rnn_layer_input){ .lengths = lengths, .reverse = true });
    att_tape_name_layer(tape, forward, "encoder layer", index + 1);
    att_tape_name_layer(tape, backward, "encoder layer", index + 1);
    ends->last_layer =
        concat_final_states(tape, forward_end, att_rnn_final_state(tape, backward),
                            layer->forward.hidden_size, att_rnn_cell_states(layer->forward.cell));
    ends->decoder_init[index] = apply_bridge(layer, index, tape, ends->last_layer);
    return att_concat(tape, (att_node *[]){ forward, backward }, 2);
}

att_node *att_rnn_encoder_run(const att_rnn_encoder *encoder, att_tape *tape,
                              const att_sources *sources, att_rnn_encoder_final_states *ends)
{
    att_node *x = att_embedding_run(&encoder->embedding, tape, sources->rows, sources->length,
                                    sources->ids, 0);
    att_tape_name_layer(tape, x, "source embedding", 0);
    x = att_sources_concat_features(tape, sources, x);
    for (int i = 0; i < encoder->layers; i++) {
        if (i > 0)
            x = att_dropout(tape, x, encoder->dropout, att_dropout_stream(ATT_DROPOUT_LAYER, i));
        x = run_layer(encoder, tape, x, sources->lengths, i, ends);
    }
    return x;
}
