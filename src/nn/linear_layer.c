/* A linear layer: its parameters and its run on a tape. */
#include "nn/linear_layer.h"

#include <stdio.h>

void att_linear_layer_build(att_linear_layer *out, att_param_builder *builder, int64_t in,
                            int64_t width, bool bias, const char *prefix, const char *name)
{
    char bias_name[64];
    snprintf(bias_name, sizeof bias_name, "%s_bias", name);
    out->w = att_build_matrix(builder, in, width, prefix, name);
    out->bias = bias ? att_build_zeros(builder, width, prefix, bias_name) : ATT_NO_PARAM;
}

att_node *att_linear_layer_run(const att_linear_layer *layer, att_tape *tape, att_node *x,
                               att_activation activation)
{
    att_node *bias = layer->bias == ATT_NO_PARAM ? NULL : att_tape_param(tape, layer->bias);
    return att_linear(tape, x, att_tape_param(tape, layer->w), bias, activation, false);
}
