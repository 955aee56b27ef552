/* Own functions: their definition, their calls, and how a line that defines one is recognized. */
#include "sheet/own.h"

#include "sheet/function.h"
#include "sheet/statements.h"
#include "sheet/derivation.h"
#include "text/utf8.h"

#include <stdio.h>
#include <string.h>

const att_own_function *att_own_function_find(const att_own_functions *functions, const char *name)
{
    const att_own_function *row = functions ? functions->last : NULL;
    while (row && strcmp(row->name, name) != 0)
        row = row->before;
    return row;
}

/* ---- Recognizing: name ( name , name ) = */

size_t att_sheet_line_skip_blanks(const att_sheet_line *line, size_t at)
{
    while (at < line->length && (line->text[at] == ' ' || line->text[at] == '\t'))
        at++;
    return at;
}

size_t att_sheet_line_skip_name(const att_sheet_line *line, size_t at)
{
    for (size_t begin = at; at < line->length;) {
        uint32_t code;
        size_t bytes = att_utf8_decode_lossy(line->text + at, line->length - at, &code);
        if (!(at > begin ? att_utf8_identifier_part(code) : att_utf8_identifier_start(code)))
            break;
        at += bytes;
    }
    return at;
}

static bool has(const att_sheet_line *line, size_t at, char c)
{
    return at < line->length && line->text[at] == c;
}

bool att_sheet_line_is_definition(const att_sheet_line *line)
{
    size_t at = att_sheet_line_skip_name(line, 0);
    if (at == 0 || !has(line, at, '('))
        return false;
    do {
        size_t begin = att_sheet_line_skip_blanks(line, at + 1);
        at = att_sheet_line_skip_name(line, begin);
        if (at == begin)
            return false;
        at = att_sheet_line_skip_blanks(line, at);
    } while (has(line, at, ','));
    if (!has(line, at, ')'))
        return false;
    at = att_sheet_line_skip_blanks(line, at + 1);
    return has(line, at, '=') && !has(line, at + 1, '=');
}

/* ---- Defining */

/* Every function of the body must be known: one that is defined later could call this one. */
static att_status check_calls(const att_interpreter *interpreter, const att_own_function *own,
                              const att_expr *node)
{
    if (node->kind == ATT_EXPR_CALL && !att_function_find(node->text) &&
        !att_own_function_find(&interpreter->functions, node->text)) {
        if (strcmp(node->text, own->name) == 0)
            return att_scope_fail(&interpreter->scope, node,
                                  "'%s' calls itself: a function can only call functions that are "
                                  "defined before it",
                                  own->name);
        att_value ignored;
        return att_eval_call(&interpreter->scope, node, &ignored); /* says that it is unknown */
    }
    for (size_t i = 0; i < node->children; i++)
        if (node->child[i])
            ATT_TRY(check_calls(interpreter, own, node->child[i]));
    return ATT_OK;
}

static att_status check_name(const att_interpreter *interpreter, const att_parser *parser,
                             const char *name)
{
    const att_own_function *before = att_own_function_find(&interpreter->functions, name);
    if (att_function_find(name) || strcmp(name, "load") == 0)
        return att_parser_fail(parser, "'%s' is a function of the language: expected another name",
                               name);
    if (before)
        return att_parser_fail(parser, "'%s' is defined on line %d already", name, before->line);
    if (att_symbol_table_get(&interpreter->symbols, name))
        return att_parser_fail(parser, "'%s' is a value: expected another name for the function",
                               name);
    return ATT_OK;
}

static att_status parse_parameters(att_parser *parser, att_own_function *own)
{
    own->parameters =
        att_arena_alloc(parser->lexer.arena, ATT_OWN_PARAMETERS, sizeof *own->parameters);
    if (!own->parameters)
        return att_fail_memory(parser->lexer.err);
    do {
        ATT_TRY(att_parser_take(parser)); /* '(' or ',', seen before */
        if (own->count == ATT_OWN_PARAMETERS)
            return att_parser_fail(parser, "a function has at most %d parameters",
                                   ATT_OWN_PARAMETERS);
        const char **name = &own->parameters[own->count];
        ATT_TRY(att_parser_name(parser, "the name of a parameter", name));
        for (size_t i = 0; i < own->count; i++)
            if (strcmp(own->parameters[i], *name) == 0)
                return att_parser_fail(parser, "the parameter '%s' is given twice", *name);
        own->count++;
    } while (att_parser_at(parser, ATT_TOKEN_COMMA));
    ATT_TRY(att_parser_take(parser)); /* ')' */
    return att_parser_take(parser);   /* '=' */
}

/* "f(x, W)", the left side of the definition. */
static att_status write_head(const att_interpreter *interpreter, const att_own_function *own,
                             const char **out)
{
    att_arena *arena = &interpreter->sheet->arena;
    const char *head = att_arena_printf(arena, "%s(%s", own->name, own->parameters[0]);
    for (size_t i = 1; head && i < own->count; i++)
        head = att_arena_printf(arena, "%s, %s", head, own->parameters[i]);
    *out = head ? att_arena_printf(arena, "%s)", head) : NULL;
    return *out ? ATT_OK : att_fail_memory(interpreter->scope.err);
}

att_status att_run_define(att_interpreter *interpreter, att_parser *parser)
{
    att_own_function *own = att_arena_alloc(&interpreter->sheet->arena, 1, sizeof *own);
    att_expr *body;
    if (!own)
        return att_fail_memory(interpreter->scope.err);
    own->line = parser->token.line;
    ATT_TRY(att_parser_name(parser, "a name", &own->name));
    ATT_TRY(check_name(interpreter, parser, own->name));
    ATT_TRY(parse_parameters(parser, own));
    ATT_TRY(att_parse_expression(parser, &body));
    ATT_TRY(att_parser_end(parser));
    ATT_TRY(check_calls(interpreter, own, body));
    own->body = body;
    own->before = interpreter->functions.last;
    interpreter->functions.last = own;
    att_trace_step step = { .kind = ATT_STEP_VALUE, .formula = body, .function = own };
    ATT_TRY(write_head(interpreter, own, &step.name));
    return att_interpreter_add_step(interpreter, parser, &step);
}

/* ---- Calling */

/* Levels of nesting by calls; the height of each body is limited by the parser. */
enum { MAX_CALLS = 16, MAX_CALL_COUNT = 10000 };

static att_status check_arguments(const att_scope *scope, const att_expr *node,
                                  const att_own_function *own)
{
    for (size_t i = 0; i < node->children; i++)
        if (node->child[i]->kind == ATT_EXPR_OPTION)
            return att_scope_fail(scope, node->child[i],
                                  "%s is defined on line %d and takes no options", own->name,
                                  own->line);
    if (node->children == own->count)
        return ATT_OK;
    return att_scope_fail(scope, node, "%s is defined on line %d with %zu parameter%s, found %zu",
                          own->name, own->line, own->count, own->count == 1 ? "" : "s",
                          node->children);
}

/* Adds the call to the message of an error in the body. */
static void name_call(att_error *err, const att_own_function *own, const att_expr *node)
{
    size_t length = err ? strlen(err->message) : 0;
    if (err)
        snprintf(err->message + length, sizeof err->message - length,
                 " (in %.80s, called on line %d)", own->name, node->line);
}

/* Keeps the derivation of the body for the note of the call. */
static att_status work_out_body(const att_scope *scope, const att_scope *inner,
                                const att_own_function *own, const att_value *value)
{
    att_trace_step step = { .kind = ATT_STEP_VALUE, .name = own->name, .formula = own->body };
    if (value->kind == ATT_VALUE_LIST)
        return ATT_OK;
    ATT_TRY(att_step_set_value(inner, value, &step));
    if (step.part_count == 0) {
        att_trace_part *part = att_arena_alloc(scope->arena, 1, sizeof *part);
        if (!part)
            return att_fail_memory(scope->err);
        *part = (att_trace_part){ .name = own->name,
                                  .formula = own->body,
                                  .value = value->matrix,
                                  .calculations = step.calculations,
                                  .calculation_count = step.calculation_count };
        step.parts = part;
        step.part_count = 1;
    }
    scope->derivation->body = step.parts;
    scope->derivation->body_count = step.part_count;
    return ATT_OK;
}

att_status att_own_function_call(const att_scope *scope, const att_expr *node, att_value *out)
{
    const att_own_function *own = att_own_function_find(scope->functions, node->text);
    att_symbol_table locals = { .outer = scope->globals ? scope->globals : scope->symbols };
    ATT_TRY(check_arguments(scope, node, own));
    if (scope->calls == MAX_CALLS)
        return att_scope_fail(scope, node, "functions call each other more than %d deep",
                              MAX_CALLS);
    if (scope->functions->calls_made && ++*scope->functions->calls_made > MAX_CALL_COUNT)
        return att_scope_fail(scope, node, "the sheet makes more than %d calls of own functions",
                              MAX_CALL_COUNT);
    for (size_t i = 0; i < own->count; i++) {
        att_value value;
        ATT_TRY(att_eval(scope, node->child[i], &value));
        if (!att_symbol_table_set(&locals, scope->arena, own->parameters[i], &value, 0))
            return att_fail_memory(scope->err);
    }
    att_scope inner = *scope;
    inner.symbols = &locals;
    inner.globals = locals.outer;
    inner.calls++;
    att_derivation derivation = { .outer = scope->derivation };
    inner.derivation = scope->derivation ? &derivation : NULL;
    att_status status = att_eval(&inner, own->body, out);
    if (status == ATT_BAD_INPUT)
        name_call(scope->err, own, node);
    return status == ATT_OK && scope->derivation ? work_out_body(scope, &inner, own, out) : status;
}
