/* A classifier with a Transformer encoder; classifier.c has the rest. */
#include "model/classifier.h"
#include "model/transformer.h"

#include "base/error.h"

static void encode_sentences(const att_classifier_network *parts, att_tape *tape,
                             const att_sources *sources, att_encoded_batch *out)
{
    att_transformer_pass run = { .network = parts->encoder, .tape = tape };
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

static att_status build(att_model *model, att_error *err)
{
    const att_settings *settings = model->settings;
    ATT_TRY(att_transformer_check(settings, err));
    ATT_TRY(att_classifier_check(settings, err));
    att_transformer_network *encoder = att_arena_alloc(&model->arena, 1, sizeof *encoder);
    if (!encoder)
        return att_fail_memory(err);
    att_param_builder builder = att_model_builder(model, err);
    att_transformer_build_encoder(encoder, &builder, settings, att_vocab_size(model->source_vocab));
    return att_classifier_build(model, &builder, encode_sentences, encoder, encoder->hidden_size);
}

const att_architecture att_transformer_classifier_architecture =
    ATT_CLASSIFIER_ARCHITECTURE("transformer-classifier", build);
