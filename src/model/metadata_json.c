/* The JSON objects in a model's metadata that record its training and its import: how they are
 * checked, printed and written. The members of a training record are those of
 * train/training_state.c; those of an import are chosen by the importer. */
#include "model/model_file.h"

#include "base/error.h"
#include "base/json.h"
#include "base/minmax.h"
#include "base/string.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

att_status att_metadata_check(const char *json, const char *key, const char *name, att_error *err)
{
    char part[64];
    att_json_doc doc;
    att_error cause = { 0 };
    att_status status = att_json_read(&doc, json, strlen(json), name, NULL, &cause);
    if (status == ATT_OK)
        status = att_json_expect(doc.root, ATT_JSON_OBJECT, name, &cause);
    att_json_free(&doc);
    if (status == ATT_OK)
        return ATT_OK;
    snprintf(part, sizeof part, "the metadata '%s'", key);
    return att_json_fail_in(err, &cause, part, name);
}

/* ---- printing */

static att_status print_value(att_string *out, const att_json *value)
{
    switch (value->type) {
    case ATT_JSON_STRING:
        return att_string_printf(out, "  %-*s %s\n", ATT_INFO_KEY_WIDTH, value->key, value->string);
    case ATT_JSON_INTEGER:
        return att_string_printf(out, "  %-*s %" PRId64 "\n", ATT_INFO_KEY_WIDTH, value->key,
                                 value->integer);
    case ATT_JSON_NUMBER:
        return att_string_printf(out, "  %-*s %.6g\n", ATT_INFO_KEY_WIDTH, value->key,
                                 value->number);
    case ATT_JSON_BOOL:
        return att_string_printf(out, "  %-*s %s\n", ATT_INFO_KEY_WIDTH, value->key,
                                 value->boolean ? "yes" : "no");
    default:
        return ATT_OK; /* objects are left out of the text; `info --json` has them */
    }
}

/* The width of a column, which fits its key. */
static int column_width(const att_json *value)
{
    return (int)att_max_size(14, att_min_size(strlen(value->key), 80));
}

static att_status print_cell(att_string *out, const att_json *value)
{
    int width = column_width(value);
    if (value->type == ATT_JSON_INTEGER)
        return att_string_printf(out, " %*" PRId64, width, value->integer);
    return att_string_printf(out, " %*.6g", width,
                             value->type == ATT_JSON_NUMBER ? value->number : 0);
}

static att_status print_row(att_string *out, const att_json *row)
{
    ATT_TRY(att_string_puts(out, "\n "));
    for (size_t i = 0; row->type == ATT_JSON_OBJECT && i < row->count; i++)
        ATT_TRY(print_cell(out, &row->items[i]));
    return ATT_OK;
}

/* Prints an array of objects with the same keys as a table: the history of a training run. */
static att_status print_table(att_string *out, const att_json *list)
{
    ATT_TRY(att_string_printf(out, "  %s\n ", list->key));
    const att_json *first = list->count > 0 ? &list->items[0] : NULL;
    for (size_t i = 0; first && first->type == ATT_JSON_OBJECT && i < first->count; i++)
        ATT_TRY(
            att_string_printf(out, " %*s", column_width(&first->items[i]), first->items[i].key));
    for (size_t i = 0; i < list->count; i++)
        ATT_TRY(print_row(out, &list->items[i]));
    return att_string_puts(out, "\n");
}

att_status att_metadata_print(att_string *out, const char *json)
{
    att_json_doc doc;
    ATT_TRY(att_json_read(&doc, json, strlen(json), NULL, NULL, NULL));
    att_status status = ATT_OK;
    for (size_t i = 0; i < doc.root->count && status == ATT_OK; i++) {
        const att_json *value = &doc.root->items[i];
        status = value->type == ATT_JSON_ARRAY ? print_table(out, value) : print_value(out, value);
    }
    att_json_free(&doc);
    return status;
}

/* ---- writing */

att_status att_metadata_write(att_string *out, const att_metadata_entry *entries, size_t count,
                              att_error *err)
{
    att_json_writer json = att_json_begin(out, ATT_JSON_EXACT);
    att_json_begin_object(&json, NULL);
    for (size_t i = 0; i < count; i++) {
        if (entries[i].text)
            att_json_put_string(&json, entries[i].key, entries[i].text);
        else
            att_json_put_integer(&json, entries[i].key, entries[i].number);
    }
    att_json_end(&json);
    return att_json_finish(&json, "the metadata", err);
}
