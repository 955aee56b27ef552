/* Parsing and writing the value of one setting, by type; see setting_specs.h. */
#include "settings/setting_specs.h"

#include "base/error.h"
#include "base/number.h"
#include "base/quote.h"
#include "base/string.h"
#include "base/utf8.h"

#include <string.h>

enum { MAX_CHOICES_LENGTH = 256 };

int att_setting_spec_find(const char *key)
{
    for (size_t i = 0; i < att_setting_spec_count; i++)
        if (strcmp(att_setting_specs[i].info.key, key) == 0)
            return (int)i;
    return -1;
}

void *att_setting_spec_member(const att_setting_spec *row, att_settings *settings)
{
    return (char *)settings + row->offset;
}

const void *att_setting_spec_value(const att_setting_spec *row, const att_settings *settings)
{
    return (const char *)settings + row->offset;
}

/* ---- parsing */

static att_status fail_range(const att_setting_spec *row, const char *value, att_error *err)
{
    char min[ATT_DOUBLE_STRING_SIZE], max[ATT_DOUBLE_STRING_SIZE], quoted[ATT_QUOTED_SIZE];
    const char *kind = row->info.type == ATT_SETTING_INTEGER ? "whole number" : "number";
    return att_fail(err, ATT_BAD_INPUT, NULL, "%s expects a %s from %s to %s, not '%s'",
                    row->info.key, kind, att_double_format(min, row->info.min),
                    att_double_format(max, row->info.max), att_quote(quoted, value, strlen(value)));
}

static att_status set_integer(const att_setting_spec *row, att_settings *settings,
                              const char *value, att_error *err)
{
    int64_t whole;
    if (!att_int_parse(&whole, value) || (double)whole < row->info.min ||
        (double)whole > row->info.max)
        return fail_range(row, value, err);
    *(int64_t *)att_setting_spec_member(row, settings) = whole;
    return ATT_OK;
}

static att_status set_real(const att_setting_spec *row, att_settings *settings, const char *value,
                           att_error *err)
{
    double real;
    if (!att_double_parse(&real, value) || !(real >= row->info.min && real <= row->info.max))
        return fail_range(row, value, err);
    *(double *)att_setting_spec_member(row, settings) = real;
    return ATT_OK;
}

/* Lists the choices, and suggests the one that was probably meant. */
static att_status fail_choice(const att_setting_spec *row, const char *value, size_t count,
                              att_error *err)
{
    char choices[MAX_CHOICES_LENGTH] = "", quoted[ATT_QUOTED_SIZE];
    size_t used = 0;
    for (size_t i = 0; i < count && used < sizeof choices - 40; i++) {
        const char *before = i == 0 ? "" : i + 1 == count ? " or " : ", ";
        used += strlen(strcpy(choices + used, before));
        used += strlen(strncat(choices + used, row->info.choices[i], 30));
    }
    const char *nearest = att_setting_suggest_value(&row->info, value);
    return att_fail(err, ATT_BAD_INPUT, NULL, "%s expects %s, not '%s'%s%s%s", row->info.key,
                    choices, att_quote(quoted, value, strlen(value)),
                    nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

static att_status set_choice(const att_setting_spec *row, att_settings *settings, const char *value,
                             att_error *err)
{
    int count = 0;
    for (; row->info.choices[count]; count++) {
        if (strcmp(row->info.choices[count], value) != 0)
            continue;
        *(int *)att_setting_spec_member(row, settings) = count;
        return ATT_OK;
    }
    return fail_choice(row, value, (size_t)count, err);
}

static att_status set_text(const att_setting_spec *row, att_settings *settings, const char *value,
                           att_error *err)
{
    if (*value == '\0')
        return att_fail(err, ATT_BAD_INPUT, NULL, "%s expects %s, but it is empty", row->info.key,
                        row->info.placeholder);
    if (!att_utf8_valid(value, strlen(value)))
        return att_fail(err, ATT_BAD_INPUT, NULL, "%s expects UTF-8", row->info.key);
    char *copy = att_arena_strndup(&settings->strings, value, strlen(value));
    if (!copy)
        return att_fail_memory(err);
    *(const char **)att_setting_spec_member(row, settings) = copy;
    return ATT_OK;
}

static att_status set_flag(const att_setting_spec *row, att_settings *settings, const char *value,
                           att_error *err)
{
    bool yes = strcmp(value, "yes") == 0;
    if (!yes && strcmp(value, "no") != 0) {
        char quoted[ATT_QUOTED_SIZE];
        return att_fail(err, ATT_BAD_INPUT, NULL, "%s expects yes or no, not '%s'", row->info.key,
                        att_quote(quoted, value, strlen(value)));
    }
    *(bool *)att_setting_spec_member(row, settings) = yes;
    return ATT_OK;
}

/* ---- writing */

static att_status write_integer(att_string *out, const att_setting_spec *row, const void *member)
{
    (void)row;
    return att_string_printf(out, "%lld", (long long)*(const int64_t *)member);
}

static att_status write_real(att_string *out, const att_setting_spec *row, const void *member)
{
    (void)row;
    char written[ATT_DOUBLE_STRING_SIZE];
    return att_string_puts(out, att_double_format(written, *(const double *)member));
}

static att_status write_choice(att_string *out, const att_setting_spec *row, const void *member)
{
    return att_string_puts(out, row->info.choices[*(const int *)member]);
}

static att_status write_text(att_string *out, const att_setting_spec *row, const void *member)
{
    (void)row;
    const char *text = *(const char *const *)member;
    return text ? att_string_puts(out, text) : ATT_OK;
}

static att_status write_flag(att_string *out, const att_setting_spec *row, const void *member)
{
    (void)row;
    return att_string_puts(out, *(const bool *)member ? "yes" : "no");
}

static const struct {
    att_status (*set)(const att_setting_spec *row, att_settings *settings, const char *value,
                      att_error *err);
    att_status (*write)(att_string *out, const att_setting_spec *row, const void *member);
} value_types[] = {
    [ATT_SETTING_INTEGER] = { set_integer, write_integer },
    [ATT_SETTING_REAL] = { set_real, write_real },
    [ATT_SETTING_CHOICE] = { set_choice, write_choice },
    [ATT_SETTING_TEXT] = { set_text, write_text },
    [ATT_SETTING_FLAG] = { set_flag, write_flag },
};

att_status att_setting_spec_set(const att_setting_spec *row, att_settings *settings,
                                const char *value, att_error *err)
{
    return value_types[row->info.type].set(row, settings, value, err);
}

att_status att_setting_spec_write(att_string *out, const att_setting_spec *row,
                                  const att_settings *settings)
{
    return value_types[row->info.type].write(out, row, att_setting_spec_value(row, settings));
}
