/* A source read by the recurrent family's encoder; see recurrent.h. */
#include "model/recurrent.h"

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

/* One layer over x: its hidden states. The decoder's layer starts where this one ends; *end
 * receives that end as it was, before the bridge. */
static att_node *encode_layer(att_walk *walk, att_node *x, const int64_t *lengths, int index,
                              att_node **end)
{
    const att_encoder_layer *layer = &walk->parts->encoder[index];
    att_tape *tape = walk->tape;
    att_node *forward =
        att_cell_layer_run(&layer->forward, tape, x, &(att_cell_run){ .lengths = lengths });
    att_node *forward_end = att_recur_end(tape, forward);
    if (!walk->parts->bidirectional) {
        *end = walk->state[index] = forward_end;
        return forward;
    }
    att_node *backward = att_cell_layer_run(&layer->backward, tape, x,
                                            &(att_cell_run){ .lengths = lengths, .reverse = true });
    *end = join_ends(tape, forward_end, att_recur_end(tape, backward), layer->forward.width,
                     att_cell_states(layer->forward.cell));
    walk->state[index] =
        att_linear(tape, *end, att_tape_param(tape, layer->bridge_w),
                   att_tape_param(tape, layer->bridge_b), ATT_ACTIVATION_NONE, false);
    return att_join(tape, (att_node *[]){ forward, backward }, 2);
}

void att_recurrent_encode(att_walk *walk, const att_sources *sources)
{
    const att_recurrent_parts *parts = walk->parts;
    att_tape *tape = walk->tape;
    walk->rows = sources->rows;
    walk->memory = (att_memory){ .lengths = sources->lengths };
    if (parts->glimpse.reach > 0 && sources->length > parts->glimpse.reach) {
        att_tape_fail(tape, "location attention", "knows %lld source positions, and was given %lld",
                      (long long)parts->glimpse.reach, (long long)sources->length);
        return;
    }
    att_node *x =
        att_embedding_run(&parts->source, tape, sources->rows, sources->length, sources->ids, 0);
    att_node *end = NULL;
    for (int i = 0; i < parts->layers; i++) {
        if (i > 0)
            x = att_dropout(tape, x, parts->dropout, att_drop_place(ATT_DROP_LAYER, i));
        x = encode_layer(walk, x, sources->lengths, i, &end);
    }
    walk->memory.values = x;
    if (parts->scored)
        walk->memory.keys = att_glimpse_keys(&parts->glimpse, tape, x);
    if (parts->fixed)
        walk->last = att_part(tape, end, 0, parts->width);
}
