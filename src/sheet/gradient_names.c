/* Names and formulas of a backward pass: X and dX, u1 for a value without a name, and formulas in
 * which they are filled in. */
#include "sheet/gradient_walk.h"

#include <inttypes.h>
#include <string.h>

/* Whether the sheet still has this value under the name. */
bool att_backward_is_current(const att_backward *walk, const att_recorded_value *value)
{
    size_t length = strcspn(value->name, ".[");
    char *base = att_arena_strndup(walk->scope->arena, value->name, length);
    const att_symbol *symbol = base ? att_symbol_table_get(walk->request->symbols, base) : NULL;
    if (!symbol)
        return false;
    const att_value *now = &symbol->value;
    bool found = now->matrix && now->matrix->data == value->matrix->data;
    for (size_t i = 0; i < now->part_count && !found; i++)
        found = now->parts[i].value->data == value->matrix->data;
    for (size_t i = 0; i < now->item_count && !found; i++)
        found = now->items[i].matrix->data == value->matrix->data;
    return found;
}

/* u1, u2, …: the first that is not a name of the sheet. */
static const char *invent_name(att_backward *walk)
{
    const char *name;
    do
        name = att_arena_printf(walk->scope->arena, "u%zu", ++walk->unnamed);
    while (name && att_symbol_table_get(walk->request->symbols, name));
    return name;
}

/* The part of a computation with these numbers that is not its result; NULL: none. */
static const att_trace_part *part_of(const att_computation *computation, const att_matrix *matrix)
{
    for (size_t i = 0; i < computation->output.part_count; i++) {
        const att_trace_part *part = &computation->output.parts[i];
        if (part->value->data == matrix->data && matrix->data != computation->output.matrix->data)
            return part;
    }
    return NULL;
}

/* Whether another loop has given the same name in the same step. */
static bool is_ambiguous(const att_record *record, const att_recorded_value *value)
{
    for (size_t i = 0; i < record->value_count; i++) {
        const att_recorded_value *other = &record->values[i];
        if (other->loop && other->step == value->step && other->line != value->line &&
            strcmp(other->loop, value->loop) == 0)
            return true;
    }
    return false;
}

/* h_step2, the value of h in step 2 of a loop. Where several loops assign h, or the sheet has such
 * a name: h_step2_line7. */
static const char *name_loop_step(att_backward *walk, const att_recorded_value *value)
{
    const char *name =
        att_arena_printf(walk->scope->arena, "%s_step%" PRId64, value->loop, value->step);
    if (!name ||
        (!att_symbol_table_get(walk->request->symbols, name) && !is_ambiguous(walk->record, value)))
        return name;
    return att_arena_printf(walk->scope->arena, "%s_line%d", name, value->line);
}

/* A name for a value that has none in the sheet: u1, or u1.weights for a part of u1. */
static const char *name_unnamed(att_backward *walk, const att_recorded_value *value)
{
    const att_computation *made =
        value->producer == ATT_NOT_COMPUTED ? NULL : &walk->record->computations[value->producer];
    const att_trace_part *part = made ? part_of(made, value->matrix) : NULL;
    if (!part && value->loop)
        return name_loop_step(walk, value);
    if (!part)
        return invent_name(walk);
    const char *whole = att_backward_name_text(walk, made->output.matrix);
    if (!whole)
        return NULL;
    return part->head > 0 ? att_arena_printf(walk->scope->arena, "%s.head[%" PRId64 "].%s", whole,
                                             part->head, part->name)
                          : att_arena_printf(walk->scope->arena, "%s.%s", whole, part->name);
}

/* X_line3, the value of X before it was assigned anew; W_line3[1], an item of such a list. */
static const char *name_former(att_arena *arena, const att_recorded_value *value)
{
    size_t length = strcspn(value->name, "[");
    return att_arena_printf(arena, "%.*s_line%d%s", (int)length, value->name, value->line,
                            value->name + length);
}

const char *att_backward_name_text(att_backward *walk, const att_matrix *matrix)
{
    const att_recorded_value *value = att_record_find(walk->record, matrix);
    struct att_adjoint *adjoint = &walk->adjoints[value - walk->record->values];
    if (adjoint->name)
        return adjoint->name;
    if (!value->name)
        adjoint->name = name_unnamed(walk, value);
    else if (att_backward_is_current(walk, value))
        adjoint->name = value->name;
    else
        adjoint->name = name_former(walk->scope->arena, value);
    return adjoint->name;
}

/* Whether the value has no name and no gradient, so that no step introduces it. */
static bool is_constant(const att_backward *walk, const att_recorded_value *value)
{
    return value->producer == ATT_NOT_COMPUTED ||
           !walk->adjoints[value - walk->record->values].wanted;
}

/* Its numbers, or, if these are many, the expression that it was computed by. */
static att_expr *write_constant(att_backward *walk, const att_recorded_value *value,
                                const att_matrix *matrix)
{
    enum { FEW = 8 };
    bool computed = value && value->producer != ATT_NOT_COMPUTED;
    const att_expr *node = computed ? walk->record->computations[value->producer].node : NULL;
    if (!node || node->line == 0 || matrix->rows * matrix->cols <= FEW ||
        walk->record->computations[value->producer].output.matrix->data != matrix->data)
        return att_make_constant(walk->scope->arena, matrix);
    return (att_expr *)node;
}

att_expr *att_backward_name(att_backward *walk, const att_matrix *matrix)
{
    const att_recorded_value *value = att_record_find(walk->record, matrix);
    if (!value || (!value->name && !value->loop && is_constant(walk, value)))
        return write_constant(walk, value, matrix);
    const char *name = att_backward_name_text(walk, matrix);
    return name ? (att_expr *)att_formula(walk->scope->arena, name) : NULL;
}

static att_expr *make_name(att_arena *arena, const char *name)
{
    att_expr *node = name ? att_arena_alloc(arena, 1, sizeof *node) : NULL;
    if (node)
        *node = (att_expr){ .kind = ATT_EXPR_NAME, .text = name };
    return node;
}

static const char *d_name(att_backward *walk, const att_matrix *matrix)
{
    const char *name = att_backward_name_text(walk, matrix);
    return name ? att_arena_printf(walk->scope->arena, "d%s", name) : NULL;
}

att_expr *att_backward_d(att_backward *walk, const att_matrix *matrix)
{
    return make_name(walk->scope->arena, d_name(walk, matrix));
}

/* ---- Formulas */

static bool substitute(att_expr **node, const char *keys, att_expr *const *with)
{
    att_expr *at = *node;
    const char *key =
        at->kind == ATT_EXPR_NAME && at->text[1] == '\0' ? strchr(keys, at->text[0]) : NULL;
    if (key) {
        *node = with[key - keys];
        return *node != NULL;
    }
    for (size_t i = 0; i < at->children; i++)
        if (at->child[i] && !substitute(&at->child[i], keys, with))
            return false;
    return true;
}

att_expr *att_backward_formula(att_backward *walk, const char *text, const char *keys, ...)
{
    enum { MAX_KEYS = 8 };
    att_expr *with[MAX_KEYS] = { NULL };
    va_list args;
    va_start(args, keys);
    for (size_t i = 0; i < strlen(keys) && i < MAX_KEYS; i++)
        with[i] = va_arg(args, att_expr *);
    va_end(args);
    att_expr *formula = (att_expr *)att_formula(walk->scope->arena, text);
    return formula && substitute(&formula, keys, with) ? formula : NULL;
}

/* The expression that a name of the list stands for; `*found` is false for other names. */
static att_expr *resolve(att_backward *walk, const char *text, const att_formula_name *names,
                         bool *found)
{
    for (*found = true; names->name; names++) {
        if (names->value && strcmp(text, names->name) == 0)
            return att_backward_name(walk, names->value);
        if (names->value && text[0] == 'd' && strcmp(text + 1, names->name) == 0)
            return att_backward_d(walk, names->value);
    }
    *found = false;
    return NULL;
}

static bool resolve_all(att_backward *walk, att_expr **node, const att_formula_name *names)
{
    bool found = false;
    att_expr *expr =
        (*node)->kind == ATT_EXPR_NAME ? resolve(walk, (*node)->text, names, &found) : NULL;
    if (found) {
        *node = expr;
        return expr != NULL;
    }
    for (size_t i = 0; i < (*node)->children; i++)
        if ((*node)->child[i] && !resolve_all(walk, &(*node)->child[i], names))
            return false;
    return true;
}

att_expr *att_backward_named(att_backward *walk, const char *text, const att_formula_name *names)
{
    att_expr *formula = (att_expr *)att_formula(walk->scope->arena, text);
    return formula && resolve_all(walk, &formula, names) ? formula : NULL;
}
