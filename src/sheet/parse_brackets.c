/* The parser of bracketed expressions: matrices, lists, indices, calls; and of `load`. */
#include "sheet/parse.h"

#include "sheet/function.h"

#include <string.h>

/* ---- Matrices and lists */

static bool ends_row(const att_parser *parser)
{
    return att_parser_at(parser, ATT_TOKEN_NEWLINE) || att_parser_at(parser, ATT_TOKEN_SEMICOLON) ||
           att_parser_at(parser, ATT_TOKEN_SQUARE_CLOSE);
}

static att_status parse_row(att_parser *parser, att_expr **out)
{
    att_token start = parser->token;
    att_children elements = { 0 };
    while (!ends_row(parser)) {
        att_expr *element;
        if (elements.count > 0 && !parser->token.space_before &&
            parser->last.kind != ATT_TOKEN_COMMA)
            return att_parser_expected(parser, "a blank, ',', ';' or ']' after the element");
        ATT_TRY(att_parse_expression(parser, &element));
        ATT_TRY(att_children_add(parser, &elements, element));
        if (att_parser_at(parser, ATT_TOKEN_COMMA))
            ATT_TRY(att_parser_take(parser));
    }
    return att_parser_make(parser, ATT_EXPR_ROW, &start, &elements, out);
}

/* `[[1, 2], [3, 4]]`: two rows in NumPy, but four columns here. */
static att_status refuse_rows_in_brackets(att_parser *parser, const att_token *start,
                                          const att_children *rows)
{
    const att_expr *row = rows->count == 1 ? rows->items[0] : NULL;
    if (!row || row->children < 2 || parser->generated)
        return ATT_OK;
    for (size_t i = 0; i < row->children; i++)
        if (row->child[i]->kind != ATT_EXPR_MATRIX || row->child[i]->children != 1)
            return ATT_OK;
    return att_sheet_source_fail(parser->lexer.source, parser->lexer.err, start->line,
                                 start->column,
                                 "rows in brackets of their own, as in NumPy: expected ';' between "
                                 "rows, [1 2; 3 4], and no brackets around what stands side by "
                                 "side, [1 2 3 4]");
}

att_status att_parse_matrix(att_parser *parser, att_expr **out)
{
    att_token start = parser->token;
    att_bracket bracket;
    att_children rows = { 0 };
    ATT_TRY(att_bracket_open(parser, &bracket, ATT_LEX_MATRIX));
    while (!att_parser_at(parser, ATT_TOKEN_SQUARE_CLOSE)) {
        if (ends_row(parser)) { /* blank rows are ignored */
            ATT_TRY(att_parser_take(parser));
            continue;
        }
        att_expr *row;
        ATT_TRY(parse_row(parser, &row));
        ATT_TRY(att_children_add(parser, &rows, row));
    }
    ATT_TRY(att_bracket_close(parser, &bracket, ATT_TOKEN_SQUARE_CLOSE, "']'"));
    ATT_TRY(refuse_rows_in_brackets(parser, &start, &rows));
    return att_parser_make(parser, ATT_EXPR_MATRIX, &start, &rows, out);
}

att_status att_parse_list(att_parser *parser, att_expr **out)
{
    att_token start = parser->token;
    att_bracket bracket;
    att_children items = { 0 };
    ATT_TRY(att_bracket_open(parser, &bracket, ATT_LEX_GROUP));
    do {
        att_expr *item;
        if (items.count > 0)
            ATT_TRY(att_parser_take(parser));
        ATT_TRY(att_parse_expression(parser, &item));
        ATT_TRY(att_children_add(parser, &items, item));
    } while (att_parser_at(parser, ATT_TOKEN_COMMA));
    ATT_TRY(att_bracket_close(parser, &bracket, ATT_TOKEN_CURLY_CLOSE, "',' or '}'"));
    return att_parser_make(parser, ATT_EXPR_LIST, &start, &items, out);
}

/* ---- Indices: X[2], X[2, 3], X[:, 3], X[1:2] */

static att_status parse_place(att_parser *parser, att_expr **out)
{
    att_token start = parser->token;
    if (att_parser_at(parser, ATT_TOKEN_COLON)) {
        ATT_TRY(att_parser_take(parser));
        return att_parser_make(parser, ATT_EXPR_ALL, &start, NULL, out);
    }
    return att_parse_expression(parser, out);
}

att_status att_parse_index(att_parser *parser, const att_token *start, att_expr *of, att_expr **out)
{
    att_bracket bracket;
    att_children children = { 0 };
    att_expr *place;
    ATT_TRY(att_children_add(parser, &children, of));
    ATT_TRY(att_bracket_open(parser, &bracket, ATT_LEX_GROUP));
    ATT_TRY(parse_place(parser, &place));
    ATT_TRY(att_children_add(parser, &children, place));
    if (att_parser_at(parser, ATT_TOKEN_COMMA)) {
        ATT_TRY(att_parser_take(parser));
        ATT_TRY(parse_place(parser, &place));
        ATT_TRY(att_children_add(parser, &children, place));
    }
    ATT_TRY(att_bracket_close(parser, &bracket, ATT_TOKEN_SQUARE_CLOSE,
                              children.count > 2 ? "']'" : "',' or ']'"));
    return att_parser_make(parser, ATT_EXPR_INDEX, start, &children, out);
}

/* ---- Calls: f(x, y, option = value, flag) */

/* A bare name is a flag if the function has a flag of that name. */
static void note_flag(const att_function *function, att_expr *argument)
{
    if (!function || argument->kind != ATT_EXPR_NAME)
        return;
    const att_option_spec *row = att_option_find(function, argument->text);
    if (row && att_option_is_flag(row))
        argument->kind = ATT_EXPR_OPTION;
}

static att_status parse_option_value(att_parser *parser, att_expr *option)
{
    att_children value = { 0 };
    att_expr *expression;
    ATT_TRY(att_parser_take(parser));
    ATT_TRY(att_parse_expression(parser, &expression));
    ATT_TRY(att_children_add(parser, &value, expression));
    option->kind = ATT_EXPR_OPTION;
    option->child = value.items;
    option->children = value.count;
    option->height = expression->height + 1;
    if (!parser->generated) {
        option->end_line = expression->end_line;
        option->end_column = expression->end_column;
    }
    return ATT_OK;
}

static att_status parse_argument(att_parser *parser, const att_function *function,
                                 const att_children *before, att_expr **out)
{
    att_token start = parser->token;
    ATT_TRY(att_parse_expression(parser, out));
    if ((*out)->kind == ATT_EXPR_NAME && att_parser_at(parser, ATT_TOKEN_EQUALS) &&
        parser->last.line == start.line)
        ATT_TRY(parse_option_value(parser, *out));
    else
        note_flag(function, *out);
    bool after_option =
        before->count > 0 && before->items[before->count - 1]->kind == ATT_EXPR_OPTION;
    if (after_option && (*out)->kind != ATT_EXPR_OPTION)
        return att_sheet_source_fail(parser->lexer.source, parser->lexer.err, start.line,
                                     start.column,
                                     "an argument follows an option: options come last");
    return ATT_OK;
}

att_status att_parse_call(att_parser *parser, const att_token *start, const char *name,
                          att_expr **out)
{
    const att_function *function = att_function_find(name);
    att_bracket bracket;
    att_children arguments = { 0 };
    ATT_TRY(att_bracket_open(parser, &bracket, ATT_LEX_GROUP));
    while (!att_parser_at(parser, ATT_TOKEN_ROUND_CLOSE)) {
        att_expr *argument;
        ATT_TRY(parse_argument(parser, function, &arguments, &argument));
        ATT_TRY(att_children_add(parser, &arguments, argument));
        if (!att_parser_at(parser, ATT_TOKEN_COMMA))
            break;
        ATT_TRY(att_parser_take(parser));
    }
    ATT_TRY(att_bracket_close(parser, &bracket, ATT_TOKEN_ROUND_CLOSE, "an operator, ',' or ')'"));
    ATT_TRY(att_parser_make(parser, ATT_EXPR_CALL, start, &arguments, out));
    (*out)->text = name;
    return ATT_OK;
}

/* ---- load "file" ("name") (at i j …) */

static att_status parse_text(att_parser *parser, att_expr **out)
{
    att_token token = parser->token;
    const char *text;
    ATT_TRY(att_parser_string(parser, "a file in quotes after 'load'", &text));
    ATT_TRY(att_parser_make(parser, ATT_EXPR_STRING, &token, NULL, out));
    (*out)->text = text;
    return ATT_OK;
}

static att_status parse_leading_index(att_parser *parser, att_expr **out)
{
    att_token token = parser->token;
    if (!att_parser_at(parser, ATT_TOKEN_NUMBER))
        return att_parser_expected(parser, "a number after 'at'");
    ATT_TRY(att_parser_take(parser));
    ATT_TRY(att_parser_make(parser, ATT_EXPR_NUMBER, &token, NULL, out));
    (*out)->number = token.number;
    (*out)->text = att_arena_strndup(parser->lexer.arena, parser->lexer.source->text + token.offset,
                                     token.length);
    return (*out)->text ? ATT_OK : att_fail_memory(parser->lexer.err);
}

att_status att_parse_load(att_parser *parser, const att_token *start, att_expr **out)
{
    att_children children = { 0 };
    att_expr *child = NULL;
    ATT_TRY(parse_text(parser, &child));
    ATT_TRY(att_children_add(parser, &children, child));
    child = NULL;
    if (att_parser_at(parser, ATT_TOKEN_STRING))
        ATT_TRY(parse_text(parser, &child));
    ATT_TRY(att_children_add(parser, &children, child));
    if (att_parser_at_word(parser, "at")) {
        ATT_TRY(att_parser_take(parser));
        do {
            ATT_TRY(parse_leading_index(parser, &child));
            ATT_TRY(att_children_add(parser, &children, child));
        } while (att_parser_at(parser, ATT_TOKEN_NUMBER));
    }
    return att_parser_make(parser, ATT_EXPR_LOAD, start, &children, out);
}
