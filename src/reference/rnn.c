/* Recurrent cells in double precision. */
#include "reference/rnn.h"

#include "base/math.h"
#include "reference/activation.h"
#include "reference/linear.h"

#include <string.h>

int att_rnn_cell_gates(att_rnn_cell cell)
{
    static const int gates[] = { [ATT_RNN_CELL_VANILLA] = ATT_VANILLA_GATES,
                                 [ATT_RNN_CELL_GRU] = ATT_GRU_GATES,
                                 [ATT_RNN_CELL_LSTM] = ATT_LSTM_GATES };
    return gates[cell];
}

int att_rnn_cell_states(att_rnn_cell cell)
{
    return cell == ATT_RNN_CELL_LSTM ? 2 : 1;
}

/* ---------------------------------------------------------------- one unit */

att_reference_lstm att_reference_lstm_unit(const double x[ATT_LSTM_GATES],
                                           const double h[ATT_LSTM_GATES], double cell)
{
    att_reference_lstm unit = { .input = att_reference_sigmoid(x[0] + h[0]),
                                .forget = att_reference_sigmoid(x[1] + h[1]),
                                .candidate = att_tanh(x[2] + h[2]),
                                .output = att_reference_sigmoid(x[3] + h[3]) };
    unit.cell = unit.forget * cell + unit.input * unit.candidate;
    unit.hidden = unit.output * att_tanh(unit.cell);
    return unit;
}

att_reference_gru att_reference_gru_unit_reset_first(const double x[ATT_GRU_GATES],
                                                     const double h[ATT_GRU_GATES],
                                                     double reset_product, double hidden)
{
    att_reference_gru unit = { .reset = att_reference_sigmoid(x[0] + h[0]),
                               .update = att_reference_sigmoid(x[1] + h[1]),
                               .candidate = att_tanh(x[2] + reset_product) };
    unit.hidden = (1 - unit.update) * unit.candidate + unit.update * hidden;
    return unit;
}

att_reference_gru att_reference_gru_unit(const double x[ATT_GRU_GATES],
                                         const double h[ATT_GRU_GATES], double hidden)
{
    double reset = att_reference_sigmoid(x[0] + h[0]);
    return att_reference_gru_unit_reset_first(x, h, reset * h[2], hidden);
}

/* ---------------------------------------------------------------- sequences */

/* The new hidden state of unit i; *cell is the LSTM's cell of the unit and is updated. */
static double next_hidden(const att_reference_rnn_inputs *in, const double *x, const double *hidden,
                          int64_t i, double *cell)
{
    int gates = att_rnn_cell_gates(in->cell);
    const att_reference_linear_weights w = { in->w, in->bias, in->depth, gates * in->units, false };
    const att_reference_linear_weights u = { in->u, in->bias_u, in->units, gates * in->units,
                                             false };
    double from_x[ATT_MAX_RNN_GATES], from_h[ATT_MAX_RNN_GATES];
    for (int g = 0; g < gates; g++) {
        from_x[g] = att_reference_linear_at(x, &w, g * in->units + i);
        from_h[g] = att_reference_linear_at(hidden, &u, g * in->units + i);
    }
    if (in->cell == ATT_RNN_CELL_VANILLA)
        return att_tanh(from_x[0] + from_h[0]);
    if (in->cell == ATT_RNN_CELL_GRU)
        return att_reference_gru_unit(from_x, from_h, hidden[i]).hidden;
    att_reference_lstm unit = att_reference_lstm_unit(from_x, from_h, *cell);
    *cell = unit.cell;
    return unit.hidden;
}

/* Sequence b: hidden [T,N] and state [states N], which starts as the initial state. */
static void run_sequence(double *hidden, double *state, const att_reference_rnn_inputs *in,
                         int64_t b)
{
    int64_t length = in->lengths ? in->lengths[b] : in->time, n = in->units;
    const double *previous = state; /* hidden state before the step */
    for (int64_t s = 0; s < length; s++) {
        int64_t t = in->reverse ? length - 1 - s : s;
        const double *x = in->x + (b * in->time + t) * in->depth;
        for (int64_t i = 0; i < n; i++) {
            double *cell = in->cell == ATT_RNN_CELL_LSTM ? &state[n + i] : NULL;
            hidden[t * n + i] = next_hidden(in, x, previous, i, cell);
        }
        previous = hidden + t * n;
    }
    if (length > 0)
        memcpy(state, previous, (size_t)n * sizeof *state);
}

void att_reference_rnn(double *hidden, double *final_state, const att_reference_rnn_inputs *in)
{
    int64_t row = in->time * in->units, states = att_rnn_cell_states(in->cell) * in->units;
    for (int64_t i = 0; i < in->batch * row; i++)
        hidden[i] = 0;
    for (int64_t i = 0; i < in->batch * states; i++)
        final_state[i] = in->initial_state ? in->initial_state[i] : 0;
    for (int64_t b = 0; b < in->batch; b++)
        run_sequence(hidden + b * row, final_state + b * states, in, b);
}
