/* The writer: output to a growing string with a sticky error status, and the escapes of text, XML
 * and JSON. */
#include "render/writer.h"

#include "base/string.h"
#include "render/number.h"
#include "text/utf8.h"
#include "text/display_width.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

att_writer att_writer_on(att_string *text)
{
    return (att_writer){ .text = text, .start = text->length };
}

att_status att_writer_finish(att_writer *out, att_error *err)
{
    if (out->status == ATT_OK)
        return ATT_OK;
    out->text->length = out->start;
    if (out->text->data)
        out->text->data[out->start] = '\0';
    return att_fail_memory(err);
}

void att_put_bytes(att_writer *out, const char *bytes, size_t length)
{
    if (out->status == ATT_OK)
        out->status = att_string_append(out->text, bytes, length);
}

void att_put(att_writer *out, const char *string)
{
    att_put_bytes(out, string, strlen(string));
}

void att_put_repeat(att_writer *out, const char *string, int64_t count)
{
    size_t length = strlen(string);
    for (int64_t i = 0; i < count && out->status == ATT_OK; i++)
        att_put_bytes(out, string, length);
}

void att_put_integer(att_writer *out, int64_t value)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRId64, value);
    att_put_bytes(out, digits, (size_t)length);
}

void att_putf(att_writer *out, const char *format, ...)
{
    if (out->status != ATT_OK)
        return;
    va_list args;
    va_start(args, format);
    out->status = att_string_vprintf(out->text, format, args);
    va_end(args);
}

void att_put_char(att_writer *out, uint32_t c)
{
    char bytes[4];
    att_put_bytes(out, bytes, att_utf8_encode(bytes, c));
}

uint32_t att_next_char(const char **cursor)
{
    uint32_t c = att_utf8_decode_next(cursor);
    return c != 0 && att_utf8_is_control(c) ? ATT_UTF8_REPLACEMENT : c;
}

uint32_t att_next_in_line(const char **cursor)
{
    uint32_t c = att_next_char(cursor);
    return c == '\n' || c == '\t' ? ' ' : c;
}

void att_put_plain(att_writer *out, const char *string)
{
    uint32_t c;
    while ((c = att_next_in_line(&string)) != 0)
        att_put_char(out, c);
}

void att_put_xml(att_writer *out, const char *string)
{
    static const char *const escapes[128] = {
        ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&#39;",
    };
    uint32_t c;
    while ((c = att_next_char(&string)) != 0) {
        if (c < 128 && escapes[c])
            att_put(out, escapes[c]);
        else
            att_put_char(out, c);
    }
}

void att_put_json(att_writer *out, const char *string)
{
    static const char *const escapes[128] = {
        ['"'] = "\\\"",
        ['\\'] = "\\\\",
        ['\n'] = "\\n",
        ['\t'] = "\\t",
    };
    uint32_t c;
    att_put(out, "\"");
    while ((c = att_next_char(&string)) != 0) {
        if (c < 128 && escapes[c])
            att_put(out, escapes[c]);
        else
            att_put_char(out, c);
    }
    att_put(out, "\"");
}

void att_put_json_number(att_writer *out, double value)
{
    char text[ATT_NUMBER_SIZE];
    if (isfinite(value))
        att_number_exact(text, value);
    att_put(out, isfinite(value) ? text : "null");
}

void att_put_json_numbers(att_writer *out, const double *values, int64_t count)
{
    att_put(out, "[");
    for (int64_t i = 0; i < count; i++) {
        att_put(out, i > 0 ? "," : "");
        att_put_json_number(out, values[i]);
    }
    att_put(out, "]");
}
