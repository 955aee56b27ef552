/* Prints the table of settings as docs/training.md has it, from the library itself. */
#include <attend.h>

#include <stdio.h>
#include <string.h>

/* The default of a key for a task, or "" where it has none or does not concern it. */
static void default_of(char *out, size_t size, const att_setting *row, const char *task)
{
    att_settings *settings;
    att_string value = { 0 };
    out[0] = '\0';
    if (!att_setting_applies(row, task) || att_settings_new(&settings, task, NULL) != ATT_OK)
        return;
    if (att_settings_get(&value, settings, row->key, NULL) == ATT_OK && value.length > 0)
        snprintf(out, size, "`%s`", value.data);
    att_string_free(&value);
    att_settings_free(settings);
}

static void print_value(const att_setting *row)
{
    if (row->type == ATT_SETTING_FLAG)
        printf("`yes`, `no`");
    else if (row->type != ATT_SETTING_CHOICE)
        printf("%s", row->placeholder);
    else
        for (const char *const *word = row->choices; *word; word++)
            printf("%s`%s`", word == row->choices ? "" : ", ", *word);
}

/* Tasks with defaults of their own. */
static const char *const others[] = { "translate", "classify", "tag", "lm",
                                      "caption",   "shapes",   NULL };

static void print_others(const att_setting *row, const char *usual)
{
    bool first = !usual[0];
    for (size_t i = 0; others[i]; i++) {
        char other[64];
        default_of(other, sizeof other, row, others[i]);
        if (!other[0] || strcmp(usual, other) == 0)
            continue;
        printf("%s%s for `%s`", first ? "" : "; ", other, others[i]);
        first = false;
    }
}

static void print_row(const att_setting *row)
{
    char pairs[64], made[64];
    default_of(pairs, sizeof pairs, row, "pairs");
    default_of(made, sizeof made, row, "reverse");
    printf("| `%s` | ", row->key);
    print_value(row);
    printf(" | %s", pairs[0] ? pairs : made);
    if (strcmp(row->key, "task") != 0 && pairs[0] && made[0] && strcmp(pairs, made) != 0)
        printf("; %s for tasks made up", made);
    if (strcmp(row->key, "task") != 0)
        print_others(row, pairs[0] ? pairs : made);
    printf(" | ");
    for (const char *c = row->help; *c; c++) /* <TAB> must not be taken for HTML */
        printf(*c == '<' ? "&lt;" : "%c", *c);
    printf(" |\n");
}

int main(void)
{
    const char *group = "";
    for (size_t i = 0; i < att_setting_count(); i++) {
        const att_setting *row = att_setting_get(i);
        if (strcmp(group, row->group) != 0)
            printf("%s**%s**\n\n| key | value | default | |\n|---|---|---|---|\n", i ? "\n" : "",
                   row->group);
        group = row->group;
        print_row(row);
    }
    return 0;
}
