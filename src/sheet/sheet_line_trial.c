/* Lines taken apart, and tried as an expression. */
#include "sheet/sheet_line.h"

#include "sheet/function.h"
#include "text/utf8.h"

#include <string.h>

att_status att_sheet_line_fail(const att_interpreter *interpreter, const att_sheet_line *line,
                               const char *format, ...)
{
    va_list args;
    va_start(args, format);
    att_status status = att_sheet_source_vfail(&interpreter->source, interpreter->scope.err,
                                               line->number, line->column, format, args);
    va_end(args);
    return status;
}

size_t att_sheet_line_leading_name(const att_sheet_line *line)
{
    size_t length = 0;
    uint32_t code;
    while (length < line->length) {
        size_t bytes = att_utf8_decode_lossy(line->text + length, line->length - length, &code);
        if (!(length ? att_utf8_identifier_part(code) : att_utf8_identifier_start(code)))
            break;
        length += bytes;
    }
    return length;
}

att_sheet_line att_sheet_line_rest(const att_sheet_line *line, size_t bytes)
{
    while (bytes < line->length && (line->text[bytes] == ' ' || line->text[bytes] == '\t'))
        bytes++;
    att_sheet_line rest = *line;
    rest.text += bytes;
    rest.offset += bytes;
    rest.length -= bytes;
    return rest;
}

bool att_sheet_line_begins_known(const att_interpreter *interpreter, const att_sheet_line *line)
{
    enum { MAX_LENGTH = 63 };
    char name[MAX_LENGTH + 1] = "";
    size_t length = att_sheet_line_leading_name(line);
    if (length == 0 || length > MAX_LENGTH)
        return false;
    memcpy(name, line->text, length);
    return att_function_find(name) || att_symbol_table_get(&interpreter->symbols, name);
}

/* The leftmost operand of an expression. */
static const att_expr *leftmost(const att_expr *node)
{
    while (node->children > 0 && node->kind != ATT_EXPR_CALL && node->child[0])
        node = node->child[0];
    return node;
}

/* Whether an expression is unlikely to be prose: it starts with a known name, or is written without
 * blanks, like a.weights. */
static bool is_intended_expression(const att_interpreter *interpreter, const att_sheet_line *line,
                                   const att_expr *node)
{
    const att_expr *first = leftmost(node);
    if (first->kind == ATT_EXPR_CALL &&
        (att_function_find(first->text) ||
         att_own_function_find(&interpreter->functions, first->text)))
        return true;
    if (first->kind == ATT_EXPR_NAME && att_symbol_table_get(&interpreter->symbols, first->text))
        return true;
    if (first->kind == ATT_EXPR_NUMBER)
        return true;
    bool one_piece = !memchr(line->text, ' ', line->length);
    return one_piece && (node->kind == ATT_EXPR_FIELD || node->kind == ATT_EXPR_INDEX ||
                         node->kind == ATT_EXPR_CALL);
}

att_status att_sheet_line_try(const att_interpreter *interpreter, const att_sheet_line *line,
                              att_expression_trial *out)
{
    enum { TRIAL_NODES = 100000 };
    att_arena scratch = { 0 };
    att_sheet_source origin = interpreter->source;
    origin.length = line->offset + line->length;
    att_parser parser;
    att_expr *node;
    *out = (att_expression_trial){ 0 };
    att_status status = att_parser_start(&parser, &origin, &scratch, NULL, line->offset,
                                         line->number, line->column);
    parser.nodes_left = TRIAL_NODES;
    parser.plain = true;
    if (status == ATT_OK)
        status = att_parse_expression(&parser, &node);
    if (status == ATT_OK && att_parser_at_comparison(&parser)) { /* x < 3, but not x: text */
        att_expr *right;
        status = att_parser_take(&parser);
        if (status == ATT_OK)
            status = att_parse_expression(&parser, &right);
    }
    if (status == ATT_OK) {
        out->intended = is_intended_expression(interpreter, line, node);
        out->fills_line = att_parser_at(&parser, ATT_TOKEN_END);
        out->assigned = att_parser_at(&parser, ATT_TOKEN_EQUALS) ||
                        att_parser_at(&parser, ATT_TOKEN_EQUAL_TO) ||
                        (att_parser_at(&parser, ATT_TOKEN_COLON) &&
                         origin.text[parser.token.offset + 1] == '='); /* f(x) := x */
        out->quoted = att_parser_at(&parser, ATT_TOKEN_STRING) && node->kind != ATT_EXPR_STRING;
        out->continues = att_parser_at_word(&parser, "with") ||
                         att_parser_at_word(&parser, "for") || att_parser_at_word(&parser, "check");
    } else {
        out->ends_early = att_parser_at(&parser, ATT_TOKEN_END);
    }
    att_arena_free(&scratch);
    return status == ATT_NO_MEMORY ? att_fail_memory(interpreter->scope.err) : ATT_OK;
}
