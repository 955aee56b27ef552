/* The recurrent layers of a model that read tokens from the first to the last, one layer upon the
 * other: what can be looked into while it reads (src/inspect/). */
#ifndef ATT_MODEL_RNN_STACK_H
#define ATT_MODEL_RNN_STACK_H

#include "model/rnn_encoder.h"

typedef struct att_rnn_stack {
    const att_vocab *vocab; /* the tokens that it reads */
    att_embedding embedding;
    int layers;
    const att_rnn_layer *layer[ATT_MAX_RNN_LAYERS];
    int64_t hidden_size; /* N, of every layer */

    /* The scores of the next token from the last layer's hidden states [B,T,N]; NULL where the
     * model foresees something else than what it reads. */
    att_node *(*logits)(const att_model *model, att_tape *tape, att_node *hidden);
} att_rnn_stack;

/* ATT_BAD_INPUT where the model has none: it is no recurrent one, or reads in both directions. */
att_status att_model_rnn_stack(att_rnn_stack *out, const att_model *model, att_error *err);

#endif
