/* Iterating over the lines of a text. LF or CRLF ends a line; a byte order mark at the start of the
 * text is skipped. */
#ifndef ATT_TEXT_LINES_H
#define ATT_TEXT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct att_line_view {
    const char *text;
    size_t length;  /* without the line end */
    int64_t number; /* from 1 */
} att_line_view;

/* Start from att_line_reader_start(). */
typedef struct att_line_reader {
    const char *text;
    size_t length;
    size_t position;
    int64_t number;     /* of the last line returned */
    int64_t crlf_lines; /* lines that ended in CRLF so far */
    bool has_bom;
} att_line_reader;

att_line_reader att_line_reader_start(const char *text, size_t length);

/* The next line, a part of the text; false at the end. The last line needs no line end. */
bool att_line_reader_next(att_line_reader *lines, att_line_view *line);

/* The number of lines of a text. */
int64_t att_line_reader_count(const char *text, size_t length);

#endif
