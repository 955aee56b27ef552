/* A prefix file is read completely before the first output, so that a wrong file fails early. */
#include "prefixes.h"

#include "program.h"

#include <stdlib.h>
#include <string.h>

#include "lines.h"

static att_status split_lines(prefixes *out, size_t length, att_error *err)
{
    size_t max = 1;
    for (size_t i = 0; i < length; i++)
        max += out->text[i] == '\n';
    out->lines = calloc(max, sizeof *out->lines);
    if (!out->lines)
        return error_memory(err);
    for (char *at = out->text, *end = at + length; at < end; out->count++) {
        char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        if (memchr(at, 0, (size_t)(stop - at))) {
            error_set(err, ATT_BAD_INPUT, out->path, "contains a zero byte, expected text");
            err->line = (int)(out->count + 1);
            return ATT_BAD_INPUT;
        }
        *stop = 0; /* a last line without an end: att_string has room for its terminator */
        out->lines[out->count] = at;
        at = stop + 1;
    }
    return ATT_OK;
}

att_status prefixes_open(prefixes *out, const char *shared, const char *path, att_error *err)
{
    *out = (prefixes){ .shared = shared, .path = path };
    if (!path)
        return ATT_OK;
    if (strcmp(path, "-") == 0)
        return error_set(err, ATT_BAD_INPUT, "--prefixes",
                         "expects a file: standard input has the input lines");
    att_string text = { 0 };
    att_status status = lines_read_all(&text, path, err);
    out->text = text.data;
    return status == ATT_OK && text.length > 0 ? split_lines(out, text.length, err) : status;
}

void prefixes_close(prefixes *given)
{
    att_string_free(&(att_string){ .data = given->text });
    free(given->lines);
}

bool prefixes_any(const prefixes *given)
{
    return given->shared || given->path;
}

att_status prefixes_get(const char **out, const prefixes *given, size_t before, size_t count,
                        att_error *err)
{
    if (given->path && before + count > given->count)
        return error_set(err, ATT_BAD_INPUT, given->path, "has %zu line%s, fewer than the input",
                         given->count, given->count == 1 ? "" : "s");
    for (size_t i = 0; i < count; i++)
        out[i] = given->path ? given->lines[before + i] : given->shared;
    return ATT_OK;
}

att_status prefixes_check(const prefixes *given, size_t inputs, att_error *err)
{
    if (!given->path || given->count == inputs)
        return ATT_OK;
    return error_set(err, ATT_BAD_INPUT, given->path,
                     "has %zu lines, expected %zu: one per input line", given->count, inputs);
}
