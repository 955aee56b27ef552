/* Sums written out as on the chalkboard: "e_{1,2} = 0.4·0.2 + 0.5·0.3 = 0.23". The blocks make them
 * for small cases; a renderer prints them with the same printers as what the user wrote.
 *
 * Builders take what other builders gave: NULL in gives NULL out, so that only the last result of a
 * chain needs a check. NULL means that memory is out. */
#ifndef ATT_SHEET_CALCULATION_H
#define ATT_SHEET_CALCULATION_H

#include "sheet/trace.h"

/* Beyond these sizes a sum written out helps nobody, and none is. */
enum { ATT_CALCULATION_ROWS = 6, ATT_CALCULATION_COLS = 8, ATT_CALCULATION_TERMS = 8 };

/* Whether a result of `rows` × `cols`, each element a sum of `terms`, is written out. */
bool att_calculation_fits(int64_t rows, int64_t cols, int64_t terms);

/* A number, shown rounded, and a matrix shown in place. */
att_expr *att_make_number(att_arena *arena, double number);
att_expr *att_make_constant(att_arena *arena, const att_matrix *matrix);

att_expr *att_make_binary(att_arena *arena, att_expr_op op, att_expr *left, att_expr *right);
att_expr *att_make_call(att_arena *arena, const char *function, att_expr *argument);

/* A subscripted name: a_{1,2}, or a_1 where `col` is negative. */
att_expr *att_make_indexed(att_arena *arena, const char *name, int64_t row, int64_t col);

/* A sum that grows by terms from the left, so that it needs no brackets; start from { arena }. Once
 * a term was NULL, `expr` is NULL for good. */
typedef struct att_sum {
    att_arena *arena;
    att_expr *expr;
    size_t terms;
} att_sum;

void att_sum_add(att_sum *sum, att_expr *term);

/* a[0]·b[0] + a[1]·b[1] + …: `count` terms, the factors `stride` apart. */
void att_sum_add_dot_product(att_sum *sum, int64_t count, const double *a, int64_t a_stride,
                             const double *b, int64_t b_stride);

/* The same on its own. */
att_expr *att_make_dot_product(att_arena *arena, int64_t count, const double *a, int64_t a_stride,
                               const double *b, int64_t b_stride);

/* Workings as they gather; `items` has room for all that will come. */
typedef struct att_calculations {
    att_calculation *items;
    size_t count;
    size_t capacity;
} att_calculations;

/* Makes room for `room` workings. */
att_status att_calculations_start(att_calculations *calculations, att_arena *arena, size_t room,
                                  att_error *err);

/* Adds left = right = value, for the query `row`; a NULL expression or value is memory run out. */
att_status att_calculations_add(att_calculations *calculations, int64_t row, const att_expr *left,
                                const att_expr *right, const att_matrix *value, att_error *err);

/* The same for a single number. */
att_status att_calculations_add_number(att_calculations *calculations, att_arena *arena,
                                       int64_t row, const att_expr *left, const att_expr *right,
                                       double value, att_error *err);

/* Every element of the product a b = value, called name_{i,j}; none where it does not fit. */
att_status att_calculations_add_matmul(att_calculations *calculations, att_arena *arena,
                                       const char *name, const att_matrix *a, const att_matrix *b,
                                       const att_matrix *value, att_error *err);

#endif
