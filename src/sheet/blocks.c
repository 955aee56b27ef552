/* The table of worksheet functions for attention and other layers (docs/worksheets.md). */
#include "sheet/blocks.h"

/* clang-format off */

/* One row per option of attention; the four attention functions share them and may add more. */
#define ATTENTION_OPTIONS                                                                          \
    { "score", "dot, scaled, general, additive, concat, gaussian, cosine or location" },           \
    { "scale", "a number" },                                                                       \
    { "softcap", "a number" },                                                                     \
    { "mask", "causal or a matrix of 0 and 1" },                                                   \
    { "causal", NULL },                                                                            \
    { "offset", "a number" },                                                                      \
    { "window", "a number or a pair [left right]" },                                               \
    { "length", "a number" },                                                                      \
    { "bias", "a matrix" },                                                                        \
    { "alibi", "a number or a vector of slopes" },                                                 \
    { "normalizer", "softmax, mean, sparsemax, entmax, sigmoid, sum or none" },                     \
    { "W", "a matrix" },                                                                           \
    { "U", "a matrix" },                                                                           \
    { "b", "a vector of numbers" },                                                                \
    { "v", "a vector of numbers" },                                                                \
    { "vectors", "rows or columns" }

static const att_option_spec attention_options[] = {
    ATTENTION_OPTIONS,
    { NULL, NULL },
};

static const att_option_spec multihead_options[] = {
    ATTENTION_OPTIONS,
    { "heads", "a number" },
    { "from", "a matrix" },
    { NULL, NULL },
};

static const att_option_spec positional_options[] = {
    { "base", "a number" },
    { "start", "a number" },
    { NULL, NULL },
};

static const att_option_spec linear_options[] = {
    { "vectors", "rows or columns" },
    { NULL, NULL },
};

static const att_option_spec conv1d_options[] = {
    { "padding", "same or valid" },
    { "stride", "a number" },
    { NULL, NULL },
};

static const att_option_spec gru_options[] = {
    { "reset", "after or before" },
    { NULL, NULL },
};

const att_function att_block_functions[] = {
    { "attention", "attention(q, k, v, score = …)", 3, 3, attention_options, att_run_attention },
    { "self_attention", "self_attention(X, W_q, W_k, W_v, score = …)", 3, 4, attention_options,
      att_run_self_attention },
    { "cross_attention", "cross_attention(X, Y, W_q, W_k, W_v, score = …)", 4, 5,
      attention_options, att_run_cross_attention },
    { "multihead", "multihead(X, {W_q…}, {W_k…}, {W_v…}, W_O, from = Y, score = …)", 4, 5,
      multihead_options, att_run_multihead },
    { "positional", "positional(n, d, base = 10000, start = 0)", 2, 2, positional_options,
      att_run_positional },
    { "linear", "linear(X, W, b)", 2, 3, linear_options, att_run_linear },
    { "conv1d", "conv1d(X, kernel, b, padding = same, stride = 1)", 2, 3, conv1d_options,
      att_run_conv1d },
    { "rnn", "rnn(x, h, W_x, W_h, b)", 4, 5, NULL, att_run_rnn },
    { "lstm", "lstm(x, h, c, W_x, W_h, b)", 5, 6, NULL, att_run_lstm },
    { "gru", "gru(x, h, W_x, W_h, b, b_h, reset = after)", 4, 6, gru_options, att_run_gru },
    { NULL, NULL, 0, 0, NULL, NULL },
};

/* clang-format on */
