/* A scenario: the sheet computed otherwise than it says, to find out what follows from a student's
 * own numbers and which known slip explains an answer (src/grade). Values of the student are
 * substituted for computed ones where those are computed, so that everything after them uses them;
 * a slip changes one operation.
 *
 * A sheet that is only explained has no scenario: all functions then do nothing. */
#ifndef ATT_SHEET_SCENARIO_H
#define ATT_SHEET_SCENARIO_H

#include "sheet/eval.h"

/* Slips of single operations. The order is that of preference where several explain an answer. */
typedef enum att_slip {
    ATT_SLIP_NO_SCALE,          /* scores not divided by sqrt(d) */
    ATT_SLIP_SCALE_NOT_ROOT,    /* divided by d instead of sqrt(d) */
    ATT_SLIP_VARIANCE_NOT_ROOT, /* a norm: divided by the variance instead of its root */
    ATT_SLIP_SOFTMAX_COLUMNS,   /* softmax over the columns instead of the rows */
    ATT_SLIP_EXP_ONLY,          /* exponents not divided by their sum */
    ATT_SLIP_MASK_MISSING,      /* no mask */
    ATT_SLIP_MASK_LATE,         /* the mask applied after the softmax */
    ATT_SLIP_MASK_ZERO,         /* masked scores set to 0 instead of minus infinity */
    ATT_SLIP_NOT_TRANSPOSED,    /* a factor that should be transposed was not */
    ATT_SLIP_TRANSPOSED,        /* a factor transposed that should not be: rows and columns mixed */
    ATT_SLIP_HEADS_ADDED,       /* heads added instead of concatenated */
    ATT_SLIP_GATES_EXCHANGED,   /* LSTM: input and forget gate; GRU: z and 1 - z */
    ATT_SLIP_NO_BIAS,           /* a term of a sum left out */
    ATT_SLIP_NO_ACTIVATION,     /* tanh, sigmoid or relu left out */
    ATT_SLIP_ELEMENTWISE,       /* element by element instead of a matrix product */
    ATT_SLIPS,
} att_slip;

/* A slip at an operation of the sheet. `side` distinguishes the operands of a product. */
typedef struct att_slip_site {
    att_slip slip;
    int line, column, side;
} att_slip_site;

/* Numbers of a student for elements of a value: of the name assigned at `line`, or of one of its
 * parts. */
typedef struct att_substitute {
    int line;
    const char *name;
    const char *part;      /* NULL: the value itself */
    int64_t head;          /* of the part; 0: none */
    const int64_t *places; /* [count], row-major, from 0 */
    const double *values;  /* [count] */
    size_t count;
} att_substitute;

typedef struct att_scenario {
    uint64_t draw; /* of the variant's random values: att_sheet.draw of the plain run */
    const att_substitute *substitutes;
    size_t substitute_count;
    const att_slip_site *slips; /* that are made */
    size_t slip_count;
    bool rounds;  /* every computed value is rounded before it is used, */
    bool cuts;    /* or cut off, */
    int decimals; /* to this many decimals */
    /* Filled while the sheet runs: the places where a slip is possible. */
    att_slip_site *sites; /* [site_capacity], the caller's */
    size_t site_count, site_capacity;
    /* The assignment under way. */
    const att_expr *formula;
    const char *name;
    int line;
} att_scenario;

/* Runs the sheet under a scenario, for the variant `variant`. Where a changed operation makes the
 * sheet fail, *out has the steps before the failure, and *complete is false. */
att_status att_sheet_run_scenario(att_sheet **out, const char *text, size_t length,
                                  const char *name, const char *folder, const char *variant,
                                  att_scenario *scenario, bool *complete, att_error *err);

/* Evaluates the formula that is assigned to `name` at `line`. */
att_status att_eval_assigned(const att_scope *scope, const char *name, int line,
                             const att_expr *formula, att_value *out);

/* Whether the slip is made at this operation. */
bool att_slip_is_made(att_scenario *scenario, att_slip slip, const att_expr *node, int side);

/* The value of a part of the call: `value` itself, or with the scenario's numbers. NULL when memory
 * is out. */
const att_matrix *att_scenario_part(const att_call *call, const char *part, int64_t head,
                                    const att_matrix *value);

/* Whether anything in the scenario can change a part of this call. */
bool att_scenario_concerns(const att_call *call);

#endif
