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

/* ---- writing. A constructor that runs out of memory gives NULL, which json_object_set_new()
 * refuses. */

static json_t *value_json(const att_row *row, const att_settings *settings)
{
    const char *member = (const char *)settings + row->offset;
    const char *text;
    switch (row->shown.kind) {
    case ATT_SETTING_NUMBER:
        return json_integer(*(const int64_t *)(const void *)member);
    case ATT_SETTING_REAL:
        return json_real(*(const double *)(const void *)member);
    case ATT_SETTING_FLAG:
        return json_boolean(*(const bool *)(const void *)member);
    case ATT_SETTING_WORD:
        return json_string(row->shown.words[*(const int *)(const void *)member]);
    case ATT_SETTING_TEXT:
        text = *(const char *const *)(const void *)member;
        return text ? json_string(text) : json_null();
    }
    return NULL;
}

static int add_to_text(const char *bytes, size_t size, void *out)
{
    return att_text_add(out, bytes, size) == ATT_OK ? 0 : -1;
}

att_status att_settings_to_json(att_text *out, const att_settings *settings, att_error *err)
{
    json_t *object = json_object();
    bool good = object != NULL;
    for (size_t i = 0; good && i < att_row_count; i++)
        if (is_kept(&att_rows[i]))
            good = json_object_set_new(object, att_rows[i].shown.key,
                                       value_json(&att_rows[i], settings)) == 0;
    size_t before = out->length;
    good = good && json_dump_callback(object, add_to_text, out, JSON_COMPACT) == 0;
    json_decref(object);
    if (good)
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
    att_status status = att_settings_put(settings, key, written, ATT_FROM_MODEL, &inner);
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
