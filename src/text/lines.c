/* The line iterator of corpora and of files of references; see lines.h. */
#include "text/lines.h"

#include <string.h>

att_line_reader att_line_reader_start(const char *text, size_t length)
{
    att_line_reader lines = { .text = text, .length = length };
    lines.has_bom = length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0;
    lines.position = lines.has_bom ? 3 : 0;
    return lines;
}

bool att_line_reader_next(att_line_reader *lines, att_line_view *line)
{
    if (lines->position >= lines->length)
        return false;
    const char *start = lines->text + lines->position;
    size_t left = lines->length - lines->position;
    const char *newline = memchr(start, '\n', left);
    size_t length = newline ? (size_t)(newline - start) : left;
    lines->position += length + (newline != NULL);
    if (newline && length > 0 && start[length - 1] == '\r') {
        lines->crlf_lines++;
        length--;
    }
    *line = (att_line_view){ start, length, ++lines->number };
    return true;
}

int64_t att_line_reader_count(const char *text, size_t length)
{
    att_line_reader lines = att_line_reader_start(text, length);
    att_line_view line;
    while (att_line_reader_next(&lines, &line))
        ;
    return lines.number;
}
