/* The parameters of the Transformer family; see transformer.h. */
#include "model/transformer.h"

#include "base/error.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PREFIX_ROOM = 64 };

/* ---- what cannot be */

static att_status check_heads(const att_settings *settings, att_error *err)
{
    if (settings->width % settings->heads != 0)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "width %lld is no multiple of heads %lld, which share it",
                        (long long)settings->width, (long long)settings->heads);
    if (settings->heads % settings->key_heads != 0)
        return att_fail(err, ATT_BAD_INPUT, NULL, "heads %lld is no multiple of key-heads %lld",
                        (long long)settings->heads, (long long)settings->key_heads);
    int64_t each = settings->width / settings->heads;
    if (settings->positions == ATT_POSITIONS_ROTARY && each % 2 != 0)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "positions rotary turns pairs of columns, and a head has %lld: width %lld "
                        "divided by heads %lld",
                        (long long)each, (long long)settings->width, (long long)settings->heads);
    return ATT_OK;
}

static bool positions_beside(const att_settings *settings)
{
    return settings->positions_join == ATT_POSITIONS_CONCAT &&
           (settings->positions == ATT_POSITIONS_SINUSOIDAL ||
            settings->positions == ATT_POSITIONS_LEARNED);
}

/* Positions that can be learned: those of the longest sequence. */
static int64_t places_of(const att_settings *settings)
{
    return att_settings_kind(settings) == ATT_KIND_TEXT ? settings->chunk : settings->max_length;
}

static att_status check_embedding(const att_settings *settings, att_error *err)
{
    if (settings->positions == ATT_POSITIONS_LEARNED && places_of(settings) < 1)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "positions learned needs a max-length: so many positions are learned");
    if (positions_beside(settings) && settings->width % 2 != 0)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "width %lld is odd, and positions-join concat shares it between tokens and "
                        "positions",
                        (long long)settings->width);
    if (positions_beside(settings) && settings->tie != ATT_TIE_NO)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "tie contradicts positions-join concat: an embedding of half the width "
                        "cannot be the output layer");
    return ATT_OK;
}

static bool same_words(const att_vocab *a, const att_vocab *b)
{
    int32_t size = att_vocab_size(a);
    bool same = att_vocab_size(b) == size;
    for (int32_t i = 0; same && i < size; i++)
        same = strcmp(att_vocab_word(a, i), att_vocab_word(b, i)) == 0;
    return same;
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
    if (att_settings_kind(settings) == ATT_KIND_PICTURE && settings->tie == ATT_TIE_ALL)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "tie all needs source tokens: pictures have none");
    if (settings->tie == ATT_TIE_ALL && !same_words(model->source_words, model->target_words))
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "tie all needs one vocabulary for both sides, and they have different "
                        "ones");
    return ATT_OK;
}

/* ---- parameters */

/* Rows start with deviation 1/sqrt(D), which `embed-scale` brings to 1: so the table has the right
 * size for an output layer too. */
static float start_of_rows(const att_embedding *embedding)
{
    return 1 / sqrtf((float)embedding->embed);
}

static att_embedding embedding_of(const att_settings *settings)
{
    int64_t embed = positions_beside(settings) ? settings->width / 2 : settings->width;
    return (att_embedding){ .table = ATT_NO_PARAM,
                            .positions = (att_positions)settings->positions,
                            .join = (att_positions_join)settings->positions_join,
                            .embed = embed,
                            .place_count = places_of(settings),
                            .scale = settings->embed_scale ? sqrtf((float)embed) : 1,
                            .dropout = (float)settings->embed_dropout };
}

static void build_embeddings(att_transformer_parts *parts, att_builder *builder,
                             const att_model *model)
{
    parts->target = parts->source = embedding_of(model->settings);
    parts->target.drop_place = 1;
    float start = start_of_rows(&parts->target);
    att_embedding_add(&parts->target, builder, att_vocab_size(model->target_words), start,
                      "target");
    if (model->settings->tie == ATT_TIE_ALL)
        parts->source.table = parts->target.table;
    if (parts->read == att_transformer_see)
        att_eye_build(&parts->eye, builder, model->settings, 0);
    else
        att_embedding_add(&parts->source, builder, att_vocab_size(model->source_words), start,
                          "source");
}

/* Draws of layers are at places of their own; those before the first are of the embeddings. */
static uint64_t place_of(int layer)
{
    return (uint64_t)ATT_LAYER_PLACES * (uint64_t)(layer + 1);
}

static void build_encoder_layers(att_transformer_parts *parts, att_builder *builder,
                                 const att_settings *settings)
{
    char prefix[PREFIX_ROOM];
    for (int i = 0; i < parts->encoder_layers; i++) {
        snprintf(prefix, sizeof prefix, "encoder.%d", i);
        att_layer_build(&parts->encoder[i], builder, settings, false, place_of(i), prefix);
    }
}

static void build_decoder_layers(att_transformer_parts *parts, att_builder *builder,
                                 const att_settings *settings)
{
    char prefix[PREFIX_ROOM];
    for (int i = 0; i < parts->decoder_layers; i++) {
        snprintf(prefix, sizeof prefix, "decoder.%d", i);
        att_layer_build(&parts->decoder[i], builder, settings, parts->reads,
                        place_of(parts->encoder_layers + i), prefix);
    }
}

/* After the last layer, where norms stand before. */
static void build_last_norm(att_norm *out, att_builder *builder, const att_settings *settings,
                            const char *prefix)
{
    *out = (att_norm){ ATT_NO_PARAM, ATT_NO_PARAM };
    if (settings->norm == ATT_NORM_BEFORE)
        att_norm_build(out, builder, settings, prefix);
}

static att_transformer_parts parts_of(const att_settings *settings)
{
    return (att_transformer_parts){
        .reads = true,
        .encoder_layers = (int)settings->layers,
        .decoder_layers = (int)settings->decoder_layers,
        .width = settings->width,
        .heads = settings->heads,
        .kv_width = 2 * settings->key_heads * (settings->width / settings->heads),
        .output_w = ATT_NO_PARAM,
        .output_b = ATT_NO_PARAM,
    };
}

void att_transformer_build_encoder(att_transformer_parts *out, att_builder *builder,
                                   const att_settings *settings, int64_t vocabulary)
{
    *out = parts_of(settings);
    out->decoder_layers = 0;
    out->source = embedding_of(settings);
    att_embedding_add(&out->source, builder, vocabulary, start_of_rows(&out->source), "source");
    build_encoder_layers(out, builder, settings);
    build_last_norm(&out->encoder_norm, builder, settings, "encoder.norm");
}

static void build_output(att_transformer_parts *parts, att_builder *builder,
                         const att_settings *settings, int64_t vocabulary)
{
    if (settings->tie == ATT_TIE_NO)
        parts->output_w = att_build_matrix(builder, parts->width, vocabulary, "output", "w");
    if (settings->biases)
        parts->output_b = att_build_zeros(builder, vocabulary, "output", "bias");
}

static att_status build(att_model *model, att_error *err)
{
    const att_settings *settings = model->settings;
    ATT_TRY(check(model, err));
    att_transformer_parts *parts = att_arena_take(&model->memory, 1, sizeof *parts);
    if (!parts)
        return att_fail_memory(err);
    att_builder builder = att_model_builder(model, err);
    int64_t targets = att_vocab_size(model->target_words);
    *parts = parts_of(settings);
    parts->read = att_settings_kind(settings) == ATT_KIND_PICTURE ? att_transformer_see
                                                                  : att_transformer_take;
    build_embeddings(parts, &builder, model);
    build_encoder_layers(parts, &builder, settings);
    build_decoder_layers(parts, &builder, settings);
    build_last_norm(&parts->encoder_norm, &builder, settings, "encoder.norm");
    build_last_norm(&parts->decoder_norm, &builder, settings, "decoder.norm");
    build_output(parts, &builder, settings, targets);
    model->parts = parts;
    return builder.status;
}

/* The decoder alone. */
static att_status build_text(att_model *model, att_error *err)
{
    const att_settings *settings = model->settings;
    ATT_TRY(att_transformer_check(settings, err));
    if (settings->tie == ATT_TIE_ALL)
        return att_fail(err, ATT_BAD_INPUT, NULL, "tie all needs a source: take output");
    att_transformer_parts *parts = att_arena_take(&model->memory, 1, sizeof *parts);
    if (!parts)
        return att_fail_memory(err);
    att_builder builder = att_model_builder(model, err);
    int64_t words = att_vocab_size(model->target_words);
    *parts = parts_of(settings);
    parts->reads = false;
    parts->encoder_layers = 0;
    parts->decoder_layers = (int)settings->layers;
    parts->context = settings->chunk;
    parts->target = embedding_of(settings);
    parts->target.drop_place = 1;
    att_embedding_add(&parts->target, &builder, words, start_of_rows(&parts->target), "target");
    build_decoder_layers(parts, &builder, settings);
    build_last_norm(&parts->decoder_norm, &builder, settings, "decoder.norm");
    build_output(parts, &builder, settings, words);
    model->parts = parts;
    return builder.status;
}

const att_family att_transformer_family = {
    .name = "transformer",
    .build = build,
    .loss = att_transformer_loss,
    .open = att_transformer_open,
    .close = att_transformer_close,
    .start = att_transformer_start,
    .step = att_transformer_step,
};

const att_family att_transformer_text_family = {
    .name = "transformer-text",
    .build = build_text,
    .loss = att_transformer_loss,
    .open = att_transformer_open,
    .close = att_transformer_close,
    .start = att_transformer_start,
    .step = att_transformer_step,
};

const att_family att_transformer_picture_family = {
    .name = "transformer-picture",
    .build = build,
    .loss = att_transformer_loss,
    .open = att_transformer_open,
    .close = att_transformer_close,
    .start = att_transformer_start,
    .step = att_transformer_step,
};
