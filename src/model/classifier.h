/* Classifiers: an encoder reads the sentence (sentence_encoder.h), pooling makes one vector of it
 * (nn/pooling.h), and a linear layer computes the logits of the labels. */
#ifndef ATT_MODEL_CLASSIFIER_H
#define ATT_MODEL_CLASSIFIER_H

#include "model/sentence_encoder.h"

typedef struct att_classifier_network {
    att_sentence_encoder encoder;
    att_pooling pooling;
    att_linear_layer output; /* [N, labels] */
    int64_t labels;          /* L: target tokens without the reserved ones */
    float dropout;           /* of the pooled vector */
    float word_dropout;
} att_classifier_network;

extern const att_architecture att_rnn_classifier_architecture,
    att_transformer_classifier_architecture, att_cnn_classifier_architecture;

#endif
