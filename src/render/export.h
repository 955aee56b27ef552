/* Worksheets as Python programs (NumPy or PyTorch): shared by the files of the exporter.
 *
 *   export.c            the program: its head, the definitions that it uses, a line per statement
 *   export_expr.c       expressions
 *   export_matrix.c     matrices and lists
 *   export_functions.c  the table of functions, and calls
 *   export_own.c        own functions and loops
 *   export_hand.c       results rounded as by hand
 *   export_gradient.c   gradients, by autograd of PyTorch or of the program
 *   export_names.c      identifiers, strings and comments: all text of the sheet that enters Python
 *   export_numpy.py, export_torch.py  the definitions (scripts/export-runtime makes the table)
 *
 * Every matrix of a program is a 2-D array; a number may also be a scalar. A result with parts is a
 * namespace: where the sheet uses it as a matrix, the program names the field, a.output. */
#ifndef ATT_RENDER_EXPORT_H
#define ATT_RENDER_EXPORT_H

#include "render/writer.h"
#include "sheet/function.h"
#include "sheet/own.h"
#include "sheet/symbol_table.h"

/* What an expression is in the program. */
typedef struct att_export_type {
    enum {
        ATT_EXPORT_MATRIX,
        ATT_EXPORT_RECORD,
        ATT_EXPORT_LIST,
        ATT_EXPORT_ANY, /* a matrix or a record: known when the program runs */
    } kind;
    const char *result; /* of a record, or of a list of records: the field that is its matrix */
} att_export_type;

/* A value of the sheet so far. */
typedef struct att_export_name {
    const char *name;       /* in the sheet */
    const char *identifier; /* in the program */
    att_export_type type;
    const char *by_hand; /* identifier of the value with each step rounded; NULL: the same value;
                            "": it is not in the program */
    bool reserved;       /* the identifier is taken, but the sheet has not assigned the name yet */
} att_export_name;

/* An own function of the sheet, defined in the program. */
typedef struct att_export_function {
    const struct att_export_function *before;
    const att_own_function *own;
    const char *identifier;
    att_export_type type;           /* of its result */
    bool whole[ATT_OWN_PARAMETERS]; /* the body reads fields of this parameter */
} att_export_function;

typedef struct att_exporter {
    att_writer out;
    att_arena arena;
    const att_sheet *sheet;
    att_export_language language;
    att_symbol_table names;          /* name of the sheet → index of `values`, in `step` */
    att_symbol_table identifiers;    /* identifiers in use */
    att_symbol_table differentiated; /* names whose gradient the sheet computes */
    att_symbol_table layers;         /* names that some line computes by a layer, with parts */
    const char **failing;    /* own functions that an `expect error` calls; NULL after the last */
    att_export_name *values; /* in the order of their first assignment */
    size_t value_count;
    size_t value_capacity;
    const att_export_name *locals; /* parameters of the function, or the variable of the loop */
    size_t local_count;
    const att_export_function *functions; /* the last one first */
    const char *gradient; /* identifier of the last gradient; NULL: there was none */
    const att_trace_step *gradient_step;
    bool after_function;       /* the statement before is a definition: two lines stay blank */
    bool in_function;          /* shapes are those of the last call, and names those of any call */
    bool has_hand;             /* a claim is about results rounded as by hand */
    bool hand;                 /* expressions are written with each step rounded */
    const char *rounding_name; /* identifier of the function that rounds, */
    const att_rounding *rounding; /* and how it does it now; or NULL */
    const char *pending; /* the name that is being assigned for the first time: pi = 2 * pi */
    bool used[256];      /* the definitions that the program uses */
    bool checked;        /* inside `expect error`: every rule of the sheet must be enforced */
    size_t claims;       /* written so far */
    int line;            /* of the current statement, for errors */
    att_status status;
    att_error *err;
} att_exporter;

/* Fails with ATT_BAD_INPUT at the line of the current statement; the first failure counts. */
void att_export_refuse(att_exporter *exporter, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void att_export_no_memory(att_exporter *exporter);

/* ---- export.c */

/* The end of a statement: the comment behind it; a statement as a comment. */
void att_export_end(att_exporter *exporter, const char *comment);
void att_export_left_out(att_exporter *exporter, const char *why, const att_trace_step *step);

/* Writes the name of a definition, which the program then includes. */
void att_export_use(att_exporter *exporter, const char *name);

/* Whether the runtime of the language defines the name. */
bool att_export_is_defined(att_export_language language, const char *name);

/* Whether the runtime defines the name, or uses it as a builtin of Python. */
bool att_export_is_used(att_export_language language, const char *name);

/* ---- export_names.c */

/* The value of that name, or NULL; a new or reassigned name. */
const att_export_name *att_export_find(const att_exporter *exporter, const char *name);

/* An identifier that nothing has yet, which is then taken; the identifier of a name, even if the
 * sheet assigns it later. "" when memory is out. */
const char *att_export_identifier(att_exporter *exporter, const char *name);
const char *att_export_reserve(att_exporter *exporter, const char *name);
const char *att_export_assign(att_exporter *exporter, const char *name, att_export_type type);
void att_export_assign_hand(att_exporter *exporter, const char *name, const char *by_hand);

/* A Python string with its quotes; a comment, each line with a '#'; text on one line. */
void att_export_string(att_exporter *exporter, const char *text);
void att_export_comment(att_exporter *exporter, const char *text);
void att_export_on_line(att_exporter *exporter, const char *text);

/* ---- export_expr.c */

att_export_type att_export_type_of(const att_exporter *exporter, const att_expr *node);

/* Whether the shape of an expression can change from one evaluation to the next. */
bool att_export_is_unknown(const att_exporter *exporter, const att_expr *node);

/* Whether the expression has only numbers, so that Python would compute it without NumPy. */
bool att_export_is_number(const att_exporter *exporter, const att_expr *node);

/* Writes an expression; as a matrix, of a record its result; or as scalar(…) if it is a number. */
void att_export_value(att_exporter *exporter, const att_expr *node);
void att_export_matrix(att_exporter *exporter, const att_expr *node);
void att_export_scalar(att_exporter *exporter, const att_expr *node);

/* ---- export_matrix.c */

/* Whether it is a matrix written with numbers alone. */
bool att_export_is_literal(const att_exporter *exporter, const att_expr *node);

void att_export_put_matrix(att_exporter *exporter, const att_expr *node);
void att_export_put_list(att_exporter *exporter, const att_expr *node);
void att_export_put_load(att_exporter *exporter, const att_expr *node);

/* A matrix with the numbers of a value. */
void att_export_numbers(att_exporter *exporter, const att_matrix *matrix);

/* ---- export_functions.c */

/* The type of the result of a call, and the call itself. */
att_export_type att_export_call_type(const att_exporter *exporter, const att_expr *node);
void att_export_call(att_exporter *exporter, const att_expr *node);

/* Whether the expression breaks a rule of the language itself (number of arguments, names of
 * options and fields), which has no counterpart in Python. */
bool att_export_breaks_language(const att_exporter *exporter, const att_expr *node);

/* The number of arguments of a call, which stand before its options. */
size_t att_export_argument_count(const att_expr *node);

/* ---- export_own.c */

/* The own function of that name, or NULL. */
const att_export_function *att_export_function_find(const att_exporter *exporter, const char *name);

void att_export_own_call(att_exporter *exporter, const att_export_function *function,
                         const att_expr *node);

/* Finds what must be known of the whole sheet before its functions are written. */
void att_export_collect_functions(att_exporter *exporter);

/* A definition; the assignments of a loop, from `step` on: returns how many steps it wrote. */
void att_export_definition(att_exporter *exporter, const att_trace_step *step);
size_t att_export_loop(att_exporter *exporter, const att_trace_step *step);

/* ---- export_hand.c: results rounded as by hand */

/* Whether the program can compute the expression by hand, and whether the expression is a step
 * whose result is rounded. */
bool att_export_has_hand(const att_exporter *exporter, const att_expr *node);
bool att_export_is_hand_step(const att_exporter *exporter, const att_expr *node);

/* Writes the value of the step by hand, if a claim may need it; returns its identifier as in
 * att_export_name. */
const char *att_export_hand_value(att_exporter *exporter, const att_trace_step *step);

/* Makes the program round like this from here on. */
void att_export_set_rounding(att_exporter *exporter, const att_rounding *rounding);

/* ---- export_gradient.c */

/* Finds the names whose gradient the sheet computes; whether a name is one of them: it must be
 * known before the name is computed. */
void att_export_collect_gradients(att_exporter *exporter);
bool att_export_is_differentiated(const att_exporter *exporter, const char *name);

/* The statement `gradient`, and its check. */
void att_export_gradient(att_exporter *exporter, const att_trace_step *step);
void att_export_gradient_check(att_exporter *exporter, const att_trace_step *step);

/* Whether an expression is X.grad or a part of it; its type; the expression itself. */
bool att_export_is_gradient(const att_exporter *exporter, const att_expr *node);
att_export_type att_export_gradient_type(const att_exporter *exporter, const att_expr *node);
void att_export_gradient_value(att_exporter *exporter, const att_expr *node);

#endif
