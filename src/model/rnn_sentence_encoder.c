/* A sentence encoder of RNN layers. */
#include "model/sentence_encoder.h"
#include "model/rnn_encoder.h"

#include "base/error.h"

static void encode_sentences(const att_sentence_encoder *encoder, att_tape *tape,
                             const att_sources *sources, att_encoded_batch *out)
{
    const att_rnn_encoder *reader = encoder->network;
    att_rnn_encoder_final_states ends = { 0 };
    *out =
        att_encoded_batch_padded(tape, sources, att_rnn_encoder_run(reader, tape, sources, &ends));
    if (encoder->final_states)
        out->final_states = att_slice(tape, ends.last_layer, 0, reader->hidden_size);
}

att_status att_rnn_sentence_encoder_build(att_sentence_encoder *out, att_model *model,
                                          att_param_builder *builder)
{
    const att_settings *settings = model->settings;
    ATT_TRY(att_rnn_encoder_check(settings, builder->err));
    att_rnn_encoder *reader = att_arena_alloc(&model->arena, 1, sizeof *reader);
    if (!reader)
        return att_fail_memory(builder->err);
    att_rnn_encoder_build_embedding(reader, builder, settings, att_vocab_size(model->source_vocab));
    reader->embedding.output_size += out->chars.size;
    att_rnn_encoder_build_layers(reader, builder, settings, false);
    out->encode = encode_sentences;
    out->network = reader;
    out->hidden_size = reader->hidden_size;
    return builder->status;
}
