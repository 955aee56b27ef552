/* Walking over the lines of a text: LF or CRLF ends one, a byte order mark starts none. */
#ifndef ATT_TEXT_LINES_H
#define ATT_TEXT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct att_line_view {
    const char *text;
    size_t length;  /* without its end */
    int64_t number; /* from 1 */
} att_line_view;

/* Start from att_line_reader_start(). */
typedef struct att_line_reader {
    const char *text;
    size_t length;
    size_t position;
    int64_t number;     /* of the last line given */
    int64_t crlf_lines; /* that ended in CRLF so far */
    bool has_bom;
} att_line_reader;

att_line_reader att_line_reader_start(const char *text, size_t length);

/* The next line, lent; false at the end. A text that does not end in a newline ends all the same.
 */
bool att_line_reader_next(att_line_reader *lines, att_line_view *line);

/* How many there are. */
int64_t att_line_reader_count(const char *text, size_t length);

#endif
