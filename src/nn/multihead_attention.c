/* Attention with several heads; see heads.h. */
#include "nn/multihead_attention.h"

#include <stdio.h>

void att_linear_layer_build(att_linear_layer *out, att_param_builder *builder, int64_t in,
                            int64_t width, bool bias, const char *prefix, const char *name)
{
    char bias_name[64];
    snprintf(bias_name, sizeof bias_name, "%s_bias", name);
    out->w = att_build_matrix(builder, in, width, prefix, name);
    out->bias = bias ? att_build_zeros(builder, width, prefix, bias_name) : ATT_NO_PARAM;
}

att_node *att_linear_layer_run(const att_linear_layer *affine, att_tape *tape, att_node *x,
                               att_activation activation)
{
    att_node *bias = affine->bias == ATT_NO_PARAM ? NULL : att_tape_param(tape, affine->bias);
    return att_linear(tape, x, att_tape_param(tape, affine->w), bias, activation, false);
}

/* Queries, keys and values are one matrix, so that rows are read once and the product is a wide
 * one. */
void att_multihead_attention_build(att_multihead_attention *heads, att_param_builder *builder,
                                   int64_t in, bool biases, const char *prefix)
{
    int64_t queries = heads->heads * heads->head_size,
            keys = 2 * heads->kv_heads * heads->head_size;
    heads->kv = (att_linear_layer){ ATT_NO_PARAM, ATT_NO_PARAM };
    if (heads->is_cross) {
        att_linear_layer_build(&heads->qkv, builder, in, queries, biases, prefix, "query");
        att_linear_layer_build(&heads->kv, builder, in, keys, biases, prefix, "key_value");
    } else {
        att_linear_layer_build(&heads->qkv, builder, in, queries + keys, biases, prefix,
                               "query_key_value");
    }
    att_linear_layer_build(&heads->output, builder, queries, in, biases, prefix, "out");
}

att_node *att_multihead_attention_qkv(const att_multihead_attention *heads, att_tape *tape,
                                      att_node *x, const int32_t *positions)
{
    att_node *into = att_linear_layer_run(&heads->qkv, tape, x, ATT_ACTIVATION_NONE);
    if (!heads->rope)
        return into;
    return att_rope(tape, into, heads->heads + heads->kv_heads, heads->head_size, positions);
}

att_node *att_multihead_attention_kv(const att_multihead_attention *heads, att_tape *tape,
                                     att_node *memory)
{
    return att_linear_layer_run(&heads->kv, tape, memory, ATT_ACTIVATION_NONE);
}

att_node *att_multihead_attention_run(const att_multihead_attention *heads, att_tape *tape,
                                      att_node *into, att_node *keys,
                                      const att_sequence_offsets *sight)
{
    int64_t queries = heads->heads * heads->head_size, each = heads->kv_heads * heads->head_size;
    int64_t first = keys ? 0 : queries;
    const att_attention_options options = { .score =
                                                heads->scaled ? ATT_SCORE_SCALED : ATT_SCORE_DOT,
                                            .causal = sight->causal,
                                            .sequences = sight->sequences,
                                            .query_offsets = sight->query_offsets,
                                            .key_offsets = sight->key_offsets,
                                            .dropout = (double)heads->dropout,
                                            .dropout_layer = heads->dropout_id };
    const att_attention_op_inputs in = {
        .query = into,
        .key = keys ? keys : into,
        .value = keys ? keys : into,
        .query_columns = { 0, queries },
        .key_columns = { first, each },
        .value_columns = { first + each, each },
    };
    return att_attention_op(tape, &in, heads->heads, heads->kv_heads, &options);
}

att_node *att_multihead_attention_output(const att_multihead_attention *heads, att_tape *tape,
                                         att_node *results)
{
    return att_linear_layer_run(&heads->output, tape, results, ATT_ACTIVATION_NONE);
}
