/* What both recurrent operations are checked on and against: samples of every cell, and the
 * formulas in double precision, unit by unit. */
#include "tape/rnn.h"

#include "base/math.h"

#include <assert.h>
#include <string.h>

static double sigmoid(double x)
{
    return 1 / (1 + att_exp(-x));
}

/* One step of one unit: `a` from x w + bias, `b` from h u + bias_u, gate by gate. */
static double reference_unit_step(att_rnn_cell cell, const double *a, const double *b,
                                  double hidden, double *memory)
{
    if (cell == ATT_RNN_CELL_VANILLA)
        return att_tanh(a[0] + b[0]);
    if (cell == ATT_RNN_CELL_GRU) {
        double reset = sigmoid(a[0] + b[0]), update = sigmoid(a[1] + b[1]);
        return (1 - update) * att_tanh(a[2] + reset * b[2]) + update * hidden;
    }
    *memory = sigmoid(a[1] + b[1]) * *memory + sigmoid(a[0] + b[0]) * att_tanh(a[2] + b[2]);
    return sigmoid(a[3] + b[3]) * att_tanh(*memory);
}

static double affine(const double *x, const double *w, const double *bias, int64_t depth,
                     int64_t columns, int64_t j)
{
    double sum = bias ? bias[j] : 0;
    for (int64_t k = 0; k < depth; k++)
        sum += x[k] * w[k * columns + j];
    return sum;
}

enum { MAX_REFERENCE_UNITS = 64 }; /* more than any sample has */

/* `state` [states N] goes one step on. */
static void reference_rnn_step(double *state, att_rnn_cell cell, int64_t n, const double *x,
                               int64_t depth, const double *const *in)
{
    int gates = att_rnn_cell_gates(cell);
    int64_t wide = gates * n;
    double next[MAX_REFERENCE_UNITS];
    for (int64_t i = 0; i < n; i++) {
        double a[4], b[4], none = 0;
        for (int g = 0; g < gates; g++) {
            a[g] = affine(x, in[RNN_W], in[RNN_BIAS], depth, wide, g * n + i);
            b[g] = affine(state, in[RNN_U], in[RNN_BIAS_U], n, wide, g * n + i);
        }
        next[i] = reference_unit_step(cell, a, b, state[i],
                                      cell == ATT_RNN_CELL_LSTM ? &state[n + i] : &none);
    }
    memcpy(state, next, (size_t)n * sizeof *state);
}

void att_reference_rnn(double *hidden, double *end, const att_rnn_options *options,
                       const int64_t sizes[4], const double *const *in)
{
    int64_t B = sizes[0], T = sizes[1], D = sizes[2], N = sizes[3];
    int64_t states = att_rnn_cell_states(options->cell) * N;
    assert(N <= MAX_REFERENCE_UNITS);
    for (int64_t b = 0; b < B; b++) {
        double state[2 * MAX_REFERENCE_UNITS] = { 0 };
        int64_t length = options->lengths ? options->lengths[b] : T;
        if (in[RNN_INITIAL_STATE])
            memcpy(state, in[RNN_INITIAL_STATE] + b * states, (size_t)states * sizeof *state);
        for (int64_t i = 0; hidden && i < T * N; i++)
            hidden[b * T * N + i] = 0;
        for (int64_t s = 0; s < length; s++) {
            int64_t t = b * T + (options->reverse ? length - 1 - s : s);
            reference_rnn_step(state, options->cell, N, in[RNN_X] + t * D, D, in);
            if (hidden)
                memcpy(hidden + t * N, state, (size_t)N * sizeof *state);
        }
        if (end)
            memcpy(end + b * states, state, (size_t)states * sizeof *state);
    }
}

/* ---------------------------------------------------------------- samples */

static const int64_t lengths[] = { 2, 0, 4, 3, 4 };

enum { BIAS = 1, BIAS_U = 2, START = 4 }; /* inputs that may be given */

#define GIVEN(given, rank) ((given) ? (rank) : ATT_NOT_GIVEN)

/* B sequences of T steps of width D, a cell of N units with so many gates and states to a unit. */
#define CELL(title, kind, gates, states, B, T, D, N, given, backwards, used)                       \
    {                                                                                              \
        .name = (title), .input_count = RNN_INPUT_COUNT,                                           \
        .options = &(const att_rnn_options){ ATT_RNN_CELL_##kind, backwards, used },               \
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
    RNN("rnn, lengths, backwards, start", 5, 4, 2, 3, BIAS | BIAS_U | START, true, lengths),
    GRU("gru", 2, 3, 4, 5, BIAS | BIAS_U, false, NULL),
    GRU("gru, lengths, backwards, start, no biases", 5, 4, 2, 3, START, true, lengths),
    GRU("gru, lengths", 4, 4, 2, 3, BIAS, false, lengths),
    LSTM("lstm", 2, 3, 4, 5, BIAS, false, NULL),
    LSTM("lstm, lengths, start, two biases", 5, 4, 2, 3, BIAS | BIAS_U | START, false, lengths),
    LSTM("lstm, lengths, backwards", 5, 4, 2, 3, BIAS_U, true, lengths),
    LSTM("lstm, 17 units", 1, 2, 1, 17, BIAS | START, false, NULL),
    LSTM("no steps", 2, 0, 4, 5, START, false, NULL),
    GRU("no sequences", 0, 3, 4, 5, BIAS, false, NULL),
};

_Static_assert(sizeof att_rnn_samples / sizeof *att_rnn_samples == ATT_RNN_SAMPLE_COUNT,
               "as many as recur.h says");
