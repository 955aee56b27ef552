/* The state of a walk, for gradient_walk.c and gradient_names.c. */
#ifndef ATT_SHEET_GRADIENT_WALK_H
#define ATT_SHEET_GRADIENT_WALK_H

#include "sheet/gradient.h"

/* A value during the walk. */
struct att_adjoint {
    bool wanted; /* it is an input that was asked for, or depends on one */
    bool finished;
    size_t first_use; /* the first computation on the way to the result that uses it */
    const char *name; /* in formulas; NULL: not needed so far */
    const att_contribution *first;
    const att_contribution **end;
};

struct att_backward {
    const att_scope *scope;
    const att_gradient_request *request;
    const att_record *record;
    att_gradient *result;
    struct att_adjoint *adjoints; /* [value_count] */
    bool *needed;                 /* [computation_count] it is on the way to the result */
    size_t computation;           /* the current one */
    size_t unnamed;               /* values without a name that have got one: u1, u2, … */
    att_trace_part *parts;
    size_t part_count;
    size_t part_capacity;
};

/* The value's place in the walk; NULL if it was not recorded. */
struct att_adjoint *att_backward_adjoint(const att_backward *walk, const att_matrix *matrix);

/* Whether the sheet still has this value under its name. */
bool att_backward_is_current(const att_backward *walk, const att_recorded_value *value);

/* The name of a recorded value in formulas. NULL when memory is out. */
const char *att_backward_name_text(att_backward *walk, const att_matrix *matrix);

#endif
