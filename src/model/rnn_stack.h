/* The stack of RNN layers of a model that reads tokens from first to last, for inspecting unit
 * states (src/inspect/). */
#ifndef ATT_MODEL_RNN_STACK_H
#define ATT_MODEL_RNN_STACK_H

#include "model/rnn_encoder.h"

typedef struct att_rnn_stack {
    const att_vocab *vocab; /* of the tokens that it reads */
    att_embedding embedding;
    int layers;
    const att_rnn_layer *layer[ATT_MAX_RNN_LAYERS];
    int64_t hidden_size; /* N, of every layer */

    /* The logits of the next token from hidden states [B,T,N] of the last layer; NULL where the
     * model does not predict the tokens that it reads. */
    att_node *(*logits)(const att_model *model, att_tape *tape, att_node *hidden);
} att_rnn_stack;

/* ATT_BAD_INPUT where the model has none: it is not an RNN, or it is bidirectional. */
att_status att_model_rnn_stack(att_rnn_stack *out, const att_model *model, att_error *err);

#endif
