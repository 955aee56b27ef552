/* Tokens of a statement: numbers, names, strings and operators. The meaning of a newline depends on
 * the enclosing bracket, which the parser sets. */
#ifndef ATT_SHEET_LEX_H
#define ATT_SHEET_LEX_H

#include "base/arena.h"
#include "sheet/source.h"

typedef enum att_token_kind {
    ATT_TOKEN_END, /* of the statement */
    ATT_TOKEN_NEWLINE,
    ATT_TOKEN_NUMBER,
    ATT_TOKEN_NAME,
    ATT_TOKEN_STRING,
    ATT_TOKEN_PLUS,
    ATT_TOKEN_MINUS,
    ATT_TOKEN_STAR,
    ATT_TOKEN_SLASH,
    ATT_TOKEN_DOT_STAR,
    ATT_TOKEN_DOT_SLASH,
    ATT_TOKEN_CARET,
    ATT_TOKEN_PRIME,
    ATT_TOKEN_DOT,
    ATT_TOKEN_COMMA,
    ATT_TOKEN_SEMICOLON,
    ATT_TOKEN_COLON,
    ATT_TOKEN_EQUALS,
    ATT_TOKEN_EQUAL_TO, /* == */
    ATT_TOKEN_NOT_EQUAL_TO,
    ATT_TOKEN_LESS,
    ATT_TOKEN_LESS_EQUAL,
    ATT_TOKEN_GREATER,
    ATT_TOKEN_GREATER_EQUAL,
    ATT_TOKEN_PERCENT, /* in a tolerance only: elsewhere a '%' starts a comment */
    ATT_TOKEN_ROUND_OPEN,
    ATT_TOKEN_ROUND_CLOSE,
    ATT_TOKEN_SQUARE_OPEN,
    ATT_TOKEN_SQUARE_CLOSE,
    ATT_TOKEN_CURLY_OPEN,
    ATT_TOKEN_CURLY_CLOSE,
} att_token_kind;

typedef struct att_token {
    att_token_kind kind;
    int line;
    int column; /* in code points */
    int end_column;
    size_t offset; /* of its first byte in the sheet */
    size_t length; /* in bytes */
    bool space_before;
    bool space_after;
    double number;      /* ATT_TOKEN_NUMBER */
    const char *string; /* ATT_TOKEN_STRING, unescaped, in the arena */
} att_token;

typedef enum att_lex_mode {
    ATT_LEX_LINE,   /* a newline ends the statement */
    ATT_LEX_GROUP,  /* in ( ), { } and indices a newline is a blank */
    ATT_LEX_MATRIX, /* in [ ] a newline is a token: it ends a row */
} att_lex_mode;

typedef struct att_lexer {
    const att_sheet_source *source;
    att_arena *arena;
    att_error *err;
    att_lex_mode mode;
    size_t at;
    int line;
    int column;
    const char *comment; /* the comment behind the statement, set at its end; or NULL */
    bool percent_sign;   /* a '%' is a token, not a comment */
} att_lexer;

/* The next token; at the end always ATT_TOKEN_END. */
att_status att_lex_next(att_lexer *lexer, att_token *token);

/* Describes a token in messages: "'*'", "the number 1.5", "the end of the line". */
const char *att_token_describe(const att_lexer *lexer, const att_token *token,
                               char out[ATT_QUOTE_SIZE]);

/* Whether the token is the name `word`. */
bool att_token_is(const att_lexer *lexer, const att_token *token, const char *word);

#endif
