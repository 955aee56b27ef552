/* Encoders of sentences, which classifiers and taggers share: they differ only in what they compute
 * from the token states.
 *
 *   sentence_encoder.c              the choice of the encoder, and its input
 *   rnn_sentence_encoder.c          RNN layers
 *   transformer_sentence_encoder.c  Transformer layers
 *   cnn_sentence_encoder.c          convolutions
 */
#ifndef ATT_MODEL_SENTENCE_ENCODER_H
#define ATT_MODEL_SENTENCE_ENCODER_H

#include "model/model.h"
#include "nn/char_features.h"
#include "nn/embedding.h"
#include "nn/pooling.h"

typedef struct att_sentence_encoder att_sentence_encoder;

struct att_sentence_encoder {
    /* Encodes sentences into token states. */
    void (*encode)(const att_sentence_encoder *encoder, att_tape *tape, const att_sources *sources,
                   att_encoded_batch *out);
    void *network;       /* of the architecture */
    int64_t hidden_size; /* N */
    bool final_states;   /* return the final states of an RNN too */
    att_char_features chars;
    att_linear_layer char_projection; /* [F,D] of a Transformer */
};

/* The network of a convolutional encoder. */
enum { ATT_MAX_CNN_LAYERS = 16 };
typedef struct att_cnn_encoder {
    att_embedding embedding;
    int layers;
    float dropout;
    att_text_cnn layer[ATT_MAX_CNN_LAYERS];
} att_cnn_encoder;

/* Checks the settings and adds the parameters of the encoder that the settings ask for. */
att_status att_sentence_encoder_build(att_sentence_encoder *out, att_model *model,
                                      att_param_builder *builder);

/* Encodes sentences, with the character features of their words if the model has them. */
void att_sentence_encoder_run(const att_sentence_encoder *encoder, att_tape *tape,
                              const att_sources *sources, att_encoded_batch *out);

/* The input of an encoder: the tokens of `from` with word dropout, where `options` is given and the
 * tape is training, and with a stop token at the end if `stop`. `pair` [B] numbers the pairs for
 * word dropout. In the memory of the tape; NULL on failure. */
const att_sources *att_sentence_encoder_input(att_tape *tape, const att_sources *from, bool stop,
                                              float word_dropout, const att_loss_options *options,
                                              const int64_t *pair);

/* ---- for the files of the encoders */

typedef att_status att_sentence_encoder_builder(att_sentence_encoder *out, att_model *model,
                                                att_param_builder *builder);
att_sentence_encoder_builder att_rnn_sentence_encoder_build, att_transformer_sentence_encoder_build,
    att_cnn_sentence_encoder_build;

/* The result of an encoder whose output is padded rows, [sequences * length, N]. */
att_encoded_batch att_encoded_batch_padded(att_tape *tape, const att_sources *sources,
                                           att_node *rows);

#endif
