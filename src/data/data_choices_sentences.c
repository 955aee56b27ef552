/* The settings of the task translate for pairs that are sentences; see data_choices.h. */
#include "data/data_choices_sentences.h"

#include "base/error.h"
#include "base/minmax.h"
#include "base/string.h"

#include <string.h>

/* ---- what the task translate would have with the same given settings */

static att_status copy_given(att_settings *to, const att_settings *from, att_error *err)
{
    const att_setting *row;
    for (size_t i = 0; (row = att_setting_get(i)) != NULL; i++) {
        att_string value = { 0 };
        if (att_settings_is_open(from, row->key) || strcmp(row->key, "task") == 0)
            continue;
        att_status status = att_settings_get(&value, from, row->key, err);
        if (status == ATT_OK && value.length > 0)
            status = att_settings_set_from(to, row->key, value.data, ATT_FROM_CALLER, err);
        att_string_free(&value);
        ATT_TRY(status);
    }
    return ATT_OK;
}

/* Whether a given setting belongs to the architecture that the settings have, and not to another.
 */
static bool needs_architecture(const att_settings *settings, const att_settings *other)
{
    const att_setting *row;
    for (size_t i = 0; (row = att_setting_get(i)) != NULL; i++)
        if (!att_settings_is_open(settings, row->key) && !att_settings_applies(other, row))
            return true;
    return false;
}

static att_status settings_of_translate(att_settings **out, const att_settings *settings,
                                        att_error *err)
{
    ATT_TRY(att_settings_new(out, "translate", err));
    ATT_TRY(copy_given(*out, settings, err));
    if (!needs_architecture(settings, *out))
        return ATT_OK;
    const char *architecture = att_setting_find("architecture")->choices[settings->architecture];
    return att_settings_set(*out, "architecture", architecture, err);
}

/* ---- taking them over */

enum { INDENT = 12, LINE_WIDTH = 100 };

/* The settings taken over, as lines of a report. */
typedef struct taken_settings {
    att_string text;
    int column; /* of its last line */
} taken_settings;

static att_status take(taken_settings *taken, att_settings *settings, const char *key,
                       const char *value, att_error *err)
{
    ATT_TRY(att_settings_set_from(settings, key, value, ATT_FROM_DATA, err));
    int width = (int)(strlen(key) + strlen(value)) + 3;
    bool fits = taken->column > 0 && taken->column + width <= LINE_WIDTH;
    att_status status =
        fits ? att_string_printf(&taken->text, ", %s %s", key, value)
             : att_string_printf(&taken->text, "%s%*s%s %s", taken->column > 0 ? ",\n" : "", INDENT,
                                 "", key, value);
    taken->column = fits ? taken->column + width : INDENT + width;
    return status == ATT_OK ? ATT_OK : att_fail_memory(err);
}

static att_status take_if_different(taken_settings *taken, att_settings *settings,
                                    const att_settings *from, const att_setting *row,
                                    att_error *err)
{
    att_string value = { 0 }, wanted = { 0 };
    att_status status = att_settings_get(&value, settings, row->key, err);
    if (status == ATT_OK)
        status = att_settings_get(&wanted, from, row->key, err);
    if (status == ATT_OK && wanted.length > 0 &&
        (value.length == 0 || strcmp(value.data, wanted.data) != 0))
        status = take(taken, settings, row->key, wanted.data, err);
    att_string_free(&value);
    att_string_free(&wanted);
    return status;
}

/* Other defaults follow these. */
static const char *const leading_keys[] = { "architecture", "dropout" };

static att_status take_all(taken_settings *taken, att_settings *settings, const att_settings *from,
                           att_error *err)
{
    const att_setting *row;
    for (size_t i = 0; i < ATT_COUNT(leading_keys); i++) {
        row = att_setting_find(leading_keys[i]);
        if (att_settings_is_open(settings, row->key))
            ATT_TRY(take_if_different(taken, settings, from, row, err));
    }
    for (size_t i = 0; (row = att_setting_get(i)) != NULL; i++)
        if (att_settings_is_open(settings, row->key) && att_settings_applies(from, row))
            ATT_TRY(take_if_different(taken, settings, from, row, err));
    return ATT_OK;
}

/* Marks what choosing by the number of steps would change otherwise (att_data_choose_run), also
 * where it is the same for both tasks. */
static att_status keep_run(att_settings *settings, const att_settings *from, att_error *err)
{
    static const char *const keys[] = { "batch-tokens", "epochs" };
    att_status status = ATT_OK;
    for (size_t i = 0; status == ATT_OK && i < ATT_COUNT(keys); i++) {
        att_string value = { 0 };
        if (!att_settings_is_open(settings, keys[i]))
            continue;
        status = att_settings_get(&value, from, keys[i], err);
        if (status == ATT_OK)
            status = att_settings_set_from(settings, keys[i], value.data, ATT_FROM_DATA, err);
        att_string_free(&value);
    }
    return status;
}

att_status att_data_choose_translate(att_data *data, att_settings *settings, const char *reason,
                                     att_error *err)
{
    att_settings *from = NULL;
    taken_settings taken = { 0 };
    att_status status = settings_of_translate(&from, settings, err);
    if (status == ATT_OK)
        status = take_all(&taken, settings, from, err);
    if (status == ATT_OK)
        status = keep_run(settings, from, err);
    if (status == ATT_OK && taken.column > 0 &&
        att_string_printf(&data->choices, "%-12sas for translate: %s\n%s\n", "chosen", reason,
                          taken.text.data) != ATT_OK)
        status = att_fail_memory(err);
    att_string_free(&taken.text);
    att_settings_free(from);
    return status;
}
