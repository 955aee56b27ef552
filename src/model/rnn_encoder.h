/* Recurrent layers that read a source, in one direction or both: the encoder of the recurrent
 * family, and what its classifiers read sentences with. */
#ifndef ATT_MODEL_RNN_ENCODER_H
#define ATT_MODEL_RNN_ENCODER_H

#include "model/model.h"
#include "nn/rnn_layer.h"
#include "nn/embedding.h"

enum { ATT_MAX_RNN_LAYERS = 64 };

typedef struct att_rnn_encoder_layer {
    att_rnn_layer forward;
    att_rnn_layer backward; /* where it reads in both directions, each has half the width */
    int bridge_w, bridge_b; /* from the ends of both directions to a decoder's start; or none */
} att_rnn_encoder_layer;

typedef struct att_rnn_encoder {
    int layers;
    bool bidirectional;
    int64_t hidden_size; /* N */
    float dropout;       /* between layers */
    att_embedding embedding;
    att_rnn_encoder_layer layer[ATT_MAX_RNN_LAYERS];
} att_rnn_encoder;

/* Where dropout acts, told apart from other places and steps: draws of step t are at place + t. */
enum { ATT_DROPOUT_SOURCE = 1, ATT_DROPOUT_TARGET, ATT_DROPOUT_OUTPUT, ATT_DROPOUT_LAYER };

/* Layers count from the encoder's first to the decoder's last. */
static inline uint64_t att_dropout_stream(int which, int layer)
{
    return (uint64_t)(which + layer) << 40;
}

/* What can be said of the settings by whoever reads with it. */
att_status att_rnn_encoder_check(const att_settings *settings, att_error *err);

/* Adds the embedding of the source's tokens. */
void att_rnn_encoder_build_embedding(att_rnn_encoder *out, att_param_builder *builder,
                                     const att_settings *settings, int64_t vocabulary);

/* Adds the layers of a reader that has its embedding; with `bridges`, what leads from their ends to
 * the starts of a decoder. */
void att_rnn_encoder_build_layers(att_rnn_encoder *reader, att_param_builder *builder,
                                  const att_settings *settings, bool bridges);

/* What reading leaves, but for the states of the last layer. */
typedef struct att_rnn_encoder_final_states {
    att_node *last_layer;                       /* [B, states N] where the last layer ended */
    att_node *decoder_init[ATT_MAX_RNN_LAYERS]; /* [B, states N] and where each layer of a decoder
                                                   starts */
} att_rnn_encoder_final_states;

/* Reads sources: hidden states [B,S,N] of the last layer. */
att_node *att_rnn_encoder_run(const att_rnn_encoder *reader, att_tape *tape,
                              const att_sources *sources, att_rnn_encoder_final_states *ends);

#endif
