/* Own functions and loops of worksheets in exported programs: def and for. A body is evaluated
 * many times with other values, so what is known of an expression is what was true each time. */
#include "render/export.h"

#include <string.h>

static const att_export_type matrix_type = { ATT_EXPORT_MATRIX, NULL };
static const att_export_type any_type = { ATT_EXPORT_ANY, NULL };

const att_export_function *att_export_function_find(const att_exporter *exporter, const char *name)
{
    const att_export_function *row = exporter->functions;
    while (row && strcmp(row->own->name, name) != 0)
        row = row->before;
    return row;
}

/* ---- Calls */

void att_export_own_call(att_exporter *exporter, const att_export_function *function,
                         const att_expr *node)
{
    att_putf(&exporter->out, "%s(", function->identifier);
    for (size_t i = 0; i < node->children; i++) {
        const att_expr *argument = node->child[i];
        bool list = att_export_type_of(exporter, argument).kind == ATT_EXPORT_LIST;
        att_put(&exporter->out, i > 0 ? ", " : "");
        if (list || (i < function->own->count && function->whole[i]))
            att_export_value(exporter, argument);
        else
            att_export_scalar(exporter, argument);
    }
    att_put(&exporter->out, ")");
}

/* ---- Definitions */

static bool is_name(const att_expr *node, const char *name)
{
    return node->kind == ATT_EXPR_NAME && strcmp(node->text, name) == 0;
}

/* Whether the parameter must be passed with its parts: the body reads a field of it, returns it, or
 * passes it to a function that does. */
static bool is_used_whole(const att_exporter *exporter, const att_expr *node, const char *name)
{
    const att_export_function *callee =
        node->kind == ATT_EXPR_CALL ? att_export_function_find(exporter, node->text) : NULL;
    if (node->kind == ATT_EXPR_FIELD && is_name(node->child[0], name))
        return true;
    for (size_t i = 0; i < node->children; i++) {
        const att_expr *child = node->child[i];
        if (!child)
            continue;
        if (callee && i < callee->own->count && callee->whole[i] && is_name(child, name))
            return true;
        if (is_used_whole(exporter, child, name))
            return true;
    }
    return false;
}

/* Whether the parameter was a list when the function was called. */
static bool is_used_as_list(const att_expr *node, const char *name)
{
    if (is_name(node, name) && node->shape == ATT_SHAPE_LIST)
        return true;
    for (size_t i = 0; i < node->children; i++)
        if (node->child[i] && is_used_as_list(node->child[i], name))
            return true;
    return false;
}

static bool calls(const att_expr *node, const char *name)
{
    if (node->kind == ATT_EXPR_CALL && strcmp(node->text, name) == 0)
        return true;
    for (size_t i = 0; i < node->children; i++)
        if (node->child[i] && calls(node->child[i], name))
            return true;
    return false;
}

/* The expression that an `expect error` is about; NULL: the step is another. */
static const att_expr *failing_formula(const att_trace_step *step)
{
    if (step->kind == ATT_STEP_ERROR)
        return step->formula;
    return step->kind == ATT_STEP_CHECK && step->check->rule == ATT_RULE_ERROR ? step->check->left
                                                                               : NULL;
}

static bool is_expected_to_fail(const att_exporter *exporter, const char *name)
{
    for (const char **row = exporter->failing; row && *row; row++)
        if (strcmp(*row, name) == 0)
            return true;
    return false;
}

/* Whether an `expect error` calls the function, directly or through others: then its body must
 * enforce every rule of the sheet. Functions call only functions that are defined before. */
static void collect_failing(att_exporter *exporter)
{
    const att_sheet *sheet = exporter->sheet;
    size_t count = 0, functions = 0;
    for (size_t i = 0; i < sheet->step_count; i++)
        functions += sheet->steps[i].function != NULL;
    if (functions == 0)
        return;
    exporter->failing = att_arena_alloc(&exporter->arena, functions + 1, sizeof *exporter->failing);
    if (!exporter->failing) {
        att_export_no_memory(exporter);
        return;
    }
    for (size_t i = sheet->step_count; i-- > 0;) {
        const att_own_function *own = sheet->steps[i].function;
        bool fails = false;
        for (size_t j = i + 1; own && !fails && j < sheet->step_count; j++) {
            const att_own_function *caller = sheet->steps[j].function;
            const att_expr *formula = failing_formula(&sheet->steps[j]);
            fails = (formula && calls(formula, own->name)) ||
                    (caller && is_expected_to_fail(exporter, caller->name) &&
                     calls(caller->body, own->name));
        }
        if (fails)
            exporter->failing[count++] = own->name;
    }
}

void att_export_collect_functions(att_exporter *exporter)
{
    const att_value none = { 0 };
    collect_failing(exporter);
    for (size_t i = 0; i < exporter->sheet->step_count; i++) {
        const att_trace_step *step = &exporter->sheet->steps[i];
        bool layer = step->kind == ATT_STEP_VALUE && step->name && step->formula &&
                     !step->function && step->formula->kind == ATT_EXPR_CALL &&
                     att_export_call_type(exporter, step->formula).kind == ATT_EXPORT_RECORD;
        if (layer &&
            !att_symbol_table_set(&exporter->layers, &exporter->arena, step->name, &none, 0))
            att_export_no_memory(exporter);
    }
}

static bool is_free(const att_exporter *exporter, const char *name)
{
    for (size_t i = 0; i < exporter->local_count; i++)
        if (strcmp(exporter->locals[i].name, name) == 0)
            return false;
    return true;
}

/* A name of the sheet that the body uses and that a later line makes something else, as far as its
 * line says: then it is a matrix or a record, whichever it is at the time of the call. */
static void settle_globals(att_exporter *exporter, const att_expr *node)
{
    if (node->kind == ATT_EXPR_NAME && is_free(exporter, node->text)) {
        const att_export_name *now = att_export_find(exporter, node->text);
        bool parts = (now && now->type.kind == ATT_EXPORT_RECORD) ||
                     att_symbol_table_get(&exporter->layers, node->text);
        for (size_t i = 0; parts && i < exporter->sheet->step_count; i++) {
            const att_trace_step *step = &exporter->sheet->steps[i];
            bool later = step->kind == ATT_STEP_VALUE && step->name && !step->function &&
                         step->line > exporter->line && strcmp(step->name, node->text) == 0;
            bool record =
                later && att_export_type_of(exporter, step->formula).kind == ATT_EXPORT_RECORD;
            if (later && (record || (now && now->type.kind == ATT_EXPORT_RECORD)))
                att_export_refuse(exporter,
                                  "'%.80s' is computed again after this function uses it, with "
                                  "other parts: this cannot be exported",
                                  node->text);
        }
    }
    for (size_t i = 0; i < node->children; i++)
        if (node->child[i])
            settle_globals(exporter, node->child[i]);
}

static const att_export_name *make_parameters(att_exporter *exporter, att_export_function *function)
{
    const att_own_function *own = function->own;
    att_export_name *rows = att_arena_alloc(&exporter->arena, own->count, sizeof *rows);
    for (size_t i = 0; rows && i < own->count; i++) {
        const char *name = own->parameters[i];
        function->whole[i] = is_name(own->body, name) || is_used_whole(exporter, own->body, name);
        rows[i] = (att_export_name){ .name = name,
                                     .identifier = att_export_reserve(exporter, name),
                                     .type = function->whole[i] ? any_type
                                             : is_used_as_list(own->body, name)
                                                 ? (att_export_type){ ATT_EXPORT_LIST, NULL }
                                                 : matrix_type };
    }
    if (!rows)
        att_export_no_memory(exporter);
    return rows;
}

/* def f(x, W): return … */
static void put_definition(att_exporter *exporter, att_export_function *function)
{
    const att_own_function *own = function->own;
    att_putf(&exporter->out, "%sdef %s(", exporter->after_function ? "" : "\n\n",
             function->identifier);
    for (size_t i = 0; i < own->count; i++)
        att_putf(&exporter->out, "%s%s", i > 0 ? ", " : "", exporter->locals[i].identifier);
    att_put(&exporter->out, "):\n    return ");
    function->type = att_export_type_of(exporter, own->body);
    if (function->type.kind == ATT_EXPORT_MATRIX)
        att_export_scalar(exporter, own->body);
    else
        att_export_value(exporter, own->body);
}

void att_export_definition(att_exporter *exporter, const att_trace_step *step)
{
    att_export_function *function = att_arena_alloc(&exporter->arena, 1, sizeof *function);
    if (!function) {
        att_export_no_memory(exporter);
        return;
    }
    *function = (att_export_function){ .before = exporter->functions,
                                       .own = step->function,
                                       .identifier =
                                           att_export_identifier(exporter, step->function->name) };
    exporter->locals = make_parameters(exporter, function);
    if (!exporter->locals)
        return;
    exporter->local_count = step->function->count;
    exporter->in_function = true;
    exporter->checked = is_expected_to_fail(exporter, step->function->name);
    settle_globals(exporter, step->function->body);
    put_definition(exporter, function);
    exporter->checked = exporter->in_function = false;
    exporter->local_count = 0;
    exporter->functions = function;
    att_export_end(exporter, step->comment);
    att_put(&exporter->out, "\n\n");
}

/* ---- Loops */

/* Whether the body of an own function uses the name as one of the sheet's. */
static bool is_read_by_functions(const att_exporter *exporter, const att_expr *node,
                                 const att_own_function *own, const char *name)
{
    if (is_name(node, name)) {
        for (size_t i = 0; i < own->count; i++)
            if (strcmp(own->parameters[i], name) == 0)
                return false;
        return true;
    }
    for (size_t i = 0; i < node->children; i++)
        if (node->child[i] && is_read_by_functions(exporter, node->child[i], own, name))
            return true;
    return false;
}

/* The variable of the loop is gone after it: a value of the same name keeps its identifier. */
static const char *name_variable(att_exporter *exporter, const char *name)
{
    if (!att_export_find(exporter, name))
        return att_export_reserve(exporter, name);
    for (const att_export_function *row = exporter->functions; row; row = row->before)
        if (is_read_by_functions(exporter, row->own->body, row->own, name))
            att_export_refuse(exporter,
                              "the variable '%.80s' of this loop hides a value that the function "
                              "'%.80s' uses: this cannot be exported",
                              name, row->own->name);
    return att_export_identifier(exporter, name);
}

static bool is_same_type(att_export_type a, att_export_type b)
{
    return a.kind == b.kind &&
           (a.result == b.result || (a.result && b.result && strcmp(a.result, b.result) == 0));
}

/* In the loop a name has the type that it had before or the one that the loop gives it. */
static void join_types(att_exporter *exporter, const att_trace_step *step, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const att_export_name *before = att_export_find(exporter, step[i].name);
        att_export_type type = att_export_type_of(exporter, step[i].formula);
        bool same = !before || is_same_type(before->type, type);
        att_export_assign(exporter, step[i].name, same ? type : any_type);
    }
}

static void put_loop_head(att_exporter *exporter, const att_trace_loop *loop, const char *variable)
{
    bool list = att_export_type_of(exporter, loop->over).kind == ATT_EXPORT_LIST;
    att_putf(&exporter->out, "for %s in ", variable);
    if (list) {
        att_export_value(exporter, loop->over);
    } else {
        att_export_use(exporter, loop->rows ? "rows_of" : "numbers_of");
        att_put(&exporter->out, "(");
        att_export_matrix(exporter, loop->over);
        att_put(&exporter->out, ")");
    }
    att_put(&exporter->out, ":\n");
}

/* y = …, and the result is kept: y_steps.append(y). */
static void put_loop_body(att_exporter *exporter, const att_trace_step *step, const char *steps)
{
    att_export_type type = att_export_type_of(exporter, step->formula);
    const att_export_name *before = att_export_find(exporter, step->name);
    att_putf(&exporter->out, "    %s = ", before->identifier);
    if (type.kind == ATT_EXPORT_MATRIX)
        att_export_scalar(exporter, step->formula);
    else
        att_export_value(exporter, step->formula);
    const char *identifier = att_export_assign(exporter, step->name, type);
    att_putf(&exporter->out, "\n    %s.append(%s", steps, identifier);
    att_putf(&exporter->out, type.kind == ATT_EXPORT_RECORD ? ".%s)\n" : ")\n", type.result);
}

size_t att_export_loop(att_exporter *exporter, const att_trace_step *step)
{
    const att_trace_loop *loop = step->loop;
    size_t count = loop->count;
    const char **steps = att_arena_alloc(&exporter->arena, count, sizeof *steps);
    const att_export_name variable = { .name = loop->variable,
                                       .identifier = name_variable(exporter, loop->variable) };
    if (!steps) {
        att_export_no_memory(exporter);
        return count;
    }
    for (size_t i = 0; i < count; i++) {
        const char *name = att_arena_printf(&exporter->arena, "%s_steps", step[i].name);
        steps[i] = name ? att_export_identifier(exporter, name) : "";
        if (!name)
            att_export_no_memory(exporter);
        att_putf(&exporter->out, "%s%s", i > 0 ? ", " : "", steps[i]);
    }
    att_put(&exporter->out, count > 1 ? " = [], []" : " = []");
    for (size_t i = 2; i < count; i++)
        att_put(&exporter->out, ", []");
    att_put(&exporter->out, "\n");
    put_loop_head(exporter, loop, variable.identifier);
    exporter->locals = &variable;
    exporter->local_count = 1;
    join_types(exporter, step, count);
    for (size_t i = 0; i < count; i++)
        put_loop_body(exporter, &step[i], steps[i]);
    exporter->locals = NULL;
    exporter->local_count = 0;
    for (size_t i = 0; i < count; i++) {
        att_export_type type =
            step[i].value ? matrix_type : (att_export_type){ ATT_EXPORT_LIST, NULL };
        att_putf(&exporter->out, "%s = ", att_export_assign(exporter, step[i].name, type));
        att_export_assign_hand(exporter, step[i].name, att_export_hand_value(exporter, &step[i]));
        if (step[i].value) {
            att_export_use(exporter, "stack");
            att_putf(&exporter->out, "(%s)\n", steps[i]);
        } else {
            att_putf(&exporter->out, "%s\n", steps[i]);
        }
    }
    return count;
}
