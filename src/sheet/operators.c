/* Binary operators on matrices. A matrix product adds in index order in double precision, so that
 * the result depends only on the operands. */
#include "base/math.h"
#include "base/progress.h"
#include "sheet/eval.h"
#include "sheet/gradient.h"
#include "sheet/matrix.h"
#include "sheet/scenario.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double add(double a, double b)
{
    return a + b;
}

static double subtract(double a, double b)
{
    return a - b;
}

static double multiply_elementwise(double a, double b)
{
    return a * b;
}

static double divide_elementwise(double a, double b)
{
    return a / b;
}

static double less(double a, double b)
{
    return a < b;
}

static double less_equal(double a, double b)
{
    return a <= b;
}

static double greater(double a, double b)
{
    return a > b;
}

static double greater_equal(double a, double b)
{
    return a >= b;
}

static double equal_to(double a, double b)
{
    return a == b;
}

static double not_equal_to(double a, double b)
{
    return a != b;
}

/* The symbol of each operator and its function on two numbers. */
static const struct operation {
    const char *sign;
    double (*apply)(double, double);
} operations[] = {
    [ATT_OP_ADD] = { "+", add },
    [ATT_OP_SUBTRACT] = { "-", subtract },
    [ATT_OP_MULTIPLY] = { "*", multiply_elementwise },
    [ATT_OP_DIVIDE] = { "/", divide_elementwise },
    [ATT_OP_MULTIPLY_ELEMENTWISE] = { ".*", multiply_elementwise },
    [ATT_OP_DIVIDE_ELEMENTWISE] = { "./", divide_elementwise },
    [ATT_OP_POWER] = { "^", att_pow },
    [ATT_OP_LESS] = { "<", less },
    [ATT_OP_LESS_EQUAL] = { "<=", less_equal },
    [ATT_OP_GREATER] = { ">", greater },
    [ATT_OP_GREATER_EQUAL] = { ">=", greater_equal },
    [ATT_OP_EQUAL_TO] = { "==", equal_to },
    [ATT_OP_NOT_EQUAL_TO] = { "!=", not_equal_to },
};

/* "Q * K: Q is 3 × 2 and K is 4 × 2; `rule`". */
static att_status fail_shapes(const att_scope *scope, const att_expr *node, const att_matrix *left,
                              const att_matrix *right, const char *rule)
{
    char a[ATT_QUOTE_SIZE];
    char b[ATT_QUOTE_SIZE];
    att_sheet_source_quote(scope->source, node->child[0], a);
    att_sheet_source_quote(scope->source, node->child[1], b);
    return att_scope_fail(scope, node, "%s %s %s: %s is %lld × %lld and %s is %lld × %lld; %s", a,
                          operations[node->op].sign, b, a, (long long)left->rows,
                          (long long)left->cols, b, (long long)right->rows, (long long)right->cols,
                          rule);
}

/* ---- Element-wise */

static bool fits(int64_t a, int64_t b)
{
    return a == b || a == 1 || b == 1;
}

/* Labels that arithmetic keeps: not the numbers of positions. */
static const char *const *kept(const att_matrix *matrix, const char *const *labels)
{
    return matrix->numbered ? NULL : labels;
}

/* The labels of the operand that has the result's length along this side; the left operand
 * first. */
static const char *const *pick_labels(const char *const *left, int64_t left_length,
                                      const char *const *right, int64_t right_length,
                                      int64_t length)
{
    if (left && left_length == length)
        return left;
    return right_length == length ? right : NULL;
}

/* Broadcasts rows, columns and numbers to the other operand's size. */
static att_matrix *broadcast(att_arena *arena, const att_matrix *left, const att_matrix *right,
                             double (*apply)(double, double))
{
    int64_t rows = left->rows == 1 ? right->rows : left->rows;
    int64_t cols = left->cols == 1 ? right->cols : left->cols;
    att_matrix *to = att_matrix_new(arena, rows, cols);
    if (!to)
        return NULL;
    for (int64_t i = 0; i < rows; i++) {
        const double *a = left->data + (left->rows == 1 ? 0 : i * left->cols);
        const double *b = right->data + (right->rows == 1 ? 0 : i * right->cols);
        for (int64_t j = 0; j < cols; j++)
            to->data[i * cols + j] = apply(a[left->cols == 1 ? 0 : j], b[right->cols == 1 ? 0 : j]);
    }
    to->row_labels = pick_labels(kept(left, left->row_labels), left->rows,
                                 kept(right, right->row_labels), right->rows, rows);
    to->col_labels = pick_labels(kept(left, left->col_labels), left->cols,
                                 kept(right, right->col_labels), right->cols, cols);
    return to;
}

/* The size of the round-off in the result: that of the terms of a sum; a factor scales it. */
static double magnitude_of(att_expr_op op, const att_matrix *left, const att_matrix *right)
{
    if (op == ATT_OP_ADD || op == ATT_OP_SUBTRACT)
        return fmax(att_matrix_largest(left), att_matrix_largest(right));
    if (op == ATT_OP_MULTIPLY || op == ATT_OP_MULTIPLY_ELEMENTWISE)
        return fmax(left->magnitude > 0 ? left->magnitude * att_matrix_largest(right) : 0,
                    right->magnitude > 0 ? right->magnitude * att_matrix_largest(left) : 0);
    bool by_number = op == ATT_OP_DIVIDE && att_matrix_is_scalar(right) && right->data[0] != 0;
    return by_number ? left->magnitude / fabs(right->data[0]) : 0;
}

static att_status elementwise(const att_scope *scope, const att_expr *node, const att_matrix *left,
                              const att_matrix *right, att_matrix **out)
{
    if (!fits(left->rows, right->rows) || !fits(left->cols, right->cols))
        return fail_shapes(
            scope, node, left, right,
            "element-wise operands must have the same shape, or one of them must be a "
            "matching row, a matching column or a number");
    *out = broadcast(scope->arena, left, right, operations[node->op].apply);
    if (!*out)
        return att_fail_memory(scope->err);
    (*out)->magnitude = magnitude_of(node->op, left, right);
    return ATT_OK;
}

/* Division without broadcasting: by a number, or by a matrix of the same shape. */
static att_status divide(const att_scope *scope, const att_expr *node, const att_matrix *left,
                         const att_matrix *right, att_matrix **out)
{
    bool same = left->rows == right->rows && left->cols == right->cols;
    if (!att_matrix_is_scalar(right) && !same)
        return fail_shapes(
            scope, node, left, right,
            "expected a number or a matrix of the same shape as divisor (./ broadcasts "
            "rows and columns; there is no division by a matrix)");
    return elementwise(scope, node, left, right, out);
}

/* ---- The matrix product */

/* Each element is a sum over k in order; the inner loop over j computes several sums at once. */
static void multiply_into(att_matrix *to, const att_matrix *left, const att_matrix *right)
{
    for (int64_t i = 0; i < left->rows && !att_progress_cancelled(); i++, att_progress_poll()) {
        double *row = to->data + i * to->cols;
        for (int64_t k = 0; k < left->cols; k++) {
            double a = left->data[i * left->cols + k];
            const double *b = right->data + k * right->cols;
            for (int64_t j = 0; j < to->cols; j++)
                row[j] += a * b[j];
        }
    }
}

static att_status fail_inner(const att_scope *scope, const att_expr *node, const att_matrix *left,
                             const att_matrix *right)
{
    char rule[ATT_QUOTE_SIZE + 128];
    char quote[ATT_QUOTE_SIZE];
    int length = snprintf(rule, sizeof rule, "the inner sizes %lld and %lld must agree",
                          (long long)left->cols, (long long)right->rows);
    const att_expr *turned = left->cols == right->cols   ? node->child[1]
                             : left->rows == right->rows ? node->child[0]
                                                         : NULL;
    if (turned && turned->kind == ATT_EXPR_NAME)
        snprintf(rule + length, sizeof rule - (size_t)length, " (did you mean %s'?)",
                 att_sheet_source_quote(scope->source, turned, quote));
    return fail_shapes(scope, node, left, right, rule);
}

static att_status multiply(const att_scope *scope, const att_expr *node, const att_matrix *left,
                           const att_matrix *right, att_matrix **out)
{
    if (att_matrix_is_scalar(left) || att_matrix_is_scalar(right))
        return elementwise(scope, node, left, right, out);
    if (left->cols != right->rows)
        return fail_inner(scope, node, left, right);
    double work = (double)left->rows * (double)left->cols * (double)right->cols;
    if (work > ATT_MAX_MULTIPLICATIONS)
        return fail_shapes(scope, node, left, right,
                           "this product takes more multiplications than a sheet may");
    att_matrix *product = att_matrix_new(scope->arena, left->rows, right->cols);
    if (!product)
        return att_fail_memory(scope->err);
    multiply_into(product, left, right);
    product->row_labels = kept(left, left->row_labels);
    product->col_labels = kept(right, right->col_labels);
    product->magnitude = att_matrix_largest(left) * att_matrix_largest(right);
    *out = product;
    return ATT_OK;
}

/* ---- Slips (scenario.h) */

static bool is_root(const att_expr *node)
{
    return node->kind == ATT_EXPR_CALL && strcmp(node->text, "sqrt") == 0;
}

/* Divided by d instead of sqrt(d). */
static double divide_twice(double a, double root)
{
    return a / (root * root);
}

/* Transposes a factor, or undoes its transpose, if the product still has a shape. */
static att_status turn_factor(const att_scope *scope, const att_expr *node,
                              const att_matrix *factors[2], int side)
{
    bool primed = node->child[side]->kind == ATT_EXPR_TRANSPOSE;
    const att_matrix *turned = factors[side], *other = factors[1 - side];
    bool fits = side == 0 ? turned->rows == other->rows : turned->cols == other->cols;
    if (!fits || turned->rows * turned->cols <= 1 || att_matrix_is_scalar(other) ||
        !att_slip_is_made(scope->scenario, primed ? ATT_SLIP_NOT_TRANSPOSED : ATT_SLIP_TRANSPOSED,
                          node, side))
        return ATT_OK;
    factors[side] = att_matrix_transpose(scope->arena, turned);
    return factors[side] ? ATT_OK : att_fail_memory(scope->err);
}

/* The function that a slip puts in place of the operation; NULL: none. */
static double keep_left(double a, double b)
{
    (void)b;
    return a;
}

static double (*slip_function(const att_scope *scope, const att_expr *node, const att_matrix *left,
                              const att_matrix *right))(double, double)
{
    att_scenario *scenario = scope->scenario;
    bool same = left->rows == right->rows && left->cols == right->cols;
    bool smaller = fits(left->rows, right->rows) && fits(left->cols, right->cols) &&
                   left->rows * left->cols >= right->rows * right->cols;
    if (node->op == ATT_OP_DIVIDE && is_root(node->child[1])) {
        if (att_slip_is_made(scenario, ATT_SLIP_NO_SCALE, node, 0))
            return keep_left;
        return att_slip_is_made(scenario, ATT_SLIP_SCALE_NOT_ROOT, node, 0) ? divide_twice : NULL;
    }
    if (node->op == ATT_OP_ADD && smaller)
        return att_slip_is_made(scenario, ATT_SLIP_NO_BIAS, node, 0) ? keep_left : NULL;
    if (node->op == ATT_OP_MULTIPLY && same && !att_matrix_is_scalar(left))
        return att_slip_is_made(scenario, ATT_SLIP_ELEMENTWISE, node, 0) ? multiply_elementwise
                                                                         : NULL;
    return NULL;
}

/* Makes the slips of the scenario: *result is not NULL if one replaces the operation; others change
 * an operand. */
static att_status make_slips(const att_scope *scope, const att_expr *node,
                             const att_matrix *operands[2], att_matrix **result)
{
    double (*function)(double, double) = slip_function(scope, node, operands[0], operands[1]);
    *result = NULL;
    if (function) {
        *result = broadcast(scope->arena, operands[0], operands[1], function);
        return *result ? ATT_OK : att_fail_memory(scope->err);
    }
    for (int side = 0; side < 2 && node->op == ATT_OP_MULTIPLY; side++) {
        const att_matrix *before = operands[side];
        ATT_TRY(turn_factor(scope, node, operands, side));
        if (operands[side] != before)
            break;
    }
    return ATT_OK;
}

att_status att_binary_apply(const att_scope *scope, const att_expr *node, const att_matrix *left,
                            const att_matrix *right, att_matrix **out)
{
    if (node->op == ATT_OP_MULTIPLY)
        return multiply(scope, node, left, right, out);
    if (node->op == ATT_OP_DIVIDE)
        return divide(scope, node, left, right, out);
    return elementwise(scope, node, left, right, out);
}

att_status att_eval_binary(const att_scope *scope, const att_expr *node, att_value *out)
{
    const att_matrix *operands[2];
    att_matrix *result;
    ATT_TRY(att_eval_matrix(scope, node->child[0], &operands[0]));
    ATT_TRY(att_eval_matrix(scope, node->child[1], &operands[1]));
    if (scope->scenario) {
        ATT_TRY(make_slips(scope, node, operands, &result));
        *out = (att_value){ .kind = ATT_VALUE_MATRIX, .matrix = result };
        if (result)
            return ATT_OK;
    }
    ATT_TRY(att_binary_apply(scope, node, operands[0], operands[1], &result));
    *out = (att_value){ .kind = ATT_VALUE_MATRIX, .matrix = result };
    return att_record_operation(
        scope, node->op >= ATT_OP_LESS ? &att_gradient_compare : &att_gradient_binary, node,
        operands, 2, result);
}
