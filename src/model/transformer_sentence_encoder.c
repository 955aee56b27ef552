/* A sentence encoder of Transformer layers. */
#include "model/sentence_encoder.h"
#include "model/transformer.h"

#include "base/error.h"

/* The features of the words, packed and projected to the hidden size. */
static att_node *project_features(const att_sentence_encoder *encoder, att_tape *tape,
                                  const att_sources *sources)
{
    const att_packed_sequences *rows = att_packed_sequences_new(
        tape, sources->rows, sources->length, sources->lengths, sources->word_rows);
    if (!rows)
        return NULL;
    att_node *words = att_linear_layer_run(&encoder->char_projection, tape, sources->word_features,
                                           ATT_ACTIVATION_NONE);
    return att_embedding_lookup(tape, words, 1, rows->tokens, rows->ids);
}

static void encode_sentences(const att_sentence_encoder *encoder, att_tape *tape,
                             const att_sources *sources, att_encoded_batch *out)
{
    att_transformer_pass run = { .network = encoder->network,
                                 .tape = tape,
                                 .probe = sources->probe };
    const att_packed_sequences *stretch = att_packed_sequences_new(
        tape, sources->rows, sources->length, sources->lengths, sources->ids);
    if (sources->word_features)
        run.source_features = project_features(encoder, tape, sources);
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
    if (out->chars.kind != ATT_CHAR_FEATURES_NONE)
        att_linear_layer_build(&out->char_projection, builder, out->chars.size,
                               network->hidden_size, true, "chars", "projection");
    out->encode = encode_sentences;
    out->network = network;
    out->hidden_size = network->hidden_size;
    return builder->status;
}
