/* Setting and reading values by key, and applying defaults; see settings.h. */
#include "settings/settings.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/quote.h"
#include "settings/setting_specs.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

size_t att_setting_count(void)
{
    return att_setting_spec_count;
}

const att_setting *att_setting_get(size_t index)
{
    return index < att_setting_spec_count ? &att_setting_specs[index].info : NULL;
}

const att_setting *att_setting_find(const char *key)
{
    int row = att_setting_spec_find(key);
    return row < 0 ? NULL : &att_setting_specs[row].info;
}

bool att_setting_applies(const att_setting *setting, const char *task)
{
    int row = att_setting_spec_find(setting->key);
    const char *const *words = att_setting_find("task")->choices;
    for (int i = 0; row >= 0 && words[i]; i++)
        if (strcmp(words[i], task) == 0)
            return att_setting_specs[row].scope.tasks >> i & 1;
    return false;
}

att_model_type att_settings_model_type(const att_settings *settings)
{
    return att_task_specs[settings->task].model_type;
}

bool att_settings_copies(const att_settings *settings)
{
    return settings->copy && att_settings_model_type(settings) == ATT_MODEL_SEQ2SEQ;
}

bool att_model_type_has_source_vocab(att_model_type type)
{
    return type == ATT_MODEL_SEQ2SEQ || type == ATT_MODEL_CLASSIFIER || type == ATT_MODEL_TAGGER;
}

/* ---- defaults */

/* Defaults are literals of the table, which a test checks: a text needs no copy. */
static void set_default(att_settings *settings, const att_setting_spec *row, const char *value)
{
    if (row->info.type == ATT_SETTING_TEXT)
        *(const char **)att_setting_spec_member(row, settings) = value;
    else
        (void)att_setting_spec_set(row, settings, value, NULL);
}

/* A conditional default with its keys as rows of the table; and_row is -1 where there is none. */
typedef struct conditional_rows {
    int row, if_row, and_row;
} conditional_rows;

enum { MAX_CONDITIONAL_DEFAULTS = 192 };

/* Computed once, since defaults are applied after every change of a setting: a search for every key
 * and parsing every default took most of the time of reading settings. */
static struct default_index {
    att_settings plain; /* the defaults that do not depend on other settings */
    conditional_rows conditional[MAX_CONDITIONAL_DEFAULTS];
} defaults;

/* Whether a choice or a flag has this value. */
static bool has_choice(const att_settings *settings, int row, const char *word)
{
    const att_setting_spec *spec = &att_setting_specs[row];
    if (spec->info.type == ATT_SETTING_FLAG)
        return *(const bool *)att_setting_spec_value(spec, settings) == (strcmp(word, "yes") == 0);
    return strcmp(spec->info.choices[*(const int *)att_setting_spec_value(spec, settings)], word) ==
           0;
}

static bool copies_other_default(const att_setting_spec *row)
{
    return row->default_value && row->default_value[0] == '=';
}

/* Copies the value of the integer or real that the row's default names. */
static void copy_default(att_settings *settings, const att_setting_spec *row)
{
    const att_setting_spec *other =
        &att_setting_specs[att_setting_spec_find(row->default_value + 1)];
    assert(row->info.type == other->info.type);
    if (row->info.type == ATT_SETTING_INTEGER)
        *(int64_t *)att_setting_spec_member(row, settings) =
            *(int64_t *)att_setting_spec_member(other, settings);
    else
        *(double *)att_setting_spec_member(row, settings) =
            *(double *)att_setting_spec_member(other, settings);
}

static void make_default_index(void)
{
    for (size_t i = 0; i < att_setting_spec_count; i++)
        if (!copies_other_default(&att_setting_specs[i]))
            set_default(&defaults.plain, &att_setting_specs[i], att_setting_specs[i].default_value);
    assert(att_conditional_default_count <= MAX_CONDITIONAL_DEFAULTS);
    for (size_t i = 0; i < att_conditional_default_count; i++) {
        const att_conditional_default *from = &att_conditional_defaults[i];
        defaults.conditional[i] = (conditional_rows){
            .row = att_setting_spec_find(from->key),
            .if_row = att_setting_spec_find(from->if_key),
            .and_row = from->and_key ? att_setting_spec_find(from->and_key) : -1,
        };
    }
}

static void copy_plain_default(att_settings *settings, const att_setting_spec *row)
{
    static const size_t sizes[] = { [ATT_SETTING_INTEGER] = sizeof(int64_t),
                                    [ATT_SETTING_REAL] = sizeof(double),
                                    [ATT_SETTING_CHOICE] = sizeof(int),
                                    [ATT_SETTING_TEXT] = sizeof(const char *),
                                    [ATT_SETTING_FLAG] = sizeof(bool) };
    memcpy(att_setting_spec_member(row, settings), att_setting_spec_value(row, &defaults.plain),
           sizes[row->info.type]);
}

static bool condition_holds(const att_settings *settings, size_t index)
{
    const att_conditional_default *other = &att_conditional_defaults[index];
    const conditional_rows *rows = &defaults.conditional[index];
    return has_choice(settings, rows->if_row, other->if_value) &&
           (rows->and_row < 0 || has_choice(settings, rows->and_row, other->and_value));
}

static bool has_conditional_default(const att_settings *settings, size_t row)
{
    for (size_t i = 0; i < att_conditional_default_count; i++)
        if (defaults.conditional[i].row == (int)row && condition_holds(settings, i))
            return true;
    return false;
}

void att_settings_apply_defaults(att_settings *settings)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_default_index);
    for (size_t i = 0; i < att_setting_spec_count; i++)
        if (settings->origin[i] == ATT_FROM_DEFAULT && !copies_other_default(&att_setting_specs[i]))
            copy_plain_default(settings, &att_setting_specs[i]);
    for (size_t i = 0; i < att_conditional_default_count; i++) {
        int row = defaults.conditional[i].row;
        if (settings->origin[row] == ATT_FROM_DEFAULT && condition_holds(settings, i))
            set_default(settings, &att_setting_specs[row],
                        att_conditional_defaults[i].default_value);
    }
    for (size_t i = 0; i < att_setting_spec_count; i++)
        if (settings->origin[i] == ATT_FROM_DEFAULT &&
            copies_other_default(&att_setting_specs[i]) && !has_conditional_default(settings, i))
            copy_default(settings, &att_setting_specs[i]);
}

/* ---- setting and getting */

static att_status fail_unknown(const char *key, att_error *err)
{
    const char *nearest = att_setting_suggest(key);
    char quoted[ATT_QUOTED_SIZE];
    att_quote(quoted, key, strlen(key));
    if (nearest)
        return att_fail(err, ATT_BAD_INPUT, NULL, "unknown setting '%s'; did you mean %s?", quoted,
                        nearest);
    return att_fail(err, ATT_BAD_INPUT, NULL, "unknown setting '%s'", quoted);
}

att_status att_settings_set_deferred(att_settings *settings, const char *key, const char *value,
                                     att_setting_origin origin, att_error *err)
{
    int row = att_setting_spec_find(key);
    if (row < 0)
        return fail_unknown(key, err);
    if (settings->origin[row] > origin) {
        /* A value that is overridden must be valid too. */
        att_settings unused = { 0 };
        att_status status = att_setting_spec_set(&att_setting_specs[row], &unused, value, err);
        att_arena_free(&unused.strings);
        return status;
    }
    ATT_TRY(att_setting_spec_set(&att_setting_specs[row], settings, value, err));
    settings->origin[row] = (uint8_t)origin;
    return ATT_OK;
}

att_status att_settings_set_from(att_settings *settings, const char *key, const char *value,
                                 att_setting_origin origin, att_error *err)
{
    ATT_TRY(att_settings_set_deferred(settings, key, value, origin, err));
    att_settings_drop_overruled(settings);
    att_settings_apply_defaults(settings);
    return ATT_OK;
}

att_status att_settings_set(att_settings *settings, const char *key, const char *value,
                            att_error *err)
{
    return att_settings_set_from(settings, key, value, ATT_FROM_CALLER, err);
}

att_status att_settings_get(att_string *out, const att_settings *settings, const char *key,
                            att_error *err)
{
    int row = att_setting_spec_find(key);
    if (row < 0)
        return fail_unknown(key, err);
    return att_setting_spec_write(out, &att_setting_specs[row], settings) == ATT_OK
               ? ATT_OK
               : att_fail_memory(err);
}

bool att_settings_is_given(const att_settings *settings, const char *key)
{
    int row = att_setting_spec_find(key);
    return row >= 0 && settings->origin[row] >= ATT_FROM_CONFIG;
}

bool att_settings_is_open(const att_settings *settings, const char *key)
{
    int row = att_setting_spec_find(key);
    return row >= 0 && settings->origin[row] <= ATT_FROM_DATA;
}

bool att_settings_uses_files(const att_settings *settings)
{
    return ATT_TASKS_TSV_FILES >> settings->task & 1;
}

bool att_settings_applies(const att_settings *settings, const att_setting *setting)
{
    const att_setting_scope *concerns =
        &att_setting_specs[att_setting_spec_find(setting->key)].scope;
    return concerns->tasks >> settings->task & 1 &&
           concerns->architectures >> settings->architecture & 1;
}

/* ---- making */

att_status att_settings_new(att_settings **out, const char *task, att_error *err)
{
    *out = NULL;
    att_settings *settings = att_alloc_zero(1, sizeof *settings);
    if (!settings)
        return att_fail_memory(err);
    att_settings_apply_defaults(settings);
    att_status status = task ? att_settings_set(settings, "task", task, err) : ATT_OK;
    if (status == ATT_OK)
        *out = settings;
    else
        att_settings_free(settings);
    return status;
}

void att_settings_free(att_settings *settings)
{
    if (!settings)
        return;
    att_arena_free(&settings->strings);
    att_free(settings);
}
