/* A layer of a Transformer; see layer.h. */
#include "nn/layer.h"

#include <stdio.h>

enum { PREFIX_ROOM = 64 };

void att_norm_build(att_norm *out, att_builder *builder, const att_settings *settings,
                    const char *prefix)
{
    int64_t width = settings->width;
    const att_param gain = { .rank = 1, .shape = { width }, .start = ATT_START_ONE };
    out->gain = att_build_param(builder, &gain, prefix, "gain");
    out->bias = ATT_NO_PARAM;
    if (settings->norm_kind == ATT_NORM_LAYER)
        out->bias = att_build_zeros(builder, width, prefix, "bias");
}

att_node *att_norm_run(const att_norm *norm, att_tape *tape, att_node *x)
{
    if (norm->gain == ATT_NO_PARAM)
        return x;
    if (norm->bias == ATT_NO_PARAM)
        return att_rms_norm(tape, x, att_tape_param(tape, norm->gain));
    return att_layer_norm(tape, x, att_tape_param(tape, norm->gain),
                          att_tape_param(tape, norm->bias));
}

static void build_frame(att_frame *out, att_builder *builder, const att_settings *settings,
                        uint64_t place, const char *prefix)
{
    *out = (att_frame){ .before = { ATT_NO_PARAM, ATT_NO_PARAM },
                        .after = { ATT_NO_PARAM, ATT_NO_PARAM },
                        .residual = settings->residuals,
                        .dropout = (float)settings->dropout,
                        .drop_place = place };
    char name[PREFIX_ROOM + sizeof ".norm"];
    snprintf(name, sizeof name, "%s.norm", prefix);
    if (settings->norm != ATT_NORM_NONE)
        att_norm_build(settings->norm == ATT_NORM_BEFORE ? &out->before : &out->after, builder,
                       settings, name);
}

static void build_heads(att_heads *out, att_builder *builder, const att_settings *settings,
                        bool across, uint64_t place, const char *prefix)
{
    *out = (att_heads){ .heads = settings->heads,
                        .key_heads = settings->key_heads,
                        .width = settings->width / settings->heads,
                        .scaled = settings->scale,
                        .rotary = settings->positions == ATT_POSITIONS_ROTARY && !across,
                        .dropout = (float)settings->attention_dropout,
                        .place = place,
                        .across = across };
    att_heads_build(out, builder, settings->width, settings->biases, prefix);
}

static void build_feed(att_feed_forward *out, att_builder *builder, const att_settings *settings,
                       const char *prefix)
{
    static const att_activation activations[] = { [ATT_BETWEEN_RELU] = ATT_ACTIVATION_RELU,
                                                  [ATT_BETWEEN_GELU] = ATT_ACTIVATION_GELU,
                                                  [ATT_BETWEEN_GATED] = ATT_ACTIVATION_NONE };
    int64_t width = settings->width, between = settings->feed_forward;
    out->present = true;
    out->gated = settings->activation == ATT_BETWEEN_GATED;
    out->activation = activations[settings->activation];
    att_affine_build(&out->first, builder, width, out->gated ? 2 * between : between,
                     settings->biases, prefix, "first");
    att_affine_build(&out->second, builder, between, width, settings->biases, prefix, "second");
}

void att_layer_build(att_layer *out, att_builder *builder, const att_settings *settings,
                     bool decoder, uint64_t place, const char *prefix)
{
    char name[PREFIX_ROOM];
    *out = (att_layer){ .feed = { .present = false } };
    snprintf(name, sizeof name, "%s.self", prefix);
    build_frame(&out->self_frame, builder, settings, place, name);
    build_heads(&out->self, builder, settings, false, place + 1, name);
    if (decoder) {
        snprintf(name, sizeof name, "%s.cross", prefix);
        build_frame(&out->cross_frame, builder, settings, place + 2, name);
        build_heads(&out->cross, builder, settings, true, place + 3, name);
    }
    if (settings->feed_forward > 0) {
        snprintf(name, sizeof name, "%s.feed", prefix);
        build_frame(&out->feed_frame, builder, settings, place + 4, name);
        build_feed(&out->feed, builder, settings, name);
    }
}

att_node *att_frame_enter(const att_frame *frame, att_tape *tape, att_node *x)
{
    return att_norm_run(&frame->before, tape, x);
}

att_node *att_frame_leave(const att_frame *frame, att_tape *tape, att_node *x, att_node *y)
{
    if (frame->residual)
        y = att_residual(tape, x, y, frame->dropout, frame->drop_place);
    else
        y = att_dropout(tape, y, frame->dropout, frame->drop_place);
    return att_norm_run(&frame->after, tape, y);
}

att_node *att_layer_feed(const att_layer *layer, att_tape *tape, att_node *x)
{
    const att_feed_forward *feed = &layer->feed;
    if (!feed->present)
        return x;
    att_node *inner = att_frame_enter(&layer->feed_frame, tape, x);
    inner = att_affine_run(&feed->first, tape, inner, feed->activation);
    if (feed->gated)
        inner = att_gated(tape, inner);
    inner = att_affine_run(&feed->second, tape, inner, ATT_ACTIVATION_NONE);
    return att_frame_leave(&layer->feed_frame, tape, x, inner);
}
