/* A scanner that tracks the lexical state of a text: the column, the current word, quotation marks,
 * sentences and, for C, comments, literals and the depth of brackets. Properties (properties.h) are
 * computed from its state. It reads one character at a time, needs constant memory and accepts any
 * text.
 *
 * The state is that after the character just read: inside after an opening quotation mark, outside
 * after a closing one. */
#ifndef ATT_INSPECT_SCANNER_H
#define ATT_INSPECT_SCANNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum att_lexical_context {
    ATT_LEXICAL_CODE,
    ATT_LEXICAL_LINE_COMMENT,
    ATT_LEXICAL_BLOCK_COMMENT,
    ATT_LEXICAL_STRING,
    ATT_LEXICAL_CHARACTER,
} att_lexical_context;

typedef struct att_scanner {
    const char *text; /* borrowed */
    size_t length;
    size_t position;             /* bytes read */
    uint32_t codepoint;          /* the character just read */
    uint32_t previous_codepoint; /* the one before it; 0: none */
    uint32_t next_codepoint;     /* the next one; 0: none */

    int64_t column;      /* characters of the line so far */
    int64_t line_length; /* characters of the whole line, without its end; found at its start */
    int64_t indent;      /* columns of white space at the start of the line so far */
    bool in_indent;      /* only white space was read in this line */
    bool blank_line;     /* the character just read ended an empty line */

    int64_t word_length; /* characters of the word so far; 0: not in a word */
    bool all_caps;       /* all of them are capital letters */
    bool in_number;      /* the word started with a digit */
    bool in_url;

    bool in_quotes;
    bool sentence_ended;    /* after a period, exclamation mark or question mark */
    int64_t sentence_words; /* words started in this sentence */

    att_lexical_context context;
    bool escaped; /* the next character of a literal is escaped */
    uint32_t
        unconsumed_codepoint; /* previous_codepoint; 0 if it belongs to a symbol already read */
    int64_t round_depth, square_depth, curly_depth; /* open brackets */
    bool after_if;                                  /* only white space since the word `if` */
    int64_t condition_depth; /* round_depth inside the condition of an if; 0: not in one */
    bool in_assignment;      /* between = and ; */
    bool in_directive;       /* in a line of the preprocessor */
} att_scanner;

/* Starts before the first character of a text, which is borrowed and may contain invalid UTF-8. */
void att_scanner_start(att_scanner *scanner, const char *text, size_t length);

/* Reads one character; CR LF counts as one. Returns its size in bytes, 0 at the end of the text. */
size_t att_scanner_next(att_scanner *scanner);

/* Updates the state for C; scanner_code.c. */
void att_scanner_update_code(att_scanner *scanner);

/* Whether it is a capital letter of the Latin, Greek or Cyrillic script. */
bool att_is_capital(uint32_t code);

static inline bool att_is_blank(uint32_t code)
{
    return code == ' ' || code == '\t' || code == '\n' || code == '\r' || code == 0xA0;
}

#endif
