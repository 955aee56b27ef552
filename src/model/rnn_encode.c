/* The source of an RNN decoder: tokens through the encoder, or the cells of an image. The mean of
 * the cells sets the initial states (handout 004), unless the setting init-from-image is off;
 * attention, where there is any, is over the cells (Xu et al. 2015, "Show, attend and tell"). */
#include "model/rnn.h"

#include <stdio.h>
#include <string.h>

void att_rnn_encode_tokens(att_rnn_decoder *pass, const att_sources *sources)
{
    const att_rnn_network *parts = pass->network;
    att_tape *tape = pass->tape;
    pass->rows = sources->rows;
    pass->memory = (att_memory){ .lengths = sources->lengths };
    if (!parts->has_encoder)
        return;
    if (parts->attention.max_source_length > 0 &&
        sources->length > parts->attention.max_source_length) {
        att_tape_fail(tape, "location attention", "expected at most %lld source tokens, found %lld",
                      (long long)parts->attention.max_source_length, (long long)sources->length);
        return;
    }
    att_rnn_encoder_final_states ends = { 0 };
    pass->memory.values = att_rnn_encoder_run(&parts->encoder, tape, sources, &ends);
    memcpy(pass->state, ends.decoder_init, sizeof pass->state);
    if (parts->has_attention)
        pass->memory.keys =
            att_decoder_attention_keys(&parts->attention, tape, pass->memory.values);
    att_tape_name_layer(tape, pass->memory.keys, "decoder attention", 0);
    if (parts->fixed_context)
        pass->encoder_final_state = att_slice(tape, ends.last_layer, 0, parts->hidden_size);
}

/* ---- images */

void att_rnn_build_image_embedding(att_rnn_network *parts, att_param_builder *builder,
                                   const att_settings *settings)
{
    int64_t state = att_rnn_cell_states((att_rnn_cell)settings->rnn_cell) * parts->hidden_size;
    att_image_embedding_build(&parts->image_embedding, builder, settings,
                              att_dropout_stream(ATT_DROPOUT_SOURCE, 0));
    parts->image_init = settings->init_from_image;
    for (int i = 0; parts->image_init && i < parts->layers; i++) {
        char prefix[32];
        snprintf(prefix, sizeof prefix, "start.%d", i);
        att_linear_layer_build(&parts->image_init_layers[i], builder, parts->hidden_size, state,
                               true, prefix, "w");
    }
}

/* The initial state of a layer, [B, states N]. */
static att_node *initial_state(const att_rnn_network *parts, att_tape *tape, int layer,
                               att_node *mean)
{
    if (parts->image_init)
        return att_tape_name_layer(
            tape,
            att_linear_layer_run(&parts->image_init_layers[layer], tape, mean, ATT_ACTIVATION_TANH),
            "initial state of decoder layer", layer + 1);
    int64_t width = att_rnn_cell_states(parts->decoder[layer].cell) * parts->hidden_size;
    return mean ? att_tape_input(tape, 2, (int64_t[]){ mean->shape[0], width }, NULL) : NULL;
}

void att_rnn_encode_image(att_rnn_decoder *pass, const att_sources *sources)
{
    const att_rnn_network *parts = pass->network;
    att_tape *tape = pass->tape;
    att_node *cells =
        att_image_embedding_run(&parts->image_embedding, tape, sources->rows, sources->image_grid);
    att_node *mean = att_image_embedding_mean(&parts->image_embedding, tape, cells);
    pass->rows = sources->rows;
    pass->memory = (att_memory){ .values = cells, .lengths = sources->lengths };
    for (int i = 0; i < parts->layers; i++)
        pass->state[i] = initial_state(parts, tape, i, mean);
    if (parts->has_attention)
        pass->memory.keys = att_decoder_attention_keys(&parts->attention, tape, cells);
    att_tape_name_layer(tape, pass->memory.keys, "decoder attention", 0);
    if (parts->fixed_context)
        pass->encoder_final_state = mean;
}
