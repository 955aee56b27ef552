/* Builders of the expression trees of calculations. */
#include "sheet/calculation.h"

#include "sheet/matrix.h"

#include <math.h>

bool att_calculation_fits(int64_t rows, int64_t cols, int64_t terms)
{
    return rows > 0 && rows <= ATT_CALCULATION_ROWS && cols > 0 && cols <= ATT_CALCULATION_COLS &&
           terms > 0 && terms <= ATT_CALCULATION_TERMS;
}

/* Sets a child and raises the height of the node above it. */
static void set_child(att_expr *node, size_t index, att_expr *child)
{
    node->child[index] = child;
    if (node->height <= child->height)
        node->height = child->height + 1;
}

/* A node with room for `children`. */
static att_expr *make_node(att_arena *arena, att_expr_kind kind, size_t children)
{
    att_expr *node = att_arena_alloc(arena, 1, sizeof *node);
    if (!node)
        return NULL;
    node->kind = kind;
    node->children = children;
    if (children == 0)
        return node;
    node->child = att_arena_alloc(arena, children, sizeof *node->child);
    return node->child ? node : NULL;
}

att_expr *att_make_number(att_arena *arena, double number)
{
    att_expr *node = make_node(arena, ATT_EXPR_NUMBER, 0);
    if (node)
        node->number = number;
    return node;
}

att_expr *att_make_constant(att_arena *arena, const att_matrix *matrix)
{
    att_expr *node = matrix ? make_node(arena, ATT_EXPR_CONSTANT, 0) : NULL;
    if (node)
        node->matrix = matrix;
    return node;
}

att_expr *att_make_binary(att_arena *arena, att_expr_op op, att_expr *left, att_expr *right)
{
    att_expr *node = left && right ? make_node(arena, ATT_EXPR_BINARY, 2) : NULL;
    if (!node)
        return NULL;
    node->op = op;
    set_child(node, 0, left);
    set_child(node, 1, right);
    return node;
}

att_expr *att_make_call(att_arena *arena, const char *function, att_expr *argument)
{
    att_expr *node = argument ? make_node(arena, ATT_EXPR_CALL, 1) : NULL;
    if (!node)
        return NULL;
    node->text = function;
    set_child(node, 0, argument);
    return node;
}

att_expr *att_make_call_of(att_arena *arena, const char *function, att_expr *const *arguments,
                           size_t count)
{
    att_expr *node = make_node(arena, ATT_EXPR_CALL, count);
    if (!node)
        return NULL;
    node->text = function;
    for (size_t i = 0; i < count; i++)
        set_child(node, i, arguments[i]);
    return node;
}

att_expr *att_make_negative(att_arena *arena, att_expr *of)
{
    att_expr *node = of ? make_node(arena, ATT_EXPR_NEGATE, 1) : NULL;
    if (node)
        set_child(node, 0, of);
    return node;
}

att_expr *att_make_name(att_arena *arena, const char *name)
{
    att_expr *node = make_node(arena, ATT_EXPR_NAME, 0);
    if (node)
        node->text = name;
    return node;
}

att_expr *att_make_indexed(att_arena *arena, const char *name, int64_t row, int64_t col)
{
    att_expr *node = make_node(arena, ATT_EXPR_INDEXED, col < 0 ? 1 : 2);
    if (!node)
        return NULL;
    node->text = name;
    for (size_t i = 0; i < node->children; i++) {
        att_expr *index = att_make_number(arena, (double)(i == 0 ? row : col));
        if (!index)
            return NULL;
        set_child(node, i, index);
    }
    return node;
}

void att_expr_sum_add(att_expr_sum *sum, att_expr *term)
{
    bool first = sum->terms++ == 0;
    sum->expr = first ? term : att_make_binary(sum->arena, ATT_OP_ADD, sum->expr, term);
}

void att_expr_sum_add_dot_product(att_expr_sum *sum, int64_t count, const double *a,
                                  int64_t a_stride, const double *b, int64_t b_stride)
{
    for (int64_t i = 0; i < count; i++)
        att_expr_sum_add(sum, att_make_binary(sum->arena, ATT_OP_MULTIPLY,
                                              att_make_number(sum->arena, a[i * a_stride]),
                                              att_make_number(sum->arena, b[i * b_stride])));
}

att_expr *att_make_dot_product(att_arena *arena, int64_t count, const double *a, int64_t a_stride,
                               const double *b, int64_t b_stride)
{
    att_expr_sum sum = { .arena = arena };
    att_expr_sum_add_dot_product(&sum, count, a, a_stride, b, b_stride);
    return sum.expr;
}

att_status att_calculations_start(att_calculations *calculations, att_arena *arena, size_t room,
                                  att_error *err)
{
    att_calculation *items = att_arena_alloc(arena, room, sizeof *items);
    if (!items)
        return att_fail_memory(err);
    *calculations = (att_calculations){ .items = items, .capacity = room };
    return ATT_OK;
}

att_status att_calculations_add(att_calculations *calculations, int64_t row, const att_expr *left,
                                const att_expr *right, const att_matrix *value, att_error *err)
{
    if (!left || !right || !value)
        return att_fail_memory(err);
    calculations->items[calculations->count++] =
        (att_calculation){ .left = left, .right = right, .value = value, .row = row };
    return ATT_OK;
}

/* The magnitude of the terms of a sum; 0 if the expression adds nothing. */
static double magnitude_of(const att_expr *e, bool of_sum)
{
    if (e->kind == ATT_EXPR_NUMBER && !of_sum)
        return fabs(e->number);
    if (e->kind != ATT_EXPR_BINARY)
        return 0;
    bool adds = e->op == ATT_OP_ADD || e->op == ATT_OP_SUBTRACT;
    if (of_sum && !adds)
        return 0;
    double left = magnitude_of(e->child[0], false);
    double right = magnitude_of(e->child[1], false);
    return adds ? fmax(left, right) : e->op == ATT_OP_MULTIPLY ? left * right : 0;
}

att_status att_calculations_add_number(att_calculations *calculations, att_arena *arena,
                                       int64_t row, const att_expr *left, const att_expr *right,
                                       double value, att_error *err)
{
    att_matrix *number = att_matrix_scalar(arena, value);
    if (number && right)
        number->magnitude = magnitude_of(right, true);
    return att_calculations_add(calculations, row, left, right, number, err);
}

att_status att_calculations_add_matmul(att_calculations *calculations, att_arena *arena,
                                       const char *name, const att_matrix *a, const att_matrix *b,
                                       const att_matrix *value, att_error *err)
{
    if (!att_calculation_fits(value->rows, value->cols, a->cols))
        return ATT_OK;
    ATT_TRY(att_calculations_start(calculations, arena, (size_t)(value->rows * value->cols), err));
    for (int64_t i = 0; i < value->rows; i++) {
        for (int64_t j = 0; j < value->cols; j++) {
            att_expr *sum = att_make_dot_product(arena, a->cols, a->data + i * a->cols, 1,
                                                 b->data + j, b->cols);
            ATT_TRY(att_calculations_add_number(calculations, arena, i + 1,
                                                att_make_indexed(arena, name, i + 1, j + 1), sum,
                                                value->data[i * value->cols + j], err));
        }
    }
    return ATT_OK;
}
