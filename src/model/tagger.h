/* Taggers: an encoder reads the sentence (sentence_encoder.h), and a linear layer computes the
 * logits of the labels of each token. With a CRF they are its emissions, and whole sequences of
 * labels are scored. */
#ifndef ATT_MODEL_TAGGER_H
#define ATT_MODEL_TAGGER_H

#include "model/sentence_encoder.h"
#include "nn/crf_layer.h"

typedef struct att_tagger_network {
    att_sentence_encoder encoder;
    att_linear_layer output; /* [N, labels] */
    bool has_crf;
    att_crf_layer crf;
    int64_t labels; /* L: target tokens without the reserved ones */
    float dropout;  /* of the encoder's states */
    float word_dropout;
} att_tagger_network;

/* The labels of a batch, in the memory of the tape. Token t of sentence b is row offsets[b] + t. */
typedef struct att_tagger_output {
    int64_t labels;         /* L */
    const int64_t *offsets; /* [B] */
    const float *log_probs; /* [rows,L] given the sentence */
    const int32_t *best; /* [rows] the label of each token, from 0: the most probable one, or with a
                            CRF that of the best sequence */
} att_tagger_output;

/* Tags sentences on a tape that was begun. Where a result is not finite, err->line is the row of
 * the batch, from 1 (layer_check.h). */
att_status att_tagger_run(const att_model *model, att_tape *tape, const att_sources *sources,
                          att_tagger_output *out, att_error *err);

extern const att_architecture att_rnn_tagger_architecture, att_transformer_tagger_architecture,
    att_cnn_tagger_architecture;

#endif
