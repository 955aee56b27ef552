/* What the units of a model do while it reads: several stretches of a text are read side by side,
 * and every token is shown to a visitor together with the activations after it. */
#ifndef ATT_INSPECT_STATES_H
#define ATT_INSPECT_STATES_H

#include "text/spell.h"
#include "model/tower.h"

/* Tokens first … end-1 of a text. */
typedef struct att_stretch {
    int64_t first, end;
} att_stretch;

/* Called for each token of each stretch, in order within one; `units` [layers N], a layer's
 * together. */
typedef void att_states_visit(void *context, int64_t stretch, int64_t token, const float *units);

typedef struct att_states_how {
    att_signal signal;          /* ATT_SIGNAL_USUAL too */
    const att_stretch *stretch; /* [count] */
    int64_t count;
    int64_t warm; /* tokens before a stretch to read first, as far as there are: so a state is
                     nearly that of having read everything before */
    att_states_visit *visit;
    void *context;
} att_states_how;

/* Refuses a signal that the layers do not have; makes the usual one of what it is. */
att_status att_states_signal(att_signal *signal, const att_tower *tower, att_error *err);

att_status att_states_read(att_model *model, const att_tower *tower, const att_spelt *text,
                           const att_states_how *how, att_error *err);

#endif
