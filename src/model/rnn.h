/* RNN seq2seq, caption and language models: an encoder and a decoder of vanilla RNN, GRU or LSTM
 * layers with any kind of attention between them (handouts 003 and 004). Private to these files:
 *
 *   rnn.c          parameters and architectures
 *   rnn_encoder.c  the encoder
 *   rnn_encode.c   the source of the decoder: tokens through the encoder, or an image
 *   rnn_forward.c  the decoder over a target: all steps at once where no input depends on the step
 *                  before, else one by one
 *   rnn_loss.c     the loss
 *   rnn_decode.c   the same decoder one step at a time, with its state kept between calls
 */
#ifndef ATT_MODEL_RNN_H
#define ATT_MODEL_RNN_H

#include "model/model.h"
#include "model/log_softmax.h"
#include "model/rnn_encoder.h"
#include "nn/copy_layer.h"
#include "nn/image_embedding.h"
#include "nn/decoder_attention.h"
#include "nn/multihead_attention.h"

typedef struct att_rnn_decoder att_rnn_decoder;

typedef struct att_rnn_network {
    /* Encodes sources of any kind: sets rows, memory, encoder_final_state and state of the pass. */
    void (*encode)(att_rnn_decoder *pass, const att_sources *sources);

    int layers;
    bool has_encoder;      /* else it is a language model */
    bool fixed_context;    /* the context is the final state of the encoder */
    bool has_attention;    /* the context comes from attention */
    bool context_at_input; /* the context is part of the decoder input */
    bool readout_at_input; /* the readout of the step before is too (input feeding) */
    int64_t hidden_size;   /* N */
    int64_t readout_size;  /* R */
    float dropout;
    float guided_alignment_weight;

    att_rnn_encoder encoder;
    att_image_embedding image_embedding; /* in its place for images */
    bool image_init; /* the mean of the image sets the initial states; else zeros */
    att_linear_layer
        image_init_layers[ATT_MAX_RNN_LAYERS]; /* from that mean to the initial states */
    att_embedding target_embedding;
    att_rnn_layer decoder[ATT_MAX_RNN_LAYERS];
    att_decoder_attention attention;
    int readout_w;    /* W_c [2 N,R]: readout = tanh([context; state] W_c); or none */
    int projection_w; /* [N,R] where the readout is the state in another size; or none */
    int output_w;     /* [R,V], or none: the target embedding */
    int output_b;     /* [V] */
    att_copy_layer copy;
} att_rnn_network;

/* A decoder run: its inputs and its state. */
struct att_rnn_decoder {
    const att_rnn_network *network;
    att_tape *tape;
    int64_t rows;                  /* B */
    att_memory memory;             /* of the source */
    att_node *encoder_final_state; /* [B,N] where the context is fixed */
    const int64_t *lengths;        /* [B] of the targets, or NULL: not known */
    bool want_attention;
    const att_loss_options *loss_options; /* for scheduled sampling; NULL: none */
    const int64_t *pair_index;            /* [B] random streams of scheduled sampling */
    const att_copy_index *copy;           /* of the sources; NULL: the model does not copy */

    att_node *state[ATT_MAX_RNN_LAYERS]; /* [B, states N] */
    att_node *readout;                   /* [B,1,R] of the step before; NULL: zeros */
    att_node *coverage;                  /* [B,S] sum of the attention so far; NULL: zeros */
    int64_t position;                    /* steps so far */
    att_node *attention;                 /* [B,T,S] of the steps just taken; NULL if not wanted */
    att_node *hidden;                    /* [B,T,N] of the top layer in the steps just taken */
};

/* The two kinds of sources: tokens, if any, and images. */
void att_rnn_encode_tokens(att_rnn_decoder *pass, const att_sources *sources);
void att_rnn_encode_image(att_rnn_decoder *pass, const att_sources *sources);

/* Adds the parameters of an image source. */
void att_rnn_build_image_embedding(att_rnn_network *parts, att_param_builder *builder,
                                   const att_settings *settings);

/* Runs `count` steps on tokens [B,count]: readouts [B,count,R]. */
att_node *att_rnn_decoder_run(att_rnn_decoder *pass, const int32_t *tokens, int64_t count);

/* What the loss and the log-probabilities of a model that copies are computed from, of the steps
 * just taken: their logits and readouts. */
att_copy_inputs att_rnn_decoder_copy_inputs(const att_rnn_decoder *pass, att_node *logits,
                                            att_node *readouts);

/* The output layer. */
att_output_weights att_rnn_output_weights(const att_rnn_network *network);

/* The logits of the next tokens, [B,count,V], from the readouts of steps that began at `first`. */
att_node *att_rnn_decoder_logits(const att_rnn_decoder *pass, att_node *readouts, int64_t first);

att_node *att_rnn_network_loss(const att_model *model, att_tape *tape, const att_batch *batch,
                               const att_loss_options *options, att_loss_result *result);

/* Floats per row that are carried from batch to batch (truncated BPTT). */
int64_t att_rnn_carried_state_size(const att_model *model);

att_status att_rnn_decoder_open(att_decoder *decoder, att_error *err);
void att_rnn_decoder_close(att_decoder *decoder);
att_status att_rnn_decoder_start(att_decoder *decoder, const att_sources *sources, att_error *err);
att_status att_rnn_decoder_step(att_decoder *decoder, int64_t rows, const int32_t *tokens,
                                const int64_t *order, att_decoder_output *out, att_error *err);

extern const att_architecture att_rnn_architecture, att_rnn_lm_architecture,
    att_rnn_caption_architecture;

#endif
