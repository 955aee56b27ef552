/* A reader that knows where in a text it stands: in which column, in a word, a quotation, a
 * sentence; and, should the text be C, in a comment, a literal, how deep in brackets. Properties
 * (properties.h) are read off it. It takes one character after the other, keeps nothing of them,
 * and never fails: text that is neither prose nor C merely has fewer places.
 *
 * All of it is as it is once the character has been read: after the quotation mark that opens one,
 * inside; after the one that closes it, outside. */
#ifndef ATT_TEXT_SCAN_H
#define ATT_TEXT_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum att_within {
    ATT_WITHIN_CODE,
    ATT_WITHIN_LINE_COMMENT,
    ATT_WITHIN_COMMENT,
    ATT_WITHIN_STRING,
    ATT_WITHIN_CHARACTER,
} att_within;

typedef struct att_scan {
    const char *text; /* lent */
    size_t length;
    size_t at;       /* bytes read */
    uint32_t code;   /* the character just read, */
    uint32_t before; /* and the one before it; 0: none */
    uint32_t after;  /* the one to come; 0: none */

    int64_t column;      /* characters of the line read */
    int64_t line_length; /* that it will have, without its end; lines are looked along once */
    int64_t indent;      /* columns of the white space that it begins with, as far as read */
    bool indenting;      /* nothing else was read of it */
    bool empty_line;     /* the character just read ended a line with nothing on it */

    int64_t word;   /* characters of the word read; 0: in none */
    bool capitals;  /* of which all are capitals */
    bool is_number; /* it began with a digit */
    bool in_url;

    bool quoted;
    bool sentence_over;     /* a full stop or its like was read */
    int64_t sentence_words; /* begun, of this sentence */

    att_within within;
    bool escaped;                 /* the next character of a literal is */
    uint32_t previous;            /* `before`, or 0 where that belongs to a sign read already */
    int64_t round, square, curly; /* brackets open */
    bool if_read;                 /* and nothing but blanks since */
    int64_t condition;            /* of an if: the round bracket that it ends with; 0: in none */
    bool assigned;                /* between = and ; */
    bool directive;               /* in a line for the preprocessor */
} att_scan;

/* Before the first character of a text, which is lent and need not be UTF-8 throughout. */
void att_scan_start(att_scan *scan, const char *text, size_t length);

/* Reads one character, an end of a line of DOS as one; gives its bytes, 0 at the end. */
size_t att_scan_next(att_scan *scan);

/* The part of it that concerns C; scan_code.c. */
void att_scan_code(att_scan *scan);

/* Whether it is a capital letter, of the scripts in common use that have any. */
bool att_scan_capital(uint32_t code);

static inline bool att_scan_blank(uint32_t code)
{
    return code == ' ' || code == '\t' || code == '\n' || code == '\r' || code == 0xA0;
}

#endif
