/* The parameters of RNN models: encoder, decoder, attention and output layer by the settings; and
 * the architectures `rnn` and `rnn-lm` for the model registry. rnn.h lists the other files. */
#include "model/rnn.h"

#include "base/error.h"

#include <stdio.h>

enum { MAX_PREFIX = 64 };

static void build_decoder(att_rnn_network *parts, att_param_builder *builder, att_rnn_cell cell)
{
    int64_t in = parts->target_embedding.output_size;
    in += parts->context_at_input ? parts->hidden_size : 0;
    in += parts->readout_at_input ? parts->readout_size : 0;
    for (int i = 0; i < parts->layers; i++) {
        char prefix[MAX_PREFIX];
        snprintf(prefix, sizeof prefix, "decoder.%d", i);
        att_rnn_layer_build(&parts->decoder[i], builder, cell, i == 0 ? in : parts->hidden_size,
                            parts->hidden_size, prefix);
    }
}

/* The layers from the decoder's state (and the context, where it is used here) to the logits. */
static void build_output(att_rnn_network *parts, att_param_builder *builder, bool tie,
                         int64_t vocabulary)
{
    bool joins = (parts->fixed_context || parts->has_attention) && !parts->context_at_input;
    parts->readout_w = parts->projection_w = parts->output_w = ATT_NO_PARAM;
    if (joins)
        parts->readout_w = att_build_matrix(builder, 2 * parts->hidden_size, parts->readout_size,
                                            "output", "join");
    else if (parts->readout_size != parts->hidden_size)
        parts->projection_w =
            att_build_matrix(builder, parts->hidden_size, parts->readout_size, "output", "project");
    if (tie)
        att_param_add_packing(builder->params, parts->target_embedding.table, ATT_PACK_TRANSPOSED);
    else
        parts->output_w = att_build_matrix(builder, parts->readout_size, vocabulary, "output", "w");
    parts->output_b = att_build_zeros(builder, vocabulary, "output", "bias");
}

/* Checks settings whose combination RNNs do not support. */
static att_status check(const att_settings *settings, att_error *err)
{
    ATT_TRY(att_rnn_encoder_check(settings, err));
    if (settings->tie_embeddings == ATT_TIE_ALL)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "tie-embeddings all needs architecture transformer");
    if (att_settings_model_type(settings) == ATT_MODEL_CAPTION &&
        settings->attention == ATT_MECHANISM_LOCAL)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "attention local needs a source sequence, and images have none");
    ATT_TRY(att_settings_check_copying(settings, err));
    if (settings->attention == ATT_MECHANISM_LOCATION && settings->max_length < 1)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "attention location needs max-length, the number of learned positions");
    return ATT_OK;
}

static void init_network(att_rnn_network *parts, const att_settings *settings)
{
    bool images = att_settings_model_type(settings) == ATT_MODEL_CAPTION;
    parts->encode = images ? att_rnn_encode_image : att_rnn_encode_tokens;
    parts->layers = (int)settings->layers;
    parts->has_encoder = true;
    parts->fixed_context = settings->attention == ATT_MECHANISM_FIXED;
    parts->has_attention = !parts->fixed_context && settings->attention != ATT_MECHANISM_NONE;
    bool context = parts->fixed_context || parts->has_attention;
    parts->context_at_input = context && settings->attention_context == ATT_ATTENTION_CONTEXT_STATE;
    parts->readout_at_input = context && settings->attention_context == ATT_ATTENTION_CONTEXT_BOTH;
    parts->hidden_size = settings->hidden_size;
    parts->readout_size =
        settings->tie_embeddings ? settings->embedding_size : settings->hidden_size;
    parts->dropout = (float)settings->dropout;
    parts->guided_alignment_weight = (float)settings->guided_alignment_weight;
}

/* The embedding of the source: tokens, or images. */
static void build_source(att_rnn_network *parts, att_param_builder *builder, const att_model *model)
{
    if (parts->encode == att_rnn_encode_image)
        att_rnn_build_image_embedding(parts, builder, model->settings);
    else
        att_rnn_encoder_build_embedding(&parts->encoder, builder, model->settings,
                                        att_vocab_size(model->source_vocab));
}

static att_status build(att_model *model, att_error *err)
{
    const att_settings *settings = model->settings;
    ATT_TRY(check(settings, err));
    att_rnn_network *parts = att_arena_alloc(&model->arena, 1, sizeof *parts);
    if (!parts)
        return att_fail_memory(err);
    att_param_builder builder = att_model_builder(model, err);
    int64_t targets = att_vocab_size(model->target_vocab);
    init_network(parts, settings);
    build_source(parts, &builder, model);
    att_embedding_build(&parts->target_embedding, &builder, settings, targets, "target",
                        att_dropout_stream(ATT_DROPOUT_TARGET, 0));
    if (parts->encode == att_rnn_encode_tokens)
        att_rnn_encoder_build_layers(&parts->encoder, &builder, settings, true);
    build_decoder(parts, &builder, (att_rnn_cell)settings->rnn_cell);
    att_decoder_attention_build(&parts->attention, &builder, settings);
    build_output(parts, &builder, settings->tie_embeddings != ATT_TIE_NO, targets);
    if (att_settings_copies(settings))
        att_copy_layer_build(&parts->copy, &builder, parts->readout_size, false);
    model->network = parts;
    return builder.status;
}

/* A language model: a decoder without an encoder. */
static void init_lm_network(att_rnn_network *parts, const att_settings *settings)
{
    *parts = (att_rnn_network){ .encode = att_rnn_encode_tokens,
                                .layers = (int)settings->layers,
                                .hidden_size = settings->hidden_size,
                                .readout_size = settings->tie_embeddings ? settings->embedding_size
                                                                         : settings->hidden_size,
                                .dropout = (float)settings->dropout };
}

static att_status check_lm(const att_settings *settings, att_error *err)
{
    if (settings->positions != ATT_POSITIONS_NONE)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "positions needs architecture transformer: an RNN language model has no "
                        "maximum length");
    if (settings->tie_embeddings == ATT_TIE_ALL)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "tie-embeddings all needs a source vocabulary: use output");
    if (settings->layers > ATT_MAX_RNN_LAYERS)
        return att_fail(err, ATT_BAD_INPUT, NULL, "layers is %lld, at most %d",
                        (long long)settings->layers, ATT_MAX_RNN_LAYERS);
    return ATT_OK;
}

static att_status build_lm(att_model *model, att_error *err)
{
    const att_settings *settings = model->settings;
    ATT_TRY(check_lm(settings, err));
    att_rnn_network *parts = att_arena_alloc(&model->arena, 1, sizeof *parts);
    if (!parts)
        return att_fail_memory(err);
    att_param_builder builder = att_model_builder(model, err);
    int64_t words = att_vocab_size(model->target_vocab);
    init_lm_network(parts, settings);
    att_embedding_build(&parts->target_embedding, &builder, settings, words, "target",
                        att_dropout_stream(ATT_DROPOUT_TARGET, 0));
    build_decoder(parts, &builder, (att_rnn_cell)settings->rnn_cell);
    build_output(parts, &builder, settings->tie_embeddings != ATT_TIE_NO, words);
    model->network = parts;
    return builder.status;
}

/* Location attention has one column per learned position. */
static int64_t max_source_length(const att_model *model)
{
    const att_rnn_network *parts = model->network;
    return parts->attention.max_source_length;
}

const att_architecture att_rnn_architecture = {
    .name = "rnn",
    .build = build,
    .loss = att_rnn_network_loss,
    .open = att_rnn_decoder_open,
    .close = att_rnn_decoder_close,
    .start = att_rnn_decoder_start,
    .step = att_rnn_decoder_step,
    .max_source_length = max_source_length,
};

const att_architecture att_rnn_lm_architecture = {
    .name = "rnn-lm",
    .build = build_lm,
    .loss = att_rnn_network_loss,
    .open = att_rnn_decoder_open,
    .close = att_rnn_decoder_close,
    .start = att_rnn_decoder_start,
    .step = att_rnn_decoder_step,
    .carried_state_size = att_rnn_carried_state_size,
};

const att_architecture att_rnn_caption_architecture = {
    .name = "rnn-caption",
    .build = build,
    .loss = att_rnn_network_loss,
    .open = att_rnn_decoder_open,
    .close = att_rnn_decoder_close,
    .start = att_rnn_decoder_start,
    .step = att_rnn_decoder_step,
};
