/* Takes the expression of a statement apart and writes out the calculation of each element. */
#include "sheet/derivation_step.h"

#include "base/minmax.h"
#include "sheet/calculation.h"
#include "sheet/matrix.h"

#include <math.h>
#include <string.h>

/* ---- Noting values */

enum { MAX_EVALUATED = 512 };

att_status att_derivation_note(const att_scope *scope, const att_expr *node, const att_value *value)
{
    att_derivation *derivation = scope->derivation;
    derivation->too_many |= derivation->count == MAX_EVALUATED;
    if (derivation->too_many)
        return ATT_OK;
    void *items = derivation->items;
    if (!att_arena_array_grow(scope->arena, &items, &derivation->capacity, derivation->count,
                              sizeof *derivation->items))
        return att_fail_memory(scope->err);
    derivation->items = items;
    derivation->items[derivation->count++] =
        (att_evaluated){ node, *value, derivation->body, derivation->body_count };
    derivation->body = NULL;
    derivation->body_count = 0;
    return ATT_OK;
}

/* ---- The context of one step */

static att_status no_memory(const att_derivation_step *step)
{
    return att_fail_memory(step->scope->err);
}

static const att_evaluated *evaluated(const att_derivation_step *step, const att_expr *node)
{
    const att_derivation *derivation = step->scope->derivation;
    for (size_t i = derivation->count; i-- > 0;)
        if (derivation->items[i].node == node)
            return &derivation->items[i];
    return NULL;
}

static const att_value *value_of(const att_derivation_step *step, const att_expr *node)
{
    const att_evaluated *found = evaluated(step, node);
    return found ? &found->value : NULL;
}

/* Whether the node calls an own function whose body is worked out. */
static bool is_own(const att_derivation_step *step, const att_expr *node)
{
    const att_evaluated *found = evaluated(step, node);
    return found && found->part_count > 0;
}

const att_matrix *att_derivation_matrix(const att_derivation_step *step, const att_expr *node)
{
    const att_value *value = value_of(step, node);
    return value ? value->matrix : NULL;
}

static const char *name_of(const att_derivation_step *step, const att_expr *node)
{
    for (size_t i = 0; i < step->named_count; i++)
        if (step->named[i].node == node)
            return step->named[i].name;
    return NULL;
}

/* ---- Kinds of nodes */

static bool is_call(const att_expr *node, att_derivation_kind kind)
{
    return node->kind == ATT_EXPR_CALL && att_derivation_kind_of(node->text) == kind;
}

static bool is_scalar(const att_derivation_step *step, const att_expr *node)
{
    const att_matrix *m = att_derivation_matrix(step, node);
    return m && att_matrix_is_scalar(m);
}

/* A product that adds up: neither side is a number. */
static bool is_product(const att_derivation_step *step, const att_expr *node)
{
    return node->kind == ATT_EXPR_BINARY && node->op == ATT_OP_MULTIPLY &&
           !is_scalar(step, node->child[0]) && !is_scalar(step, node->child[1]);
}

static bool is_arithmetic(const att_derivation_step *step, const att_expr *node)
{
    return node->kind == ATT_EXPR_NEGATE ||
           (node->kind == ATT_EXPR_BINARY && !is_product(step, node));
}

/* Whether the node computes something that is worked out. */
static bool is_operation(const att_derivation_step *step, const att_expr *node)
{
    if (node->kind == ATT_EXPR_CALL) {
        const att_value *value = value_of(step, node);
        bool layer = value && value->kind == ATT_VALUE_RECORD;
        return layer || is_own(step, node) ||
               att_derivation_kind_of(node->text) != ATT_DERIVATION_NONE;
    }
    return node->kind == ATT_EXPR_BINARY || node->kind == ATT_EXPR_NEGATE;
}

/* Whether a name of the sheet is in the expression: without one it is a constant. */
static bool has_name(const att_expr *node)
{
    if (node->kind == ATT_EXPR_NAME || node->kind == ATT_EXPR_LOAD)
        return true;
    for (size_t i = 0; i < node->children; i++)
        if (node->child[i] && has_name(node->child[i]))
            return true;
    return false;
}

static int64_t terms_of(const att_derivation_step *step, const att_expr *node);

/* Whether the operand of a sum or mean would make its calculation too long: with a name of its own,
 * both are written out. */
static bool is_long_operand(const att_derivation_step *step, const att_expr *parent,
                            const att_expr *node)
{
    const att_matrix *x = att_derivation_matrix(step, node);
    if (!is_call(parent, ATT_DERIVATION_REDUCE) || !x)
        return false;
    int64_t terms = att_derivation_terms(parent, x);
    return att_calculation_fits(1, 1, terms) &&
           !att_calculation_fits(1, 1, terms * terms_of(step, node));
}

/* Whether the operand `node` of `parent` becomes a result of its own; otherwise its calculation is
 * part of that of its parent. */
static bool gets_name(const att_derivation_step *step, const att_expr *parent, const att_expr *node)
{
    if (!is_operation(step, node) || !att_derivation_matrix(step, node))
        return false;
    bool layer = node->kind == ATT_EXPR_CALL &&
                 (value_of(step, node)->kind == ATT_VALUE_RECORD || is_own(step, node));
    if (!layer && !has_name(node) && is_scalar(step, node))
        return false; /* sqrt(2) */
    if (!layer && !has_name(node) && node->kind != ATT_EXPR_CALL)
        return false;
    bool in_sum = (is_arithmetic(step, parent) || is_call(parent, ATT_DERIVATION_ELEMENT) ||
                   is_call(parent, ATT_DERIVATION_REDUCE)) &&
                  !is_long_operand(step, parent, node);
    if (is_arithmetic(step, node) || is_product(step, node))
        return !in_sum;
    if (is_call(node, ATT_DERIVATION_ELEMENT))
        return !in_sum || (is_call(parent, ATT_DERIVATION_ELEMENT) && !is_scalar(step, node));
    return true;
}

/* ---- Names */

/* Names are not repeated in the functions that a statement calls. */
static att_derivation *outermost(const att_derivation_step *step)
{
    att_derivation *root = step->scope->derivation;
    while (root->outer)
        root = root->outer;
    return root;
}

static bool is_used(const att_derivation_step *step, const char *name)
{
    for (size_t i = 0; i < step->named_count; i++)
        if (strcmp(step->named[i].name, name) == 0)
            return true;
    if (step->name && strcmp(step->name, name) == 0)
        return true;
    const att_derivation *root = outermost(step);
    for (size_t i = 0; i < root->used_count; i++)
        if (strcmp(root->used[i], name) == 0)
            return true;
    return att_symbol_table_find(step->scope->symbols, name) != NULL;
}

/* A letter that the sheet does not use, as one would choose on a board. */
static const char *fresh_name(const att_derivation_step *step)
{
    static const char *const letters[] = { "z", "u", "r", "t", "g", "p", "m", "o", "w", "y" };
    for (size_t i = 0; i < ATT_COUNT(letters); i++)
        if (!is_used(step, letters[i]))
            return letters[i];
    for (int number = 1;; number++) {
        const char *name = att_arena_printf(step->arena, "z_%d", number);
        if (!name || !is_used(step, name))
            return name;
    }
}

static att_status add_name(att_derivation_step *step, const att_expr *node, const char *name)
{
    void *items = step->named;
    if (!att_arena_array_grow(step->arena, &items, &step->named_capacity, step->named_count,
                              sizeof *step->named))
        return no_memory(step);
    step->named = items;
    step->named[step->named_count++] = (struct att_named_node){ node, name };
    att_derivation *root = outermost(step);
    if (root->used_count < ATT_DERIVATION_NAMES)
        root->used[root->used_count++] = name;
    return ATT_OK;
}

att_expr *att_derivation_with_names(const att_derivation_step *step, const att_expr *node)
{
    const char *name = name_of(step, node);
    att_expr *copy = att_arena_alloc(step->arena, 1, sizeof *copy);
    if (!copy)
        return NULL;
    if (name) {
        *copy = (att_expr){ .kind = ATT_EXPR_NAME, .text = name };
        return copy;
    }
    *copy = *node;
    if (node->children == 0)
        return copy;
    copy->child = att_arena_alloc(step->arena, node->children, sizeof *copy->child);
    for (size_t i = 0; copy->child && i < node->children; i++) {
        if (!node->child[i])
            continue;
        copy->child[i] = att_derivation_with_names(step, node->child[i]);
        if (!copy->child[i])
            return NULL;
    }
    return copy->child ? copy : NULL;
}

/* ---- Calculations */

static double element(const att_matrix *m, int64_t i, int64_t j)
{
    return m->data[(m->rows == 1 ? 0 : i) * m->cols + (m->cols == 1 ? 0 : j)];
}

/* The number of terms of an element. */
static int64_t terms_of(const att_derivation_step *step, const att_expr *node)
{
    if (name_of(step, node) || !is_operation(step, node))
        return 1;
    if (is_product(step, node))
        return att_derivation_matrix(step, node->child[0])->cols;
    if (node->kind == ATT_EXPR_CALL) {
        const att_matrix *x = att_derivation_matrix(step, node->child[0]);
        return x ? att_derivation_terms(node, x) * terms_of(step, node->child[0]) : 1;
    }
    int64_t terms = 0;
    for (size_t i = 0; i < node->children; i++)
        terms += terms_of(step, node->child[i]);
    return terms;
}

static att_expr *write(const void *context, const att_expr *node, int64_t i, int64_t j);

static att_expr *write_product(const att_derivation_step *step, const att_expr *node, int64_t i,
                               int64_t j)
{
    const att_matrix *a = att_derivation_matrix(step, node->child[0]);
    const att_matrix *b = att_derivation_matrix(step, node->child[1]);
    return att_make_dot_product(step->arena, a->cols, a->data + i * a->cols, 1, b->data + j,
                                b->cols);
}

static att_expr *write_arithmetic(const att_derivation_step *step, const att_expr *node, int64_t i,
                                  int64_t j)
{
    if (node->kind == ATT_EXPR_NEGATE)
        return att_make_negative(step->arena, write(step, node->child[0], i, j));
    att_expr_op op = node->op == ATT_OP_MULTIPLY_ELEMENTWISE ? ATT_OP_MULTIPLY
                     : node->op == ATT_OP_DIVIDE_ELEMENTWISE ? ATT_OP_DIVIDE
                                                             : node->op;
    return att_make_binary(step->arena, op, write(step, node->child[0], i, j),
                           write(step, node->child[1], i, j));
}

static const att_matrix *matrix_of(const void *context, const att_expr *node)
{
    return att_derivation_matrix(context, node);
}

/* The calculation of element (i, j) of a node; broadcast if the node is smaller. */
static att_expr *write(const void *context, const att_expr *node, int64_t i, int64_t j)
{
    const att_derivation_step *step = context;
    const att_matrix *m = att_derivation_matrix(step, node);
    if (!m)
        return NULL;
    i = m->rows == 1 ? 0 : i;
    j = m->cols == 1 ? 0 : j;
    if (name_of(step, node) || !is_operation(step, node))
        return att_make_number(step->arena, element(m, i, j));
    if (is_product(step, node))
        return write_product(step, node, i, j);
    if (is_arithmetic(step, node))
        return write_arithmetic(step, node, i, j);
    const att_derivation_call call = {
        step->arena, node, att_derivation_matrix(step, node->child[0]), step, write, matrix_of
    };
    return att_derivation_write_call(&call, i, j);
}

att_expr *att_derivation_element(att_arena *arena, const char *name, const att_matrix *m, int64_t i,
                                 int64_t j)
{
    if (att_matrix_is_scalar(m))
        return att_make_name(arena, name);
    if (m->rows == 1 || m->cols == 1)
        return att_make_indexed(arena, name, m->rows == 1 ? j + 1 : i + 1, -1);
    return att_make_indexed(arena, name, i + 1, j + 1);
}

static bool can_write(const att_derivation_step *step, const att_expr *node)
{
    const att_matrix *m = att_derivation_matrix(step, node);
    bool scalar_constant = m && att_matrix_is_scalar(m) && !has_name(node);
    bool norm = is_call(node, ATT_DERIVATION_NORM);
    bool plain = !is_call(node, ATT_DERIVATION_NONE) && is_operation(step, node);
    return m && plain && !norm && !scalar_constant &&
           att_calculation_fits(m->rows, m->cols, terms_of(step, node));
}

static att_status write_all(const att_derivation_step *step, const att_expr *node, const char *name,
                            att_calculations *out)
{
    if (!can_write(step, node))
        return ATT_OK;
    const att_matrix *m = att_derivation_matrix(step, node);
    ATT_TRY(
        att_calculations_start(out, step->arena, (size_t)(m->rows * m->cols), step->scope->err));
    for (int64_t i = 0; i < m->rows; i++)
        for (int64_t j = 0; j < m->cols; j++)
            ATT_TRY(att_calculations_add_number(
                out, step->arena, i + 1, att_derivation_element(step->arena, name, m, i, j),
                write(step, node, i, j), element(m, i, j), step->scope->err));
    return ATT_OK;
}

/* ---- Parts */

att_status att_derivation_add_part(att_derivation_step *step, const att_trace_part *part)
{
    void *items = step->parts;
    if (!att_arena_array_grow(step->arena, &items, &step->part_capacity, step->part_count,
                              sizeof *step->parts))
        return no_memory(step);
    step->parts = items;
    step->parts[step->part_count++] = *part;
    return ATT_OK;
}

/* ---- Inner results */

static att_status work_out(att_derivation_step *step, const att_expr *node, const char *name);

/* Works out the operands of a node, the innermost first. */
static att_status work_out_operands(att_derivation_step *step, const att_expr *node)
{
    for (size_t i = 0; i < node->children; i++) {
        const att_expr *child = node->child[i];
        if (!child || node->kind == ATT_EXPR_MATRIX || node->kind == ATT_EXPR_LIST)
            continue;
        if (!gets_name(step, node, child)) {
            ATT_TRY(work_out_operands(step, child));
            continue;
        }
        ATT_TRY(work_out(step, child, NULL));
    }
    return ATT_OK;
}

/* Calls the elements of a part by its name. */
static att_status rename_elements(const att_derivation_step *step, att_trace_part *part)
{
    att_calculation *items = att_arena_alloc(step->arena, part->calculation_count, sizeof *items);
    if (!items)
        return no_memory(step);
    for (size_t i = 0; i < part->calculation_count; i++) {
        items[i] = part->calculations[i];
        att_expr *left = att_arena_alloc(step->arena, 1, sizeof *left);
        if (!left)
            return no_memory(step);
        *left = *items[i].left;
        left->text = part->name;
        items[i].left = left;
    }
    part->calculations = items;
    return ATT_OK;
}

/* The parts of an inner layer: z.scores, z.weights, …, or z alone if it has one. */
static att_status add_layer(att_derivation_step *step, const att_expr *node, const char *name,
                            const att_value *value)
{
    for (size_t i = 0; i < value->part_count; i++) {
        att_trace_part part = value->parts[i];
        bool last = part.value == value->matrix;
        part.inner = true;
        part.name = last ? name : att_arena_printf(step->arena, "%s.%s", name, part.name);
        if (value->part_count == 1)
            part.formula = att_derivation_with_names(step, node);
        if (!part.name || (value->part_count == 1 && !part.formula))
            return no_memory(step);
        if (value->part_count == 1)
            ATT_TRY(rename_elements(step, &part));
        ATT_TRY(att_derivation_add_part(step, &part));
    }
    return ATT_OK;
}

/* The derivation of an own function's body; its result is called `name`. */
static att_status add_body(att_derivation_step *step, const att_expr *node, const char *name)
{
    const att_evaluated *call = evaluated(step, node);
    for (size_t i = 0; i < call->part_count; i++) {
        att_trace_part part = call->parts[i];
        bool last = i + 1 == call->part_count;
        part.inner = true;
        part.name = last ? name : part.name;
        if (last)
            ATT_TRY(rename_elements(step, &part));
        ATT_TRY(att_derivation_add_part(step, &part));
    }
    return ATT_OK;
}

/* Adds the part `name` for a node, after those of its operands. NULL: a fresh name. */
static att_status work_out(att_derivation_step *step, const att_expr *node, const char *name)
{
    const att_value *value = value_of(step, node);
    att_calculations calculations = { 0 };
    const att_expr *formula = NULL;
    ATT_TRY(work_out_operands(step, node));
    if (!name)
        name = fresh_name(step);
    if (!name)
        return no_memory(step);
    if (is_own(step, node)) {
        ATT_TRY(add_body(step, node, name));
        return add_name(step, node, name);
    }
    if (node->kind == ATT_EXPR_CALL && value->kind == ATT_VALUE_RECORD) {
        ATT_TRY(add_layer(step, node, name, value));
        return add_name(step, node, name);
    }
    if (is_call(node, ATT_DERIVATION_NORM))
        ATT_TRY(att_derivation_norm(step, node, name, &calculations, &formula));
    else
        ATT_TRY(write_all(step, node, name, &calculations));
    if (!formula)
        formula = att_derivation_with_names(step, node);
    if (!formula)
        return no_memory(step);
    ATT_TRY(att_derivation_add_part(step,
                                    &(att_trace_part){ .name = name,
                                                       .inner = true,
                                                       .formula = formula,
                                                       .value = value->matrix,
                                                       .calculations = calculations.items,
                                                       .calculation_count = calculations.count }));
    return add_name(step, node, name);
}

/* ---- Steps */

/* The parts of a layer behind those of its operands, whose names replace them in its formulas. */
static att_status append_parts(att_derivation_step *step, const att_trace_step *shown)
{
    for (size_t i = 0; i < shown->part_count; i++) {
        att_trace_part part = shown->parts[i];
        part.formula = part.formula ? att_derivation_with_names(step, part.formula) : NULL;
        if (shown->parts[i].formula && !part.formula)
            return no_memory(step);
        ATT_TRY(att_derivation_add_part(step, &part));
    }
    return ATT_OK;
}

att_status att_derivation_add(const att_scope *scope, const att_value *value, att_trace_step *shown)
{
    att_derivation_step step = { .scope = scope, .arena = scope->arena, .name = shown->name };
    if (!scope->derivation || scope->derivation->too_many || value->kind == ATT_VALUE_LIST)
        return ATT_OK;
    bool layer = shown->formula->kind == ATT_EXPR_CALL && value->kind == ATT_VALUE_RECORD;
    if (!step.name)
        step.name = fresh_name(&step);
    if (!step.name)
        return no_memory(&step);
    ATT_TRY(layer ? work_out_operands(&step, shown->formula)
                  : work_out(&step, shown->formula, step.name));
    if (layer && step.part_count == 0)
        return ATT_OK;
    if (layer) {
        ATT_TRY(append_parts(&step, shown));
    } else {
        if (step.part_count == 1 && !is_own(&step, shown->formula)) {
            shown->calculations = step.parts[0].calculations;
            shown->calculation_count = step.parts[0].calculation_count;
            return ATT_OK;
        }
    }
    shown->parts = step.parts;
    shown->part_count = step.part_count;
    return ATT_OK;
}
