/* A picture in the place of a source; see recurrent.h. Its mean starts the decoder (handout 004),
 * and where there is attention its cells are what is looked at (Xu et al. 2015, "Show, attend and
 * tell"). A decoder that starts from nothing knows of the picture what it looked at, and no more.
 */
#include "model/rnn.h"

#include <stdio.h>

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

/* Where a layer starts, [B, states N]. */
static att_node *initial_state(const att_rnn_network *parts, att_tape *tape, int layer,
                               att_node *mean)
{
    if (parts->image_init)
        return att_linear_layer_run(&parts->image_init_layers[layer], tape, mean,
                                    ATT_ACTIVATION_TANH);
    int64_t width = att_rnn_cell_states(parts->decoder[layer].cell) * parts->hidden_size;
    return mean ? att_tape_input(tape, 2, (int64_t[]){ mean->shape[0], width }, NULL) : NULL;
}

void att_rnn_encode_image(att_rnn_decoder *walk, const att_sources *sources)
{
    const att_rnn_network *parts = walk->network;
    att_tape *tape = walk->tape;
    att_node *cells =
        att_image_embedding_run(&parts->image_embedding, tape, sources->rows, sources->image_grid);
    att_node *mean = att_image_embedding_mean(&parts->image_embedding, tape, cells);
    walk->rows = sources->rows;
    walk->memory = (att_memory){ .values = cells, .lengths = sources->lengths };
    for (int i = 0; i < parts->layers; i++)
        walk->state[i] = initial_state(parts, tape, i, mean);
    if (parts->has_attention)
        walk->memory.keys = att_decoder_attention_keys(&parts->attention, tape, cells);
    if (parts->fixed_context)
        walk->encoder_final_state = mean;
}
