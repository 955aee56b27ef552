/* JSON lines: an object per line, whose members are the sides of an example; example_reader.h. */
#include "data/example_reader.h"

#include "base/error.h"
#include "base/json.h"
#include "base/string.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool has_member(const void *object, const char *name)
{
    return att_json_find(object, name) != NULL;
}

/* The first line that is not empty. */
static bool first_line(const struct att_text_file *file, att_line_view *line)
{
    att_line_reader lines = att_line_reader_start(file->text.data, file->text.length);
    while (att_line_reader_next(&lines, line))
        for (size_t i = 0; i < line->length; i++)
            if (!strchr(" \t\r", line->text[i]))
                return true;
    return false;
}

/* "a, b, c" for a message. */
static const char *list_members(char out[ATT_QUOTED_SIZE], const att_json *object)
{
    att_string names = { 0 };
    for (size_t i = 0; i < object->count; i++)
        (void)att_string_printf(&names, "%s%s", i > 0 ? ", " : "", object->items[i].key);
    att_quote(out, names.data ? names.data : "", names.length);
    att_string_free(&names);
    return out;
}

static att_status read_object(att_json_doc *out, const att_example_reader *in,
                              const att_line_view *line, att_error *err)
{
    att_error cause = { 0 };
    *out = (att_json_doc){ 0 };
    ATT_TRY(att_text_line_check(in->file, line, err));
    att_status status = att_json_read(out, line->text, line->length, in->file->name, NULL, &cause);
    if (status == ATT_OK && out->root->type != ATT_JSON_OBJECT) {
        att_json_free(out);
        return att_fail_at(err, ATT_BAD_INPUT, in->file->name, (int)line->number, 0, NULL,
                           "expected an object, {\"source\": …}, found another value");
    }
    if (status == ATT_OK || status == ATT_NO_MEMORY)
        return status == ATT_OK ? ATT_OK : att_fail_memory(err);
    return att_fail_at(err, status, in->file->name, (int)line->number, cause.column, NULL,
                       "JSON: %s", cause.message);
}

static att_status find_keys(att_example_reader *in, const att_json *object, int64_t line,
                            att_error *err)
{
    const char *names[ATT_COLUMN_COUNT];
    char quoted[ATT_QUOTED_SIZE];
    if (!att_example_usual_names(names, in, has_member, object))
        return att_fail_at(err, ATT_BAD_INPUT, in->file->name, (int)line, 0, NULL,
                           "expected members such as %s; columns names others, found %s",
                           in->sources_only                     ? "text, tokens or source"
                           : in->kind == ATT_EXAMPLES_PAIRS     ? "source and target"
                           : in->kind == ATT_EXAMPLES_SENTENCES ? "text and label"
                                                                : "tokens and labels",
                           list_members(quoted, object));
    in->has_tags = names[ATT_COLUMN_TAGS] != NULL;
    for (int i = 0; i < ATT_COLUMN_TAGS + in->has_tags; i++)
        if (att_string_puts(&in->keys[i], names[i]) != ATT_OK)
            return att_fail_memory(err);
    return ATT_OK;
}

static void describe(att_example_reader *in)
{
    size_t used = (size_t)snprintf(in->description, sizeof in->description, "JSON lines: ");
    for (int i = 0; i < ATT_COLUMN_TAGS + in->has_tags; i++) {
        char quoted[ATT_QUOTED_SIZE];
        if (!att_example_is_described(in, i))
            continue;
        used += (size_t)snprintf(in->description + used, sizeof in->description - used,
                                 "%s%s in \"%s\"", i > 0 ? ", " : "",
                                 att_example_side_name(in->kind, i),
                                 att_quote(quoted, in->keys[i].data, in->keys[i].length));
    }
}

att_status att_example_jsonl_start(att_example_reader *in, att_error *err)
{
    att_line_view line;
    att_json_doc doc;
    in->has_tags = in->columns.count == ATT_COLUMN_COUNT;
    for (int i = 0; i < in->columns.count; i++)
        if (att_string_append(&in->keys[i], in->columns.items[i].name,
                              in->columns.items[i].length) != ATT_OK)
            return att_fail_memory(err);
    if (in->columns.count == 0 && first_line(in->file, &line)) {
        ATT_TRY(read_object(&doc, in, &line, err));
        att_status status = find_keys(in, doc.root, line.number, err);
        att_json_free(&doc);
        ATT_TRY(status);
    }
    if (in->keys[0].length > 0)
        describe(in);
    return ATT_OK;
}

/* ---- values */

/* Appends a text without what separates examples and columns, and, as an item of a list, without
 * spaces. */
static att_status append_text(att_string *out, const char *text, size_t length, bool is_item)
{
    size_t start = out->length;
    ATT_TRY(att_string_append(out, text, length));
    for (size_t i = start; i < out->length; i++) {
        char c = out->data[i];
        if (c == '\n' || c == '\r' || c == '\t' ||
            (is_item && (c == ' ' || c == '\v' || c == '\f')))
            out->data[i] = is_item ? '_' : ' ';
    }
    return ATT_OK;
}

/* A string, a whole number, true or false as text; false for other values. */
static bool append_scalar(att_string *out, const att_json *value, bool is_item, att_status *status)
{
    switch (value->type) {
    case ATT_JSON_STRING:
        *status = append_text(out, value->string, value->length, is_item);
        return true;
    case ATT_JSON_INTEGER:
        *status = att_string_printf(out, "%" PRId64, value->integer);
        return true;
    case ATT_JSON_BOOL:
        *status = att_string_puts(out, value->boolean ? "true" : "false");
        return true;
    default:
        return false;
    }
}

static bool append_value(att_string *out, const att_json *value, bool is_tags, att_status *status)
{
    if (value->type != ATT_JSON_ARRAY)
        return append_scalar(out, value, false, status);
    for (size_t i = 0; i < value->count && *status == ATT_OK; i++) {
        if (i > 0)
            *status = att_string_puts(out, is_tags ? ";" : " ");
        if (*status == ATT_OK && !append_scalar(out, &value->items[i], true, status))
            return false;
    }
    return true;
}

static att_status read_side(att_example_reader *in, int side, const att_json *object,
                            const att_line_view *line, att_error *err)
{
    char quoted[ATT_QUOTED_SIZE], members[ATT_QUOTED_SIZE];
    att_string *out = &in->values[side];
    const att_json *value = att_json_find(object, in->keys[side].data);
    att_status status = ATT_OK;
    out->length = 0;
    if (!value)
        return att_fail_at(err, ATT_BAD_INPUT, in->file->name, (int)line->number, 0, NULL,
                           "expected the member \"%s\", found %s",
                           att_quote(quoted, in->keys[side].data, in->keys[side].length),
                           object->count > 0 ? list_members(members, object) : "none");
    if (!append_value(out, value, side == ATT_COLUMN_TAGS, &status))
        return att_fail_at(err, ATT_BAD_INPUT, in->file->name, (int)line->number, 0, NULL,
                           "expected a string, a whole number, true, false or a list of them for "
                           "\"%s\"",
                           att_quote(quoted, in->keys[side].data, in->keys[side].length));
    if (status != ATT_OK || att_string_append(out, "", 0) != ATT_OK)
        return att_fail_memory(err);
    in->sides[side] = (att_line_view){ out->data, out->length, line->number };
    return ATT_OK;
}

att_status att_example_jsonl_read(att_example_reader *in, const att_line_view *line, att_error *err)
{
    att_json_doc doc;
    att_status status = read_object(&doc, in, line, err);
    for (int i = 0; status == ATT_OK && i < ATT_COLUMN_TAGS + in->has_tags; i++)
        status = read_side(in, i, doc.root, line, err);
    att_json_free(&doc);
    return status;
}
