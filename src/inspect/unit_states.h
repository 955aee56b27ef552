/* The activations of all units of an RNN while it reads a text: several ranges are read in
 * parallel, and a callback receives the activations after each token. */
#ifndef ATT_INSPECT_UNIT_STATES_H
#define ATT_INSPECT_UNIT_STATES_H

#include "text/encoding.h"
#include "model/rnn_stack.h"

/* Tokens first … end-1 of a text. */
typedef struct att_token_range {
    int64_t first, end;
} att_token_range;

/* Called for each token of each range, in order within a range. `row` is the index of the range;
 * `units` [layers, N] are the activations after the token. */
typedef void att_states_callback(void *context, int64_t row, int64_t token, const float *units);

typedef struct att_states_options {
    att_unit_signal signal;        /* may be ATT_SIGNAL_DEFAULT */
    const att_token_range *ranges; /* [count] */
    int64_t count;
    /* Tokens to read before each range, if the text has as many: the state is then close to that
     * after reading everything before. */
    int64_t warmup_tokens;
    att_states_callback *on_token;
    void *context;
} att_states_options;

/* Replaces ATT_SIGNAL_DEFAULT by the cell state of an LSTM, else the hidden state. Refuses the cell
 * state of an RNN without one. */
att_status att_states_resolve_signal(att_unit_signal *signal, const att_rnn_stack *stack,
                                     att_error *err);

att_status att_states_run(const att_model *model, const att_rnn_stack *stack,
                          const att_encoding *text, const att_states_options *options,
                          att_error *err);

#endif
