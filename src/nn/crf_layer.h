/* A linear-chain CRF on top of a tagger: scores of pairs of neighboring labels, and of the first
 * and the last (Huang, Xu and Yu 2015, "Bidirectional LSTM-CRF models for sequence tagging"). */
#ifndef ATT_NN_CRF_LAYER_H
#define ATT_NN_CRF_LAYER_H

#include "nn/pooling.h"

typedef struct att_crf_layer {
    int64_t labels;              /* L */
    int transitions, start, end; /* [L,L], [L], [L] */
} att_crf_layer;

/* Adds the parameters, named "crf.…". */
void att_crf_layer_build(att_crf_layer *out, att_param_builder *builder, int64_t labels);

/* The loss of emissions [..., L] for the sentences of *batch, as att_crf_loss(): labels [rows],
 * losses [sequences]. */
att_node *att_crf_layer_loss(const att_crf_layer *layer, att_tape *tape, att_node *emissions,
                             const att_encoded_batch *batch, const int32_t *labels, float *losses);

/* The labels [rows] of the best sequence of each sentence (Viterbi), 0 in padding; and the
 * logarithms of the probability of each label at each token, [rows,L], undefined in padding. In the
 * memory of the tape; NULL on failure. Where no sequence of labels has a probability, because
 * scores differ by more than exp() can hold, *failed is the sentence, else -1. */
const int32_t *att_crf_layer_best(const att_crf_layer *layer, att_tape *tape, att_node *emissions,
                                  const att_encoded_batch *batch);
const float *att_crf_layer_log_probs(const att_crf_layer *layer, att_tape *tape,
                                     att_node *emissions, const att_encoded_batch *batch,
                                     int64_t *failed);

#endif
