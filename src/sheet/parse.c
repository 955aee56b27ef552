/* The expression parser, by precedence: sums, products, signs, powers, suffixes (transpose, index,
 * field), operands. */
#include "sheet/parse.h"

#include "base/minmax.h"
#include "sheet/function.h"

#include <stdio.h>
#include <string.h>

/* Limits on nesting and on the height of trees: above anything that people write, and far below the
 * end of the stack. */
enum { MAX_DEPTH = 200, MAX_HEIGHT = 1000 };

enum { LEVEL_COMPARE = 1, LEVEL_RANGE = 2, LEVEL_SUM = 3, LEVEL_PRODUCT = 4 };

static const struct operator_row {
    att_token_kind token;
    att_expr_op op;
    int level;
} operators[] = {
    { ATT_TOKEN_LESS, ATT_OP_LESS, LEVEL_COMPARE },
    { ATT_TOKEN_LESS_EQUAL, ATT_OP_LESS_EQUAL, LEVEL_COMPARE },
    { ATT_TOKEN_GREATER, ATT_OP_GREATER, LEVEL_COMPARE },
    { ATT_TOKEN_GREATER_EQUAL, ATT_OP_GREATER_EQUAL, LEVEL_COMPARE },
    { ATT_TOKEN_EQUAL_TO, ATT_OP_EQUAL_TO, LEVEL_COMPARE },
    { ATT_TOKEN_NOT_EQUAL_TO, ATT_OP_NOT_EQUAL_TO, LEVEL_COMPARE },
    { ATT_TOKEN_PLUS, ATT_OP_ADD, LEVEL_SUM },
    { ATT_TOKEN_MINUS, ATT_OP_SUBTRACT, LEVEL_SUM },
    { ATT_TOKEN_STAR, ATT_OP_MULTIPLY, LEVEL_PRODUCT },
    { ATT_TOKEN_SLASH, ATT_OP_DIVIDE, LEVEL_PRODUCT },
    { ATT_TOKEN_DOT_STAR, ATT_OP_MULTIPLY_ELEMENTWISE, LEVEL_PRODUCT },
    { ATT_TOKEN_DOT_SLASH, ATT_OP_DIVIDE_ELEMENTWISE, LEVEL_PRODUCT },
};

static const struct operator_row *operator_of(att_token_kind token)
{
    for (size_t i = 0; i < ATT_COUNT(operators); i++)
        if (operators[i].token == token)
            return &operators[i];
    return NULL;
}

/* ---- The parser's state */

att_status att_parser_start(att_parser *parser, const att_sheet_source *source, att_arena *arena,
                            att_error *err, size_t offset, int line, int column)
{
    *parser = (att_parser){
        .lexer = { .source = source,
                   .arena = arena,
                   .err = err,
                   .at = offset,
                   .line = line,
                   .column = column },
        .nodes_left = ATT_MAX_NODES,
    };
    return att_parser_take(parser);
}

att_status att_parser_take(att_parser *parser)
{
    parser->last = parser->token;
    return att_lex_next(&parser->lexer, &parser->token);
}

bool att_parser_at(const att_parser *parser, att_token_kind kind)
{
    return parser->token.kind == kind;
}

bool att_parser_at_comparison(const att_parser *parser)
{
    const struct operator_row *row = operator_of(parser->token.kind);
    return row && row->level == LEVEL_COMPARE && row->token != ATT_TOKEN_EQUAL_TO;
}

bool att_parser_at_word(const att_parser *parser, const char *word)
{
    return att_token_is(&parser->lexer, &parser->token, word);
}

/* At the end of the sheet, or at a statement on another line, the error is the bracket that was not
 * closed. */
static bool ran_out_of_bracket(const att_parser *parser)
{
    if (!parser->open)
        return false;
    const att_token *token = &parser->token;
    bool next_statement = token->kind == ATT_TOKEN_EQUALS && token->line > parser->open->token.line;
    bool next_line = parser->lexer.mode == ATT_LEX_GROUP && token->line > parser->last.line;
    return token->kind == ATT_TOKEN_END || next_statement || next_line;
}

static att_status fail_open(const att_parser *parser)
{
    const att_lexer *lexer = &parser->lexer;
    const att_token *open = &parser->open->token;
    char bracket = lexer->source->text[open->offset];
    char closing = bracket == '(' ? ')' : bracket == '[' ? ']' : '}';
    char found[ATT_QUOTE_SIZE];
    if (parser->token.kind == ATT_TOKEN_END)
        return att_sheet_source_fail(
            lexer->source, lexer->err, open->line, open->column,
            "this '%c' is not closed: expected '%c', found the end of the sheet", bracket, closing);
    return att_sheet_source_fail(lexer->source, lexer->err, open->line, open->column,
                                 "this '%c' is not closed: expected '%c', found %s on line %d",
                                 bracket, closing, att_token_describe(lexer, &parser->token, found),
                                 parser->token.line);
}

att_status att_parser_fail(const att_parser *parser, const char *format, ...)
{
    const att_lexer *lexer = &parser->lexer;
    const att_token *token = &parser->token;
    if (ran_out_of_bracket(parser))
        return fail_open(parser);
    va_list args;
    va_start(args, format);
    att_status status =
        att_sheet_source_vfail(lexer->source, lexer->err, token->line, token->column, format, args);
    va_end(args);
    return status;
}

att_status att_parser_expected(const att_parser *parser, const char *what)
{
    char found[ATT_QUOTE_SIZE];
    return att_parser_fail(parser, "expected %s, found %s", what,
                           att_token_describe(&parser->lexer, &parser->token, found));
}

att_status att_parser_name(att_parser *parser, const char *what, const char **out)
{
    if (!att_parser_at(parser, ATT_TOKEN_NAME))
        return att_parser_expected(parser, what);
    *out = att_arena_strndup(parser->lexer.arena, parser->lexer.source->text + parser->token.offset,
                             parser->token.length);
    return *out ? att_parser_take(parser) : att_fail_memory(parser->lexer.err);
}

att_status att_parser_string(att_parser *parser, const char *what, const char **out)
{
    if (!att_parser_at(parser, ATT_TOKEN_STRING))
        return att_parser_expected(parser, what);
    *out = parser->token.string;
    return att_parser_take(parser);
}

att_status att_parser_end(att_parser *parser)
{
    if (att_parser_at(parser, ATT_TOKEN_END))
        return ATT_OK;
    char found[ATT_QUOTE_SIZE];
    return att_parser_fail(parser,
                           "expected an operator or the end of the statement, found %s (a line of "
                           "text that looks like a statement starts with '>')",
                           att_token_describe(&parser->lexer, &parser->token, found));
}

/* ---- Nodes */

att_status att_children_add(att_parser *parser, att_children *children, att_expr *child)
{
    void *items = children->items;
    if (!att_arena_array_grow(parser->lexer.arena, &items, &children->capacity, children->count,
                              sizeof child))
        return att_fail_memory(parser->lexer.err);
    children->items = items;
    children->items[children->count++] = child;
    return ATT_OK;
}

static int height_of(const att_children *children)
{
    int height = 0;
    for (size_t i = 0; i < children->count; i++)
        if (children->items[i] && children->items[i]->height >= height)
            height = children->items[i]->height + 1;
    return height;
}

att_status att_parser_make(att_parser *parser, att_expr_kind kind, const att_token *start,
                           const att_children *children, att_expr **out)
{
    const att_children none = { 0 };
    if (!children)
        children = &none;
    int height = height_of(children);
    if (height > MAX_HEIGHT)
        return att_parser_fail(parser, "this expression is more than %d operations deep",
                               MAX_HEIGHT);
    if (parser->nodes_left == 0)
        return att_parser_fail(parser,
                               "the sheet has more than %d numbers and operations: load "
                               "large matrices from a file",
                               ATT_MAX_NODES);
    parser->nodes_left--;
    att_expr *node = att_arena_alloc(parser->lexer.arena, 1, sizeof *node);
    if (!node)
        return att_fail_memory(parser->lexer.err);
    *node = (att_expr){
        .kind = kind, .child = children->items, .children = children->count, .height = height
    };
    if (!parser->generated) {
        node->line = start->line;
        node->column = start->column;
        node->end_line = parser->last.line;
        node->end_column = parser->last.end_column;
    }
    *out = node;
    return ATT_OK;
}

static att_status make_with(att_parser *parser, att_expr_kind kind, const att_token *start,
                            att_expr *first, att_expr *second, att_expr **out)
{
    att_children children = { 0 };
    ATT_TRY(att_children_add(parser, &children, first));
    if (second)
        ATT_TRY(att_children_add(parser, &children, second));
    return att_parser_make(parser, kind, start, &children, out);
}

/* ---- Brackets */

static att_status enter(att_parser *parser)
{
    if (++parser->depth > MAX_DEPTH)
        return att_parser_fail(parser, "brackets and signs are nested more than %d deep",
                               MAX_DEPTH);
    return ATT_OK;
}

att_status att_bracket_open(att_parser *parser, att_bracket *bracket, att_lex_mode mode)
{
    *bracket = (att_bracket){ parser->open, parser->token, parser->lexer.mode };
    ATT_TRY(enter(parser));
    parser->open = bracket;
    parser->lexer.mode = mode;
    return att_parser_take(parser);
}

att_status att_bracket_close(att_parser *parser, att_bracket *bracket, att_token_kind kind,
                             const char *expected)
{
    if (!att_parser_at(parser, kind))
        return att_parser_expected(parser, expected);
    parser->open = bracket->outer;
    parser->lexer.mode = bracket->outer_mode;
    parser->depth--;
    return att_parser_take(parser);
}

/* ---- Operands */

static att_status parse_number(att_parser *parser, att_expr **out)
{
    att_token token = parser->token;
    const char *text = att_arena_strndup(parser->lexer.arena,
                                         parser->lexer.source->text + token.offset, token.length);
    if (!text)
        return att_fail_memory(parser->lexer.err);
    ATT_TRY(att_parser_take(parser));
    ATT_TRY(att_parser_make(parser, ATT_EXPR_NUMBER, &token, NULL, out));
    (*out)->number = token.number;
    (*out)->text = text;
    return ATT_OK;
}

static att_status parse_string(att_parser *parser, att_expr **out)
{
    att_token token = parser->token;
    ATT_TRY(att_parser_take(parser));
    ATT_TRY(att_parser_make(parser, ATT_EXPR_STRING, &token, NULL, out));
    (*out)->text = token.string;
    return ATT_OK;
}

/* In a matrix a blank separates elements: `[f (x)]` has two elements. */
static bool attached(const att_parser *parser)
{
    return parser->lexer.mode != ATT_LEX_MATRIX || !parser->token.space_before;
}

static att_status parse_name(att_parser *parser, att_expr **out)
{
    att_token token = parser->token;
    const char *name = NULL;
    ATT_TRY(att_parser_name(parser, "a name", &name));
    if (strcmp(name, "load") == 0)
        return att_parse_load(parser, &token, out);
    if (att_parser_at(parser, ATT_TOKEN_ROUND_OPEN) && attached(parser))
        return att_parse_call(parser, &token, name, out);
    ATT_TRY(att_parser_make(parser, ATT_EXPR_NAME, &token, NULL, out));
    (*out)->text = name;
    return ATT_OK;
}

static att_status parse_group(att_parser *parser, att_expr **out)
{
    att_bracket bracket;
    ATT_TRY(att_bracket_open(parser, &bracket, ATT_LEX_GROUP));
    ATT_TRY(att_parse_expression(parser, out));
    return att_bracket_close(parser, &bracket, ATT_TOKEN_ROUND_CLOSE, "an operator or ')'");
}

static const struct operand_row {
    att_token_kind token;
    att_status (*parse)(att_parser *parser, att_expr **out);
} operands[] = {
    { ATT_TOKEN_NUMBER, parse_number },          { ATT_TOKEN_NAME, parse_name },
    { ATT_TOKEN_STRING, parse_string },          { ATT_TOKEN_ROUND_OPEN, parse_group },
    { ATT_TOKEN_SQUARE_OPEN, att_parse_matrix }, { ATT_TOKEN_CURLY_OPEN, att_parse_list },
};

static att_status parse_operand(att_parser *parser, att_expr **out)
{
    for (size_t i = 0; i < ATT_COUNT(operands); i++)
        if (att_parser_at(parser, operands[i].token))
            return operands[i].parse(parser, out);
    return att_parser_expected(parser, "a number, a name or a bracket");
}

static att_status parse_field(att_parser *parser, const att_token *start, att_expr *of,
                              att_expr **out)
{
    const char *name = NULL;
    ATT_TRY(att_parser_take(parser));
    ATT_TRY(att_parser_name(parser, "the name of a field after '.'", &name));
    ATT_TRY(make_with(parser, ATT_EXPR_FIELD, start, of, NULL, out));
    (*out)->text = name;
    return ATT_OK;
}

/* An operand with its suffixes: X', X[2], a.weights. */
static att_status parse_postfix(att_parser *parser, att_expr **out)
{
    att_token start = parser->token;
    ATT_TRY(parse_operand(parser, out));
    while (attached(parser)) {
        if (att_parser_at(parser, ATT_TOKEN_PRIME)) {
            ATT_TRY(att_parser_take(parser));
            ATT_TRY(make_with(parser, ATT_EXPR_TRANSPOSE, &start, *out, NULL, out));
        } else if (att_parser_at(parser, ATT_TOKEN_SQUARE_OPEN)) {
            ATT_TRY(att_parse_index(parser, &start, *out, out));
        } else if (att_parser_at(parser, ATT_TOKEN_DOT)) {
            ATT_TRY(parse_field(parser, &start, *out, out));
        } else {
            break;
        }
    }
    return ATT_OK;
}

/* ---- Operators */

static att_status parse_signed(att_parser *parser, att_expr **out);

/* A power associates to the right and binds tighter than a sign before it: -2^2 is -4, 2^-1 is
 * 0.5. */
static att_status parse_power(att_parser *parser, att_expr **out)
{
    att_token start = parser->token;
    ATT_TRY(parse_postfix(parser, out));
    if (!att_parser_at(parser, ATT_TOKEN_CARET))
        return ATT_OK;
    att_expr *exponent;
    ATT_TRY(att_parser_take(parser));
    ATT_TRY(enter(parser));
    ATT_TRY(parse_signed(parser, &exponent));
    parser->depth--;
    ATT_TRY(make_with(parser, ATT_EXPR_BINARY, &start, *out, exponent, out));
    (*out)->op = ATT_OP_POWER;
    return ATT_OK;
}

static att_status parse_signed(att_parser *parser, att_expr **out)
{
    att_token sign = parser->token;
    if (sign.kind != ATT_TOKEN_MINUS && sign.kind != ATT_TOKEN_PLUS)
        return parse_power(parser, out);
    ATT_TRY(att_parser_take(parser));
    ATT_TRY(enter(parser));
    ATT_TRY(parse_signed(parser, out));
    parser->depth--;
    if (sign.kind == ATT_TOKEN_PLUS)
        return ATT_OK;
    return make_with(parser, ATT_EXPR_NEGATE, &sign, *out, NULL, out);
}

/* In a matrix, a sign with a blank before it and no blank behind it starts an element: [1 -2] has
 * two elements, [1 - 2] and [1-2] have one. */
static bool starts_element(const att_parser *parser)
{
    const att_token *token = &parser->token;
    bool sign = token->kind == ATT_TOKEN_MINUS || token->kind == ATT_TOKEN_PLUS;
    return sign && parser->lexer.mode == ATT_LEX_MATRIX && token->space_before &&
           !token->space_after;
}

static att_status parse_range(att_parser *parser, att_expr **out);

static att_status parse_level(att_parser *parser, int level, att_expr **out)
{
    if (level == LEVEL_RANGE)
        return parse_range(parser, out);
    if (level > LEVEL_PRODUCT)
        return parse_signed(parser, out);
    att_token start = parser->token;
    ATT_TRY(parse_level(parser, level + 1, out));
    for (;;) {
        const struct operator_row *row = operator_of(parser->token.kind);
        if (!row || row->level != level || starts_element(parser))
            return ATT_OK;
        att_expr *right;
        ATT_TRY(att_parser_take(parser));
        ATT_TRY(parse_level(parser, level + 1, &right));
        ATT_TRY(make_with(parser, ATT_EXPR_BINARY, &start, *out, right, out));
        (*out)->op = row->op;
    }
}

/* Whether the next token is the ':' of a range. */
static bool at_range(const att_parser *parser)
{
    return att_parser_at(parser, ATT_TOKEN_COLON) &&
           !(parser->body > 0 && parser->token.offset == parser->body);
}

static att_status parse_range(att_parser *parser, att_expr **out)
{
    att_token start = parser->token;
    att_expr *end;
    ATT_TRY(parse_level(parser, LEVEL_SUM, out));
    if (!at_range(parser))
        return ATT_OK;
    ATT_TRY(att_parser_take(parser));
    ATT_TRY(parse_level(parser, LEVEL_SUM, &end));
    return make_with(parser, ATT_EXPR_RANGE, &start, *out, end, out);
}

att_status att_parse_expression(att_parser *parser, att_expr **out)
{
    return parse_level(parser, parser->plain && !parser->open ? LEVEL_SUM : LEVEL_COMPARE, out);
}

const att_expr *att_formula(att_arena *arena, const char *text)
{
    const att_sheet_source source = { .name = "formula", .text = text, .length = strlen(text) };
    att_parser parser;
    att_expr *formula;
    att_status status = att_parser_start(&parser, &source, arena, NULL, 0, 1, 1);
    parser.generated = true;
    if (status == ATT_OK)
        status = att_parse_expression(&parser, &formula);
    if (status == ATT_OK)
        status = att_parser_end(&parser);
    return status == ATT_OK ? formula : NULL;
}
