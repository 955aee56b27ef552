/* Families that sort sentences: a source is read, summed up as one vector (nn/pooling.h), and its
 * label told from that. Shared by their own files alone:
 *
 *   label.c              what all do: loss, decoding (which is a single step), the output layer
 *   recurrent_label.c    sentences read by recurrent layers
 *   transformer_label.c  … by the encoder of a Transformer
 *   convolution_label.c  … and by convolutions
 */
#ifndef ATT_MODEL_CLASSIFIER_H
#define ATT_MODEL_CLASSIFIER_H

#include "model/model.h"
#include "nn/pooling.h"

typedef struct att_classifier_network att_classifier_network;

/* Reads sentences. */
typedef void att_sentence_encode(const att_classifier_network *parts, att_tape *tape,
                                 const att_sources *sources, att_encoded_batch *out);

struct att_classifier_network {
    att_sentence_encode *encode;
    void *encoder; /* the family's */
    att_pooling pooling;
    att_linear_layer output; /* [N, labels] */
    int64_t labels; /* L: tokens of the target vocabulary but for those that every one has */
    float dropout;  /* of the sentence's vector */
    float word_dropout;
};

/* What a reader of padded rows, [sequences * length, N], gives. */
att_encoded_batch att_classifier_padded_rows(att_tape *tape, const att_sources *sources,
                                             att_node *rows);

/* Ends the making of a model whose sentences `read` reads with `encoder`, in rows of `width`: adds
 * what comes after, and gives the builder's status. */
att_status att_classifier_build(att_model *model, att_param_builder *builder,
                                att_sentence_encode *read, void *encoder, int64_t width);

/* What can be said of the settings by any of them. */
att_status att_classifier_check(const att_settings *settings, att_error *err);

att_node *att_classifier_loss(const att_model *model, att_tape *tape, const att_batch *batch,
                              const att_loss_options *lesson, att_loss_result *result);

att_status att_classifier_open(att_decoder *decoder, att_error *err);
void att_classifier_close(att_decoder *decoder);
att_status att_classifier_start(att_decoder *decoder, const att_sources *sources, att_error *err);
att_status att_classifier_step(att_decoder *decoder, int64_t rows, const int32_t *tokens,
                               const int64_t *order, att_decoder_output *out, att_error *err);

/* A family of these: they differ in how they are built alone. */
#define ATT_CLASSIFIER_ARCHITECTURE(NAME, BUILD)                                                   \
    {                                                                                              \
        .name = NAME, .build = BUILD, .loss = att_classifier_loss, .open = att_classifier_open,    \
        .close = att_classifier_close, .start = att_classifier_start, .step = att_classifier_step  \
    }

extern const att_architecture att_rnn_classifier_architecture,
    att_transformer_classifier_architecture, att_cnn_classifier_architecture;

#endif
