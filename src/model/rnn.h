/* The recurrent family: an encoder and a decoder of RNN, GRU or LSTM layers, and between them any
 * of the attentions (handouts 003 and 004). Shared by its own files alone:
 *
 *   recurrent.c         its parameters, and the row of the table
 *   reader.c            an encoder
 *   recurrent_encode.c  a source read by it, for the decoder
 *   recurrent_see.c     a picture seen, in its place
 *   recurrent_walk.c    a decoder going along a target, many steps at once where nothing it needs
 *                       depends on the step before, else one by one
 *   recurrent_loss.c    learning
 *   recurrent_decode.c  decoding: the same walk, one step at a time, its state kept between calls
 */
#ifndef ATT_MODEL_RNN_H
#define ATT_MODEL_RNN_H

#include "model/model.h"
#include "model/log_softmax.h"
#include "model/rnn_encoder.h"
#include "nn/image_embedding.h"
#include "nn/decoder_attention.h"
#include "nn/multihead_attention.h"

typedef struct att_rnn_decoder att_rnn_decoder;

typedef struct att_rnn_network {
    /* Reads sources, whatever they are: sets `rows`, `memory`, `last` and `state` of the walk. */
    void (*encode)(att_rnn_decoder *walk, const att_sources *sources);

    int layers;
    bool has_encoder; /* there is an encoder; else the decoder stands alone and goes on with a text
                       */
    bool fixed_context;    /* the context is the encoder's last state */
    bool has_attention;    /* the context comes from attention */
    bool context_at_input; /* the context is part of the decoder's input (feed state) */
    bool readout_at_input; /* the last readout is (feed both) */
    int64_t hidden_size;   /* N */
    int64_t readout_size;  /* R */
    float dropout;
    float guided_alignment_weight;

    att_rnn_encoder encoder;             /* the encoder */
    att_image_embedding image_embedding; /* in its place, where sources are pictures */
    bool image_init;                     /* the mean of a picture starts each layer; else nothing */
    att_linear_layer image_init_layers[ATT_MAX_RNN_LAYERS]; /* from that mean to the start */
    att_embedding target_embedding;
    att_rnn_layer decoder[ATT_MAX_RNN_LAYERS];
    att_decoder_attention attention;
    int readout_w;    /* W_c [2 N,R]: readout = tanh([context; state] W_c); or none */
    int projection_w; /* [N,R] where the readout is the state but has another width; or none */
    int output_w;     /* [R,V], or none: the target embedding */
    int output_b;     /* [V] */
} att_rnn_network;

/* A decoder under way. */
struct att_rnn_decoder {
    const att_rnn_network *network;
    att_tape *tape;
    int64_t rows;                  /* B */
    att_memory memory;             /* of the source */
    att_node *encoder_final_state; /* [B,N] the encoder's last state, where the context is fixed */
    const int64_t *lengths;        /* [B] of the targets, or NULL: not known */
    bool want_attention;
    const att_loss_options *loss_options; /* whether to feed own predictions; NULL: no */
    const int64_t *pair_index;            /* [B] names the rows for that */

    att_node *state[ATT_MAX_RNN_LAYERS]; /* [B, states N] */
    att_node *readout;                   /* [B,1,R] of the step before; NULL: zeros */
    att_node *coverage;                  /* [B,S] weights so far; NULL: zeros */
    int64_t position;                    /* steps taken */
    att_node *attention;                 /* [B,T,S] of the steps just taken; NULL if not wanted */
    att_node *hidden;                    /* [B,T,N] of the top layer in the steps just taken */
};

/* The two ways to read: tokens by an encoder, where there are any, and pictures. */
void att_rnn_encode_tokens(att_rnn_decoder *walk, const att_sources *sources);
void att_rnn_encode_image(att_rnn_decoder *walk, const att_sources *sources);

/* Adds the parameters of the latter. */
void att_rnn_build_image_embedding(att_rnn_network *parts, att_param_builder *builder,
                                   const att_settings *settings);

/* Takes `count` steps on tokens [B,count]: readouts [B,count,R]. */
att_node *att_rnn_decoder_run(att_rnn_decoder *walk, const int32_t *tokens, int64_t count);

/* The scores of the next token, [B,count,V], from readouts of steps that began at `first`. */
att_node *att_rnn_decoder_logits(const att_rnn_decoder *walk, att_node *readouts, int64_t first);

att_node *att_rnn_network_loss(const att_model *model, att_tape *tape, const att_batch *batch,
                               const att_loss_options *lesson, att_loss_result *result);

/* Floats that a row of a text carries from batch to batch. */
int64_t att_rnn_carried_state_size(const att_model *model);

att_status att_rnn_decoder_open(att_decoder *decoder, att_error *err);
void att_rnn_decoder_close(att_decoder *decoder);
att_status att_rnn_decoder_start(att_decoder *decoder, const att_sources *sources, att_error *err);
att_status att_rnn_decoder_step(att_decoder *decoder, int64_t rows, const int32_t *tokens,
                                const int64_t *order, att_decoder_output *out, att_error *err);

extern const att_architecture att_rnn_architecture, att_rnn_lm_architecture,
    att_rnn_caption_architecture;

#endif
