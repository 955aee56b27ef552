/* Words seen with their neighbours: convolutions over a sentence, of several widths side by side
 * (Kim 2014, "Convolutional neural networks for sentence classification"). */
#ifndef ATT_NN_TEXT_CNN_H
#define ATT_NN_TEXT_CNN_H

#include "nn/multihead_attention.h"

enum { ATT_MAX_WINDOWS = 16 };

typedef struct att_text_cnn {
    int64_t min_window, max_window; /* tokens in the narrowest and the widest window */
    int64_t input_size;             /* D, of what is seen */
    int64_t output_size;            /* N, shared by the windows */
    att_linear_layer
        filters[ATT_MAX_WINDOWS]; /* [size D, N / windows] for each size, the least first */
} att_text_cnn;

/* Adds the parameters of windows that say all else. */
void att_text_cnn_build(att_text_cnn *windows, att_param_builder *builder, const char *prefix);

/* relu(window W + bias) around each token of x [B,S,D], for every size side by side: [B,S,N]. A
 * window of n tokens has (n - 1) / 2 before its own, rounded down, and n / 2 after it; beyond a
 * sentence's ends there are zeros. */
att_node *att_text_cnn_run(const att_text_cnn *windows, att_tape *tape, att_node *x,
                           const int64_t *lengths);

#endif
