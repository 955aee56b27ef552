/* Gradients of signs, transposes, concatenation, selection and binary operators. */
#include "sheet/gradient.h"

#include "base/math.h"
#include "base/minmax.h"
#include "sheet/matrix.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The gradient of the result, as a matrix and as a name. */
static att_status finish_output(att_backward *walk, const att_computation *c,
                                const att_matrix **grad, att_expr **name)
{
    ATT_TRY(att_backward_finish(walk, c->output.matrix, grad));
    *name = att_backward_d(walk, c->output.matrix);
    return ATT_OK;
}

static double *result_of(const att_computation *c)
{
    return c->output.matrix->data;
}

/* ---- -X */

static att_status negate_backward(att_backward *walk, const att_computation *c)
{
    const att_matrix *g;
    att_expr *name;
    ATT_TRY(finish_output(walk, c, &g, &name));
    if (!g)
        return ATT_OK;
    return att_backward_send(
        walk, c->inputs[0],
        (att_contribution){
            .reason = "a sign is passed on",
            .formula = att_backward_formula(walk, "-G", "G", name),
            .terms = { .count = 1, .a = g->data, .a_row = g->cols, .a_col = 1, .scale = -1 } });
}

static att_status negate_again(const att_scope *scope, const att_computation *c)
{
    (void)scope;
    for (int64_t i = 0; i < c->output.matrix->rows * c->output.matrix->cols; i++)
        result_of(c)[i] = -c->inputs[0]->data[i];
    return ATT_OK;
}

const att_gradient_spec att_gradient_negate = { "-", negate_backward, NULL, negate_again };

/* ---- X' */

static att_status transpose_backward(att_backward *walk, const att_computation *c)
{
    const att_matrix *g;
    att_expr *name;
    ATT_TRY(finish_output(walk, c, &g, &name));
    if (!g)
        return ATT_OK;
    return att_backward_send(
        walk, c->inputs[0],
        (att_contribution){
            .reason = "a transpose sends back the transposed gradient",
            .formula = att_backward_formula(walk, "G'", "G", name),
            .terms = { .count = 1, .a = g->data, .a_row = 1, .a_col = g->cols, .scale = 1 } });
}

static att_status transpose_again(const att_scope *scope, const att_computation *c)
{
    (void)scope;
    const att_matrix *from = c->inputs[0];
    for (int64_t i = 0; i < from->rows; i++)
        for (int64_t j = 0; j < from->cols; j++)
            result_of(c)[j * from->rows + i] = from->data[i * from->cols + j];
    return ATT_OK;
}

const att_gradient_spec att_gradient_transpose = { "'", transpose_backward, NULL, transpose_again };

/* ---- [A, B; C] */

/* "G[1:2, 3:4]", without the sides that are whole. */
static att_expr *slice_formula(att_backward *walk, att_expr *name, const att_matrix *whole,
                               const att_matrix_piece *piece)
{
    const att_matrix *part = piece->matrix;
    char rows[64] = ":", cols[64] = ":", text[160];
    if (part->rows == whole->rows && part->cols == whole->cols)
        return name;
    if (part->rows < whole->rows)
        snprintf(rows, sizeof rows, "%" PRId64 ":%" PRId64, piece->row + 1,
                 piece->row + part->rows);
    if (part->cols < whole->cols)
        snprintf(cols, sizeof cols, "%" PRId64 ":%" PRId64, piece->col + 1,
                 piece->col + part->cols);
    if (part->rows == 1 && whole->rows > 1)
        snprintf(rows, sizeof rows, "%" PRId64, piece->row + 1);
    if (part->cols == 1 && whole->cols > 1)
        snprintf(cols, sizeof cols, "%" PRId64, piece->col + 1);
    snprintf(text, sizeof text, "G[%s, %s]", rows, cols);
    return att_backward_formula(walk, text, "G", name);
}

static att_status concat_backward(att_backward *walk, const att_computation *c)
{
    const att_matrix *g;
    att_expr *name;
    ATT_TRY(finish_output(walk, c, &g, &name));
    for (size_t i = 0; g && i < c->input_count; i++) {
        const att_matrix_piece *piece = &c->pieces[i];
        if (!att_backward_wants(walk, piece->matrix))
            continue;
        ATT_TRY(att_backward_send(
            walk, piece->matrix,
            (att_contribution){ .reason = "a piece of a matrix gets its part of the gradient",
                                .formula = slice_formula(walk, name, g, piece),
                                .terms = { .count = 1,
                                           .a = g->data + piece->row * g->cols + piece->col,
                                           .a_row = g->cols,
                                           .a_col = 1,
                                           .scale = 1 } }));
    }
    return ATT_OK;
}

static att_status concat_again(const att_scope *scope, const att_computation *c)
{
    (void)scope;
    int64_t cols = c->output.matrix->cols;
    for (size_t i = 0; i < c->input_count; i++) {
        const att_matrix_piece *piece = &c->pieces[i];
        const att_matrix *from = piece->matrix;
        for (int64_t r = 0; r < from->rows && from->cols > 0; r++)
            memcpy(result_of(c) + (piece->row + r) * cols + piece->col, from->data + r * from->cols,
                   (size_t)from->cols * sizeof(double));
    }
    return ATT_OK;
}

const att_gradient_spec att_gradient_concat = { "[ ]", concat_backward, NULL, concat_again };

/* ---- X[2, :] */

/* Where element (i, j) of the result comes from. */
static int64_t selected(const att_computation *c, int64_t i, int64_t j)
{
    return (c->rows ? c->rows[i] : i) * c->inputs[0]->cols + (c->cols ? c->cols[j] : j);
}

static att_status select_backward(att_backward *walk, const att_computation *c)
{
    const att_matrix *g;
    att_expr *name;
    ATT_TRY(finish_output(walk, c, &g, &name));
    if (!g || !att_backward_wants(walk, c->inputs[0]))
        return ATT_OK;
    att_matrix *value =
        att_matrix_new(att_backward_arena(walk), c->inputs[0]->rows, c->inputs[0]->cols);
    if (!value)
        return att_fail_memory(att_backward_error(walk));
    for (int64_t i = 0; i < g->rows; i++)
        for (int64_t j = 0; j < g->cols; j++)
            value->data[selected(c, i, j)] += g->data[i * g->cols + j];
    return att_backward_send(
        walk, c->inputs[0],
        (att_contribution){ .reason = "the selected elements get the gradient, the others 0",
                            .formula = att_backward_formula(walk, "scatter(G)", "G", name),
                            .value = value });
}

static att_status select_again(const att_scope *scope, const att_computation *c)
{
    (void)scope;
    const att_matrix *to = c->output.matrix;
    for (int64_t i = 0; i < to->rows; i++)
        for (int64_t j = 0; j < to->cols; j++)
            to->data[i * to->cols + j] = c->inputs[0]->data[selected(c, i, j)];
    return ATT_OK;
}

const att_gradient_spec att_gradient_select = { "[…]", select_backward, NULL, select_again };

/* ---- Binary operators. Element-wise: the gradient times the derivative by the operand, added up
 * over the elements that the operand was repeated for. */

typedef double derivative(double a, double b);

static double other_right(double a, double b)
{
    (void)a;
    return b;
}

static double other_left(double a, double b)
{
    (void)b;
    return a;
}

static double quotient_left(double a, double b)
{
    (void)a;
    return 1 / b;
}

static double quotient_right(double a, double b)
{
    return -a / (b * b);
}

static double power_left(double a, double b)
{
    return b == 0 ? 0 : b * att_pow(a, b - 1);
}

static double power_right(double a, double b)
{
    return a == 0 && b >= 0 ? 0 : att_pow(a, b) * att_log(a);
}

/* The rules for the left and the right operand. G is the gradient of the result, A and B are the
 * operands; `by` NULL: the derivative is `sign`. */
static const struct operand_rule {
    const char *formula;
    const char *reason;
    derivative *by;
    double sign;
} rules[][2] = {
    [ATT_OP_ADD] = { { "G", "a sum passes the gradient on", NULL, 1 },
                     { "G", "a sum passes the gradient on", NULL, 1 } },
    [ATT_OP_SUBTRACT] = { { "G", "a difference passes the gradient on", NULL, 1 },
                          { "-G", "what is subtracted gets the gradient with the other sign", NULL,
                            -1 } },
    [ATT_OP_MULTIPLY] = { { "G * B", "a factor gets the gradient times the other factor",
                            other_right, 1 },
                          { "G * A", "a factor gets the gradient times the other factor",
                            other_left, 1 } },
    [ATT_OP_DIVIDE] = { { "G / B", "the gradient divided by the divisor", quotient_left, 1 },
                        { "-G .* A / B^2", "the derivative of 1/b is -1/b^2", quotient_right, 1 } },
    [ATT_OP_MULTIPLY_ELEMENTWISE] = { { "G .* B",
                                        "a factor gets the gradient times the other factor",
                                        other_right, 1 },
                                      { "G .* A",
                                        "a factor gets the gradient times the other factor",
                                        other_left, 1 } },
    [ATT_OP_POWER] = { { "G .* B .* A^(B - 1)", "the derivative of a^b is b a^(b-1)", power_left,
                         1 },
                       { "G .* A^B .* log(A)", "the derivative of a^b by b is a^b log(a)",
                         power_right, 1 } },
    [ATT_OP_DIVIDE_ELEMENTWISE] = { { "G ./ B", "the gradient divided by the divisor",
                                      quotient_left, 1 },
                                    { "-G .* A ./ B^2", "the derivative of 1/b is -1/b^2",
                                      quotient_right, 1 } },
};

/* The derivative by one operand at each element of the result. */
static att_matrix *derivatives(att_arena *arena, const att_matrix *g, const att_matrix *a,
                               const att_matrix *b, derivative *by)
{
    att_matrix *to = att_matrix_new(arena, g->rows, g->cols);
    for (int64_t i = 0; to && i < g->rows; i++)
        for (int64_t j = 0; j < g->cols; j++) {
            int64_t in_a = (a->rows == 1 ? 0 : i) * a->cols + (a->cols == 1 ? 0 : j);
            int64_t in_b = (b->rows == 1 ? 0 : i) * b->cols + (b->cols == 1 ? 0 : j);
            to->data[i * g->cols + j] = by(a->data[in_a], b->data[in_b]);
        }
    return to;
}

/* The sum over the elements of the result that come from one element of the operand. */
static att_terms broadcast_terms(const att_matrix *g, const att_matrix *d, const att_matrix *to,
                                 double sign)
{
    bool by_row = to->rows == 1 && g->rows > 1, by_col = to->cols == 1 && g->cols > 1;
    att_terms terms = { .count = (by_row ? g->rows : 1) * (by_col ? g->cols : 1),
                        .a = g->data,
                        .a_row = by_row ? 0 : g->cols,
                        .a_col = by_col ? 0 : 1,
                        .a_term = by_col ? 1 : g->cols,
                        .scale = sign };
    if (!d)
        return terms;
    terms.b = d->data;
    terms.b_row = terms.a_row;
    terms.b_col = terms.a_col;
    terms.b_term = terms.a_term;
    return terms;
}

static const char *reduced(att_arena *arena, const char *formula, const att_matrix *g,
                           const att_matrix *to)
{
    bool by_row = to->rows == 1 && g->rows > 1, by_col = to->cols == 1 && g->cols > 1;
    if (!by_row && !by_col)
        return formula;
    return att_arena_printf(arena, "sum(%s%s)", formula,
                            by_row && by_col ? ""
                            : by_row         ? ", cols"
                                             : ", rows");
}

/* X^2 has the derivative 2 X: a constant exponent makes the formula simpler. */
static const char *power_formula(att_backward *walk, const att_matrix *exponent)
{
    double e = att_matrix_is_scalar(exponent) ? exponent->data[0] : 0;
    if (e == 2 && !att_backward_wants(walk, exponent))
        return "G .* (2 * A)";
    if (e > 2 && e == floor(e) && e < 100 && !att_backward_wants(walk, exponent))
        return att_arena_printf(att_backward_arena(walk), "G .* (%d * A^%d)", (int)e, (int)e - 1);
    return rules[ATT_OP_POWER][0].formula;
}

static att_status send_elementwise(att_backward *walk, const att_computation *c,
                                   const att_matrix *g, att_expr *name, int side)
{
    att_arena *arena = att_backward_arena(walk);
    const att_matrix *a = c->inputs[0], *b = c->inputs[1], *to = c->inputs[side];
    const struct operand_rule *rule = &rules[c->node->op][side];
    if (!att_backward_wants(walk, to))
        return ATT_OK;
    const att_matrix *d = rule->by ? derivatives(arena, g, a, b, rule->by) : NULL;
    const char *formula =
        c->node->op == ATT_OP_POWER && side == 0 ? power_formula(walk, b) : rule->formula;
    const char *text = formula ? reduced(arena, formula, g, to) : NULL;
    bool repeated = text != formula;
    att_expr *left = att_backward_name(walk, a), *right = att_backward_name(walk, b);
    if ((rule->by && !d) || !text || !left || !right)
        return att_fail_memory(att_backward_error(walk));
    const char *reason =
        repeated ? att_arena_printf(arena, "%s; where it was repeated, the gradients add up",
                                    rule->reason)
                 : rule->reason;
    return att_backward_send(
        walk, to,
        (att_contribution){ .reason = reason,
                            .formula = att_backward_formula(walk, text, "GAB", name, left, right),
                            .terms = broadcast_terms(g, d, to, rule->sign) });
}

/* C = A B: dA = dC Bᵀ, dB = Aᵀ dC. */
static att_status send_product(att_backward *walk, const att_computation *c, const att_matrix *g,
                               att_expr *name)
{
    const att_matrix *a = c->inputs[0], *b = c->inputs[1];
    att_expr *left = att_backward_name(walk, a), *right = att_backward_name(walk, b);
    if (!left || !right)
        return att_fail_memory(att_backward_error(walk));
    ATT_TRY(att_backward_send(
        walk, a,
        (att_contribution){ .reason = "the left factor gets the gradient times the right factor, "
                                      "transposed",
                            .formula = att_backward_formula(walk, "G * B'", "GB", name, right),
                            .terms = { .count = g->cols,
                                       .a = g->data,
                                       .a_row = g->cols,
                                       .a_term = 1,
                                       .b = b->data,
                                       .b_col = b->cols,
                                       .b_term = 1,
                                       .scale = 1 } }));
    return att_backward_send(
        walk, b,
        (att_contribution){ .reason = "the right factor gets the left factor, transposed, times "
                                      "the gradient",
                            .formula = att_backward_formula(walk, "A' * G", "AG", left, name),
                            .terms = { .count = g->rows,
                                       .a = a->data,
                                       .a_row = 1,
                                       .a_term = a->cols,
                                       .b = g->data,
                                       .b_col = 1,
                                       .b_term = g->cols,
                                       .scale = 1 } });
}

static att_status binary_backward(att_backward *walk, const att_computation *c)
{
    const att_matrix *g;
    att_expr *name;
    ATT_TRY(finish_output(walk, c, &g, &name));
    if (!g)
        return ATT_OK;
    if (!name)
        return att_fail_memory(att_backward_error(walk));
    bool product = c->node->op == ATT_OP_MULTIPLY && !att_matrix_is_scalar(c->inputs[0]) &&
                   !att_matrix_is_scalar(c->inputs[1]);
    if (product)
        return send_product(walk, c, g, name);
    ATT_TRY(send_elementwise(walk, c, g, name, 0));
    return send_elementwise(walk, c, g, name, 1);
}

static att_status binary_again(const att_scope *scope, const att_computation *c)
{
    att_matrix *result;
    ATT_TRY(att_binary_apply(scope, c->node, c->inputs[0], c->inputs[1], &result));
    memcpy(result_of(c), result->data,
           (size_t)(result->rows * result->cols) * sizeof *result->data);
    return ATT_OK;
}

const att_gradient_spec att_gradient_binary = { "operator", binary_backward, NULL, binary_again };
const att_gradient_spec att_gradient_compare = { "comparison", NULL, "it is a step, 0 or 1",
                                                 binary_again };
