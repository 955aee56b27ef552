/* One RNN layer in one direction: vanilla RNN, GRU or LSTM. */
#ifndef ATT_NN_RNN_LAYER_H
#define ATT_NN_RNN_LAYER_H

#include "nn/param_builder.h"
#include "tape/ops.h"

typedef struct att_rnn_layer {
    att_rnn_cell cell;
    int64_t hidden_size;    /* N */
    int w, u, bias, bias_u; /* as in att_rnn_inputs; bias_u of the GRU alone */
} att_rnn_layer;

/* Adds its parameters, named after `prefix`, for inputs of width `in`. */
void att_rnn_layer_build(att_rnn_layer *out, att_param_builder *builder, att_rnn_cell cell,
                         int64_t in, int64_t width, const char *prefix);

typedef struct att_rnn_layer_input {
    att_node *initial_state; /* [B, states N], or NULL: zeros */
    const int64_t *lengths;  /* [B], or NULL */
    bool reverse;
} att_rnn_layer_input;

/* x [B,T,in] to hidden states [B,T,N]: an att_rnn() node. */
att_node *att_rnn_layer_run(const att_rnn_layer *layer, att_tape *tape, att_node *x,
                            const att_rnn_layer_input *run);

#endif
