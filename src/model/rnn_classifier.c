/* A classifier whose encoder is an RNN. */
#include "model/classifier.h"
#include "model/rnn_encoder.h"

#include "base/error.h"

static void encode_sentences(const att_classifier_network *parts, att_tape *tape,
                             const att_sources *sources, att_encoded_batch *out)
{
    const att_rnn_encoder *reader = parts->encoder;
    att_rnn_encoder_final_states ends = { 0 };
    *out = att_classifier_padded_rows(tape, sources,
                                      att_rnn_encoder_run(reader, tape, sources, &ends));
    if (parts->pooling.kind == ATT_POOL_LAST)
        out->final_states = att_slice(tape, ends.last_layer, 0, reader->hidden_size);
}

static att_status check(const att_settings *settings, att_error *err)
{
    ATT_TRY(att_rnn_encoder_check(settings, err));
    if (settings->pool == ATT_POOL_STOP && settings->bidirectional)
        return att_fail(
            err, ATT_BAD_INPUT, NULL,
            "pool stop needs bidirectional no: the backward direction reads the stop token "
            "first, before any word of the sentence");
    return att_classifier_check(settings, err);
}

static att_status build(att_model *model, att_error *err)
{
    const att_settings *settings = model->settings;
    ATT_TRY(check(settings, err));
    att_rnn_encoder *reader = att_arena_alloc(&model->arena, 1, sizeof *reader);
    if (!reader)
        return att_fail_memory(err);
    att_param_builder builder = att_model_builder(model, err);
    att_rnn_encoder_build_embedding(reader, &builder, settings,
                                    att_vocab_size(model->source_vocab));
    att_rnn_encoder_build_layers(reader, &builder, settings, false);
    return att_classifier_build(model, &builder, encode_sentences, reader, reader->hidden_size);
}

const att_architecture att_rnn_classifier_architecture =
    ATT_CLASSIFIER_ARCHITECTURE("rnn-classifier", build);
