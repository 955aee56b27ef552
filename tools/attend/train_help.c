/* The settings as help, from their table. */
#include "train.h"

#include <string.h>

enum { COLUMN = 28, WIDTH = 100 };

/* "--key VALUE", in its column. */
static void print_key(const att_setting *row)
{
    char written[80];
    snprintf(written, sizeof written, "  --%s%s%s", row->key, row->placeholder ? " " : "",
             row->placeholder ? row->placeholder : "");
    printf("%-*s", COLUMN, written);
    if (strlen(written) >= COLUMN)
        printf("\n%*s", COLUMN, "");
}

/* Adds `word` to a line, or begins another. */
static void print_word(const char *word, int *column)
{
    int length = (int)strlen(word);
    if (*column > COLUMN && *column + 1 + length > WIDTH) {
        printf("\n%*s", COLUMN, "");
        *column = COLUMN;
    }
    if (*column > COLUMN)
        *column += printf(" ");
    *column += printf("%s", word);
}

static void print_words(const char *text, int *column)
{
    char word[128];
    while (*text) {
        size_t length = strcspn(text, " ");
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        print_word(word, column);
        text += length + (text[length] == ' ');
    }
}

/* What a setting says, the words it takes, and its default. */
static void print_help(const att_setting *row, const char *start)
{
    int column = COLUMN;
    char last[160];
    print_words(row->help, &column);
    if (row->choices)
        print_word("—", &column);
    for (int i = 0; row->choices && row->choices[i]; i++) {
        snprintf(last, sizeof last, "%s%s", row->choices[i], row->choices[i + 1] ? "," : "");
        print_word(last, &column);
    }
    if (start && *start) {
        snprintf(last, sizeof last, "[%s]", start);
        print_word(last, &column);
    }
    putchar('\n');
}

static void print_setting(const att_setting *row, const att_settings *defaults)
{
    att_string start = { 0 };
    print_key(row);
    bool known = att_settings_get(&start, defaults, row->key, NULL) == ATT_OK;
    print_help(row, known ? start.data : NULL);
    att_string_free(&start);
}

static void print_settings(const char *task, const att_settings *settings)
{
    att_string family = { 0 };
    bool chosen = att_settings_get(&family, settings, "family", NULL) == ATT_OK &&
                  strcmp(family.data, att_setting_find("family")->choices[0]) != 0;
    const char *group = "";
    printf("\nSettings, with the defaults of %s%s%s in brackets.\n", task ? task : "pairs",
           chosen ? " and family " : "", chosen ? family.data : "");
    for (size_t i = 0; i < att_setting_count(); i++) {
        const att_setting *row = att_setting_get(i);
        if (strcmp(row->key, "task") == 0 || (task && !att_setting_applies(row, task)) ||
            (chosen && !att_settings_applies(settings, row)))
            continue;
        if (strcmp(row->group, group) != 0)
            printf("\n%c%s:\n", row->group[0] - 'a' + 'A', row->group + 1);
        group = row->group;
        print_setting(row, settings);
    }
    att_string_free(&family);
}

void train_print_settings(const void *about)
{
    const train_request *request = about;
    att_settings *defaults = NULL;
    if (request)
        print_settings(request->task, request->settings);
    else if (att_settings_new(&defaults, NULL, NULL) == ATT_OK)
        print_settings(NULL, defaults);
    att_settings_free(defaults);
}
