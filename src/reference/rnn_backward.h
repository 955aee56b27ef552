/* Backpropagation through time in double precision: the gradients of one sequence of a recurrent
 * cell, step by step from the last to the first. */
#ifndef ATT_REFERENCE_RNN_BACKWARD_H
#define ATT_REFERENCE_RNN_BACKWARD_H

#include "reference/rnn.h"

/* The parts of a cell in the order of computation, [T,N] each: the vanilla RNN's sum z and state h;
 * the LSTM's gates i, f, g, o and states c, h; the GRU's gates r, z, n and state h. */
enum { ATT_MAX_RNN_PARTS = 6 };
int att_rnn_cell_parts(att_rnn_cell cell);

/* One sequence and what its forward computed. */
typedef struct att_reference_rnn_run {
    att_rnn_cell cell;
    bool reset_first;             /* GRU: the reset gate acts on h before the product */
    int64_t time, depth, units;   /* T, D, N */
    const double *x;              /* [T,D] */
    const double *w;              /* [D, gates N] */
    const double *u;              /* [N, gates N] */
    const double *bias_u;         /* [gates N] or NULL: zeros */
    const double *initial_hidden; /* [N] */
    const double *initial_cell;   /* [N], LSTM */
    const double *part[ATT_MAX_RNN_PARTS];
} att_reference_rnn_run;

/* Its gradients. `upstream` is what the loss sends to each part directly, [T,N] or NULL: nothing.
 * Everything else is zero at the start and added to. */
typedef struct att_reference_rnn_grads {
    const double *upstream[ATT_MAX_RNN_PARTS];
    double *part[ATT_MAX_RNN_PARTS]; /* [T,N] of each part, with what later steps send back */
    double *gates;                   /* [T, gates N] of x w + bias, before the activations */
    double *gates_u;                 /* [T, gates N] of h u + bias_u */
    double *x, *w, *u, *bias, *bias_u;
    double *initial_hidden, *initial_cell;
} att_reference_rnn_grads;

/* `scratch` has room for 3 N numbers. */
void att_reference_rnn_backward(const att_reference_rnn_grads *grads,
                                const att_reference_rnn_run *run, double *scratch);

#endif
