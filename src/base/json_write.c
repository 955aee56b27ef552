/* The JSON writer. One flag is enough to place commas: opening an array or object clears it, every
 * finished value sets it, and a value that finds it set writes a comma first. */
#include "base/json.h"

#include "base/error.h"
#include "base/number.h"
#include "base/string.h"
#include "base/utf8.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- strings */

/* JSON allows the control characters U+007F to U+009F in strings, but terminals act on them. */
static bool must_escape(uint32_t code)
{
    return code < 0x20 || code == '"' || code == '\\' || (code >= 0x7F && code < 0xA0);
}

static att_status add_escape(att_string *text, uint32_t code)
{
    static const char letters[] = { ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n',  ['\f'] = 'f',
                                    ['\r'] = 'r', ['"'] = '"',  ['\\'] = '\\', [0x7F] = 0 };
    if (code < sizeof letters && letters[code])
        return att_string_append(text, (char[]){ '\\', letters[code] }, 2);
    return att_string_printf(text, "\\u%04X", (unsigned)code);
}

/* Copies runs of plain characters, and escapes or replaces the others one by one. */
static att_status add_characters(att_string *text, const char *bytes, size_t length,
                                 att_json_policy policy)
{
    size_t plain = 0; /* start of the current run */
    for (size_t at = 0, size; at < length; at += size) {
        uint32_t code = 0;
        size = att_utf8_decode(&code, bytes + at, length - at);
        if (size > 0 && !must_escape(code))
            continue;
        if (size == 0 && policy == ATT_JSON_EXACT)
            return ATT_BAD_INPUT;
        ATT_TRY(att_string_append(text, bytes + plain, at - plain));
        ATT_TRY(size > 0 ? add_escape(text, code) : att_string_puts(text, "\xEF\xBF\xBD"));
        size = size > 0 ? size : 1;
        plain = at + size;
    }
    return att_string_append(text, bytes + plain, length - plain);
}

static void cut_back(att_string *text, size_t length)
{
    text->length = length;
    if (text->data)
        text->data[length] = '\0';
}

att_status att_json_escape(att_string *text, const char *bytes, size_t length,
                           att_json_policy policy)
{
    size_t before = text->length;
    att_status status = att_string_puts(text, "\"");
    if (status == ATT_OK && length > 0)
        status = add_characters(text, bytes, length, policy);
    if (status == ATT_OK)
        status = att_string_puts(text, "\"");
    if (status != ATT_OK)
        cut_back(text, before);
    return status;
}

/* ---- the writer */

att_json_writer att_json_begin(att_string *text, att_json_policy policy)
{
    return (att_json_writer){ .text = text, .policy = policy, .start = text->length };
}

att_status att_json_finish(att_json_writer *out, const char *name, att_error *err)
{
    assert(out->status != ATT_OK || out->depth == 0);
    if (out->status == ATT_OK)
        return ATT_OK;
    cut_back(out->text, out->start);
    if (out->status == ATT_NO_MEMORY)
        return att_fail_memory(err);
    return att_fail(err, out->status, name, "%s", out->fault);
}

static void put(att_json_writer *out, const char *bytes, size_t length)
{
    if (out->status == ATT_OK)
        out->status = att_string_append(out->text, bytes, length);
}

static void refuse(att_json_writer *out, const char *fault)
{
    if (out->status != ATT_OK)
        return;
    out->status = ATT_BAD_INPUT;
    out->fault = fault;
}

static void put_escaped(att_json_writer *out, const char *bytes, size_t length)
{
    if (out->status != ATT_OK)
        return;
    att_status status = att_json_escape(out->text, bytes, length, out->policy);
    if (status == ATT_BAD_INPUT)
        refuse(out, "cannot be written as JSON: a string is not UTF-8");
    else
        out->status = status;
}

static bool in_object(const att_json_writer *out)
{
    return out->depth > 0 && (out->objects >> (out->depth - 1) & 1) != 0;
}

static void put_newline(att_json_writer *out)
{
    if (out->newline)
        put(out, "\n", 1);
    out->newline = false;
}

/* Writes what precedes a value: comma, line break, key. */
static void begin_value(att_json_writer *out, const char *key)
{
    assert(out->status != ATT_OK || in_object(out) == (key != NULL));
    assert(out->status != ATT_OK || out->depth > 0 || !out->comma); /* one value at the top */
    if (out->comma)
        put(out, ",", 1);
    put_newline(out);
    if (key) {
        put_escaped(out, key, strlen(key));
        put(out, ":", 1);
    }
    out->comma = true;
}

static void put_value(att_json_writer *out, const char *key, const char *text, size_t length)
{
    begin_value(out, key);
    put(out, text, length);
}

static void begin(att_json_writer *out, const char *key, bool object)
{
    put_value(out, key, object ? "{" : "[", 1);
    if (out->depth == ATT_JSON_WRITE_DEPTH)
        refuse(out, "cannot be written as JSON: it is nested too deeply");
    if (out->status != ATT_OK)
        return;
    uint64_t bit = UINT64_C(1) << out->depth++;
    out->objects = object ? out->objects | bit : out->objects & ~bit;
    out->comma = false;
}

void att_json_begin_object(att_json_writer *out, const char *key)
{
    begin(out, key, true);
}

void att_json_begin_array(att_json_writer *out, const char *key)
{
    begin(out, key, false);
}

void att_json_end(att_json_writer *out)
{
    if (out->status != ATT_OK)
        return;
    assert(out->depth > 0);
    put_newline(out);
    put(out, in_object(out) ? "}" : "]", 1);
    out->depth--;
    out->comma = true;
}

void att_json_put_null(att_json_writer *out, const char *key)
{
    put_value(out, key, "null", 4);
}

void att_json_put_bool(att_json_writer *out, const char *key, bool value)
{
    put_value(out, key, value ? "true" : "false", value ? 4 : 5);
}

void att_json_put_integer(att_json_writer *out, const char *key, int64_t value)
{
    char digits[24];
    put_value(out, key, digits, (size_t)snprintf(digits, sizeof digits, "%" PRId64, value));
}

void att_json_put_number(att_json_writer *out, const char *key, double value)
{
    char digits[ATT_DOUBLE_STRING_SIZE];
    if (!isfinite(value) && out->policy == ATT_JSON_EXACT)
        refuse(out, "cannot be written as JSON: a number is infinite or NaN");
    else if (!isfinite(value))
        att_json_put_null(out, key);
    else if (value == 0 && signbit(value))
        put_value(out, key, "-0.0", 4);
    else
        put_value(out, key, digits, strlen(att_double_format(digits, value)));
}

void att_json_put_string(att_json_writer *out, const char *key, const char *string)
{
    if (string)
        att_json_put_bytes(out, key, string, strlen(string));
    else
        att_json_put_null(out, key);
}

void att_json_put_bytes(att_json_writer *out, const char *key, const char *bytes, size_t length)
{
    begin_value(out, key);
    put_escaped(out, bytes, length);
}

void att_json_put_raw(att_json_writer *out, const char *key, const char *json, size_t length)
{
    put_value(out, key, json, length);
}

void att_json_newline(att_json_writer *out)
{
    out->newline = true;
}
