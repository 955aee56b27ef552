/* Calculations of single elements with all their numbers: "e_{1,2} = 0.4·0.2 + 0.5·0.3 = 0.23". The
 * blocks make them for small inputs; renderers print them like the expressions of the user.
 *
 * A builder that receives NULL returns NULL, so only the last result of a chain needs a check. NULL
 * means that memory is out. */
#ifndef ATT_SHEET_CALCULATION_H
#define ATT_SHEET_CALCULATION_H

#include "sheet/trace.h"

/* Larger results have no calculations: nobody would read them. */
enum { ATT_CALCULATION_ROWS = 6, ATT_CALCULATION_COLS = 8, ATT_CALCULATION_TERMS = 8 };

/* Whether a result of `rows` × `cols`, each element a sum of `terms`, is small enough for
 * calculations. */
bool att_calculation_fits(int64_t rows, int64_t cols, int64_t terms);

/* A number, shown rounded, and a matrix shown in place. */
att_expr *att_make_number(att_arena *arena, double number);
att_expr *att_make_constant(att_arena *arena, const att_matrix *matrix);

att_expr *att_make_binary(att_arena *arena, att_expr_op op, att_expr *left, att_expr *right);
att_expr *att_make_call(att_arena *arena, const char *function, att_expr *argument);

/* A call with several arguments, -x, and a plain name. */
att_expr *att_make_call_of(att_arena *arena, const char *function, att_expr *const *arguments,
                           size_t count);
att_expr *att_make_negative(att_arena *arena, att_expr *of);
att_expr *att_make_name(att_arena *arena, const char *name);

/* A subscripted name: a_{1,2}, or a_1 where `col` is negative. */
att_expr *att_make_indexed(att_arena *arena, const char *name, int64_t row, int64_t col);

/* A sum built from left to right, so that it needs no parentheses; start from { arena }. After a
 * NULL term `expr` stays NULL. */
typedef struct att_expr_sum {
    att_arena *arena;
    att_expr *expr;
    size_t terms;
} att_expr_sum;

void att_expr_sum_add(att_expr_sum *sum, att_expr *term);

/* a[0]·b[0] + a[1]·b[1] + …: `count` terms, the factors `stride` apart. */
void att_expr_sum_add_dot_product(att_expr_sum *sum, int64_t count, const double *a,
                                  int64_t a_stride, const double *b, int64_t b_stride);

/* The same sum as an expression. */
att_expr *att_make_dot_product(att_arena *arena, int64_t count, const double *a, int64_t a_stride,
                               const double *b, int64_t b_stride);

/* A list of calculations; `items` has room for all of them. */
typedef struct att_calculations {
    att_calculation *items;
    size_t count;
    size_t capacity;
} att_calculations;

/* Allocates room for `room` calculations. */
att_status att_calculations_start(att_calculations *calculations, att_arena *arena, size_t room,
                                  att_error *err);

/* Adds left = right = value, for the query `row`; a NULL expression or value is reported as out of
 * memory. */
att_status att_calculations_add(att_calculations *calculations, int64_t row, const att_expr *left,
                                const att_expr *right, const att_matrix *value, att_error *err);

/* The same for a scalar value. */
att_status att_calculations_add_number(att_calculations *calculations, att_arena *arena,
                                       int64_t row, const att_expr *left, const att_expr *right,
                                       double value, att_error *err);

/* Adds every element of the product a b = value as name_{i,j}, if it is small enough. */
att_status att_calculations_add_matmul(att_calculations *calculations, att_arena *arena,
                                       const char *name, const att_matrix *a, const att_matrix *b,
                                       const att_matrix *value, att_error *err);

#endif
