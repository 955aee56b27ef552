/* From words to expression trees: recursive descent with one word of lookahead. Statements are
 * parsed by the files that carry them out, with the same functions. */
#ifndef ATT_SHEET_PARSE_H
#define ATT_SHEET_PARSE_H

#include "sheet/lex.h"

/* A bracket that is open; they form a chain on the stack of the parser's functions. */
typedef struct att_bracket {
    const struct att_bracket *outer;
    att_token token;
    att_lex_mode outer_mode;
} att_bracket;

typedef struct att_parser {
    att_lexer lexer;
    att_token token; /* the word to look at next */
    att_token last;  /* the word taken before it */
    const att_bracket *open;
    int depth;
    size_t nodes_left; /* expression nodes that may still be made */
    bool generated;    /* the text is ours: nodes have no place in the sheet */
} att_parser;

/* Nodes of one sheet; a larger matrix belongs into a file. About 100 bytes each. */
enum { ATT_MAX_NODES = 4 * 1000 * 1000 };

/* Starts at a byte of the origin's text, which is on `line`, in character `column` of it. */
att_status att_parser_start(att_parser *parser, const att_sheet_source *origin, att_arena *arena,
                            att_error *err, size_t offset, int line, int column);

/* Moves to the next word. */
att_status att_parser_take(att_parser *parser);

/* Fails at the word to look at. Where a bracket was left open before it, that is the error. */
att_status att_parser_fail(const att_parser *parser, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same as "expected `what`, found …". */
att_status att_parser_expected(const att_parser *parser, const char *what);

bool att_parser_at(const att_parser *parser, att_token_kind kind);
bool att_parser_at_word(const att_parser *parser, const char *word);

/* The name or string to look at as a string in the arena, moving on. */
att_status att_parser_name(att_parser *parser, const char *what, const char **out);
att_status att_parser_string(att_parser *parser, const char *what, const char **out);

/* Fails unless the statement ends here. */
att_status att_parser_end(att_parser *parser);

att_status att_parse_expression(att_parser *parser, att_expr **out);

/* ---- Between parse.c and parse_bracket.c */

/* Children being collected, in the arena. */
typedef struct att_children {
    att_expr **items;
    size_t count;
    size_t capacity;
} att_children;

/* Makes a node that begins at the word `start` and ends with the last word taken. */
att_status att_parser_make(att_parser *parser, att_expr_kind kind, const att_token *start,
                           const att_children *children, att_expr **out);
att_status att_children_add(att_parser *parser, att_children *children, att_expr *child);

att_status att_bracket_open(att_parser *parser, att_bracket *bracket, att_lex_mode mode);
att_status att_bracket_close(att_parser *parser, att_bracket *bracket, att_token_kind kind,
                             const char *expected);

/* Each starts at its opening bracket, and `load` after its word. */
att_status att_parse_matrix(att_parser *parser, att_expr **out);
att_status att_parse_list(att_parser *parser, att_expr **out);
att_status att_parse_index(att_parser *parser, const att_token *start, att_expr *of,
                           att_expr **out);
att_status att_parse_call(att_parser *parser, const att_token *start, const char *name,
                          att_expr **out);
att_status att_parse_load(att_parser *parser, const att_token *start, att_expr **out);

#endif
