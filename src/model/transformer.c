/* The parameters of Transformer models: embeddings, encoder and decoder layers and output layer by
 * the settings; and the architectures `transformer` and `transformer-lm` for the model registry.
 * transformer.h lists the other files. */
#include "model/transformer.h"

#include "base/error.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_PREFIX = 64 };

/* ---- checks of settings */

static att_status check_heads(const att_settings *settings, att_error *err)
{
    if (settings->hidden_size % settings->heads != 0)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "hidden-size %lld is not a multiple of heads %lld",
                        (long long)settings->hidden_size, (long long)settings->heads);
    if (settings->heads % settings->kv_heads != 0)
        return att_fail(err, ATT_BAD_INPUT, NULL, "heads %lld is not a multiple of kv-heads %lld",
                        (long long)settings->heads, (long long)settings->kv_heads);
    int64_t each = settings->hidden_size / settings->heads;
    if (settings->positions == ATT_POSITIONS_ROTARY && each % 2 != 0)
        return att_fail(
            err, ATT_BAD_INPUT, NULL,
            "positions rotary needs an even head size, and it is %lld: hidden-size %lld divided "
            "by heads %lld",
            (long long)each, (long long)settings->hidden_size, (long long)settings->heads);
    return ATT_OK;
}

static bool positions_concatenated(const att_settings *settings)
{
    return settings->positions_join == ATT_POSITIONS_CONCAT &&
           (settings->positions == ATT_POSITIONS_SINUSOIDAL ||
            settings->positions == ATT_POSITIONS_LEARNED);
}

/* The number of learned positions: the maximum length of a sequence. */
static int64_t max_positions(const att_settings *settings)
{
    return att_settings_model_type(settings) == ATT_MODEL_LM ? settings->sequence_length
                                                             : settings->max_length;
}

static att_status check_embedding(const att_settings *settings, att_error *err)
{
    if (settings->positions == ATT_POSITIONS_LEARNED && max_positions(settings) < 1)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "positions learned needs max-length, the number of learned positions");
    if (positions_concatenated(settings) && settings->hidden_size % 2 != 0)
        return att_fail(
            err, ATT_BAD_INPUT, NULL,
            "hidden-size %lld is odd, and positions-join concat splits it between tokens and "
            "positions",
            (long long)settings->hidden_size);
    if (positions_concatenated(settings) && settings->tie_embeddings != ATT_TIE_NO)
        return att_fail(
            err, ATT_BAD_INPUT, NULL,
            "tie-embeddings contradicts positions-join concat: an embedding of half the hidden "
            "size cannot be the output layer");
    return ATT_OK;
}

att_status att_transformer_check(const att_settings *settings, att_error *err)
{
    ATT_TRY(check_heads(settings, err));
    return check_embedding(settings, err);
}

static att_status check(const att_model *model, att_error *err)
{
    const att_settings *settings = model->settings;
    ATT_TRY(att_transformer_check(settings, err));
    if (att_settings_model_type(settings) == ATT_MODEL_CAPTION &&
        settings->tie_embeddings == ATT_TIE_ALL)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "tie-embeddings all needs source tokens, and images have none");
    if (settings->tie_embeddings == ATT_TIE_ALL &&
        !att_vocab_same_tokens(model->source_vocab, model->target_vocab))
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "tie all needs one vocabulary for both sides, and they have different "
                        "ones");
    return ATT_OK;
}

/* ---- parameters */

/* Initial standard deviation 1/sqrt(D), which embedding-scale multiplies to 1: so the scale of the
 * table suits a tied output layer too. */
static float embedding_init_std(const att_embedding *embedding)
{
    return 1 / sqrtf((float)embedding->embedding_size);
}

static att_embedding embedding_of(const att_settings *settings)
{
    int64_t embed =
        positions_concatenated(settings) ? settings->hidden_size / 2 : settings->hidden_size;
    return (att_embedding){ .table = ATT_NO_PARAM,
                            .positions = (att_positions)settings->positions,
                            .join = (att_positions_join)settings->positions_join,
                            .embedding_size = embed,
                            .max_positions = max_positions(settings),
                            .scale = settings->embedding_scale ? sqrtf((float)embed) : 1,
                            .dropout = (float)settings->embedding_dropout };
}

static void build_embeddings(att_transformer_network *parts, att_param_builder *builder,
                             const att_model *model)
{
    parts->target_embedding = parts->source_embedding = embedding_of(model->settings);
    parts->target_embedding.dropout_id = 1;
    float start = embedding_init_std(&parts->target_embedding);
    att_embedding_add_params(&parts->target_embedding, builder, att_vocab_size(model->target_vocab),
                             start, "target");
    if (model->settings->tie_embeddings == ATT_TIE_ALL)
        parts->source_embedding.table = parts->target_embedding.table;
    if (parts->encode == att_transformer_encode_image)
        att_image_embedding_build(&parts->image_embedding, builder, model->settings, 0);
    else
        att_embedding_add_params(&parts->source_embedding, builder,
                                 att_vocab_size(model->source_vocab), start, "source");
}

/* Each layer has its own random streams of dropout; those before the first are of the embeddings.
 */
static uint64_t dropout_stream(int layer)
{
    return (uint64_t)ATT_LAYER_DROPOUT_IDS * (uint64_t)(layer + 1);
}

static void build_encoder_layers(att_transformer_network *parts, att_param_builder *builder,
                                 const att_settings *settings)
{
    char prefix[MAX_PREFIX];
    for (int i = 0; i < parts->encoder_layers; i++) {
        snprintf(prefix, sizeof prefix, "encoder.%d", i);
        att_transformer_layer_build(&parts->encoder[i], builder, settings, false, dropout_stream(i),
                                    prefix);
    }
}

static void build_decoder_layers(att_transformer_network *parts, att_param_builder *builder,
                                 const att_settings *settings)
{
    char prefix[MAX_PREFIX];
    for (int i = 0; i < parts->decoder_layers; i++) {
        snprintf(prefix, sizeof prefix, "decoder.%d", i);
        att_transformer_layer_build(&parts->decoder[i], builder, settings, parts->has_encoder,
                                    dropout_stream(parts->encoder_layers + i), prefix);
    }
}

/* The final norm of a pre-norm Transformer. */
static void build_final_norm(att_norm_layer *out, att_param_builder *builder,
                             const att_settings *settings, const char *prefix)
{
    *out = (att_norm_layer){ ATT_NO_PARAM, ATT_NO_PARAM };
    if (settings->norm == ATT_NORM_PRE)
        att_norm_layer_build(out, builder, settings, prefix);
}

static att_transformer_network network_of(const att_settings *settings)
{
    return (att_transformer_network){
        .has_encoder = true,
        .encoder_layers = (int)settings->layers,
        .decoder_layers = (int)settings->decoder_layers,
        .hidden_size = settings->hidden_size,
        .heads = settings->heads,
        .kv_size = 2 * settings->kv_heads * (settings->hidden_size / settings->heads),
        .output_w = ATT_NO_PARAM,
        .output_b = ATT_NO_PARAM,
    };
}

void att_transformer_build_encoder(att_transformer_network *out, att_param_builder *builder,
                                   const att_settings *settings, int64_t vocabulary)
{
    *out = network_of(settings);
    out->decoder_layers = 0;
    out->source_embedding = embedding_of(settings);
    att_embedding_add_params(&out->source_embedding, builder, vocabulary,
                             embedding_init_std(&out->source_embedding), "source");
    build_encoder_layers(out, builder, settings);
    build_final_norm(&out->encoder_norm, builder, settings, "encoder.norm");
}

static void build_output(att_transformer_network *parts, att_param_builder *builder,
                         const att_settings *settings, int64_t vocabulary)
{
    if (settings->tie_embeddings == ATT_TIE_NO)
        parts->output_w = att_build_matrix(builder, parts->hidden_size, vocabulary, "output", "w");
    else
        att_param_add_packing(builder->params, parts->target_embedding.table, ATT_PACK_TRANSPOSED);
    if (settings->biases)
        parts->output_b = att_build_zeros(builder, vocabulary, "output", "bias");
}

static att_status build(att_model *model, att_error *err)
{
    const att_settings *settings = model->settings;
    ATT_TRY(check(model, err));
    att_transformer_network *parts = att_arena_alloc(&model->arena, 1, sizeof *parts);
    if (!parts)
        return att_fail_memory(err);
    att_param_builder builder = att_model_builder(model, err);
    int64_t targets = att_vocab_size(model->target_vocab);
    *parts = network_of(settings);
    parts->encode = att_settings_model_type(settings) == ATT_MODEL_CAPTION
                        ? att_transformer_encode_image
                        : att_transformer_encode_tokens;
    if (model->source_vocab && att_vocab_has_tags(model->source_vocab))
        parts->first_tag =
            att_vocab_size(model->source_vocab) - att_vocab_tag_count(model->source_vocab);
    build_embeddings(parts, &builder, model);
    build_encoder_layers(parts, &builder, settings);
    build_decoder_layers(parts, &builder, settings);
    build_final_norm(&parts->encoder_norm, &builder, settings, "encoder.norm");
    build_final_norm(&parts->decoder_norm, &builder, settings, "decoder.norm");
    build_output(parts, &builder, settings, targets);
    if (att_settings_copies(settings))
        att_copy_layer_build(&parts->copy, &builder, parts->hidden_size, true);
    model->network = parts;
    return builder.status;
}

/* A language model: a decoder without an encoder. */
static att_status build_lm(att_model *model, att_error *err)
{
    const att_settings *settings = model->settings;
    ATT_TRY(att_transformer_check(settings, err));
    if (settings->tie_embeddings == ATT_TIE_ALL)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "tie-embeddings all needs a source vocabulary: use output");
    att_transformer_network *parts = att_arena_alloc(&model->arena, 1, sizeof *parts);
    if (!parts)
        return att_fail_memory(err);
    att_param_builder builder = att_model_builder(model, err);
    int64_t words = att_vocab_size(model->target_vocab);
    *parts = network_of(settings);
    parts->has_encoder = false;
    parts->encoder_layers = 0;
    parts->decoder_layers = (int)settings->layers;
    parts->context_length = settings->sequence_length;
    parts->target_embedding = embedding_of(settings);
    parts->target_embedding.dropout_id = 1;
    att_embedding_add_params(&parts->target_embedding, &builder, words,
                             embedding_init_std(&parts->target_embedding), "target");
    build_decoder_layers(parts, &builder, settings);
    build_final_norm(&parts->decoder_norm, &builder, settings, "decoder.norm");
    build_output(parts, &builder, settings, words);
    model->network = parts;
    return builder.status;
}

const att_architecture att_transformer_architecture = {
    .name = "transformer",
    .build = build,
    .loss = att_transformer_loss,
    .open = att_transformer_open,
    .close = att_transformer_close,
    .start = att_transformer_start,
    .step = att_transformer_step,
};

const att_architecture att_transformer_lm_architecture = {
    .name = "transformer-lm",
    .build = build_lm,
    .loss = att_transformer_loss,
    .open = att_transformer_open,
    .close = att_transformer_close,
    .start = att_transformer_start,
    .step = att_transformer_step,
};

const att_architecture att_transformer_caption_architecture = {
    .name = "transformer-caption",
    .build = build,
    .loss = att_transformer_loss,
    .open = att_transformer_open,
    .close = att_transformer_close,
    .start = att_transformer_start,
    .step = att_transformer_step,
};
