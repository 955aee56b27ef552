/* The gradient check of both RNN operations: samples of every cell, and the reference formula. */
#include "tape/rnn.h"

#include "base/minmax.h"

att_reference_rnn_inputs att_rnn_truth_inputs(const att_node *node, const double *const *in)
{
    const att_rnn_options *options = node->options;
    const att_node *x = node->in[RNN_X];
    return (att_reference_rnn_inputs){ .cell = options->cell,
                                       .batch = x->shape[0],
                                       .time = x->shape[1],
                                       .depth = x->shape[2],
                                       .units = att_node_last_dim(node),
                                       .reverse = options->reverse,
                                       .lengths = options->lengths,
                                       .x = in[RNN_X],
                                       .w = in[RNN_W],
                                       .u = in[RNN_U],
                                       .bias = in[RNN_BIAS],
                                       .bias_u = in[RNN_BIAS_U],
                                       .initial_state = in[RNN_INITIAL_STATE] };
}

/* ---------------------------------------------------------------- samples */

static const int64_t lengths[] = { 2, 0, 4, 3, 4 };

enum { BIAS = 1, BIAS_U = 2, START = 4 }; /* optional inputs */

#define GIVEN(given, rank) ((given) ? (rank) : ATT_NOT_GIVEN)

/* B sequences of T steps of D inputs; a cell of N units, with `gates` and `states` per unit. */
#define CELL(title, kind, gates, states, B, T, D, N, given, reversed, used)                        \
    {                                                                                              \
        .name = (title), .input_count = RNN_INPUT_COUNT,                                           \
        .options = &(const att_rnn_options){ ATT_RNN_CELL_##kind, reversed, used },                \
        .in = {                                                                                    \
            [RNN_X] = { 3, { B, T, D } },                                                          \
            [RNN_W] = { 2, { D, (gates) * (N) } },                                                 \
            [RNN_U] = { 2, { N, (gates) * (N) } },                                                 \
            [RNN_BIAS] = { GIVEN((given)&BIAS, 1), { (gates) * (N) } },                            \
            [RNN_BIAS_U] = { GIVEN((given)&BIAS_U, 1), { (gates) * (N) } },                        \
            [RNN_INITIAL_STATE] = { GIVEN((given)&START, 2), { B, (states) * (N) } },              \
        },                                                                                         \
    }
#define RNN(title, ...)  CELL(title, VANILLA, 1, 1, __VA_ARGS__)
#define GRU(title, ...)  CELL(title, GRU, 3, 1, __VA_ARGS__)
#define LSTM(title, ...) CELL(title, LSTM, 4, 2, __VA_ARGS__)

const att_op_sample att_rnn_samples[] = {
    RNN("rnn", 2, 3, 4, 5, BIAS, false, NULL),
    RNN("rnn, lengths, reverse, initial state", 5, 4, 2, 3, BIAS | BIAS_U | START, true, lengths),
    GRU("gru", 2, 3, 4, 5, BIAS | BIAS_U, false, NULL),
    GRU("gru, lengths, reverse, initial state, no biases", 5, 4, 2, 3, START, true, lengths),
    GRU("gru, lengths", 4, 4, 2, 3, BIAS, false, lengths),
    LSTM("lstm", 2, 3, 4, 5, BIAS, false, NULL),
    LSTM("lstm, lengths, initial state, two biases", 5, 4, 2, 3, BIAS | BIAS_U | START, false,
         lengths),
    LSTM("lstm, lengths, reverse", 5, 4, 2, 3, BIAS_U, true, lengths),
    LSTM("lstm, 17 units", 1, 2, 1, 17, BIAS | START, false, NULL),
    LSTM("no steps", 2, 0, 4, 5, START, false, NULL),
    GRU("no sequences", 0, 3, 4, 5, BIAS, false, NULL),
};

_Static_assert(ATT_COUNT(att_rnn_samples) == ATT_RNN_SAMPLE_COUNT, "must be the count in rnn.h");
