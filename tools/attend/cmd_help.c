/* attend help: the list of verbs, or one verb with its options, printed from the tables. Text is
 * wrapped to the terminal; in a pipe to 80 columns. */
#include "program.h"

#include <stdio.h>
#include <string.h>

#include "output.h"

enum { HELP_COLUMN = 30, MIN_WIDTH = 60, PIPE_WIDTH = 80, MAX_WIDTH = 100 };

/* ---- wrapped text */

typedef struct wrapper {
    int indent; /* of every line but the first */
    int width;
    int column;
    bool space; /* a space is due before the next word */
} wrapper;

static int help_width(void)
{
    int width = output_width();
    if (width == 0)
        return PIPE_WIDTH;
    return width < MIN_WIDTH ? MIN_WIDTH : width > MAX_WIDTH ? MAX_WIDTH : width;
}

/* Characters of UTF-8 text; those in help are one column wide each. */
static int text_width(const char *text, size_t length)
{
    int width = 0;
    for (size_t i = 0; i < length; i++)
        width += ((unsigned char)text[i] & 0xC0) != 0x80;
    return width;
}

static void break_line(wrapper *w)
{
    printf("\n%*s", w->indent, "");
    w->column = w->indent;
    w->space = false;
}

static void print_word(wrapper *w, const char *word, size_t length)
{
    int width = text_width(word, length);
    if (w->space && w->column + 1 + width > w->width)
        break_line(w);
    w->column += printf("%s", w->space ? " " : "");
    printf("%.*s", (int)length, word);
    w->column += width;
    w->space = true;
}

/* Words are separated by spaces. "\n" in the text stays a line break; an empty line separates
 * paragraphs. */
static void print_wrapped(wrapper *w, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, " \n");
        if (length > 0)
            print_word(w, text, length);
        text += length;
        if (*text == '\n')
            break_line(w);
        text += *text != '\0';
    }
}

/* ---- options */

/* "  -o, --output FILE", padded to the column of the help text. */
static void print_name(wrapper *w, const option *row)
{
    char name[96];
    int length = row->short_name
                     ? snprintf(name, sizeof name, "  -%c, --%s", row->short_name, row->name)
                     : snprintf(name, sizeof name, "      --%s", row->name);
    if (row->placeholder)
        length += snprintf(name + length, sizeof name - (size_t)length, " %s", row->placeholder);
    int width = text_width(name, (size_t)length);
    *w = (wrapper){ .indent = HELP_COLUMN, .width = help_width() };
    printf("%s", name);
    if (width + 2 > HELP_COLUMN)
        printf("\n%*s", HELP_COLUMN, "");
    else
        printf("%*s", HELP_COLUMN - width, "");
    w->column = HELP_COLUMN;
}

/* "(a, b or c; default a)" after the help of a setting. */
static void print_setting_values(wrapper *w, const option *row, const char *value)
{
    char text[64];
    bool known = value && *value;
    for (size_t i = 0; row->choices && row->choices[i]; i++) {
        const char *after = !row->choices[i + 1]   ? known ? ";" : ")"
                            : !row->choices[i + 2] ? " or"
                                                   : ",";
        snprintf(text, sizeof text, "%s%s%s", i == 0 ? "(" : "", row->choices[i], after);
        print_wrapped(w, text);
    }
    if (known) {
        snprintf(text, sizeof text, "%sdefault %s)", row->choices ? "" : "(", value);
        print_wrapped(w, text);
    }
}

static att_status print_option(const option *row, const att_settings *settings, att_error *err)
{
    wrapper w;
    att_string value = { 0 };
    bool has_value = row->type == OPTION_SETTING;
    att_status status = has_value ? att_settings_get(&value, settings, row->name, err) : ATT_OK;
    if (status == ATT_OK) {
        print_name(&w, row);
        print_wrapped(&w, row->help);
        if (has_value)
            print_setting_values(&w, row, value.data);
        putchar('\n');
    }
    att_string_free(&value);
    return status;
}

/* A heading before the first option of each group of settings. */
static void print_group(const option *row, const char **group)
{
    const char *next = row->type == OPTION_SETTING ? row->setting->group : "options";
    if (*group && strcmp(*group, next) == 0)
        return;
    printf("\n%c%s:\n", next[0] - 'a' + 'A', next + 1);
    *group = next;
}

static att_status print_options(const struct verb *verb, const att_settings *settings,
                                bool used_only, att_error *err)
{
    option row;
    const char *group = NULL;
    att_status status = ATT_OK;
    for (size_t i = 0; status == ATT_OK && option_get(&row, verb, i); i++) {
        if (row.setting && used_only && !att_settings_applies(settings, row.setting))
            continue;
        print_group(&row, &group);
        status = print_option(&row, settings, err);
    }
    return status;
}

static void print_paragraphs(const char *text)
{
    wrapper w = { .width = help_width() };
    print_wrapped(&w, text);
}

/* Flushes; reports the error of `status`, or that of flushing. */
static exit_code finish(att_status status, att_error *err)
{
    att_error other = { 0 };
    att_status flushed = output_flush(status == ATT_OK ? err : &other);
    if (status == ATT_OK)
        status = flushed;
    return status == ATT_OK ? EXIT_DONE : report(status, err);
}

exit_code help_verb(const struct verb *verb, const att_settings *settings, bool used_only)
{
    att_error err = { 0 };
    att_settings *defaults = NULL;
    att_status status = ATT_OK;
    if (!settings && verb->takes_settings)
        status = att_settings_new(&defaults, NULL, &err);
    if (status != ATT_OK)
        return report(status, &err);
    printf("Usage: attend %s%s%s%s\n\n", verb->name, verb->options ? " [options]" : "",
           verb->operands[0] ? " " : "", verb->operands);
    print_paragraphs(verb->details);
    status = print_options(verb, settings ? settings : defaults, used_only, &err);
    if (status == ATT_OK && verb->print_extra_help)
        verb->print_extra_help();
    att_settings_free(defaults);
    return finish(status, &err);
}

exit_code help_program(void)
{
    att_error err = { 0 };
    printf("attend: attention in C, from worked examples to trained models\n\n"
           "Usage: attend VERB [options] …\n\nVerbs:\n");
    for (const struct verb *row = verbs; row->name; row++) {
        wrapper w = { .indent = 13, .width = help_width(), .column = 13 };
        printf("  %-10s ", row->name);
        print_wrapped(&w, row->help);
        putchar('\n');
    }
    printf("\n");
    print_paragraphs("'attend help VERB' prints the help of a verb, 'attend --version' the "
                     "version.\n\n"
                     "Exit codes: 0 success; 1 an expected value or a check failed; 2 bad usage or "
                     "bad input; 3 out of memory or a system error; 4 training was stopped by a "
                     "signal, saved a checkpoint and can be resumed.\n");
    return finish(ATT_OK, &err);
}

/* ---- the verb */

const char help_details[] =
    "Lists the verbs, or prints the help of VERB.\n"
    "\n"
    "With --format, prints the options of all verbs for another program: the completion of bash "
    "or zsh, or the lists of the manual page.\n";

typedef struct settings {
    int format; /* index of format_choices; -1: help as text */
} settings;

static const char *const format_choices[] = { "bash", "zsh", "mdoc", NULL };
static option_document *const format_functions[] = { completion_bash, completion_zsh,
                                                     completion_mdoc };

const option help_options[] = {
    OPTION_ROW(settings, "format", 0, CHOICE, format, "NAME",
               "print all options as bash or zsh completion, or as mdoc lists",
               .choices = format_choices),
    { 0 },
};

static exit_code print_document(option_document *document)
{
    att_error err = { 0 };
    att_string text = { 0 };
    att_status status = document(&text) == ATT_OK ? output_stdout(text.data, text.length, &err)
                                                  : error_memory(&err);
    att_string_free(&text);
    return status == ATT_OK ? EXIT_DONE : report(status, &err);
}

exit_code help_run(const struct verb *verb, int count, char **args)
{
    settings set = { .format = -1 };
    int operands = 0;
    exit_code code;
    if (!options_parse(&code, verb, count, args, &set, &operands))
        return code;
    if (operands > 1)
        return report_usage(verb, "expects one verb, not %d", operands);
    if (set.format >= 0 && operands > 0)
        return report_usage(verb, "--format prints all verbs; it takes no VERB");
    if (set.format >= 0)
        return print_document(format_functions[set.format]);
    if (operands == 0)
        return help_program();
    const struct verb *asked = verb_find(args[0]);
    return asked ? help_verb(asked, NULL, false) : unknown_verb(args[0]);
}
