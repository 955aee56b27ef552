/* Classifiers: an encoder reads the sentence, pooling makes one vector of it (nn/pooling.h), and a
 * linear layer computes the logits of the labels. Private to these files:
 *
 *   classifier.c              the shared parts: loss, decoding (a single step), the output layer
 *   rnn_classifier.c          RNN encoder
 *   transformer_classifier.c  Transformer encoder
 *   cnn_classifier.c          convolutions
 */
#ifndef ATT_MODEL_CLASSIFIER_H
#define ATT_MODEL_CLASSIFIER_H

#include "model/model.h"
#include "nn/pooling.h"

typedef struct att_classifier_network att_classifier_network;

/* Encodes the sentences of `sources` into token states for pooling. */
typedef void att_sentence_encode(const att_classifier_network *parts, att_tape *tape,
                                 const att_sources *sources, att_encoded_batch *out);

struct att_classifier_network {
    att_sentence_encode *encode;
    void *encoder; /* of the architecture */
    att_pooling pooling;
    att_linear_layer output; /* [N, labels] */
    int64_t labels;          /* L: target tokens without the reserved ones */
    float dropout;           /* of the pooled vector */
    float word_dropout;
};

/* The result of an encoder whose output is padded rows, [sequences * length, N]. */
att_encoded_batch att_classifier_padded_rows(att_tape *tape, const att_sources *sources,
                                             att_node *rows);

/* Completes a model whose sentences `read` encodes with `encoder`, into rows of `width`: adds
 * pooling and the output layer, and returns the status of the builder. */
att_status att_classifier_build(att_model *model, att_param_builder *builder,
                                att_sentence_encode *read, void *encoder, int64_t width);

/* Checks the settings that all classifiers share. */
att_status att_classifier_check(const att_settings *settings, att_error *err);

att_node *att_classifier_loss(const att_model *model, att_tape *tape, const att_batch *batch,
                              const att_loss_options *options, att_loss_result *result);

att_status att_classifier_open(att_decoder *decoder, att_error *err);
void att_classifier_close(att_decoder *decoder);
att_status att_classifier_start(att_decoder *decoder, const att_sources *sources, att_error *err);
att_status att_classifier_step(att_decoder *decoder, int64_t rows, const int32_t *tokens,
                               const int64_t *order, att_decoder_output *out, att_error *err);

/* The architecture of a classifier: they differ only in how they are built. */
#define ATT_CLASSIFIER_ARCHITECTURE(NAME, BUILD)                                                   \
    {                                                                                              \
        .name = NAME, .build = BUILD, .loss = att_classifier_loss, .open = att_classifier_open,    \
        .close = att_classifier_close, .start = att_classifier_start, .step = att_classifier_step  \
    }

extern const att_architecture att_rnn_classifier_architecture,
    att_transformer_classifier_architecture, att_cnn_classifier_architecture;

#endif
