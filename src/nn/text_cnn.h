/* A convolutional layer over the tokens of a sentence, with windows of several sizes side by side
 * (Kim 2014, "Convolutional neural networks for sentence classification"). */
#ifndef ATT_NN_TEXT_CNN_H
#define ATT_NN_TEXT_CNN_H

#include "nn/linear_layer.h"

enum { ATT_MAX_WINDOWS = 16 };

typedef struct att_text_cnn {
    int64_t min_window, max_window;            /* tokens in the smallest and the largest window */
    int64_t input_size;                        /* D */
    int64_t output_size;                       /* N, divided among the window sizes */
    att_linear_layer filters[ATT_MAX_WINDOWS]; /* [size D, N / windows], the smallest size first */
} att_text_cnn;

/* Adds the filters of a layer whose other members are set. */
void att_text_cnn_build(att_text_cnn *cnn, att_param_builder *builder, const char *prefix);

/* relu(window W + bias) around each token of x [B,S,D], all window sizes side by side: [B,S,N]. A
 * window of n tokens has floor((n - 1) / 2) tokens before its own and floor(n / 2) after it.
 * Outside the sentence there are zeros. */
att_node *att_text_cnn_run(const att_text_cnn *cnn, att_tape *tape, att_node *x,
                           const int64_t *lengths);

#endif
