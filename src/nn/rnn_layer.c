/* One RNN layer: its parameters and its run on a tape. */
#include "nn/rnn_layer.h"

#include <math.h>

/* A weight matrix of all gates. The initial range depends on the width of one gate, not of all,
 * because each gate is a separate matrix. */
static int gate_matrix(att_param_builder *builder, int64_t rows, const att_rnn_layer *layer,
                       const char *prefix, const char *name)
{
    const att_param like = { .rank = 2,
                             .shape = { rows,
                                        att_rnn_cell_gates(layer->cell) * layer->hidden_size },
                             .init = ATT_INIT_UNIFORM,
                             .init_scale = 1 / sqrtf((float)layer->hidden_size),
                             .packing = ATT_PACK_PLAIN };
    return att_build_param(builder, &like, prefix, name);
}

/* An LSTM's forget gate starts open, so that gradients flow far back from the start of training
 * (Jozefowicz et al. 2015). */
static int gate_bias(att_param_builder *builder, const att_rnn_layer *layer, const char *prefix,
                     const char *name)
{
    const att_param like = { .rank = 1,
                             .shape = { att_rnn_cell_gates(layer->cell) * layer->hidden_size },
                             .init = layer->cell == ATT_RNN_CELL_LSTM ? ATT_INIT_FORGET_BIAS
                                                                      : ATT_INIT_ZERO };
    return att_build_param(builder, &like, prefix, name);
}

void att_rnn_layer_build(att_rnn_layer *out, att_param_builder *builder, att_rnn_cell cell,
                         int64_t in, int64_t width, const char *prefix)
{
    *out = (att_rnn_layer){ .cell = cell, .hidden_size = width, .bias_u = ATT_NO_PARAM };
    out->w = gate_matrix(builder, in, out, prefix, "w");
    out->u = gate_matrix(builder, width, out, prefix, "u");
    out->bias = gate_bias(builder, out, prefix, "bias");
    if (cell == ATT_RNN_CELL_GRU)
        out->bias_u = gate_bias(builder, out, prefix, "bias_u");
}

att_node *att_rnn_layer_run(const att_rnn_layer *layer, att_tape *tape, att_node *x,
                            const att_rnn_layer_input *run)
{
    const att_rnn_options options = { .cell = layer->cell,
                                      .reverse = run->reverse,
                                      .lengths = run->lengths };
    const att_rnn_inputs in = {
        .x = x,
        .w = att_tape_param(tape, layer->w),
        .u = att_tape_param(tape, layer->u),
        .bias = att_tape_param(tape, layer->bias),
        .bias_u = layer->bias_u == ATT_NO_PARAM ? NULL : att_tape_param(tape, layer->bias_u),
        .initial_state = run->initial_state,
    };
    return att_rnn(tape, &in, &options);
}
