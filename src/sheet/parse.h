/* The parser: recursive descent with one token of lookahead. The files that run statements parse
 * them with the same functions. */
#ifndef ATT_SHEET_PARSE_H
#define ATT_SHEET_PARSE_H

#include "sheet/lex.h"

/* An open bracket; the open brackets form a list on the call stack of the parser. */
typedef struct att_bracket {
    const struct att_bracket *outer;
    att_token token;
    att_lex_mode outer_mode;
} att_bracket;

typedef struct att_parser {
    att_lexer lexer;
    att_token token; /* the next token */
    att_token last;  /* the token before it */
    const att_bracket *open;
    int depth;
    size_t nodes_left; /* expression nodes that may still be allocated */
    bool plain;        /* outside of brackets, ranges and comparisons end the expression */
    size_t body;       /* offset of the ':' that ends the head of a `for`; or 0 */
    bool generated;    /* parsing a formula of the library: nodes have no place in the sheet */
} att_parser;

/* The largest number of nodes of a sheet, about 100 bytes each; larger matrices are loaded from
 * files. */
enum { ATT_MAX_NODES = 4 * 1000 * 1000 };

/* Starts at a byte of the source text, which is at `line` and `column` (in code points). */
att_status att_parser_start(att_parser *parser, const att_sheet_source *source, att_arena *arena,
                            att_error *err, size_t offset, int line, int column);

/* Advances to the next token. */
att_status att_parser_take(att_parser *parser);

/* Fails at the next token; if a bracket before it was not closed, fails at that bracket. */
att_status att_parser_fail(const att_parser *parser, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Fails with "expected `what`, found …". */
att_status att_parser_expected(const att_parser *parser, const char *what);

bool att_parser_at(const att_parser *parser, att_token_kind kind);
/* At '<', '<=', '>', '>=' or '!='. */
bool att_parser_at_comparison(const att_parser *parser);
bool att_parser_at_word(const att_parser *parser, const char *word);

/* Takes the next token, a name or a string, as a string in the arena. */
att_status att_parser_name(att_parser *parser, const char *what, const char **out);
att_status att_parser_string(att_parser *parser, const char *what, const char **out);

/* Fails if the statement does not end here. */
att_status att_parser_end(att_parser *parser);

att_status att_parse_expression(att_parser *parser, att_expr **out);

/* ---- Shared by parse.c and parse_brackets.c */

/* A growing list of child nodes, in the arena. */
typedef struct att_children {
    att_expr **items;
    size_t count;
    size_t capacity;
} att_children;

/* Makes a node that begins at the token `start` and ends with the last token taken. */
att_status att_parser_make(att_parser *parser, att_expr_kind kind, const att_token *start,
                           const att_children *children, att_expr **out);
att_status att_children_add(att_parser *parser, att_children *children, att_expr *child);

att_status att_bracket_open(att_parser *parser, att_bracket *bracket, att_lex_mode mode);
att_status att_bracket_close(att_parser *parser, att_bracket *bracket, att_token_kind kind,
                             const char *expected);

/* Each starts at its opening bracket; `load` starts behind its keyword. */
att_status att_parse_matrix(att_parser *parser, att_expr **out);
att_status att_parse_list(att_parser *parser, att_expr **out);
att_status att_parse_index(att_parser *parser, const att_token *start, att_expr *of,
                           att_expr **out);
att_status att_parse_call(att_parser *parser, const att_token *start, const char *name,
                          att_expr **out);
att_status att_parse_load(att_parser *parser, const att_token *start, att_expr **out);

#endif
