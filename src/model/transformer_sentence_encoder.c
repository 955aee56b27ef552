/* A sentence encoder of Transformer layers. */
#include "model/sentence_encoder.h"
#include "model/transformer.h"

#include "base/error.h"

static void encode_sentences(const att_sentence_encoder *encoder, att_tape *tape,
                             const att_sources *sources, att_encoded_batch *out)
{
    att_transformer_pass run = { .network = encoder->network, .tape = tape };
    const att_packed_sequences *stretch = att_packed_sequences_new(
        tape, sources->rows, sources->length, sources->lengths, sources->ids);
    att_node *rows = att_transformer_run_encoder(&run, stretch);
    if (!rows)
        return;
    *out = (att_encoded_batch){ .states = rows,
                                .sequences = sources->rows,
                                .offsets = stretch->offsets,
                                .lengths = sources->lengths,
                                .max_length = sources->length,
                                .packed = true };
}

att_status att_transformer_sentence_encoder_build(att_sentence_encoder *out, att_model *model,
                                                  att_param_builder *builder)
{
    const att_settings *settings = model->settings;
    ATT_TRY(att_transformer_check(settings, builder->err));
    att_transformer_network *network = att_arena_alloc(&model->arena, 1, sizeof *network);
    if (!network)
        return att_fail_memory(builder->err);
    att_transformer_build_encoder(network, builder, settings, att_vocab_size(model->source_vocab));
    out->encode = encode_sentences;
    out->network = network;
    out->hidden_size = network->hidden_size;
    return builder->status;
}
