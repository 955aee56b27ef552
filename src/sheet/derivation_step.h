/* Taking a statement apart, shared by the files derivation*.c. */
#ifndef ATT_SHEET_DERIVATION_STEP_H
#define ATT_SHEET_DERIVATION_STEP_H

#include "sheet/calculation.h"
#include "sheet/derivation.h"

/* An operand that got a name. */
struct att_named_node {
    const att_expr *node;
    const char *name;
};

/* A statement while it is taken apart. */
typedef struct att_derivation_step {
    const att_scope *scope;
    att_arena *arena;
    const char *name; /* of the result */
    struct att_named_node *named;
    size_t named_count, named_capacity;
    att_trace_part *parts;
    size_t part_count, part_capacity;
} att_derivation_step;

/* The matrix of a node that was evaluated; NULL for others, such as options and lists. */
const att_matrix *att_derivation_matrix(const att_derivation_step *step, const att_expr *node);

/* The expression with the names of its inner results in their places. NULL when memory is out. */
att_expr *att_derivation_with_names(const att_derivation_step *step, const att_expr *node);

att_status att_derivation_add_part(att_derivation_step *step, const att_trace_part *part);

/* y, y_2 or y_{1,2}: the name of an element of a number, a vector, a matrix. */
att_expr *att_derivation_element(att_arena *arena, const char *name, const att_matrix *m, int64_t i,
                                 int64_t j);

/* layernorm and rmsnorm: adds parts with the statistics of each vector, and sets the calculations
 * of the elements and the formula. Nothing is set if the matrix is too large. */
att_status att_derivation_norm(att_derivation_step *step, const att_expr *node, const char *name,
                               att_calculations *out, const att_expr **formula);

#endif
