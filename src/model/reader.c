/* A source read by recurrent layers; see reader.h. */
#include "model/reader.h"

#include "base/error.h"

#include <stdio.h>

enum { PREFIX_ROOM = 64 };

/* ---- parameters */

att_status att_reader_check(const att_settings *settings, att_error *err)
{
    ATT_TRY(att_embedding_check(settings, err));
    if (settings->layers > ATT_MOST_LAYERS)
        return att_fail(err, ATT_BAD_INPUT, NULL, "layers is %lld, at most %d",
                        (long long)settings->layers, ATT_MOST_LAYERS);
    if (settings->bidirectional && settings->width % 2 != 0)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "width %lld is odd, and bidirectional shares it between two directions",
                        (long long)settings->width);
    return ATT_OK;
}

void att_reader_build_embedding(att_reader *out, att_builder *builder, const att_settings *settings,
                                int64_t vocabulary)
{
    *out = (att_reader){ .layers = (int)settings->layers,
                         .bidirectional = settings->bidirectional,
                         .width = settings->width,
                         .dropout = (float)settings->dropout };
    att_embedding_build(&out->embedding, builder, settings, vocabulary, "source",
                        att_drop_place(ATT_DROP_SOURCE, 0));
}

/* Two directions share the width between them, so that what they say together is as wide as a
 * decoder's state, whatever the score. */
static void build_layer(att_reader *reader, att_builder *builder, att_cell cell, int index,
                        bool bridge)
{
    att_reader_layer *layer = &reader->layer[index];
    int64_t in = index == 0 ? reader->embedding.width : reader->width;
    int64_t width = reader->bidirectional ? reader->width / 2 : reader->width;
    char prefix[PREFIX_ROOM];
    layer->bridge_w = layer->bridge_b = ATT_NO_PARAM;
    snprintf(prefix, sizeof prefix, "encoder.%d.forward", index);
    att_cell_build(&layer->forward, builder, cell, in, width, prefix);
    if (!reader->bidirectional)
        return;
    snprintf(prefix, sizeof prefix, "encoder.%d.backward", index);
    att_cell_build(&layer->backward, builder, cell, in, width, prefix);
    if (!bridge)
        return;
    snprintf(prefix, sizeof prefix, "bridge.%d", index);
    int64_t state = att_cell_states(cell) * reader->width;
    layer->bridge_w = att_build_matrix(builder, state, state, prefix, "w");
    layer->bridge_b = att_build_zeros(builder, state, prefix, "bias");
}

void att_reader_build_layers(att_reader *reader, att_builder *builder, const att_settings *settings,
                             bool bridges)
{
    for (int i = 0; i < reader->layers; i++)
        build_layer(reader, builder, (att_cell)settings->cell, i, bridges);
}

/* ---- reading */

/* Both directions' ends side by side, hidden parts first: [B, states N]. */
static att_node *join_ends(att_tape *tape, att_node *forward, att_node *backward, int64_t width,
                           int states)
{
    att_node *parts[4] = { NULL };
    int count = 0;
    for (int i = 0; i < states; i++) {
        parts[count++] = att_part(tape, forward, i * width, width);
        parts[count++] = att_part(tape, backward, i * width, width);
    }
    return att_join(tape, parts, count);
}

/* Where a decoder's layer starts, for one that ended so. */
static att_node *cross_bridge(const att_reader_layer *layer, att_tape *tape, att_node *end)
{
    if (layer->bridge_w == ATT_NO_PARAM)
        return end;
    return att_linear(tape, end, att_tape_param(tape, layer->bridge_w),
                      att_tape_param(tape, layer->bridge_b), ATT_ACTIVATION_NONE, false);
}

/* One layer over x: its hidden states. */
static att_node *run_layer(const att_reader *reader, att_tape *tape, att_node *x,
                           const int64_t *lengths, int index, att_reader_ends *ends)
{
    const att_reader_layer *layer = &reader->layer[index];
    att_node *forward =
        att_cell_layer_run(&layer->forward, tape, x, &(att_cell_run){ .lengths = lengths });
    att_node *forward_end = att_recur_end(tape, forward);
    if (!reader->bidirectional) {
        ends->last = ends->start[index] = forward_end;
        return forward;
    }
    att_node *backward = att_cell_layer_run(&layer->backward, tape, x,
                                            &(att_cell_run){ .lengths = lengths, .reverse = true });
    ends->last = join_ends(tape, forward_end, att_recur_end(tape, backward), layer->forward.width,
                           att_cell_states(layer->forward.cell));
    ends->start[index] = cross_bridge(layer, tape, ends->last);
    return att_join(tape, (att_node *[]){ forward, backward }, 2);
}

att_node *att_reader_run(const att_reader *reader, att_tape *tape, const att_sources *sources,
                         att_reader_ends *ends)
{
    att_node *x = att_embedding_run(&reader->embedding, tape, sources->rows, sources->length,
                                    sources->ids, 0);
    for (int i = 0; i < reader->layers; i++) {
        if (i > 0)
            x = att_dropout(tape, x, reader->dropout, att_drop_place(ATT_DROP_LAYER, i));
        x = run_layer(reader, tape, x, sources->lengths, i, ends);
    }
    return x;
}
