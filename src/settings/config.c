/* Config files: lines of `key = value`. */
#include "settings/settings.h"

#include "base/error.h"
#include "base/file.h"
#include "base/quote.h"
#include "base/text.h"
#include "base/utf8.h"
#include "settings/rows.h"

#include <string.h>

enum { LARGEST_CONFIG = 1 << 20 };

/* A piece of a line, without the spaces around it. */
typedef struct piece {
    const char *text;
    size_t length;
} piece;

typedef struct reading {
    att_settings *settings;
    const char *name;
    int line;
    int given[ATT_MOST_SETTINGS]; /* the line that set each row, or 0 */
    att_text key, value;          /* as strings */
    att_error *err;
} reading;

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static piece trim(const char *text, size_t length)
{
    while (length > 0 && is_space(text[length - 1]))
        length--;
    while (length > 0 && is_space(*text)) {
        text++;
        length--;
    }
    return (piece){ text, length };
}

/* Gives a failure of this line its place. */
static att_status at_line(const reading *in, att_status status)
{
    if (in->err && status == ATT_BAD_INPUT) {
        att_error inner = *in->err;
        att_fail_at(in->err, status, in->name, in->line, 0, NULL, "%s", inner.message);
    }
    return status;
}

static att_status fail(const reading *in, const char *message, piece about)
{
    char quoted[ATT_QUOTED];
    att_quote(quoted, about.text, about.length);
    return at_line(in, att_fail(in->err, ATT_BAD_INPUT, NULL, "%s '%s'", message, quoted));
}

/* What a `#` at the start or after a space leaves of a piece. */
static piece without_comment(piece all)
{
    for (size_t i = 0; i < all.length; i++)
        if (all.text[i] == '#' && (i == 0 || is_space(all.text[i - 1])))
            return trim(all.text, i);
    return all;
}

/* The value inside double quotes; nothing but a comment may follow them. */
static att_status unquote(const reading *in, piece *value)
{
    const char *inside = value->text + 1;
    const char *end = memchr(inside, '"', value->length - 1);
    if (!end)
        return fail(in, "no quote ends the value", *value);
    piece rest = trim(end + 1, value->length - (size_t)(end + 1 - value->text));
    if (without_comment(rest).length > 0)
        return fail(in, "only a comment may follow the quote that ends a value, not", rest);
    *value = (piece){ inside, (size_t)(end - inside) };
    return ATT_OK;
}

static att_status as_string(att_text *out, piece from, att_error *err)
{
    out->length = 0;
    return att_text_add(out, from.text, from.length) == ATT_OK ? ATT_OK : att_fail_memory(err);
}

static att_status refuse_twice(reading *in)
{
    int row = att_row_find(in->key.data);
    if (row < 0)
        return ATT_OK; /* told with the nearest key later */
    int before = in->given[row];
    if (before > 0)
        return at_line(in, att_fail(in->err, ATT_BAD_INPUT, NULL, "%s was set in line %d already",
                                    in->key.data, before));
    in->given[row] = in->line;
    return ATT_OK;
}

static att_status read_line(reading *in, const char *text, size_t length)
{
    piece line = trim(text, length);
    if (line.length == 0 || *line.text == '#')
        return ATT_OK;
    const char *equals = memchr(line.text, '=', line.length);
    if (!equals || equals == line.text)
        return fail(in, "expected key = value, found", line);
    piece key = trim(line.text, (size_t)(equals - line.text));
    piece value = trim(equals + 1, line.length - (size_t)(equals + 1 - line.text));
    if (value.length > 0 && *value.text == '"')
        ATT_TRY(unquote(in, &value));
    else
        value = without_comment(value);
    ATT_TRY(as_string(&in->key, key, in->err));
    ATT_TRY(as_string(&in->value, value, in->err));
    ATT_TRY(refuse_twice(in));
    return at_line(
        in, att_settings_put(in->settings, in->key.data, in->value.data, ATT_FROM_CONFIG, in->err));
}

static att_status read_lines(reading *in, const char *text, size_t length)
{
    if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        text += 3;
        length -= 3;
    }
    for (in->line = 1; length > 0; in->line++) {
        const char *newline = memchr(text, '\n', length);
        size_t size = newline ? (size_t)(newline - text) : length;
        if (memchr(text, '\0', size) || !att_utf8_valid(text, size))
            return at_line(in, att_fail(in->err, ATT_BAD_INPUT, NULL,
                                        "is not UTF-8 text, which a config file is"));
        ATT_TRY(read_line(in, text, size));
        size += newline != NULL;
        text += size;
        length -= size;
    }
    return ATT_OK;
}

att_status att_settings_read(att_settings *settings, const char *text, size_t length,
                             const char *name, att_error *err)
{
    att_error unseen = { 0 };
    reading in = { .settings = settings, .name = name, .err = err ? err : &unseen };
    att_status status = read_lines(&in, text, length);
    att_text_free(&in.key);
    att_text_free(&in.value);
    return status;
}

att_status att_settings_load(att_settings *settings, const char *path, att_error *err)
{
    att_text file = { 0 };
    ATT_TRY(att_file_read(&file, path, LARGEST_CONFIG, err));
    att_status status = att_settings_read(settings, file.data, file.length, path, err);
    att_text_free(&file);
    return status;
}
