/* Walking over the lines of a text: LF or CRLF ends one, a byte order mark starts none. */
#ifndef ATT_TEXT_LINES_H
#define ATT_TEXT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct att_line {
    const char *text;
    size_t length;  /* without its end */
    int64_t number; /* from 1 */
} att_line;

/* Start from att_lines_start(). */
typedef struct att_lines {
    const char *text;
    size_t length;
    size_t at;
    int64_t number;     /* of the last line given */
    int64_t crlf_lines; /* that ended in CRLF so far */
    bool byte_mark;
} att_lines;

att_lines att_lines_start(const char *text, size_t length);

/* The next line, lent; false at the end. A text that does not end in a newline ends all the same.
 */
bool att_lines_next(att_lines *lines, att_line *line);

/* How many there are. */
int64_t att_lines_count(const char *text, size_t length);

#endif
