/* One setting's value, from text and back; see rows.h. */
#include "settings/rows.h"

#include "base/error.h"
#include "base/number.h"
#include "base/quote.h"
#include "base/text.h"
#include "base/utf8.h"

#include <string.h>

enum { LONGEST_CHOICES = 256 };

int att_row_find(const char *key)
{
    for (size_t i = 0; i < att_row_count; i++)
        if (strcmp(att_rows[i].shown.key, key) == 0)
            return (int)i;
    return -1;
}

void *att_row_member(const att_row *row, att_settings *settings)
{
    return (char *)settings + row->offset;
}

static const void *member_of(const att_row *row, const att_settings *settings)
{
    return (const char *)settings + row->offset;
}

/* ---- reading */

static att_status fail_range(const att_row *row, const char *value, att_error *err)
{
    char least[ATT_REAL_WRITTEN], most[ATT_REAL_WRITTEN], quoted[ATT_QUOTED];
    const char *kind = row->shown.kind == ATT_SETTING_NUMBER ? "whole number" : "number";
    return att_fail(err, ATT_BAD_INPUT, NULL, "%s expects a %s from %s to %s, not '%s'",
                    row->shown.key, kind, att_real_write(least, row->shown.least),
                    att_real_write(most, row->shown.most), att_quote(quoted, value, strlen(value)));
}

static att_status set_number(const att_row *row, att_settings *settings, const char *value,
                             att_error *err)
{
    int64_t whole;
    if (!att_whole_read(&whole, value) || (double)whole < row->shown.least ||
        (double)whole > row->shown.most)
        return fail_range(row, value, err);
    *(int64_t *)att_row_member(row, settings) = whole;
    return ATT_OK;
}

static att_status set_real(const att_row *row, att_settings *settings, const char *value,
                           att_error *err)
{
    double real;
    if (!att_real_read(&real, value) || !(real >= row->shown.least && real <= row->shown.most))
        return fail_range(row, value, err);
    *(double *)att_row_member(row, settings) = real;
    return ATT_OK;
}

/* Tells which words there are, and the one probably meant. */
static att_status fail_word(const att_row *row, const char *value, size_t count, att_error *err)
{
    char choices[LONGEST_CHOICES] = "", quoted[ATT_QUOTED];
    size_t used = 0;
    for (size_t i = 0; i < count && used < sizeof choices - 40; i++) {
        const char *before = i == 0 ? "" : i + 1 == count ? " or " : ", ";
        used += strlen(strcpy(choices + used, before));
        used += strlen(strncat(choices + used, row->shown.words[i], 30));
    }
    const char *nearest = att_suggest(value, row->shown.words, count);
    return att_fail(err, ATT_BAD_INPUT, NULL, "%s expects %s, not '%s'%s%s%s", row->shown.key,
                    choices, att_quote(quoted, value, strlen(value)),
                    nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

static att_status set_word(const att_row *row, att_settings *settings, const char *value,
                           att_error *err)
{
    int count = 0;
    for (; row->shown.words[count]; count++) {
        if (strcmp(row->shown.words[count], value) != 0)
            continue;
        *(int *)att_row_member(row, settings) = count;
        return ATT_OK;
    }
    return fail_word(row, value, (size_t)count, err);
}

static att_status set_text(const att_row *row, att_settings *settings, const char *value,
                           att_error *err)
{
    if (*value == '\0')
        return att_fail(err, ATT_BAD_INPUT, NULL, "%s expects %s, but it is empty", row->shown.key,
                        row->shown.takes);
    if (!att_utf8_valid(value, strlen(value)))
        return att_fail(err, ATT_BAD_INPUT, NULL, "%s expects UTF-8", row->shown.key);
    char *copy = att_arena_copy(&settings->texts, value, strlen(value));
    if (!copy)
        return att_fail_memory(err);
    *(const char **)att_row_member(row, settings) = copy;
    return ATT_OK;
}

static att_status set_flag(const att_row *row, att_settings *settings, const char *value,
                           att_error *err)
{
    bool yes = strcmp(value, "yes") == 0;
    if (!yes && strcmp(value, "no") != 0) {
        char quoted[ATT_QUOTED];
        return att_fail(err, ATT_BAD_INPUT, NULL, "%s expects yes or no, not '%s'", row->shown.key,
                        att_quote(quoted, value, strlen(value)));
    }
    *(bool *)att_row_member(row, settings) = yes;
    return ATT_OK;
}

/* ---- writing */

static att_status write_number(att_text *out, const att_row *row, const void *member)
{
    (void)row;
    return att_text_print(out, "%lld", (long long)*(const int64_t *)member);
}

static att_status write_real(att_text *out, const att_row *row, const void *member)
{
    (void)row;
    char written[ATT_REAL_WRITTEN];
    return att_text_puts(out, att_real_write(written, *(const double *)member));
}

static att_status write_word(att_text *out, const att_row *row, const void *member)
{
    return att_text_puts(out, row->shown.words[*(const int *)member]);
}

static att_status write_text(att_text *out, const att_row *row, const void *member)
{
    (void)row;
    const char *text = *(const char *const *)member;
    return text ? att_text_puts(out, text) : ATT_OK;
}

static att_status write_flag(att_text *out, const att_row *row, const void *member)
{
    (void)row;
    return att_text_puts(out, *(const bool *)member ? "yes" : "no");
}

static const struct {
    att_status (*set)(const att_row *row, att_settings *settings, const char *value,
                      att_error *err);
    att_status (*write)(att_text *out, const att_row *row, const void *member);
} kinds[] = {
    [ATT_SETTING_NUMBER] = { set_number, write_number },
    [ATT_SETTING_REAL] = { set_real, write_real },
    [ATT_SETTING_WORD] = { set_word, write_word },
    [ATT_SETTING_TEXT] = { set_text, write_text },
    [ATT_SETTING_FLAG] = { set_flag, write_flag },
};

att_status att_row_set(const att_row *row, att_settings *settings, const char *value,
                       att_error *err)
{
    return kinds[row->shown.kind].set(row, settings, value, err);
}

att_status att_row_write(att_text *out, const att_row *row, const att_settings *settings)
{
    return kinds[row->shown.kind].write(out, row, member_of(row, settings));
}
