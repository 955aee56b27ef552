/* An RNN encoder in one or both directions, for RNN seq2seq models and classifiers. */
#ifndef ATT_MODEL_RNN_ENCODER_H
#define ATT_MODEL_RNN_ENCODER_H

#include "model/model.h"
#include "nn/rnn_layer.h"
#include "nn/embedding.h"

enum { ATT_MAX_RNN_LAYERS = 64 };

typedef struct att_rnn_encoder_layer {
    att_rnn_layer forward;
    att_rnn_layer backward; /* if bidirectional: each direction has half the hidden size */
    int bridge_w, bridge_b; /* from the final states to an initial state of the decoder; or none */
} att_rnn_encoder_layer;

typedef struct att_rnn_encoder {
    int layers;
    bool bidirectional;
    int64_t hidden_size; /* N */
    float dropout;       /* between layers */
    att_embedding embedding;
    att_rnn_encoder_layer layer[ATT_MAX_RNN_LAYERS];
} att_rnn_encoder;

/* Random streams of dropout; step t uses stream + t. */
enum { ATT_DROPOUT_SOURCE = 1, ATT_DROPOUT_TARGET, ATT_DROPOUT_OUTPUT, ATT_DROPOUT_LAYER };

/* Layers are counted from the first of the encoder to the last of the decoder. */
static inline uint64_t att_dropout_stream(int which, int layer)
{
    return (uint64_t)(which + layer) << 40;
}

/* Checks the settings of an RNN encoder. */
att_status att_rnn_encoder_check(const att_settings *settings, att_error *err);

/* Adds the embedding of the source tokens. */
void att_rnn_encoder_build_embedding(att_rnn_encoder *out, att_param_builder *builder,
                                     const att_settings *settings, int64_t vocabulary);

/* Adds the layers of an encoder that has its embedding; with `bridges`, the linear layers from its
 * final states to the initial states of a decoder. */
void att_rnn_encoder_build_layers(att_rnn_encoder *encoder, att_param_builder *builder,
                                  const att_settings *settings, bool bridges);

/* Final states of a run. */
typedef struct att_rnn_encoder_final_states {
    att_node *last_layer;                       /* [B, states N] of the last layer */
    att_node *decoder_init[ATT_MAX_RNN_LAYERS]; /* [B, states N] initial states of the decoder */
} att_rnn_encoder_final_states;

/* Encodes sources: hidden states [B,S,N] of the last layer. */
att_node *att_rnn_encoder_run(const att_rnn_encoder *encoder, att_tape *tape,
                              const att_sources *sources, att_rnn_encoder_final_states *ends);

#endif
