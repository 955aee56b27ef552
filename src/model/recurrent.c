/* The parameters of the recurrent family; see recurrent.h. */
#include "model/recurrent.h"

#include "base/error.h"

#include <stdio.h>

enum { PREFIX_ROOM = 64 };

static void build_decoder(att_recurrent_parts *parts, att_builder *builder, att_cell cell)
{
    int64_t in = parts->target.width;
    in += parts->at_input ? parts->width : 0;
    in += parts->readout_at_input ? parts->readout_width : 0;
    for (int i = 0; i < parts->layers; i++) {
        char prefix[PREFIX_ROOM];
        snprintf(prefix, sizeof prefix, "decoder.%d", i);
        att_cell_build(&parts->decoder[i], builder, cell, i == 0 ? in : parts->width, parts->width,
                       prefix);
    }
}

/* From the decoder's state, and the context where it enters here, to scores. */
static void build_output(att_recurrent_parts *parts, att_builder *builder, bool tie,
                         int64_t vocabulary)
{
    bool joins = (parts->fixed || parts->scored) && !parts->at_input;
    parts->join = parts->project = parts->output_w = ATT_NO_PARAM;
    if (joins)
        parts->join =
            att_build_matrix(builder, 2 * parts->width, parts->readout_width, "output", "join");
    else if (parts->readout_width != parts->width)
        parts->project =
            att_build_matrix(builder, parts->width, parts->readout_width, "output", "project");
    if (!tie)
        parts->output_w =
            att_build_matrix(builder, parts->readout_width, vocabulary, "output", "w");
    parts->output_b = att_build_zeros(builder, vocabulary, "output", "bias");
}

/* What can be said of the settings only by who knows this family. */
static att_status check(const att_settings *settings, att_error *err)
{
    ATT_TRY(att_reader_check(settings, err));
    if (settings->tie == ATT_TIE_ALL)
        return att_fail(err, ATT_BAD_INPUT, NULL, "tie all needs family transformer");
    if (att_settings_kind(settings) == ATT_KIND_PICTURE &&
        settings->attention == ATT_MECHANISM_LOCAL)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "attention local has a window in a line, and pictures have no line");
    if (settings->attention == ATT_MECHANISM_LOCATION && settings->max_length < 1)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "attention location needs a max-length: so many positions are learned");
    return ATT_OK;
}

static void choose(att_recurrent_parts *parts, const att_settings *settings)
{
    bool pictures = att_settings_kind(settings) == ATT_KIND_PICTURE;
    parts->read = pictures ? att_recurrent_see : att_recurrent_encode;
    parts->layers = (int)settings->layers;
    parts->reads = true;
    parts->fixed = settings->attention == ATT_MECHANISM_FIXED;
    parts->scored = !parts->fixed && settings->attention != ATT_MECHANISM_NONE;
    bool context = parts->fixed || parts->scored;
    parts->at_input = context && settings->feed == ATT_FEED_STATE;
    parts->readout_at_input = context && settings->feed == ATT_FEED_BOTH;
    parts->width = settings->width;
    parts->readout_width = settings->tie ? settings->embed : settings->width;
    parts->dropout = (float)settings->dropout;
    parts->align_weight = (float)settings->align_weight;
}

/* What turns a source into vectors: tokens are looked up, pictures seen. */
static void build_source(att_recurrent_parts *parts, att_builder *builder, const att_model *model)
{
    if (parts->read == att_recurrent_see)
        att_recurrent_build_sight(parts, builder, model->settings);
    else
        att_reader_build_embedding(&parts->reader, builder, model->settings,
                                   att_vocab_size(model->source_words));
}

static att_status build(att_model *model, att_error *err)
{
    const att_settings *settings = model->settings;
    ATT_TRY(check(settings, err));
    att_recurrent_parts *parts = att_arena_take(&model->memory, 1, sizeof *parts);
    if (!parts)
        return att_fail_memory(err);
    att_builder builder = att_model_builder(model, err);
    int64_t targets = att_vocab_size(model->target_words);
    choose(parts, settings);
    build_source(parts, &builder, model);
    att_embedding_build(&parts->target, &builder, settings, targets, "target",
                        att_drop_place(ATT_DROP_TARGET, 0));
    if (parts->read == att_recurrent_encode)
        att_reader_build_layers(&parts->reader, &builder, settings, true);
    build_decoder(parts, &builder, (att_cell)settings->cell);
    att_glimpse_build(&parts->glimpse, &builder, settings);
    build_output(parts, &builder, settings->tie != ATT_TIE_NO, targets);
    model->parts = parts;
    return builder.status;
}

/* The decoder alone. */
static void choose_text(att_recurrent_parts *parts, const att_settings *settings)
{
    *parts =
        (att_recurrent_parts){ .read = att_recurrent_encode,
                               .layers = (int)settings->layers,
                               .width = settings->width,
                               .readout_width = settings->tie ? settings->embed : settings->width,
                               .dropout = (float)settings->dropout };
}

static att_status check_text(const att_settings *settings, att_error *err)
{
    if (settings->positions != ATT_POSITIONS_NONE)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "positions needs family transformer: a text has no end to count up to");
    if (settings->tie == ATT_TIE_ALL)
        return att_fail(err, ATT_BAD_INPUT, NULL, "tie all needs a source: take output");
    if (settings->layers > ATT_MOST_LAYERS)
        return att_fail(err, ATT_BAD_INPUT, NULL, "layers is %lld, at most %d",
                        (long long)settings->layers, ATT_MOST_LAYERS);
    return ATT_OK;
}

static att_status build_text(att_model *model, att_error *err)
{
    const att_settings *settings = model->settings;
    ATT_TRY(check_text(settings, err));
    att_recurrent_parts *parts = att_arena_take(&model->memory, 1, sizeof *parts);
    if (!parts)
        return att_fail_memory(err);
    att_builder builder = att_model_builder(model, err);
    int64_t words = att_vocab_size(model->target_words);
    choose_text(parts, settings);
    att_embedding_build(&parts->target, &builder, settings, words, "target",
                        att_drop_place(ATT_DROP_TARGET, 0));
    build_decoder(parts, &builder, (att_cell)settings->cell);
    build_output(parts, &builder, settings->tie != ATT_TIE_NO, words);
    model->parts = parts;
    return builder.status;
}

/* Attention by the place alone knows so many places. */
static int64_t longest(const att_model *model)
{
    const att_recurrent_parts *parts = model->parts;
    return parts->glimpse.reach;
}

const att_family att_recurrent_family = {
    .name = "recurrent",
    .build = build,
    .loss = att_recurrent_loss,
    .open = att_recurrent_open,
    .close = att_recurrent_close,
    .start = att_recurrent_start,
    .step = att_recurrent_step,
    .longest = longest,
};

const att_family att_recurrent_text_family = {
    .name = "recurrent-text",
    .build = build_text,
    .loss = att_recurrent_loss,
    .open = att_recurrent_open,
    .close = att_recurrent_close,
    .start = att_recurrent_start,
    .step = att_recurrent_step,
    .carries = att_recurrent_carries,
};

const att_family att_recurrent_picture_family = {
    .name = "recurrent-picture",
    .build = build,
    .loss = att_recurrent_loss,
    .open = att_recurrent_open,
    .close = att_recurrent_close,
    .start = att_recurrent_start,
    .step = att_recurrent_step,
};
