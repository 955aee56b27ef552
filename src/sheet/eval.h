/* Working expressions out. */
#ifndef ATT_SHEET_EVAL_H
#define ATT_SHEET_EVAL_H

#include "sheet/symbol_table.h"
#include "sheet/source.h"

/* What an expression can see. */
typedef struct att_scope {
    att_arena *arena;
    const att_sheet_source *source;
    const att_symbol_table *symbols;
    const char *folder; /* where `load` looks; NULL: nowhere */
    att_error *err;
    att_sheet *sheet; /* which remembers the files; NULL without a folder */
} att_scope;

att_status att_eval(const att_scope *scope, const att_expr *node, att_value *out);

/* A value that must be a matrix (a record counts as its result), or one finite number. */
att_status att_eval_matrix(const att_scope *scope, const att_expr *node, const att_matrix **out);
att_status att_eval_number(const att_scope *scope, const att_expr *node, const char *what,
                           double *out);

/* A failure at the place of `node`. */
att_status att_scope_fail(const att_scope *scope, const att_expr *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Works out an expression without names, such as the right side of a working. */
att_status att_eval_closed(att_arena *arena, const att_expr *node, const att_matrix **out,
                           att_error *err);

/* ---- One kind of expression each */

att_status att_eval_call(const att_scope *scope, const att_expr *node, att_value *out); /* call.c */
att_status att_eval_field(const att_scope *scope, const att_expr *node, att_value *out);
att_status att_eval_index(const att_scope *scope, const att_expr *node, att_value *out);
att_status att_eval_binary(const att_scope *scope, const att_expr *node, att_value *out);

#endif
