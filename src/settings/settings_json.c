/* Settings in the metadata of a model: a JSON object with every key. */
#include "settings/settings.h"

#include "base/error.h"
#include "base/number.h"
#include "base/quote.h"
#include "base/string.h"
#include "settings/setting_specs.h"

#include <stdio.h>
#include <string.h>

#ifdef ATT_HAVE_JANSSON
#include <jansson.h>

static bool is_saved(const att_setting_spec *row)
{
    return strcmp(row->info.group, ATT_GROUP_OUTPUT) != 0;
}

/* ---- writing. Numbers go out as users write them: the fewest digits that read back the same. */

static att_status write_string(att_string *out, const char *text)
{
    json_t *string = text ? json_string(text) : json_null();
    bool good =
        string && json_dump_callback(string, att_string_write_callback, out, JSON_ENCODE_ANY) == 0;
    json_decref(string);
    return good ? ATT_OK : ATT_NO_MEMORY;
}

static att_status write_value(att_string *out, const att_setting_spec *row,
                              const att_settings *settings)
{
    const void *member = (const char *)settings + row->offset;
    switch (row->info.type) {
    case ATT_SETTING_FLAG:
        return att_string_puts(out, *(const bool *)member ? "true" : "false");
    case ATT_SETTING_CHOICE:
        return write_string(out, row->info.choices[*(const int *)member]);
    case ATT_SETTING_TEXT:
        return write_string(out, *(const char *const *)member);
    default:
        return att_setting_spec_write(out, row, settings);
    }
}

static att_status write_settings(att_string *out, const att_settings *settings)
{
    const char *before = "{";
    for (size_t i = 0; i < att_setting_spec_count; i++) {
        if (!is_saved(&att_setting_specs[i]))
            continue;
        ATT_TRY(att_string_printf(out, "%s\"%s\":", before, att_setting_specs[i].info.key));
        ATT_TRY(write_value(out, &att_setting_specs[i], settings));
        before = ",";
    }
    return att_string_puts(out, "}");
}

att_status att_settings_to_json(att_string *out, const att_settings *settings, att_error *err)
{
    size_t before = out->length;
    if (write_settings(out, settings) == ATT_OK)
        return ATT_OK;
    out->length = before;
    return att_fail_memory(err);
}

/* ---- reading */

/* The value as a user would write it; NULL for one that no setting can have. */
static const char *format_value(const json_t *value, char room[ATT_DOUBLE_STRING_SIZE])
{
    if (json_is_string(value))
        return json_string_value(value);
    if (json_is_boolean(value))
        return json_is_true(value) ? "yes" : "no";
    if (json_is_real(value))
        return att_double_format(room, json_real_value(value));
    if (!json_is_integer(value))
        return NULL;
    snprintf(room, ATT_DOUBLE_STRING_SIZE, "%lld", (long long)json_integer_value(value));
    return room;
}

static att_status set_from_json(att_settings *settings, const char *key, const json_t *value,
                                const char *name, att_error *err)
{
    char room[ATT_DOUBLE_STRING_SIZE], quoted[ATT_QUOTED_SIZE];
    if (json_is_null(value))
        return ATT_OK;
    const char *written = format_value(value, room);
    if (!written)
        return att_fail(err, ATT_BAD_INPUT, name, "the setting '%s' is no plain value",
                        att_quote(quoted, key, strlen(key)));
    att_error inner = { 0 };
    att_status status = att_settings_set_deferred(settings, key, written, ATT_FROM_MODEL, &inner);
    if (status == ATT_OK)
        return ATT_OK;
    return att_fail(err, status, name, "%s", inner.message);
}

att_status att_settings_from_json(att_settings *settings, const char *json, const char *name,
                                  att_error *err)
{
    json_error_t why;
    json_t *root = json_loads(json, JSON_REJECT_DUPLICATES, &why);
    if (!json_is_object(root)) {
        json_decref(root);
        return att_fail(err, ATT_BAD_INPUT, name, "its settings are no JSON object");
    }
    att_status status = ATT_OK;
    const char *key;
    json_t *value;
    json_object_foreach(root, key, value)
    {
        status = set_from_json(settings, key, value, name, err);
        if (status != ATT_OK)
            break;
    }
    json_decref(root);
    att_settings_apply_defaults(settings);
    return status;
}

#else

att_status att_settings_to_json(att_string *out, const att_settings *settings, att_error *err)
{
    (void)out;
    (void)settings;
    return att_fail(err, ATT_UNSUPPORTED, NULL, "this build cannot write models: it lacks jansson");
}

att_status att_settings_from_json(att_settings *settings, const char *json, const char *name,
                                  att_error *err)
{
    (void)settings;
    (void)json;
    return att_fail(err, ATT_UNSUPPORTED, name, "this build cannot read models: it lacks jansson");
}

#endif
