/* Evaluation of expressions. */
#ifndef ATT_SHEET_EVAL_H
#define ATT_SHEET_EVAL_H

#include "sheet/symbol_table.h"
#include "sheet/source.h"

/* The environment of an expression. */
typedef struct att_scope {
    att_arena *arena;
    const att_sheet_source *source;
    const att_symbol_table *symbols;
    const char *folder; /* folder of relative paths in `load`; NULL: loading is an error */
    att_error *err;
    att_sheet *sheet;                /* records the loaded files; NULL without a folder */
    const att_symbol_table *globals; /* inside of an own function: the names of the sheet */
    const struct att_own_functions *functions; /* own.h; or NULL */
    int calls;                                 /* own functions around this expression */
    const att_rounding *rounding;              /* each step is rounded; NULL: exact */
    struct att_derivation *derivation; /* notes the value of every node (derivation.h); or NULL */
    struct att_scenario *scenario;     /* what is computed otherwise (scenario.h); NULL: nothing */
    struct att_record *record;         /* records what is computed, for gradients; NULL: nothing */
} att_scope;

att_status att_eval(const att_scope *scope, const att_expr *node, att_value *out);

/* Evaluates to a matrix (of a record: its result), or to one finite number. */
att_status att_eval_matrix(const att_scope *scope, const att_expr *node, const att_matrix **out);
att_status att_eval_number(const att_scope *scope, const att_expr *node, const char *what,
                           double *out);

/* Fails at the place of `node`. */
att_status att_scope_fail(const att_scope *scope, const att_expr *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Evaluates an expression without names, such as the right side of a calculation. */
att_status att_eval_closed(att_arena *arena, const att_expr *node, const att_matrix **out,
                           att_error *err);

/* ---- For the table of eval.c */

att_status att_eval_call(const att_scope *scope, const att_expr *node, att_value *out); /* call.c */
att_status att_eval_field(const att_scope *scope, const att_expr *node, att_value *out);
att_status att_eval_index(const att_scope *scope, const att_expr *node, att_value *out);
att_status att_eval_binary(const att_scope *scope, const att_expr *node, att_value *out);

/* The operator of the node on two matrices (operators.c). */
att_status att_binary_apply(const att_scope *scope, const att_expr *node, const att_matrix *left,
                            const att_matrix *right, att_matrix **out);

#endif
