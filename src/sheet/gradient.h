/* Gradients of a sheet: the record of its computations is walked from a result back to its inputs.
 *
 * Every computation sends a contribution to each of its inputs. A value's gradient is the sum of
 * the contributions of all its uses; it is complete, and becomes a step of the trace, when the walk
 * has passed its first use. Derivatives of layers are those of src/reference and src/attention.
 *
 *   gradient.c            the statement
 *   gradient_walk.c       the walk: values, contributions, steps of the trace
 *   gradient_names.c      names and formulas
 *   gradient_field.c      X.grad and a.grad.weights as values of the sheet
 *   gradient_check.c      gradient L check: central differences, by running the record again
 *   gradient_kink.c       which piece of relu, max, … the numbers are in
 *   gradient_operators.c  signs, transposes, concatenation, selection, + - * / .* ./ ^
 *   gradient_functions.c  functions of functions.c, and the table of all functions
 *   gradient_choice.c     where, diag, sort, topk, cross_entropy, dropout
 *   gradient_layers.c     linear, conv1d, layernorm, rmsnorm
 *   gradient_rnn.c        rnn, lstm, gru; gradient_rnn_cells.c: the rules of their parts
 *   gradient_attention.c  one head of attention, from its output to its scores
 *   gradient_scores.c     scores: queries, keys and parameters; gradient_scores_nonlinear.c
 *   gradient_heads.c      attention, self_attention, cross_attention, multihead: projections */
#ifndef ATT_SHEET_GRADIENT_H
#define ATT_SHEET_GRADIENT_H

#include "sheet/calculation.h"
#include "sheet/eval.h"
#include "sheet/record.h"

typedef struct att_backward att_backward;

/* How a computation is differentiated. */
typedef struct att_gradient_spec {
    const char *name;
    /* Sends contributions to the inputs; NULL: the result has no gradient, because `constant`. */
    att_status (*backward)(att_backward *walk, const att_computation *computation);
    const char *constant;
    /* Computes the result again from the present numbers of its inputs, in place. */
    att_status (*again)(const att_scope *scope, const att_computation *computation);
} att_gradient_spec;

/* The row of a function; NULL if it has none, which a test forbids. */
const att_gradient_spec *att_gradient_spec_of(const att_function *function);

extern const att_gradient_spec att_gradient_negate;
extern const att_gradient_spec att_gradient_transpose;
extern const att_gradient_spec att_gradient_concat;
extern const att_gradient_spec att_gradient_select;
extern const att_gradient_spec att_gradient_binary;
extern const att_gradient_spec att_gradient_compare;

/* ---- Contributions */

/* Element (i, j) = scale Σ_l a[i, j, l] b[i, j, l], summed in index order, where the index of each
 * factor is linear in i, j and l. This covers products of matrices, element-wise products, and
 * broadcasting with the sums that it sends back. */
typedef struct att_terms {
    int64_t count; /* of terms; 0: no terms */
    const double *a;
    int64_t a_row, a_col, a_term;
    const double *b; /* NULL: 1 */
    int64_t b_row, b_col, b_term;
    double scale;
} att_terms;

/* The calculation of element (i, j), from 0. */
typedef att_expr *att_write_element(att_arena *arena, const void *of, int64_t i, int64_t j);

typedef struct att_contribution {
    const char *reason; /* one sentence about the rule, or NULL */
    att_expr *formula;
    const att_matrix *value; /* NULL: the sum of `terms` */
    att_terms terms;
    att_write_element *write; /* NULL: by `terms` */
    const void *of;
    int64_t term_count;                  /* with `write`: terms in the calculation of an element */
    const struct att_contribution *next; /* set by att_backward_send() */
} att_contribution;

/* Whether the value has a gradient that anybody asked for. */
bool att_backward_wants(const att_backward *walk, const att_matrix *value);

/* Adds to the gradient of `to`. A contribution to a value that nobody wants is dropped. */
att_status att_backward_send(att_backward *walk, const att_matrix *to, att_contribution part);

/* Completes the gradient of a value and adds its step. *out is NULL if nothing was sent to it. */
att_status att_backward_finish(att_backward *walk, const att_matrix *value, const att_matrix **out);

/* What was sent to the value so far, without completing it, and the formula of that; NULL:
 * nothing. */
att_status att_backward_sent(att_backward *walk, const att_matrix *value, const att_matrix **out);
att_expr *att_backward_sent_formula(att_backward *walk, const att_matrix *value);

/* Completes the gradient of a value that the reference has computed together with what was sent to
 * it: `part` has the total. */
att_status att_backward_finish_as(att_backward *walk, const att_matrix *value,
                                  const att_contribution *part);

/* The gradient of a part that is another name of an input, such as q, by this computation alone. */
att_status att_backward_keep(att_backward *walk, const att_trace_part *part,
                             const att_matrix *gradient);

/* What was kept under the name of a part by the current computation; NULL: nothing. */
const att_matrix *att_backward_kept(const att_backward *walk, const char *part);

/* Adds a step for something that has no name in the sheet, such as the sums before the gates. */
att_status att_backward_show(att_backward *walk, const att_trace_part *part);
/* The same from a contribution, with its calculations; `inner`: it belongs to the workings. */
att_status att_backward_show_worked(att_backward *walk, const char *name,
                                    const att_contribution *part, bool inner);

/* A formula such as "G * B'": the names in `keys`, one letter each, stand for the expressions that
 * follow, in this order. NULL when memory is out. */
att_expr *att_backward_formula(att_backward *walk, const char *text, const char *keys, ...);

/* A formula in which a name of the list stands for its value, and that name behind a d for the
 * gradient of the value: "dz .* (1 - z^2)". The list ends with a NULL name. */
typedef struct att_formula_name {
    const char *name;
    const att_matrix *value;
} att_formula_name;

att_expr *att_backward_named(att_backward *walk, const char *text, const att_formula_name *names);

/* The name of a value in formulas, and of its gradient: X and dX. NULL when memory is out. */
att_expr *att_backward_name(att_backward *walk, const att_matrix *value);
att_expr *att_backward_d(att_backward *walk, const att_matrix *value);

att_arena *att_backward_arena(const att_backward *walk);
att_error *att_backward_error(const att_backward *walk);

/* ---- The result */

typedef struct att_gradient {
    const char *of; /* the differentiated expression, as written */
    int line;
    size_t step;              /* index of its step in the trace */
    const att_matrix **grads; /* [value_count] NULL: none */
    size_t value_count;       /* values of the record when the statement ran */
    const struct att_kept_gradient *kept;
} att_gradient;

/* A gradient of a part that shares the numbers of an input. */
typedef struct att_kept_gradient {
    const struct att_kept_gradient *next;
    const double *data;
    const char *name;
    const att_matrix *gradient;
    size_t computation;
} att_kept_gradient;

/* What `gradient` was asked for. */
typedef struct att_gradient_request {
    const att_expr *node;            /* of the result */
    const att_matrix *of;            /* its value */
    const att_matrix *with;          /* the gradient it starts with; NULL: 1 */
    const att_matrix *const *inputs; /* NULL: every name */
    size_t input_count;
    const att_symbol_table *symbols;
} att_gradient_request;

/* Walks the record back; the steps of the trace are in *parts. */
att_status att_gradient_walk(const att_scope *scope, const att_gradient_request *request,
                             att_gradient **out, att_trace_part **parts, size_t *part_count);

/* x.grad: the gradient of the value that `node` names. */
att_status att_gradient_field(const att_scope *scope, const att_expr *node, const att_value *of,
                              att_value *out);

/* The largest difference between the gradients and central differences. */
typedef struct att_gradient_difference {
    int64_t count;     /* of numbers compared */
    int64_t wrong;     /* of them, beyond the tolerance */
    int64_t kinks;     /* of them, beyond the tolerance at a kink, a tie or a jump */
    double largest;    /* difference, relative to 1 + |gradient| */
    const char *name;  /* the first wrong one: where it is, */
    int64_t row, col;  /* from 1 */
    double gradient;   /* what the backward pass says */
    double difference; /* what the differences say */
    double tolerance;
} att_gradient_difference;

/* A digest of the pieces of piecewise functions that the present numbers are in. */
uint64_t att_gradient_pieces(const att_computation *const *computations, size_t count);

att_status att_gradient_check(const att_scope *scope, const att_gradient_request *request,
                              const att_gradient *gradient, att_gradient_difference *out);

#endif
