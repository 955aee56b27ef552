/* Config files: `key = value` lines, with # comments. A value in double quotes keeps its spaces. */
#include "settings/settings.h"

#include "base/error.h"
#include "base/file.h"
#include "base/quote.h"
#include "base/string.h"
#include "base/utf8.h"
#include "settings/setting_specs.h"

#include <string.h>

enum { MAX_CONFIG_SIZE = 1 << 20 };

/* A part of a line, without the spaces around it. */
typedef struct slice {
    const char *text;
    size_t length;
} slice;

typedef struct config_parser {
    att_settings *settings;
    const char *name;
    int line;
    int set_at_line[ATT_MAX_SETTINGS]; /* the line that set each setting, or 0 */
    att_string key, value;             /* of the current line, terminated */
    att_error *err;
} config_parser;

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static slice trim(const char *text, size_t length)
{
    while (length > 0 && is_space(text[length - 1]))
        length--;
    while (length > 0 && is_space(*text)) {
        text++;
        length--;
    }
    return (slice){ text, length };
}

/* Adds the file and line to the error of a failure. */
static att_status at_line(const config_parser *in, att_status status)
{
    if (in->err && status == ATT_BAD_INPUT) {
        att_error inner = *in->err;
        att_fail_at(in->err, status, in->name, in->line, 0, NULL, "%s", inner.message);
    }
    return status;
}

static att_status fail(const config_parser *in, const char *message, slice about)
{
    char quoted[ATT_QUOTED_SIZE];
    att_quote(quoted, about.text, about.length);
    return at_line(in, att_fail(in->err, ATT_BAD_INPUT, NULL, "%s '%s'", message, quoted));
}

/* The part before a comment. A comment starts with `#` at the start or after a space. */
static slice without_comment(slice all)
{
    for (size_t i = 0; i < all.length; i++)
        if (all.text[i] == '#' && (i == 0 || is_space(all.text[i - 1])))
            return trim(all.text, i);
    return all;
}

/* Replaces *value by the text inside its double quotes. Only a comment may follow them. */
static att_status unquote(const config_parser *in, slice *value)
{
    const char *inside = value->text + 1;
    const char *end = memchr(inside, '"', value->length - 1);
    if (!end)
        return fail(in, "a closing quote is missing in the value", *value);
    slice rest = trim(end + 1, value->length - (size_t)(end + 1 - value->text));
    if (without_comment(rest).length > 0)
        return fail(in, "expected nothing or a comment after the closing quote, found", rest);
    *value = (slice){ inside, (size_t)(end - inside) };
    return ATT_OK;
}

static att_status copy_slice(att_string *out, slice from, att_error *err)
{
    out->length = 0;
    return att_string_append(out, from.text, from.length) == ATT_OK ? ATT_OK : att_fail_memory(err);
}

static att_status refuse_duplicate(config_parser *in)
{
    int row = att_setting_spec_find(in->key.data);
    if (row < 0)
        return ATT_OK; /* att_settings_set_from() refuses it */
    int before = in->set_at_line[row];
    if (before > 0)
        return at_line(in, att_fail(in->err, ATT_BAD_INPUT, NULL, "%s is already set in line %d",
                                    in->key.data, before));
    in->set_at_line[row] = in->line;
    return ATT_OK;
}

static att_status read_line(config_parser *in, const char *text, size_t length)
{
    slice line = trim(text, length);
    if (line.length == 0 || *line.text == '#')
        return ATT_OK;
    const char *equals = memchr(line.text, '=', line.length);
    if (!equals || equals == line.text)
        return fail(in, "expected key = value, found", line);
    slice key = trim(line.text, (size_t)(equals - line.text));
    slice value = trim(equals + 1, line.length - (size_t)(equals + 1 - line.text));
    if (value.length > 0 && *value.text == '"')
        ATT_TRY(unquote(in, &value));
    else
        value = without_comment(value);
    ATT_TRY(copy_slice(&in->key, key, in->err));
    ATT_TRY(copy_slice(&in->value, value, in->err));
    ATT_TRY(refuse_duplicate(in));
    return at_line(in, att_settings_set_deferred(in->settings, in->key.data, in->value.data,
                                                 ATT_FROM_CONFIG, in->err));
}

static att_status read_lines(config_parser *in, const char *text, size_t length)
{
    if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        text += 3;
        length -= 3;
    }
    for (in->line = 1; length > 0; in->line++) {
        const char *newline = memchr(text, '\n', length);
        size_t size = newline ? (size_t)(newline - text) : length;
        if (memchr(text, '\0', size) || !att_utf8_valid(text, size))
            return at_line(in, att_fail(in->err, ATT_BAD_INPUT, NULL, "is not UTF-8 text"));
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
    config_parser in = { .settings = settings, .name = name, .err = err ? err : &unseen };
    att_status status = read_lines(&in, text, length);
    att_settings_drop_overruled(settings);
    att_settings_apply_defaults(settings);
    att_string_free(&in.key);
    att_string_free(&in.value);
    return status;
}

att_status att_settings_load(att_settings *settings, const char *path, att_error *err)
{
    att_string file = { 0 };
    ATT_TRY(att_file_read(&file, path, MAX_CONFIG_SIZE, err));
    att_status status = att_settings_read(settings, file.data, file.length, path, err);
    att_string_free(&file);
    return status;
}
