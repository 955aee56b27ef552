/* A sentence encoder of convolutions over windows of tokens (Kim 2014, "Convolutional
 * neural networks for sentence classification"). */
#include "model/sentence_encoder.h"

#include "base/error.h"

#include <stdio.h>

/* Random streams of dropout: of embeddings, and of the input of each layer after the first. */
#define DROPOUT_EMBEDDING (UINT64_C(1) << 40)
#define DROPOUT_LAYER(i)  ((uint64_t)((i) + 1) << 40)

static void encode_sentences(const att_sentence_encoder *parts, att_tape *tape,
                             const att_sources *sources, att_encoded_batch *out)
{
    const att_cnn_encoder *encoder = parts->network;
    att_node *x = att_embedding_run(&encoder->embedding, tape, sources->rows, sources->length,
                                    sources->ids, 0);
    att_tape_name_layer(tape, x, "source embedding", 0);
    x = att_sources_concat_features(tape, sources, x);
    for (int i = 0; i < encoder->layers; i++) {
        if (i > 0)
            x = att_dropout(tape, x, encoder->dropout, DROPOUT_LAYER(i));
        x = att_text_cnn_run(&encoder->layer[i], tape, x, sources->lengths);
        att_tape_name_layer(tape, x, "encoder layer", i + 1);
    }
    *out = att_encoded_batch_padded(tape, sources, x);
}

static att_status check(const att_settings *settings, att_error *err)
{
    int64_t sizes = settings->max_window - settings->min_window + 1;
    ATT_TRY(att_embedding_check(settings, err));
    if (settings->layers > ATT_MAX_CNN_LAYERS)
        return att_fail(err, ATT_BAD_INPUT, NULL, "layers is %lld, at most %d for convolutions",
                        (long long)settings->layers, ATT_MAX_CNN_LAYERS);
    if (sizes < 1 || settings->max_window > ATT_MAX_WINDOWS)
        return att_fail(err, ATT_BAD_INPUT, NULL, "min-window %lld exceeds max-window %lld",
                        (long long)settings->min_window, (long long)settings->max_window);
    if (settings->hidden_size % sizes != 0)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "hidden-size %lld is not a multiple of the %lld window sizes",
                        (long long)settings->hidden_size, (long long)sizes);
    return ATT_OK;
}

att_status att_cnn_sentence_encoder_build(att_sentence_encoder *out, att_model *model,
                                          att_param_builder *builder)
{
    const att_settings *settings = model->settings;
    ATT_TRY(check(settings, builder->err));
    att_cnn_encoder *encoder = att_arena_alloc(&model->arena, 1, sizeof *encoder);
    if (!encoder)
        return att_fail_memory(builder->err);
    *encoder =
        (att_cnn_encoder){ .layers = (int)settings->layers, .dropout = (float)settings->dropout };
    att_embedding_build(&encoder->embedding, builder, settings, att_vocab_size(model->source_vocab),
                        "source", DROPOUT_EMBEDDING);
    encoder->embedding.output_size += out->chars.size;
    for (int i = 0; i < encoder->layers; i++) {
        char prefix[32];
        snprintf(prefix, sizeof prefix, "encoder.%d", i);
        encoder->layer[i] = (att_text_cnn){
            .min_window = settings->min_window,
            .max_window = settings->max_window,
            .input_size = i == 0 ? encoder->embedding.output_size : settings->hidden_size,
            .output_size = settings->hidden_size,
        };
        att_text_cnn_build(&encoder->layer[i], builder, prefix);
    }
    out->encode = encode_sentences;
    out->network = encoder;
    out->hidden_size = settings->hidden_size;
    return builder->status;
}
