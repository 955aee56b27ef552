/* Error messages with the line and a caret, and quotes of expressions from the source text. */
#include "sheet/source.h"

#include "text/utf8.h"
#include "text/display_width.h"

#include <stdio.h>
#include <string.h>

/* A line longer than SHOWN_WHOLE bytes is shown from BEFORE code points before the caret to AFTER
 * behind it. In the worst case every byte of a whole line is shown as a replacement character of
 * three bytes with as many blanks below, and every code point of a part has four bytes: both fit
 * into att_error.excerpt. */
enum { MAX_EXCERPT_LENGTH = 120, BEFORE = 36, AFTER = 36 };

#define ELLIPSIS "…"

/* The offset of the first byte of a line; the length of the text if there is no such line. */
static size_t line_offset(const att_sheet_source *origin, int line)
{
    bool past_anchor = origin->anchor_line > 0 && line >= origin->anchor_line;
    size_t offset = past_anchor ? origin->anchor : 0;
    int at = past_anchor ? origin->anchor_line : 1;
    for (; at < line; at++) {
        const char *newline = memchr(origin->text + offset, '\n', origin->length - offset);
        if (!newline)
            return origin->length;
        offset = (size_t)(newline - origin->text) + 1;
    }
    return offset;
}

/* The byte offset of code point `column` (from 1); at most `length`. */
static size_t column_offset(const char *line, size_t length, int column)
{
    size_t offset = 0;
    uint32_t code;
    for (int at = 1; at < column && offset < length; at++)
        offset += att_utf8_decode_lossy(line + offset, length - offset, &code);
    return offset;
}

static size_t line_length(const att_sheet_source *origin, size_t offset)
{
    const char *newline = memchr(origin->text + offset, '\n', origin->length - offset);
    return newline ? (size_t)(newline - origin->text) - offset : origin->length - offset;
}

/* A string in a buffer that is known to be large enough. */
struct buffer {
    char *data;
    size_t size;
    size_t used;
};

static void put(struct buffer *buffer, const char *bytes, size_t length)
{
    if (length >= buffer->size - buffer->used)
        return;
    memcpy(buffer->data + buffer->used, bytes, length);
    buffer->used += length;
    buffer->data[buffer->used] = '\0';
}

/* Appends one character; control characters are replaced. */
static void put_character(struct buffer *buffer, const char *bytes, size_t length, uint32_t code)
{
    if (code == ATT_UTF8_REPLACEMENT || att_utf8_is_control(code))
        put(buffer, "\xEF\xBF\xBD", 3);
    else
        put(buffer, bytes, length);
}

/* Appends blanks as wide as the text before the caret, with its tabs, so that the caret is below
 * the right character in any script. */
static void put_blanks(struct buffer *buffer, char *before)
{
    for (char *tab = strchr(before, '\t'); tab; tab = strchr(before, '\t')) {
        *tab = '\0';
        for (int width = att_display_width(before); width > 0; width--)
            put(buffer, " ", 1);
        put(buffer, "\t", 1);
        before = tab + 1;
    }
    for (int width = att_display_width(before); width > 0; width--)
        put(buffer, " ", 1);
}

/* Appends the bytes from `begin` to `end` of the line, with an ellipsis where the line
 * continues. */
static void put_part(struct buffer *buffer, const char *line, size_t length, size_t begin,
                     size_t end, bool cut_before, bool cut_after)
{
    if (cut_before)
        put(buffer, ELLIPSIS, strlen(ELLIPSIS));
    while (begin < end) {
        uint32_t code;
        size_t bytes = att_utf8_decode_lossy(line + begin, length - begin, &code);
        put_character(buffer, line + begin, bytes, code);
        begin += bytes;
    }
    if (cut_after)
        put(buffer, ELLIPSIS, strlen(ELLIPSIS));
}

/* Writes the line and the caret's line into `out`. */
static void draw_excerpt(char *out, size_t size, const char *line, size_t length, int column)
{
    bool whole = length <= MAX_EXCERPT_LENGTH;
    bool cut_before = !whole && column > BEFORE;
    size_t begin = cut_before ? column_offset(line, length, column - BEFORE) : 0;
    size_t caret =
        begin + column_offset(line + begin, length - begin, cut_before ? BEFORE + 1 : column);
    size_t end = whole ? length : caret + column_offset(line + caret, length - caret, AFTER);
    char before_bytes[4 * MAX_EXCERPT_LENGTH] = "";
    struct buffer shown = { out, size, 0 };
    struct buffer before = { before_bytes, sizeof before_bytes, 0 };
    out[0] = '\0';
    put_part(&before, line, length, begin, caret, cut_before, false);
    put(&shown, before_bytes, before.used);
    put_part(&shown, line, length, caret, end, false, end < length);
    put(&shown, "\n", 1);
    put_blanks(&shown, before_bytes);
    put(&shown, "^", 1);
}

att_status att_sheet_source_vfail(const att_sheet_source *origin, att_error *err, int line,
                                  int column, const char *format, va_list args)
{
    if (!err)
        return ATT_BAD_INPUT;
    char message[2 * sizeof err->message]; /* att_fail_at() truncates at a whole character */
    char excerpt[sizeof err->excerpt];
    vsnprintf(message, sizeof message, format, args);
    for (char *at = message; *at; at++) /* a quoted string may hold a newline or a tab */
        if ((unsigned char)*at < ' ')
            *at = ' ';
    size_t offset = line_offset(origin, line);
    draw_excerpt(excerpt, sizeof excerpt, origin->text + offset, line_length(origin, offset),
                 column);
    return att_fail_at(err, ATT_BAD_INPUT, origin->name, line, column, excerpt, "%s", message);
}

att_status att_sheet_source_fail(const att_sheet_source *origin, att_error *err, int line,
                                 int column, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    att_status status = att_sheet_source_vfail(origin, err, line, column, format, args);
    va_end(args);
    return status;
}

const char *att_sheet_source_quote(const att_sheet_source *origin, const att_expr *node,
                                   char out[ATT_QUOTE_SIZE])
{
    enum { MAX_LENGTH = 48 };
    size_t first = line_offset(origin, node->line);
    size_t at =
        first + column_offset(origin->text + first, line_length(origin, first), node->column);
    size_t last = line_offset(origin, node->end_line);
    size_t end =
        last + column_offset(origin->text + last, line_length(origin, last), node->end_column);
    struct buffer quote = { out, ATT_QUOTE_SIZE, 0 };
    out[0] = '\0';
    bool blank = false; /* runs of blanks and newlines become one blank */
    for (int count = 0; at < end && count < MAX_LENGTH; count++) {
        uint32_t code;
        size_t bytes = att_utf8_decode_lossy(origin->text + at, end - at, &code);
        bool was_blank = blank;
        blank = code == ' ' || code == '\t' || code == '\n';
        if (!blank)
            put_character(&quote, origin->text + at, bytes, code);
        else if (!was_blank)
            put(&quote, " ", 1);
        at += bytes;
    }
    if (at < end)
        put(&quote, ELLIPSIS, strlen(ELLIPSIS));
    return out;
}
