/* The table of worksheet functions for attention and other layers (docs/worksheets.md). */
#include "sheet/blocks.h"

static const char *score_word(size_t index)
{
    return att_score_name((att_score)index);
}

static const char *normalizer_word(size_t index)
{
    return att_normalizer_name((att_normalizer)index);
}

/* clang-format off */

/* One row per option of attention; the four attention functions share them and may add more. */
#define ATTENTION_OPTIONS                                                                          \
    { "score", NULL, score_word },                                                                 \
    { "scale", "a number", NULL },                                                                 \
    { "softcap", "a number", NULL },                                                               \
    { "mask", "causal or a matrix of 0 and 1", NULL },                                             \
    { "causal", NULL, NULL },                                                                      \
    { "offset", "a number", NULL },                                                                \
    { "window", "a number or a pair [left right]", NULL },                                         \
    { "length", "a number", NULL },                                                                \
    { "bias", "a matrix", NULL },                                                                  \
    { "alibi", "a number or a vector of slopes", NULL },                                           \
    { "normalizer", NULL, normalizer_word },                                                       \
    { "W", "a matrix", NULL },                                                                     \
    { "U", "a matrix", NULL },                                                                     \
    { "b", "a vector of numbers", NULL },                                                          \
    { "v", "a vector of numbers", NULL },                                                          \
    { "vectors", "rows or columns", NULL }

static const att_option_spec attention_options[] = {
    ATTENTION_OPTIONS,
    { NULL, NULL, NULL },
};

static const att_option_spec multihead_options[] = {
    ATTENTION_OPTIONS,
    { "heads", "a number", NULL },
    { "from", "a matrix", NULL },
    { NULL, NULL, NULL },
};

static const att_option_spec positional_options[] = {
    { "base", "a number", NULL },
    { "start", "a number", NULL },
    { NULL, NULL, NULL },
};

static const att_option_spec linear_options[] = {
    { "vectors", "rows or columns", NULL },
    { NULL, NULL, NULL },
};

static const att_option_spec conv1d_options[] = {
    { "padding", "same or valid", NULL },
    { "stride", "a number", NULL },
    { NULL, NULL, NULL },
};

static const att_option_spec gru_options[] = {
    { "reset", "after or before", NULL },
    { "vectors", "rows or columns", NULL },
    { NULL, NULL, NULL },
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
    { "rnn", "rnn(x, h, W_x, W_h, b)", 4, 5, linear_options, att_run_rnn },
    { "lstm", "lstm(x, h, c, W_x, W_h, b)", 5, 6, linear_options, att_run_lstm },
    { "gru", "gru(x, h, W_x, W_h, b, b_h, reset = after)", 4, 6, gru_options, att_run_gru },
    { NULL, NULL, 0, 0, NULL, NULL },
};

/* clang-format on */
