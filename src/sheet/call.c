/* Function calls: lookup, checks of arguments and options against the table, evaluation. */
#include "sheet/function.h"

#include "base/minmax.h"
#include "sheet/eval.h"
#include "sheet/own.h"
#include "sheet/record.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const att_function *const tables[] = { att_plain_functions, att_choice_functions,
                                              att_block_functions };

enum { TABLES = ATT_COUNT(tables) };

const att_function *att_function_find(const char *name)
{
    for (size_t t = 0; t < TABLES; t++)
        for (const att_function *row = tables[t]; row->name; row++)
            if (strcmp(row->name, name) == 0)
                return row;
    return NULL;
}

const att_function *att_function_get(size_t index)
{
    for (size_t t = 0; t < TABLES; t++)
        for (const att_function *row = tables[t]; row->name; row++)
            if (index-- == 0)
                return row;
    return NULL;
}

const att_option_spec *att_option_find(const att_function *function, const char *name)
{
    for (const att_option_spec *row = function->options; row && row->name; row++)
        if (strcmp(row->name, name) == 0)
            return row;
    return NULL;
}

/* ---- The values an option accepts: alternatives separated by commas and "or" */

enum { ACCEPTS_SIZE = 512 };

bool att_option_is_flag(const att_option_spec *row)
{
    return !row->accepts && !row->word;
}

/* `accepts`, or the words of the option's table in the same form, written into `buffer`; an empty
 * string for a flag. */
static const char *accepted_text(const att_option_spec *row, char buffer[ACCEPTS_SIZE])
{
    size_t length = 0;
    if (row->accepts)
        return row->accepts;
    buffer[0] = '\0';
    for (size_t i = 0; row->word && row->word(i) && length < ACCEPTS_SIZE; i++) {
        const char *separator = i == 0 ? "" : row->word(i + 1) ? ", " : " or ";
        length += (size_t)snprintf(buffer + length, ACCEPTS_SIZE - length, "%s%s", separator,
                                   row->word(i));
    }
    return buffer;
}

/* The next alternative of `accepts` and its length; NULL at the end. */
static const char *next_alternative(const char *accepts, size_t *length)
{
    static const char *const separators[] = { ",", " or ", " ", "or " };
    bool moved = true;
    while (moved) {
        moved = false;
        for (size_t i = 0; i < ATT_COUNT(separators); i++) {
            size_t n = strlen(separators[i]);
            if (strncmp(accepts, separators[i], n) == 0) {
                accepts += n;
                moved = true;
            }
        }
    }
    if (!*accepts)
        return NULL;
    size_t comma = strcspn(accepts, ",");
    const char *last = strstr(accepts, " or ");
    *length = last && (size_t)(last - accepts) < comma ? (size_t)(last - accepts) : comma;
    return accepts;
}

static bool is_word(const char *text, size_t length)
{
    return !memchr(text, ' ', length);
}

bool att_option_accepts_word(const att_option_spec *row, const char *word)
{
    size_t length;
    char buffer[ACCEPTS_SIZE];
    const char *at = accepted_text(row, buffer);
    while ((at = next_alternative(at, &length))) {
        if (length == strlen(word) && memcmp(at, word, length) == 0 && is_word(at, length))
            return true;
        at += length;
    }
    return false;
}

bool att_option_accepts_only_words(const att_option_spec *row)
{
    size_t length;
    char buffer[ACCEPTS_SIZE];
    const char *at = accepted_text(row, buffer);
    while ((at = next_alternative(at, &length))) {
        if (!is_word(at, length))
            return false;
        at += length;
    }
    return true;
}

/* ---- Options */

static att_status fail_option_name(const att_scope *scope, const att_expr *option,
                                   const att_function *function)
{
    enum { MAX_NAMES = 64 };
    const char *known[MAX_NAMES];
    size_t count = 0;
    for (const att_option_spec *row = function->options; row && row->name && count < MAX_NAMES;
         row++)
        known[count++] = row->name;
    if (count == 0)
        return att_scope_fail(scope, option, "%s takes no options, found '%.80s': %s",
                              function->name, option->text, function->usage);
    const char *near = att_suggest(option->text, known, count);
    if (near)
        return att_scope_fail(scope, option, "%s has no option '%.80s': did you mean '%s'?",
                              function->name, option->text, near);
    return att_scope_fail(scope, option, "%s has no option '%.80s': %s", function->name,
                          option->text, function->usage);
}

/* Names of scores in papers and other programs, which no edit distance leads to ours. */
static const struct other_name {
    const char *name, *word;
} other_names[] = {
    { "bahdanau", "additive" }, { "mlp", "additive" },
    { "tanh", "additive" },     { "luong", "general" },
    { "bilinear", "general" },  { "multiplicative", "general" },
    { "scaled_dot", "scaled" }, { "scaled_dot_product", "scaled" },
    { "dot_product", "dot" },   { "content", "cosine" },
    { "rbf", "gaussian" },      { "uniform", "mean" },
};

static const char *word_of(const char *name)
{
    for (size_t i = 0; i < ATT_COUNT(other_names); i++)
        if (strcasecmp(other_names[i].name, name) == 0)
            return other_names[i].word;
    return name;
}

/* Writes ": did you mean …?" with the word of `accepts` nearest to `word` into `out`; an empty
 * string if no word is near. */
static const char *suggest_word(const char *accepts, const char *word, char out[64])
{
    char words[24][24];
    const char *known[24];
    size_t count = 0;
    size_t length;
    for (const char *at = accepts; count < 24 && (at = next_alternative(at, &length));
         at += length) {
        if (!is_word(at, length) || length >= sizeof words[0])
            continue;
        snprintf(words[count], sizeof words[0], "%.*s", (int)length, at);
        known[count] = words[count];
        count++;
    }
    const char *near = att_suggest(word_of(word), known, count);
    out[0] = '\0';
    if (near)
        snprintf(out, 64, ": did you mean '%s'?", near);
    return out;
}

static att_status fail_option_word(const att_scope *scope, const att_expr *at,
                                   const att_option_spec *row, const char *word)
{
    char hint[64], buffer[ACCEPTS_SIZE];
    const char *accepts = accepted_text(row, buffer);
    return att_scope_fail(scope, at, "%s takes %s, found '%.80s'%s", row->name, accepts, word,
                          suggest_word(accepts, word, hint));
}

/* A bare or quoted word if the option accepts it, otherwise an expression. */
static att_status eval_option_value(const att_scope *scope, const att_expr *node,
                                    const att_option_spec *row, att_value *out)
{
    bool worded = node->kind == ATT_EXPR_NAME || node->kind == ATT_EXPR_STRING;
    if (worded && att_option_accepts_word(row, node->text)) {
        *out = (att_value){ .kind = ATT_VALUE_WORD, .word = node->text };
        return ATT_OK;
    }
    if (worded && (att_option_accepts_only_words(row) || node->kind == ATT_EXPR_STRING))
        return fail_option_word(scope, node, row, node->text);
    if (att_option_accepts_only_words(row)) {
        char quote[ATT_QUOTE_SIZE];
        return fail_option_word(scope, node, row,
                                att_sheet_source_quote(scope->source, node, quote));
    }
    return att_eval(scope, node, out);
}

static att_status eval_option(const att_scope *scope, const att_expr *option,
                              const att_function *function, att_value *values)
{
    const att_option_spec *row = att_option_find(function, option->text);
    if (!row)
        return fail_option_name(scope, option, function);
    att_value *value = &values[row - function->options];
    if (value->kind != ATT_VALUE_WORD || value->word)
        return att_scope_fail(scope, option, "the option '%s' is given twice", row->name);
    if (option->children == 0) {
        *value = (att_value){ .kind = ATT_VALUE_WORD, .word = row->name };
        return ATT_OK;
    }
    if (att_option_is_flag(row))
        return att_scope_fail(scope, option, "'%s' is a flag and takes no value", row->name);
    return eval_option_value(scope, option->child[0], row, value);
}

/* ---- The call */

static att_status fail_function(const att_scope *scope, const att_expr *node)
{
    if (att_symbol_table_find(scope->symbols, node->text))
        return att_scope_fail(scope, node,
                              "'%.80s' is a value, not a function: a row is %.80s[2], a product "
                              "needs a '*'",
                              node->text, node->text);
    enum { MAX_NAMES = 128 };
    const char *known[MAX_NAMES];
    size_t count = 0;
    for (size_t t = 0; t < TABLES; t++)
        for (const att_function *row = tables[t]; row->name && count < MAX_NAMES; row++)
            known[count++] = row->name;
    for (const att_own_function *own = scope->functions ? scope->functions->last : NULL;
         own && count < MAX_NAMES; own = own->before)
        known[count++] = own->name;
    const char *near = att_suggest(node->text, known, count);
    return near ? att_scope_fail(scope, node, "unknown function '%.80s': did you mean '%s'?",
                                 node->text, near)
                : att_scope_fail(scope, node, "unknown function '%.80s'", node->text);
}

static att_status check_count(const att_scope *scope, const att_expr *node,
                              const att_function *function, size_t count)
{
    if (count >= function->min_args && count <= function->max_args)
        return ATT_OK;
    char expected[64];
    if (function->min_args == function->max_args)
        snprintf(expected, sizeof expected, "%zu argument%s", function->min_args,
                 function->min_args == 1 ? "" : "s");
    else
        snprintf(expected, sizeof expected, "%zu to %zu arguments", function->min_args,
                 function->max_args);
    return att_scope_fail(scope, node, "%s takes %s, found %zu: %s", function->name, expected,
                          count, function->usage);
}

static size_t option_count(const att_function *function)
{
    size_t count = 0;
    while (function->options && function->options[count].name)
        count++;
    return count;
}

att_status att_eval_call(const att_scope *scope, const att_expr *node, att_value *out)
{
    const att_function *function = att_function_find(node->text);
    if (!function && att_own_function_find(scope->functions, node->text))
        return att_own_function_call(scope, node, out);
    if (!function)
        return fail_function(scope, node);
    size_t count = 0;
    while (count < node->children && node->child[count]->kind != ATT_EXPR_OPTION)
        count++;
    size_t options = option_count(function);
    att_value *args = att_arena_alloc(scope->arena, count, sizeof *args);
    att_value *values = att_arena_alloc(scope->arena, options, sizeof *values);
    if (!args || !values)
        return att_fail_memory(scope->err);
    for (size_t i = 0; i < options; i++)
        values[i].kind = ATT_VALUE_WORD;
    for (size_t i = count; i < node->children; i++)
        ATT_TRY(eval_option(scope, node->child[i], function, values));
    ATT_TRY(check_count(scope, node, function, count));
    for (size_t i = 0; i < count; i++)
        ATT_TRY(att_eval(scope, node->child[i], &args[i]));
    const att_call call = { .arena = scope->arena,
                            .function = function,
                            .node = node,
                            .args = args,
                            .arg_count = count,
                            .options = values,
                            .source = scope->source,
                            .err = scope->err,
                            .rounding = scope->rounding,
                            .scenario = scope->scenario };
    ATT_TRY(function->run(&call, out));
    return att_record_call(scope, &call, out);
}

/* ---- For the functions */

att_status att_call_fail(const att_call *call, const att_expr *at, const char *format, ...)
{
    const att_expr *node = at ? at : call->node;
    va_list args;
    va_start(args, format);
    att_status status = att_sheet_source_vfail(call->source, call->err, node->line ? node->line : 1,
                                               node->line ? node->column : 1, format, args);
    va_end(args);
    return status;
}

att_status att_call_matrix(const att_call *call, size_t index, const att_matrix **out)
{
    const att_value *value = &call->args[index];
    if (value->kind == ATT_VALUE_LIST) {
        char quote[ATT_QUOTE_SIZE];
        return att_call_fail(call, call->node->child[index],
                             "%s: %s is a list of %zu, expected a matrix", call->function->name,
                             att_sheet_source_quote(call->source, call->node->child[index], quote),
                             value->item_count);
    }
    *out = value->matrix;
    return ATT_OK;
}

const att_value *att_call_option(const att_call *call, const char *name)
{
    const att_option_spec *row = att_option_find(call->function, name);
    if (!row)
        return NULL;
    const att_value *value = &call->options[row - call->function->options];
    return value->kind == ATT_VALUE_WORD && !value->word ? NULL : value;
}
