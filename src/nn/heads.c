/* Attention with several heads; see heads.h. */
#include "nn/heads.h"

#include <stdio.h>

void att_affine_build(att_affine *out, att_builder *builder, int64_t in, int64_t width, bool bias,
                      const char *prefix, const char *name)
{
    char bias_name[64];
    snprintf(bias_name, sizeof bias_name, "%s_bias", name);
    out->w = att_build_matrix(builder, in, width, prefix, name);
    out->bias = bias ? att_build_zeros(builder, width, prefix, bias_name) : ATT_NO_PARAM;
}

att_node *att_affine_run(const att_affine *affine, att_tape *tape, att_node *x,
                         att_activation activation)
{
    att_node *bias = affine->bias == ATT_NO_PARAM ? NULL : att_tape_param(tape, affine->bias);
    return att_linear(tape, x, att_tape_param(tape, affine->w), bias, activation, false);
}

/* Queries, keys and values are one matrix, so that rows are read once and the product is a wide
 * one. */
void att_heads_build(att_heads *heads, att_builder *builder, int64_t in, bool biases,
                     const char *prefix)
{
    int64_t queries = heads->heads * heads->width, keys = 2 * heads->key_heads * heads->width;
    heads->keys = (att_affine){ ATT_NO_PARAM, ATT_NO_PARAM };
    if (heads->across) {
        att_affine_build(&heads->into, builder, in, queries, biases, prefix, "query");
        att_affine_build(&heads->keys, builder, in, keys, biases, prefix, "key_value");
    } else {
        att_affine_build(&heads->into, builder, in, queries + keys, biases, prefix,
                         "query_key_value");
    }
    att_affine_build(&heads->out, builder, queries, in, biases, prefix, "out");
}

att_node *att_heads_into(const att_heads *heads, att_tape *tape, att_node *x,
                         const int32_t *positions)
{
    att_node *into = att_affine_run(&heads->into, tape, x, ATT_ACTIVATION_NONE);
    if (!heads->rotary)
        return into;
    return att_rotate(tape, into, heads->heads + heads->key_heads, heads->width, positions);
}

att_node *att_heads_keys(const att_heads *heads, att_tape *tape, att_node *memory)
{
    return att_affine_run(&heads->keys, tape, memory, ATT_ACTIVATION_NONE);
}

att_node *att_heads_attend(const att_heads *heads, att_tape *tape, att_node *into, att_node *keys,
                           const att_sight *sight)
{
    int64_t queries = heads->heads * heads->width, each = heads->key_heads * heads->width;
    int64_t first = keys ? 0 : queries;
    const att_attention how = { .score = heads->scaled ? ATT_SCORE_SCALED : ATT_SCORE_DOT,
                                .causal = sight->causal,
                                .sequences = sight->sequences,
                                .query_offsets = sight->query_offsets,
                                .key_offsets = sight->key_offsets,
                                .dropout = (double)heads->dropout,
                                .drop_layer = heads->place };
    const att_attend_inputs in = {
        .query = into,
        .key = keys ? keys : into,
        .value = keys ? keys : into,
        .query_columns = { 0, queries },
        .key_columns = { first, each },
        .value_columns = { first + each, each },
    };
    return att_attend(tape, &in, heads->heads, heads->key_heads, &how);
}

att_node *att_heads_out(const att_heads *heads, att_tape *tape, att_node *results)
{
    return att_affine_run(&heads->out, tape, results, ATT_ACTIVATION_NONE);
}
