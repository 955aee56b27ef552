/* Words seen with their neighbours: convolutions over a sentence, of several widths side by side
 * (Kim 2014, "Convolutional neural networks for sentence classification"). */
#ifndef ATT_NN_WINDOWS_H
#define ATT_NN_WINDOWS_H

#include "nn/heads.h"

enum { ATT_MOST_WINDOWS = 16 };

typedef struct att_windows {
    int64_t least, most;              /* tokens in the narrowest and the widest window */
    int64_t in;                       /* D, of what is seen */
    int64_t width;                    /* N, shared by the windows */
    att_affine see[ATT_MOST_WINDOWS]; /* [size D, N / windows] for each size, the least first */
} att_windows;

/* Adds the parameters of windows that say all else. */
void att_windows_build(att_windows *windows, att_builder *builder, const char *prefix);

/* relu(window W + bias) around each token of x [B,S,D], for every size side by side: [B,S,N]. A
 * window of n tokens has (n - 1) / 2 before its own, rounded down, and n / 2 after it; beyond a
 * sentence's ends there are zeros. */
att_node *att_windows_run(const att_windows *windows, att_tape *tape, att_node *x,
                          const int64_t *lengths);

#endif
