/* Functions of the sheet's own: f(x, W) = tanh(x * W). A body can call only functions that are
 * defined before it, so that there is no recursion. Names that are not parameters are those of the
 * sheet at the time of the call. */
#ifndef ATT_SHEET_OWN_H
#define ATT_SHEET_OWN_H

#include "sheet/eval.h"

#define ATT_OWN_PARAMETERS 16 /* at most */

typedef struct att_own_function {
    const struct att_own_function *before; /* the one defined before it */
    const char *name;
    const char **parameters;
    size_t count;
    const att_expr *body;
    int line; /* of the definition */
} att_own_function;

/* All of them, the last one first. */
typedef struct att_own_functions {
    const att_own_function *last;
    size_t *calls_made; /* counts the calls: a sheet may not make too many */
} att_own_functions;

/* The function of that name, or NULL. */
const att_own_function *att_own_function_find(const att_own_functions *functions, const char *name);

/* Evaluates the call of an own function. An error in its body names the call too. */
att_status att_own_function_call(const att_scope *scope, const att_expr *node, att_value *out);

#endif
