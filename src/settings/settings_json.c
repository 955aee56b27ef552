/* Settings as JSON, for the metadata of a model: an object with a member for every key. */
#include "settings/settings.h"

#include "base/error.h"
#include "base/json.h"
#include "base/number.h"
#include "base/quote.h"
#include "settings/setting_specs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- writing */

bool att_setting_group_is_saved(const char *group)
{
    return strcmp(group, ATT_GROUP_OUTPUT) != 0 && strcmp(group, ATT_GROUP_BUDGET) != 0;
}

static bool is_saved(const att_setting_spec *row)
{
    return att_setting_group_is_saved(row->info.group);
}

static void put_setting(att_json_writer *out, const att_setting_spec *row,
                        const att_settings *settings)
{
    const void *member = (const char *)settings + row->offset;
    const char *key = row->info.key;
    switch (row->info.type) {
    case ATT_SETTING_INTEGER:
        att_json_put_integer(out, key, *(const int64_t *)member);
        break;
    case ATT_SETTING_REAL:
        att_json_put_number(out, key, *(const double *)member);
        break;
    case ATT_SETTING_CHOICE:
        att_json_put_string(out, key, row->info.choices[*(const int *)member]);
        break;
    case ATT_SETTING_TEXT:
        att_json_put_string(out, key, *(const char *const *)member);
        break;
    case ATT_SETTING_FLAG:
        att_json_put_bool(out, key, *(const bool *)member);
        break;
    }
}

att_status att_settings_to_json(att_string *out, const att_settings *settings, att_error *err)
{
    att_json_writer json = att_json_begin(out, ATT_JSON_EXACT);
    att_json_begin_object(&json, NULL);
    for (size_t i = 0; i < att_setting_spec_count; i++)
        if (is_saved(&att_setting_specs[i]))
            put_setting(&json, &att_setting_specs[i], settings);
    att_json_end(&json);
    return att_json_finish(&json, "the settings", err);
}

/* ---- reading */

/* Formats a scalar as a user would write it in a config file; NULL for arrays and objects. */
static const char *format_value(char room[ATT_DOUBLE_STRING_SIZE], const att_json *value)
{
    switch (value->type) {
    case ATT_JSON_STRING:
        return value->string;
    case ATT_JSON_BOOL:
        return value->boolean ? "yes" : "no";
    case ATT_JSON_INTEGER:
        snprintf(room, ATT_DOUBLE_STRING_SIZE, "%" PRId64, value->integer);
        return room;
    case ATT_JSON_NUMBER:
        return att_double_format(room, value->number);
    default:
        return NULL;
    }
}

static att_status set_from_json(att_settings *settings, const att_json *value, att_error *err)
{
    char room[ATT_DOUBLE_STRING_SIZE], quoted[ATT_QUOTED_SIZE];
    if (value->type == ATT_JSON_NULL) /* a setting that has no value */
        return ATT_OK;
    const char *text = format_value(room, value);
    if (!text)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "expected a string, a number, true or false for "
                        "'%s', found an %s",
                        att_quote(quoted, value->key, strlen(value->key)),
                        value->type == ATT_JSON_ARRAY ? "array" : "object");
    return att_settings_set_deferred(settings, value->key, text, ATT_FROM_MODEL, err);
}

static att_status set_all_from_json(att_settings *settings, const att_json *root, const char *name,
                                    att_error *err)
{
    ATT_TRY(att_json_expect(root, ATT_JSON_OBJECT, name, err));
    for (size_t i = 0; i < root->count; i++)
        ATT_TRY(set_from_json(settings, &root->items[i], err));
    return ATT_OK;
}

att_status att_settings_from_json(att_settings *settings, const char *json, const char *name,
                                  att_error *err)
{
    att_json_doc doc;
    att_error cause = { 0 };
    att_status status = att_json_read(&doc, json, strlen(json), name, NULL, &cause);
    if (status == ATT_OK)
        status = set_all_from_json(settings, doc.root, name, &cause);
    att_json_free(&doc);
    att_settings_apply_defaults(settings);
    return status == ATT_OK ? ATT_OK : att_json_fail_in(err, &cause, "the settings", name);
}
