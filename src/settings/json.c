/* Settings in the metadata of a model: a JSON object with every key. */
#include "settings/settings.h"

#include "base/error.h"
#include "base/number.h"
#include "base/quote.h"
#include "base/text.h"
#include "settings/rows.h"

#include <stdio.h>
#include <string.h>

#ifdef ATT_HAVE_JANSSON
#include <jansson.h>

static bool is_kept(const att_row *row)
{
    return strcmp(row->shown.group, ATT_GROUP_OUTPUT) != 0;
}

/* ---- writing. Numbers go out as users write them: the fewest digits that read back the same. */

static att_status write_string(att_text *out, const char *text)
{
    json_t *string = text ? json_string(text) : json_null();
    bool good = string && json_dump_callback(string, att_text_sink, out, JSON_ENCODE_ANY) == 0;
    json_decref(string);
    return good ? ATT_OK : ATT_NO_MEMORY;
}

static att_status write_value(att_text *out, const att_row *row, const att_settings *settings)
{
    const void *member = (const char *)settings + row->offset;
    switch (row->shown.kind) {
    case ATT_SETTING_FLAG:
        return att_text_puts(out, *(const bool *)member ? "true" : "false");
    case ATT_SETTING_WORD:
        return write_string(out, row->shown.words[*(const int *)member]);
    case ATT_SETTING_TEXT:
        return write_string(out, *(const char *const *)member);
    default:
        return att_row_write(out, row, settings);
    }
}

static att_status write_settings(att_text *out, const att_settings *settings)
{
    const char *before = "{";
    for (size_t i = 0; i < att_row_count; i++) {
        if (!is_kept(&att_rows[i]))
            continue;
        ATT_TRY(att_text_print(out, "%s\"%s\":", before, att_rows[i].shown.key));
        ATT_TRY(write_value(out, &att_rows[i], settings));
        before = ",";
    }
    return att_text_puts(out, "}");
}

att_status att_settings_to_json(att_text *out, const att_settings *settings, att_error *err)
{
    size_t before = out->length;
    if (write_settings(out, settings) == ATT_OK)
        return ATT_OK;
    out->length = before;
    return att_fail_memory(err);
}

/* ---- reading */

/* The value as a user would write it; NULL for one that no setting can have. */
static const char *as_written(const json_t *value, char room[ATT_REAL_WRITTEN])
{
    if (json_is_string(value))
        return json_string_value(value);
    if (json_is_boolean(value))
        return json_is_true(value) ? "yes" : "no";
    if (json_is_real(value))
        return att_real_write(room, json_real_value(value));
    if (!json_is_integer(value))
        return NULL;
    snprintf(room, ATT_REAL_WRITTEN, "%lld", (long long)json_integer_value(value));
    return room;
}

static att_status put(att_settings *settings, const char *key, const json_t *value,
                      const char *name, att_error *err)
{
    char room[ATT_REAL_WRITTEN], quoted[ATT_QUOTED];
    if (json_is_null(value))
        return ATT_OK;
    const char *written = as_written(value, room);
    if (!written)
        return att_fail(err, ATT_BAD_INPUT, name, "the setting '%s' is no plain value",
                        att_quote(quoted, key, strlen(key)));
    att_error inner = { 0 };
    att_status status = att_settings_put_unsettled(settings, key, written, ATT_FROM_MODEL, &inner);
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
        status = put(settings, key, value, name, err);
        if (status != ATT_OK)
            break;
    }
    json_decref(root);
    att_settings_settle(settings);
    return status;
}

#else

att_status att_settings_to_json(att_text *out, const att_settings *settings, att_error *err)
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
