/* A Transformer layer: its parameters, norms, residuals and the FFN. */
#include "nn/transformer_layer.h"

#include <stdio.h>

enum { PREFIX_SIZE = 64 };

void att_norm_layer_build(att_norm_layer *out, att_param_builder *builder,
                          const att_settings *settings, const char *prefix)
{
    int64_t width = settings->hidden_size;
    const att_param gain = { .rank = 1, .shape = { width }, .init = ATT_INIT_ONE };
    out->gain = att_build_param(builder, &gain, prefix, "gain");
    out->bias = ATT_NO_PARAM;
    if (settings->norm_kind == ATT_NORM_LAYER)
        out->bias = att_build_zeros(builder, width, prefix, "bias");
}

att_node *att_norm_layer_run(const att_norm_layer *norm, att_tape *tape, att_node *x)
{
    if (norm->gain == ATT_NO_PARAM)
        return x;
    if (norm->bias == ATT_NO_PARAM)
        return att_rms_norm(tape, x, att_tape_param(tape, norm->gain));
    return att_layer_norm(tape, x, att_tape_param(tape, norm->gain),
                          att_tape_param(tape, norm->bias));
}

static void build_sublayer(att_sublayer *out, att_param_builder *builder,
                           const att_settings *settings, uint64_t dropout_id, const char *prefix)
{
    *out = (att_sublayer){ .pre_norm = { ATT_NO_PARAM, ATT_NO_PARAM },
                           .post_norm = { ATT_NO_PARAM, ATT_NO_PARAM },
                           .residual = settings->residuals,
                           .dropout = (float)settings->dropout,
                           .dropout_id = dropout_id };
    char name[PREFIX_SIZE + sizeof ".norm"];
    snprintf(name, sizeof name, "%s.norm", prefix);
    if (settings->norm != ATT_NORM_NONE)
        att_norm_layer_build(settings->norm == ATT_NORM_PRE ? &out->pre_norm : &out->post_norm,
                             builder, settings, name);
}

static void build_attention(att_multihead_attention *out, att_param_builder *builder,
                            const att_settings *settings, bool cross, uint64_t dropout_id,
                            const char *prefix)
{
    *out = (att_multihead_attention){ .heads = settings->heads,
                                      .kv_heads = settings->kv_heads,
                                      .head_size = settings->hidden_size / settings->heads,
                                      .scaled = settings->attention_scale,
                                      .rope = settings->positions == ATT_POSITIONS_ROTARY && !cross,
                                      .dropout = (float)settings->attention_dropout,
                                      .dropout_id = dropout_id,
                                      .is_cross = cross };
    att_multihead_attention_build(out, builder, settings->hidden_size, settings->biases, prefix);
}

static void build_ffn(att_ffn *out, att_param_builder *builder, const att_settings *settings,
                      const char *prefix)
{
    static const att_activation activations[] = { [ATT_FFN_RELU] = ATT_ACTIVATION_RELU,
                                                  [ATT_FFN_GELU] = ATT_ACTIVATION_GELU,
                                                  [ATT_FFN_SWIGLU] = ATT_ACTIVATION_NONE };
    int64_t width = settings->hidden_size, inner = settings->ffn_size;
    out->present = true;
    out->swiglu = settings->activation == ATT_FFN_SWIGLU;
    out->activation = activations[settings->activation];
    att_linear_layer_build(&out->up, builder, width, out->swiglu ? 2 * inner : inner,
                           settings->biases, prefix, "first");
    att_linear_layer_build(&out->down, builder, inner, width, settings->biases, prefix, "second");
}

void att_transformer_layer_build(att_transformer_layer *out, att_param_builder *builder,
                                 const att_settings *settings, bool decoder, uint64_t dropout_id,
                                 const char *prefix)
{
    char name[PREFIX_SIZE];
    *out = (att_transformer_layer){ .ffn = { .present = false } };
    snprintf(name, sizeof name, "%s.self", prefix);
    build_sublayer(&out->self_sublayer, builder, settings, dropout_id, name);
    build_attention(&out->self, builder, settings, false, dropout_id + 1, name);
    if (decoder) {
        snprintf(name, sizeof name, "%s.cross", prefix);
        build_sublayer(&out->cross_sublayer, builder, settings, dropout_id + 2, name);
        build_attention(&out->cross, builder, settings, true, dropout_id + 3, name);
    }
    if (settings->ffn_size > 0) {
        snprintf(name, sizeof name, "%s.feed", prefix);
        build_sublayer(&out->ffn_sublayer, builder, settings, dropout_id + 4, name);
        build_ffn(&out->ffn, builder, settings, name);
    }
}

att_node *att_sublayer_begin(const att_sublayer *sublayer, att_tape *tape, att_node *x)
{
    return att_norm_layer_run(&sublayer->pre_norm, tape, x);
}

att_node *att_sublayer_end(const att_sublayer *sublayer, att_tape *tape, att_node *x, att_node *y)
{
    if (sublayer->residual)
        y = att_residual(tape, x, y, sublayer->dropout, sublayer->dropout_id);
    else
        y = att_dropout(tape, y, sublayer->dropout, sublayer->dropout_id);
    return att_norm_layer_run(&sublayer->post_norm, tape, y);
}

att_node *att_transformer_layer_ffn(const att_transformer_layer *layer, att_tape *tape, att_node *x)
{
    const att_ffn *ffn = &layer->ffn;
    if (!ffn->present)
        return x;
    att_node *inner = att_sublayer_begin(&layer->ffn_sublayer, tape, x);
    inner = att_linear_layer_run(&ffn->up, tape, inner, ffn->activation);
    if (ffn->swiglu)
        inner = att_swiglu(tape, inner);
    inner = att_linear_layer_run(&ffn->down, tape, inner, ATT_ACTIVATION_NONE);
    return att_sublayer_end(&layer->ffn_sublayer, tape, x, inner);
}
