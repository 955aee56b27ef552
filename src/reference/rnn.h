/* Recurrent cells in double precision: vanilla RNN, GRU and LSTM; one unit, and whole sequences.
 *
 * The gates of a cell stand side by side in the columns of w, u and the biases, gate by gate: the
 * GRU's reset, update, candidate; the LSTM's input, forget, candidate, output. */
#ifndef ATT_REFERENCE_RNN_H
#define ATT_REFERENCE_RNN_H

#include <stdbool.h>
#include <stdint.h>

typedef enum att_rnn_cell {
    ATT_RNN_CELL_VANILLA,
    ATT_RNN_CELL_GRU,
    ATT_RNN_CELL_LSTM
} att_rnn_cell;

enum { ATT_VANILLA_GATES = 1, ATT_GRU_GATES = 3, ATT_LSTM_GATES = 4, ATT_MAX_RNN_GATES = 4 };

/* Columns of w, u and the biases per unit. */
int att_rnn_cell_gates(att_rnn_cell cell);

/* Numbers in the state of a unit: 1, or 2 for the LSTM, whose state is hidden, then cell. */
int att_rnn_cell_states(att_rnn_cell cell);

/* ---- one unit. x[g] = (x w + bias) and h[g] = (h u + bias_u) of gate g of this unit. */

typedef struct att_reference_lstm {
    double input, forget, candidate, output; /* gates after their activation */
    double cell, hidden;                     /* the new state */
} att_reference_lstm;

/* c' = f c + i g, h' = o tanh(c') (Hochreiter and Schmidhuber 1997, with Gers et al. 2000). */
att_reference_lstm att_reference_lstm_unit(const double x[ATT_LSTM_GATES],
                                           const double h[ATT_LSTM_GATES], double cell);

typedef struct att_reference_gru {
    double reset, update, candidate;
    double hidden; /* the new state */
} att_reference_gru;

/* n = tanh(x_n + r h_n), h' = (1 - z) n + z h: the reset gate acts after the product h u. */
att_reference_gru att_reference_gru_unit(const double x[ATT_GRU_GATES],
                                         const double h[ATT_GRU_GATES], double hidden);

/* The original form (Cho et al. 2014): the reset gate acts on h before the product, so that
 * `reset_product` = ((r ⊙ h) u + bias_u) of the candidate takes the place of r h_n. */
att_reference_gru att_reference_gru_unit_reset_first(const double x[ATT_GRU_GATES],
                                                     const double h[ATT_GRU_GATES],
                                                     double reset_product, double hidden);

/* ---- whole sequences */

typedef struct att_reference_rnn_inputs {
    att_rnn_cell cell;
    int64_t batch, time, depth, units; /* B, T, D, N */
    bool reverse;                      /* from each sequence's last step to its first */
    const int64_t *lengths;            /* [B] steps in use, or NULL: all T */
    const double *x;                   /* [B,T,D] */
    const double *w;                   /* [D, gates N] */
    const double *u;                   /* [N, gates N] */
    const double *bias, *bias_u;       /* [gates N] or NULL */
    const double *initial_state;       /* [B, states N] or NULL: zeros */
} att_reference_rnn_inputs;

/* Hidden states [B,T,N], zeros at unused steps, and the state after each sequence's last step
 * [B, states N]. A sequence of length 0 ends in its initial state. */
void att_reference_rnn(double *hidden, double *final_state, const att_reference_rnn_inputs *in);

#endif
