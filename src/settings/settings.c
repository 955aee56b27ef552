/* Values for every row of the table, and the defaults that depend on others; see settings.h. */
#include "settings/settings.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/quote.h"
#include "settings/rows.h"

#include <assert.h>
#include <string.h>

size_t att_setting_count(void)
{
    return att_row_count;
}

const att_setting *att_setting_get(size_t index)
{
    return index < att_row_count ? &att_rows[index].shown : NULL;
}

const att_setting *att_setting_find(const char *key)
{
    int row = att_row_find(key);
    return row < 0 ? NULL : &att_rows[row].shown;
}

bool att_setting_concerns(const att_setting *setting, const char *task)
{
    int row = att_row_find(setting->key);
    const char *const *words = att_setting_find("task")->words;
    for (int i = 0; row >= 0 && words[i]; i++)
        if (strcmp(words[i], task) == 0)
            return att_rows[row].concerns.tasks >> i & 1;
    return false;
}

att_kind att_settings_kind(const att_settings *settings)
{
    return att_task_rows[settings->task].kind;
}

bool att_kind_reads(att_kind kind)
{
    return kind == ATT_KIND_PAIRS || kind == ATT_KIND_LABEL;
}

/* ---- defaults */

/* Defaults are literals of the table: a text is pointed to, and the rest is known to be good. */
static void set_default(att_settings *settings, const att_row *row, const char *start)
{
    if (row->shown.kind == ATT_SETTING_TEXT)
        *(const char **)att_row_member(row, settings) = start;
    else
        (void)att_row_set(row, settings, start, NULL);
}

static bool has_value(const att_settings *settings, const char *key, const char *word)
{
    const att_row *row = &att_rows[att_row_find(key)];
    return strcmp(row->shown.words[*(int *)att_row_member(row, (att_settings *)settings)], word) ==
           0;
}

static bool follows(const att_row *row)
{
    return row->start && row->start[0] == '=';
}

/* The value of the number or real that the row's default names. */
static void follow(att_settings *settings, const att_row *row)
{
    const att_row *other = &att_rows[att_row_find(row->start + 1)];
    assert(row->shown.kind == other->shown.kind);
    if (row->shown.kind == ATT_SETTING_NUMBER)
        *(int64_t *)att_row_member(row, settings) = *(int64_t *)att_row_member(other, settings);
    else
        *(double *)att_row_member(row, settings) = *(double *)att_row_member(other, settings);
}

static bool holds(const att_settings *settings, const att_other_default *other)
{
    return has_value(settings, other->when, other->is) &&
           (!other->also || has_value(settings, other->also, other->has));
}

static bool has_other_default(const att_settings *settings, size_t row)
{
    for (size_t i = 0; i < att_other_default_count; i++)
        if (att_row_find(att_other_defaults[i].key) == (int)row &&
            holds(settings, &att_other_defaults[i]))
            return true;
    return false;
}

void att_settings_settle(att_settings *settings)
{
    for (size_t i = 0; i < att_row_count; i++)
        if (settings->origin[i] == ATT_FROM_DEFAULT && !follows(&att_rows[i]))
            set_default(settings, &att_rows[i], att_rows[i].start);
    for (size_t i = 0; i < att_other_default_count; i++) {
        const att_other_default *other = &att_other_defaults[i];
        int row = att_row_find(other->key);
        if (settings->origin[row] == ATT_FROM_DEFAULT && holds(settings, other))
            set_default(settings, &att_rows[row], other->start);
    }
    for (size_t i = 0; i < att_row_count; i++)
        if (settings->origin[i] == ATT_FROM_DEFAULT && follows(&att_rows[i]) &&
            !has_other_default(settings, i))
            follow(settings, &att_rows[i]);
}

/* ---- setting and getting */

static att_status fail_unknown(const char *key, att_error *err)
{
    const char *known[ATT_MOST_SETTINGS];
    for (size_t i = 0; i < att_row_count; i++)
        known[i] = att_rows[i].shown.key;
    const char *nearest = att_suggest(key, known, att_row_count);
    char quoted[ATT_QUOTED];
    att_quote(quoted, key, strlen(key));
    if (nearest)
        return att_fail(err, ATT_BAD_INPUT, NULL, "unknown setting '%s'; did you mean %s?", quoted,
                        nearest);
    return att_fail(err, ATT_BAD_INPUT, NULL, "unknown setting '%s'", quoted);
}

att_status att_settings_put_unsettled(att_settings *settings, const char *key, const char *value,
                                      att_origin origin, att_error *err)
{
    int row = att_row_find(key);
    if (row < 0)
        return fail_unknown(key, err);
    if (settings->origin[row] > origin) {
        /* Even a value that does not count must be a good one. */
        att_settings unused = { 0 };
        att_status status = att_row_set(&att_rows[row], &unused, value, err);
        att_arena_free(&unused.texts);
        return status;
    }
    ATT_TRY(att_row_set(&att_rows[row], settings, value, err));
    settings->origin[row] = (uint8_t)origin;
    return ATT_OK;
}

att_status att_settings_put(att_settings *settings, const char *key, const char *value,
                            att_origin origin, att_error *err)
{
    ATT_TRY(att_settings_put_unsettled(settings, key, value, origin, err));
    att_settings_settle(settings);
    return ATT_OK;
}

att_status att_settings_set(att_settings *settings, const char *key, const char *value,
                            att_error *err)
{
    return att_settings_put(settings, key, value, ATT_FROM_CALLER, err);
}

att_status att_settings_get(att_text *out, const att_settings *settings, const char *key,
                            att_error *err)
{
    int row = att_row_find(key);
    if (row < 0)
        return fail_unknown(key, err);
    return att_row_write(out, &att_rows[row], settings) == ATT_OK ? ATT_OK : att_fail_memory(err);
}

bool att_settings_given(const att_settings *settings, const char *key)
{
    int row = att_row_find(key);
    return row >= 0 && settings->origin[row] >= ATT_FROM_CONFIG;
}

bool att_settings_from_files(const att_settings *settings)
{
    return ATT_TASKS_FILES >> settings->task & 1;
}

bool att_settings_use(const att_settings *settings, const att_setting *setting)
{
    const att_concerns *concerns = &att_rows[att_row_find(setting->key)].concerns;
    return concerns->tasks >> settings->task & 1 && concerns->families >> settings->family & 1;
}

/* ---- life */

att_status att_settings_new(att_settings **out, const char *task, att_error *err)
{
    *out = NULL;
    att_settings *settings = att_alloc_zero(1, sizeof *settings);
    if (!settings)
        return att_fail_memory(err);
    att_settings_settle(settings);
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
    att_arena_free(&settings->texts);
    att_free(settings);
}
