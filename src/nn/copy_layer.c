/* The gate and the copy head of a pointer-generator; see copy_layer.h. */
#include "nn/copy_layer.h"

#define PREFIX "copy"

void att_copy_layer_build(att_copy_layer *out, att_param_builder *builder, int64_t size,
                          bool own_head)
{
    const att_linear_layer none = { ATT_NO_PARAM, ATT_NO_PARAM };
    *out = (att_copy_layer){ .enabled = true, .query = none, .key = none };
    att_linear_layer_build(&out->gate, builder, size, 1, true, PREFIX, "gate");
    if (!own_head)
        return;
    att_linear_layer_build(&out->query, builder, size, size, false, PREFIX, "query");
    att_linear_layer_build(&out->key, builder, size, size, false, PREFIX, "key");
}

att_node *att_copy_layer_gate(const att_copy_layer *layer, att_tape *tape, att_node *x)
{
    att_node *gate = att_linear_layer_run(&layer->gate, tape, x, ATT_ACTIVATION_NONE);
    return att_tape_name_layer(tape, gate, "copy gate", 0);
}

att_node *att_copy_layer_keys(const att_copy_layer *layer, att_tape *tape, att_node *states)
{
    att_node *keys = att_linear_layer_run(&layer->key, tape, states, ATT_ACTIVATION_NONE);
    return att_tape_name_layer(tape, keys, "copy attention", 0);
}

att_node *att_copy_layer_weights(const att_copy_layer *layer, att_tape *tape, att_node *x,
                                 att_node *keys, const int64_t *lengths,
                                 const att_rows_by_source *grouped)
{
    const att_attention_options options = { .size = sizeof(att_attention_options),
                                            .score = ATT_SCORE_SCALED,
                                            .query_lengths = grouped ? grouped->counts : NULL,
                                            .key_lengths = lengths };
    att_node *query = att_linear_layer_run(&layer->query, tape, x, ATT_ACTIVATION_NONE);
    query = att_rows_by_source_pad(tape, grouped, query);
    if (!query || !keys)
        return NULL;
    const att_attention_op_inputs in = { .query = query, .key = keys };
    att_node *weights = att_attention_op(tape, &in, 1, 1, &options);
    weights = att_rows_by_source_unpad(tape, grouped, weights);
    return att_tape_name_layer(tape, weights, "copy attention", 0);
}
