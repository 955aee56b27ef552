/* Lines of a text; see lines.h. */
#include "text/lines.h"

#include <string.h>

att_lines att_lines_start(const char *text, size_t length)
{
    att_lines lines = { .text = text, .length = length };
    lines.byte_mark = length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0;
    lines.at = lines.byte_mark ? 3 : 0;
    return lines;
}

bool att_lines_next(att_lines *lines, att_line *line)
{
    if (lines->at >= lines->length)
        return false;
    const char *start = lines->text + lines->at;
    size_t left = lines->length - lines->at;
    const char *newline = memchr(start, '\n', left);
    size_t length = newline ? (size_t)(newline - start) : left;
    lines->at += length + (newline != NULL);
    if (newline && length > 0 && start[length - 1] == '\r') {
        lines->crlf_lines++;
        length--;
    }
    *line = (att_line){ start, length, ++lines->number };
    return true;
}

int64_t att_lines_count(const char *text, size_t length)
{
    att_lines lines = att_lines_start(text, length);
    att_line line;
    while (att_lines_next(&lines, &line))
        ;
    return lines.number;
}
