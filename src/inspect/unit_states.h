/* What the units of a model do while it reads: several stretches of a text are read side by side,
 * and every token is shown to a visitor together with the activations after it. */
#ifndef ATT_INSPECT_UNIT_STATES_H
#define ATT_INSPECT_UNIT_STATES_H

#include "text/encoding.h"
#include "model/rnn_stack.h"

/* Tokens first … end-1 of a text. */
typedef struct att_token_range {
    int64_t first, end;
} att_token_range;

/* Called for each token of each stretch, in order within one; `units` [layers N], a layer's
 * together. */
typedef void att_states_callback(void *context, int64_t stretch, int64_t token, const float *units);

typedef struct att_states_options {
    att_unit_signal signal;        /* ATT_SIGNAL_DEFAULT too */
    const att_token_range *ranges; /* [count] */
    int64_t count;
    int64_t warmup_tokens; /* tokens before a stretch to read first, as far as there are: so a state
                     is nearly that of having read everything before */
    att_states_callback *on_token;
    void *context;
} att_states_options;

/* Refuses a signal that the layers do not have; makes the usual one of what it is. */
att_status att_states_resolve_signal(att_unit_signal *signal, const att_rnn_stack *tower,
                                     att_error *err);

att_status att_states_run(const att_model *model, const att_rnn_stack *tower,
                          const att_encoding *text, const att_states_options *how, att_error *err);

#endif
