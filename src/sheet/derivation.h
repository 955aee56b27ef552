/* Derivation: how the numbers of a statement were computed, for every operation of the language.
 * While a statement is evaluated, the value of each of its nodes is noted. Afterwards the
 * expression is taken apart from the inside out: operands that are results of their own, as the
 * inner call of relu(linear(x, W)), get a name and a part of the step, and each element gets a
 * calculation with all its numbers (calculation.h). */
#ifndef ATT_SHEET_DERIVATION_H
#define ATT_SHEET_DERIVATION_H

#include "sheet/eval.h"
#include "sheet/interpreter.h"

/* The value of a node. */
typedef struct att_evaluated {
    const att_expr *node;
    att_value value;
    const att_trace_part *parts; /* of an own function: the derivation of its body */
    size_t part_count;
} att_evaluated;

enum { ATT_DERIVATION_NAMES = 32 };

/* The nodes of one statement in the order of their evaluation; start from {0}. */
typedef struct att_derivation {
    att_evaluated *items;
    size_t count;
    size_t capacity;
    bool too_many; /* the statement is too large to be worked out */
    struct att_derivation
        *outer; /* of the statement or function that calls this function; or NULL */
    const char
        *used[ATT_DERIVATION_NAMES]; /* names of inner results so far, of the outermost alone */
    size_t used_count;
    const att_trace_part *body; /* of the own function that was just called, for the next note */
    size_t body_count;
} att_derivation;

/* Notes the value of a node in scope->derivation. */
att_status att_derivation_note(const att_scope *scope, const att_expr *node,
                               const att_value *value);

/* The derivation of a step: sets its calculations, or, if it has inner results, its parts. `value`
 * is the value of the step's formula. */
att_status att_derivation_add(const att_scope *scope, const att_value *value, att_trace_step *step);

/* How the elements of a function's result are worked out; ATT_DERIVATION_NONE: not at all. */
typedef enum att_derivation_kind {
    ATT_DERIVATION_NONE,
    ATT_DERIVATION_ELEMENT, /* f(x) of each element */
    ATT_DERIVATION_REDUCE,  /* of a row, a column or all elements */
    ATT_DERIVATION_SOFTMAX,
    ATT_DERIVATION_NORM,
    ATT_DERIVATION_LOSS,    /* cross_entropy */
    ATT_DERIVATION_DROPOUT, /* x / (1 - p) of what was kept */
} att_derivation_kind;

att_derivation_kind att_derivation_kind_of(const char *function);

/* The calculation of element (i, j) of a call whose argument is worked out by `operand`. */
typedef struct att_derivation_call {
    att_arena *arena;
    const att_expr *node;
    const att_matrix *x; /* the value of its first argument */
    const void *context;
    att_expr *(*operand)(const void *context, const att_expr *node, int64_t i, int64_t j);
    const att_matrix *(*value)(const void *context, const att_expr *node); /* NULL: none */
} att_derivation_call;

att_expr *att_derivation_write_call(const att_derivation_call *call, int64_t i, int64_t j);

/* The number of terms that an element of the call has. */
int64_t att_derivation_terms(const att_expr *node, const att_matrix *x);

#endif
