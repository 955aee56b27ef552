/* A reader that knows where in a text it stands: in which column, in a word, a quotation, a
 * sentence; and, should the text be C, in a comment, a literal, how deep in brackets. Properties
 * (properties.h) are read off it. It takes one character after the other, keeps nothing of them,
 * and never fails: text that is neither prose nor C merely has fewer places.
 *
 * All of it is as it is once the character has been read: after the quotation mark that opens one,
 * inside; after the one that closes it, outside. */
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
    const char *text; /* lent */
    size_t length;
    size_t position;             /* bytes read */
    uint32_t codepoint;          /* the character just read, */
    uint32_t previous_codepoint; /* and the one before it; 0: none */
    uint32_t next_codepoint;     /* the one to come; 0: none */

    int64_t column;      /* characters of the line read */
    int64_t line_length; /* that it will have, without its end; lines are looked along once */
    int64_t indent;      /* columns of the white space that it begins with, as far as read */
    bool in_indent;      /* nothing else was read of it */
    bool blank_line;     /* the character just read ended a line with nothing on it */

    int64_t word_length; /* characters of the word read; 0: in none */
    bool all_caps;       /* of which all are capitals */
    bool in_number;      /* it began with a digit */
    bool in_url;

    bool in_quotes;
    bool sentence_ended;    /* a full stop or its like was read */
    int64_t sentence_words; /* begun, of this sentence */

    att_lexical_context context;
    bool escaped;                  /* the next character of a literal is */
    uint32_t unconsumed_codepoint; /* `before`, or 0 where that belongs to a sign read already */
    int64_t round_depth, square_depth, curly_depth; /* brackets open */
    bool after_if;                                  /* and nothing but blanks since */
    int64_t condition_depth; /* of an if: the round bracket that it ends with; 0: in none */
    bool in_assignment;      /* between = and ; */
    bool in_directive;       /* in a line for the preprocessor */
} att_scanner;

/* Before the first character of a text, which is lent and need not be UTF-8 throughout. */
void att_scanner_start(att_scanner *scan, const char *text, size_t length);

/* Reads one character, an end of a line of DOS as one; gives its bytes, 0 at the end. */
size_t att_scanner_next(att_scanner *scan);

/* The part of it that concerns C; scan_code.c. */
void att_scanner_update_code(att_scanner *scan);

/* Whether it is a capital letter, of the scripts in common use that have any. */
bool att_is_capital(uint32_t code);

static inline bool att_is_blank(uint32_t code)
{
    return code == ' ' || code == '\t' || code == '\n' || code == '\r' || code == 0xA0;
}

#endif
