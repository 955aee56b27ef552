/* The record of a sheet: every computation with its inputs and its result, in the order of
 * evaluation. `gradient` walks it backward; its check runs parts of it again.
 *
 * A value is identified by its numbers (att_matrix.data), which never change or move and which a
 * name, a label, a list or a field only share. So the record needs to know nothing of names: what
 * was computed counts, wherever it was written, and a name that is assigned again is no problem.
 * Only the exact column of a sheet is recorded, not the one whose steps are rounded (hand.h). */
#ifndef ATT_SHEET_RECORD_H
#define ATT_SHEET_RECORD_H

#include "sheet/function.h"

struct att_scope;
struct att_gradient;

/* A piece of a concatenated matrix: its place in the result, from 0. */
typedef struct att_matrix_piece {
    const att_matrix *matrix;
    int64_t row;
    int64_t col;
} att_matrix_piece;

/* One computation. */
typedef struct att_computation {
    const struct att_gradient_spec *spec; /* how it is run again and differentiated */
    const att_expr *node;
    const att_matrix **inputs; /* every matrix it depends on; for a call also those in lists */
    size_t input_count;
    att_value output;               /* its parts may share the numbers of inputs */
    const att_call *call;           /* ATT_EXPR_CALL */
    const att_matrix_piece *pieces; /* ATT_EXPR_MATRIX: one per input */
    const int64_t *rows;            /* ATT_EXPR_INDEX: selected rows and columns, NULL: all */
    const int64_t *cols;
} att_computation;

/* A value that was computed or used. */
typedef struct att_recorded_value {
    const att_matrix *matrix;
    const char *name; /* the first name it was given: "X", "a.weights", "W[2]"; or NULL */
    bool assigned;    /* by a statement of its own, not as part of a result or item of a list */
    int line;         /* of that statement */
    size_t producer;  /* index of its computation, or ATT_NOT_COMPUTED */
    const char *loop; /* of a value without a name: the name that a loop gave it, or NULL; */
    int64_t step;     /* in this step of the loop, from 1 */
} att_recorded_value;

#define ATT_NOT_COMPUTED ((size_t)-1)

typedef struct att_record {
    att_computation *computations;
    size_t computation_count;
    size_t computation_capacity;
    att_recorded_value *values;
    size_t value_count;
    size_t value_capacity;
    size_t *slots; /* hash table of values by their numbers; 0: free, otherwise index + 1 */
    size_t slot_count;
    const struct att_gradient *gradient; /* of the last `gradient` statement, or NULL */
} att_record;

/* Adds a computation to the scope's record, if it has one. Its `inputs` are copied. */
att_status att_record_add(const struct att_scope *scope, const att_computation *computation);

/* The same for an operation on matrices. */
att_status att_record_operation(const struct att_scope *scope, const struct att_gradient_spec *spec,
                                const att_expr *node, const att_matrix *const *inputs, size_t count,
                                const att_matrix *output);

/* The same for a selection of rows and columns, counted from 0 (NULL: all), and for matrices one
 * above the other. */
att_status att_record_select(const struct att_scope *scope, const att_expr *node,
                             const att_matrix *from, const int64_t *rows, const int64_t *cols,
                             const att_matrix *result);
att_status att_record_stack(const struct att_scope *scope, const att_expr *node,
                            const att_matrix *const *parts, size_t count, const att_matrix *result);

/* The same for a call. */
att_status att_record_call(const struct att_scope *scope, const att_call *call,
                           const att_value *output);

/* Names a value, its parts and its items after an assignment on `line`. */
att_status att_record_name(const struct att_scope *scope, const char *name, const att_value *value,
                           int line);

/* Remembers that a loop on `line` assigned the value to `name` in step `step`, from 1. */
void att_record_name_step(const struct att_scope *scope, const char *name, const att_matrix *value,
                          int64_t step, int line);

/* The matrix has got other labels. */
void att_record_relabel(att_record *record, const att_matrix *matrix);

/* The recorded value with these numbers, or NULL. */
att_recorded_value *att_record_find(const att_record *record, const att_matrix *matrix);

#endif
