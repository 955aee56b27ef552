/* The calculations of functions: element-wise functions, reductions, softmax, losses and dropout.
 */
#include "sheet/calculation.h"
#include "sheet/derivation.h"
#include "sheet/function.h"

#include "base/minmax.h"

#include <math.h>
#include <string.h>

static const struct working_row {
    const char *name;
    att_derivation_kind kind;
} rows[] = {
    { "tanh", ATT_DERIVATION_ELEMENT },       { "relu", ATT_DERIVATION_ELEMENT },
    { "sigmoid", ATT_DERIVATION_ELEMENT },    { "gelu", ATT_DERIVATION_ELEMENT },
    { "exp", ATT_DERIVATION_ELEMENT },        { "log", ATT_DERIVATION_ELEMENT },
    { "sqrt", ATT_DERIVATION_ELEMENT },       { "abs", ATT_DERIVATION_ELEMENT },
    { "sin", ATT_DERIVATION_ELEMENT },        { "cos", ATT_DERIVATION_ELEMENT },
    { "sum", ATT_DERIVATION_REDUCE },         { "mean", ATT_DERIVATION_REDUCE },
    { "max", ATT_DERIVATION_REDUCE },         { "min", ATT_DERIVATION_REDUCE },
    { "argmax", ATT_DERIVATION_REDUCE },      { "softmax", ATT_DERIVATION_SOFTMAX },
    { "cross_entropy", ATT_DERIVATION_LOSS }, { "layernorm", ATT_DERIVATION_NORM },
    { "rmsnorm", ATT_DERIVATION_NORM },       { "dropout", ATT_DERIVATION_DROPOUT },
};

att_derivation_kind att_derivation_kind_of(const char *function)
{
    for (size_t i = 0; i < ATT_COUNT(rows); i++)
        if (strcmp(rows[i].name, function) == 0)
            return rows[i].kind;
    return ATT_DERIVATION_NONE;
}

static const att_expr *option_of(const att_expr *call, const char *name)
{
    for (size_t i = 0; i < call->children; i++)
        if (call->child[i]->kind == ATT_EXPR_OPTION && strcmp(call->child[i]->text, name) == 0)
            return call->child[i];
    return NULL;
}

static bool has_flag(const att_expr *call, const char *name)
{
    return option_of(call, name) != NULL;
}

/* The elements of x that element (i, j) of the result depends on: count of them, the first, and the
 * distance of two. */
struct elements {
    int64_t count;
    int64_t row, col;
    int64_t down, right; /* step to the next one */
    bool all;
};

static struct elements elements_of(const att_expr *node, const att_matrix *x, int64_t i, int64_t j)
{
    bool by_row = has_flag(node, "rows") || strcmp(node->text, "argmax") == 0 ||
                  att_derivation_kind_of(node->text) == ATT_DERIVATION_SOFTMAX;
    if (has_flag(node, "cols"))
        return (struct elements){ .count = x->rows, .col = j, .down = 1 };
    if (by_row)
        return (struct elements){ .count = x->cols, .row = i, .right = 1 };
    return (struct elements){ .count = x->rows * x->cols, .all = true };
}

static void place(const struct elements *e, const att_matrix *x, int64_t k, int64_t *row,
                  int64_t *col)
{
    *row = e->all ? k / x->cols : e->row + k * e->down;
    *col = e->all ? k % x->cols : e->col + k * e->right;
}

int64_t att_derivation_terms(const att_expr *node, const att_matrix *x)
{
    att_derivation_kind kind = att_derivation_kind_of(node->text);
    if (kind == ATT_DERIVATION_LOSS)
        return has_flag(node, "rows") ? x->cols : x->rows * x->cols;
    if (kind == ATT_DERIVATION_REDUCE || kind == ATT_DERIVATION_SOFTMAX)
        return elements_of(node, x, 0, 0).count;
    return 1;
}

/* x_1 + x_2 + …, each in f(…) if `f` is given. Minus infinity has no part in a softmax. */
static att_expr *write_terms(const att_derivation_call *call, const struct elements *e,
                             const char *f)
{
    att_expr_sum sum = { .arena = call->arena };
    for (int64_t k = 0; k < e->count; k++) {
        int64_t row, col;
        place(e, call->x, k, &row, &col);
        if (f && call->x->data[row * call->x->cols + col] == -INFINITY)
            continue;
        att_expr *term = call->operand(call->context, call->node->child[0], row, col);
        att_expr_sum_add(&sum, f ? att_make_call(call->arena, f, term) : term);
    }
    return sum.terms > 0 ? sum.expr : att_make_number(call->arena, 0);
}

/* max(x_1, x_2, …) */
static att_expr *write_listed(const att_derivation_call *call, const struct elements *e)
{
    att_expr **items = att_arena_alloc(call->arena, (size_t)e->count, sizeof *items);
    for (int64_t k = 0; items && k < e->count; k++) {
        int64_t row, col;
        place(e, call->x, k, &row, &col);
        items[k] = call->operand(call->context, call->node->child[0], row, col);
        if (!items[k])
            return NULL;
    }
    return items ? att_make_call_of(call->arena, call->node->text, items, (size_t)e->count) : NULL;
}

static att_expr *write_reduction(const att_derivation_call *call, int64_t i, int64_t j)
{
    struct elements e = elements_of(call->node, call->x, i, j);
    bool mean = strcmp(call->node->text, "mean") == 0;
    if (!mean && strcmp(call->node->text, "sum") != 0)
        return write_listed(call, &e);
    att_expr *sum = write_terms(call, &e, NULL);
    return mean ? att_make_binary(call->arena, ATT_OP_DIVIDE, sum,
                                  att_make_number(call->arena, (double)e.count))
                : sum;
}

static att_expr *write_softmax(const att_derivation_call *call, int64_t i, int64_t j)
{
    struct elements e = elements_of(call->node, call->x, i, j);
    if (call->x->data[i * call->x->cols + j] == -INFINITY)
        return att_make_number(call->arena, 0);
    att_expr *top =
        att_make_call(call->arena, "exp", call->operand(call->context, call->node->child[0], i, j));
    return att_make_binary(call->arena, ATT_OP_DIVIDE, top, write_terms(call, &e, "exp"));
}

/* log(exp(x_1) + exp(x_2) + …) - x_t of row i, where t is its target. */
static att_expr *write_row_loss(const att_derivation_call *call, int64_t i)
{
    const struct elements row = { .count = call->x->cols, .row = i, .right = 1 };
    const att_expr *target = call->operand(call->context, call->node->child[1], i, i);
    if (!target)
        return NULL;
    return att_make_binary(
        call->arena, ATT_OP_SUBTRACT,
        att_make_call(call->arena, "log", write_terms(call, &row, "exp")),
        call->operand(call->context, call->node->child[0], i, (int64_t)target->number - 1));
}

static att_expr *write_loss(const att_derivation_call *call, int64_t i)
{
    if (has_flag(call->node, "rows"))
        return write_row_loss(call, i);
    att_expr_sum sum = { .arena = call->arena };
    for (int64_t row = 0; row < call->x->rows; row++)
        att_expr_sum_add(&sum, write_row_loss(call, row));
    return call->x->rows == 1
               ? sum.expr
               : att_make_binary(call->arena, ATT_OP_DIVIDE, sum.expr,
                                 att_make_number(call->arena, (double)call->x->rows));
}

/* x / (1 - p) of an element that was kept, 0 · x of one that was dropped; 0 · inf is no number. */
static att_expr *write_dropout(const att_derivation_call *call, int64_t i, int64_t j)
{
    const att_expr *option = option_of(call->node, "seed");
    const att_matrix *seed = call->value(call->context, option->child[0]);
    const att_matrix *p = call->value(call->context, call->node->child[1]);
    int64_t at = i * call->x->cols + j;
    if (!seed || !p)
        return NULL;
    bool kept = att_dropout_keeps((int64_t)seed->data[0], at, p->data[0]);
    if (!kept && !isfinite(call->x->data[at]))
        return att_make_number(call->arena, 0);
    att_expr *x = call->operand(call->context, call->node->child[0], i, j);
    if (!kept)
        return att_make_binary(call->arena, ATT_OP_MULTIPLY, att_make_number(call->arena, 0), x);
    return att_make_binary(call->arena, ATT_OP_DIVIDE, x,
                           att_make_binary(call->arena, ATT_OP_SUBTRACT,
                                           att_make_number(call->arena, 1),
                                           att_make_number(call->arena, p->data[0])));
}

att_expr *att_derivation_write_call(const att_derivation_call *call, int64_t i, int64_t j)
{
    switch (att_derivation_kind_of(call->node->text)) {
    case ATT_DERIVATION_ELEMENT:
        return att_make_call(call->arena, call->node->text,
                             call->operand(call->context, call->node->child[0], i, j));
    case ATT_DERIVATION_REDUCE:
        return write_reduction(call, i, j);
    case ATT_DERIVATION_SOFTMAX:
        return write_softmax(call, i, j);
    case ATT_DERIVATION_LOSS:
        return write_loss(call, i);
    case ATT_DERIVATION_DROPOUT:
        return write_dropout(call, i, j);
    case ATT_DERIVATION_NORM:
    case ATT_DERIVATION_NONE:
        break;
    }
    return NULL;
}
