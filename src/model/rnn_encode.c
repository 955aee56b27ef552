/* A source read by the recurrent family's encoder; see recurrent.h. */
#include "model/rnn.h"

#include <string.h>

void att_rnn_encode_tokens(att_rnn_decoder *walk, const att_sources *sources)
{
    const att_rnn_network *parts = walk->network;
    att_tape *tape = walk->tape;
    walk->rows = sources->rows;
    walk->memory = (att_memory){ .lengths = sources->lengths };
    if (!parts->has_encoder)
        return;
    if (parts->attention.max_source_length > 0 &&
        sources->length > parts->attention.max_source_length) {
        att_tape_fail(tape, "location attention", "knows %lld source positions, and was given %lld",
                      (long long)parts->attention.max_source_length, (long long)sources->length);
        return;
    }
    att_rnn_encoder_final_states ends = { 0 };
    walk->memory.values = att_rnn_encoder_run(&parts->encoder, tape, sources, &ends);
    memcpy(walk->state, ends.decoder_init, sizeof walk->state);
    if (parts->has_attention)
        walk->memory.keys =
            att_decoder_attention_keys(&parts->attention, tape, walk->memory.values);
    if (parts->fixed_context)
        walk->encoder_final_state = att_slice(tape, ends.last_layer, 0, parts->hidden_size);
}
