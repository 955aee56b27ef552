/* The option parser: reads the arguments of a verb by its rows, and suggests the nearest name, or
 * the one that replaced a name of attend 0.1, where an option is unknown. */
#include "options.h"

#include "program.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows */

static size_t table_count(const struct verb *verb)
{
    size_t count = 0;
    while (verb->options && verb->options[count].name)
        count++;
    return count;
}

/* The row of a training setting. The task is an operand and has no option. */
static void setting_row(option *out, const struct verb *verb, const att_setting *setting)
{
    *out = (option){ .name = setting->key,
                     .type = OPTION_SETTING,
                     .offset = verb->settings_offset,
                     .placeholder = setting->placeholder,
                     .help = setting->help,
                     .min = setting->min,
                     .max = setting->max,
                     .choices = setting->choices,
                     .setting = setting };
}

static bool is_among(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

bool option_get(option *out, const struct verb *verb, size_t index)
{
    size_t count = table_count(verb);
    if (index < count) {
        *out = verb->options[index];
        return true;
    }
    for (size_t i = 0, at = count; verb->takes_settings && i < att_setting_count(); i++) {
        const att_setting *setting = att_setting_get(i);
        bool taken = !verb->setting_keys || is_among(setting->key, verb->setting_keys);
        if (strcmp(setting->key, "task") == 0 || !taken || at++ != index)
            continue;
        setting_row(out, verb, setting);
        return true;
    }
    return false;
}

static bool find_long(option *out, const struct verb *verb, const char *name)
{
    for (size_t i = 0; option_get(out, verb, i); i++)
        if (strcmp(out->name, name) == 0)
            return true;
    return false;
}

static bool find_short(option *out, const struct verb *verb, char letter)
{
    for (size_t i = 0; option_get(out, verb, i); i++)
        if (out->short_name == letter)
            return true;
    return false;
}

/* A setting that is on or off: `--no-NAME` turns it off. */
static bool is_setting_flag(const option *row)
{
    return row->type == OPTION_SETTING && row->setting->type == ATT_SETTING_FLAG;
}

/* ---- unknown options */

/* The option name nearest to `name`; NULL if none is near, or memory is out. */
static const char *nearest_option(const struct verb *verb, const char *name)
{
    option row;
    size_t count = 0;
    while (option_get(&row, verb, count))
        count++;
    const char **known = calloc(count + 1, sizeof *known);
    if (!known)
        return NULL;
    for (size_t i = 0; option_get(&row, verb, i); i++)
        known[i] = row.name;
    known[count] = "help";
    const char *nearest = att_suggest(name, known, count + 1);
    free(known);
    return nearest;
}

/* Suggests our name of an option of attend 0.1 or of another program, or else the nearest name; of
 * `--no-NAME` also by NAME alone. */
static exit_code unknown_option(const struct verb *verb, const char *name)
{
    const char *no = "", *text = option_elsewhere(verb->name, name);
    const char *known = option_renamed(verb->name, name);
    if (!known && text)
        return report_usage(verb, "unknown option --%s; %s", name, text);
    if (!known && strncmp(name, "no-", 3) == 0) {
        known = option_renamed(verb->name, name + 3);
        known = known ? known : nearest_option(verb, name + 3);
        no = known ? "no-" : "";
    }
    known = known ? known : nearest_option(verb, name);
    if (!known)
        return report_usage(verb, "unknown option --%s", name);
    return report_usage(verb, "unknown option --%s; did you mean --%s%s?", name, no, known);
}

/* ---- values */

typedef struct parser {
    const struct verb *verb;
    int count;
    char **args;
    int next;
    void *settings;
    bool help; /* --help was given */
} parser;

static void *member(const parser *p, const option *row)
{
    return (char *)p->settings + row->offset;
}

static exit_code set_number(parser *p, const option *row, const char *value)
{
    char *end = NULL;
    errno = 0;
    double real = strtod(value, &end);
    bool whole = row->type == OPTION_REAL || (real == floor(real) && !strpbrk(value, ".eExX"));
    bool plain = end != value && *end == '\0' && isfinite(real) && !strpbrk(value, " \t\n");
    if (!plain || !whole || real < row->min || real > row->max)
        return report_usage(p->verb, "--%s expects a %snumber from %.16g to %.16g, not '%s'",
                            row->name, row->type == OPTION_INTEGER ? "whole " : "", row->min,
                            row->max, value);
    if (row->type == OPTION_REAL)
        *(double *)member(p, row) = real;
    else
        *(long *)member(p, row) = (long)real;
    return EXIT_DONE;
}

static exit_code set_choice(parser *p, const option *row, const char *value)
{
    int count = 0;
    char choices[256] = "";
    for (; row->choices[count]; count++) {
        size_t used = strlen(choices);
        if (strcmp(row->choices[count], value) == 0) {
            *(int *)member(p, row) = count;
            return EXIT_DONE;
        }
        snprintf(choices + used, sizeof choices - used, "%s%s", count ? ", " : "",
                 row->choices[count]);
    }
    const char *nearest = att_suggest(value, row->choices, (size_t)count);
    return report_usage(p->verb, "--%s expects one of %s, not '%s'%s%s%s", row->name, choices,
                        value, nearest ? "; did you mean " : "", nearest ? nearest : "",
                        nearest ? "?" : "");
}

static exit_code set_string(parser *p, const option *row, const char *value)
{
    if (!value[0] && !row->allow_empty)
        return report_usage(p->verb, "--%s expects %s, but it is empty", row->name,
                            row->placeholder);
    if (row->type == OPTION_STRING) {
        if (row->is_list && *(const char **)member(p, row))
            return report_usage(p->verb, "--%s is given twice; separate %s by commas", row->name,
                                row->placeholder);
        *(const char **)member(p, row) = value;
        return EXIT_DONE;
    }
    string_list *list = member(p, row);
    const char **items = realloc(list->items, (list->count + 1) * sizeof *items);
    att_error err = { 0 };
    if (!items)
        return report(error_memory(&err), &err);
    list->items = items;
    list->items[list->count++] = value;
    return EXIT_DONE;
}

static exit_code set_setting(parser *p, const option *row, const char *value)
{
    att_error err = { 0 };
    att_settings *settings = *(att_settings **)member(p, row);
    att_status status = att_settings_set(settings, row->name, value, &err);
    if (status == ATT_OK)
        return EXIT_DONE;
    return status == ATT_BAD_INPUT ? report_usage(p->verb, "--%s", err.message)
                                   : report(status, &err);
}

/* A flag of the verb takes no value; one of the settings may have one: --flag=no. */
static exit_code set_flag(parser *p, const option *row, const char *attached)
{
    if (is_setting_flag(row))
        return set_setting(p, row, attached ? attached : "yes");
    if (attached)
        return report_usage(p->verb, "--%s takes no value", row->name);
    *(bool *)member(p, row) = true;
    return EXIT_DONE;
}

/* Stores the value of an option; `attached` is the text after `=`, NULL if there is none. */
static exit_code set_option(parser *p, const option *row, const char *attached)
{
    if (row->type == OPTION_FLAG || is_setting_flag(row))
        return set_flag(p, row, attached);
    const char *value = attached;
    if (!value && p->next < p->count)
        value = p->args[p->next++];
    if (!value)
        return report_usage(p->verb, "--%s expects %s after it", row->name, row->placeholder);
    switch (row->type) {
    case OPTION_SETTING:
        return set_setting(p, row, value);
    case OPTION_CHOICE:
        return set_choice(p, row, value);
    case OPTION_INTEGER:
    case OPTION_REAL:
        return set_number(p, row, value);
    default:
        return set_string(p, row, value);
    }
}

/* ---- arguments */

static exit_code set_help(parser *p, const char *attached)
{
    if (attached)
        return report_usage(p->verb, "--help takes no value");
    p->help = true;
    return EXIT_DONE;
}

static exit_code parse_long(parser *p, const char *text)
{
    enum { MAX_NAME = 64 };
    char name[MAX_NAME];
    size_t length = strcspn(text, "=");
    const char *attached = text[length] ? text + length + 1 : NULL;
    option row;
    snprintf(name, sizeof name, "%.*s", (int)length, text);
    if (strcmp(name, "help") == 0)
        return set_help(p, attached);
    if (find_long(&row, p->verb, name))
        return set_option(p, &row, attached);
    bool negated =
        strncmp(name, "no-", 3) == 0 && find_long(&row, p->verb, name + 3) && is_setting_flag(&row);
    if (!negated)
        return unknown_option(p->verb, name);
    if (attached)
        return report_usage(p->verb, "--%s takes no value", name);
    return set_setting(p, &row, "no");
}

/* Letters may be joined (-qa); a value may follow its letter directly (-ofile). */
static exit_code parse_short(parser *p, const char *letters)
{
    for (; *letters; letters++) {
        option row;
        if (*letters == 'h') {
            p->help = true;
            continue;
        }
        if (!find_short(&row, p->verb, *letters))
            return report_usage(p->verb, "unknown option -%s", letters);
        bool takes_rest = row.type != OPTION_FLAG && letters[1];
        exit_code code = set_option(p, &row, takes_rest ? letters + 1 : NULL);
        if (code != EXIT_DONE || takes_rest)
            return code;
    }
    return EXIT_DONE;
}

static exit_code parse_all(parser *p, int *operands)
{
    bool ended = false;
    exit_code code = EXIT_DONE;
    *operands = 0;
    while (code == EXIT_DONE && p->next < p->count) {
        char *arg = p->args[p->next++];
        if (ended || arg[0] != '-' || !arg[1])
            p->args[(*operands)++] = arg;
        else if (strcmp(arg, "--") == 0)
            ended = true;
        else if (arg[1] == '-')
            code = parse_long(p, arg + 2);
        else
            code = parse_short(p, arg + 1);
    }
    return code;
}

bool options_parse(exit_code *code, const struct verb *verb, int count, char **args, void *settings,
                   int *operands)
{
    parser p = { .verb = verb, .count = count, .args = args, .settings = settings };
    *code = parse_all(&p, operands);
    if (*code != EXIT_DONE || !p.help)
        return *code == EXIT_DONE;
    const att_settings *chosen = NULL;
    if (verb->takes_settings)
        chosen = *(att_settings **)(void *)((char *)settings + verb->settings_offset);
    if (verb->before_help)
        *code = verb->before_help(settings, verb, *operands, args);
    if (*code == EXIT_DONE)
        *code = help_verb(verb, chosen, *operands > 0);
    return false;
}

/* ---- which options were given */

bool option_given(const option *row, const void *settings, const void *defaults)
{
    static const size_t sizes[] = {
        [OPTION_FLAG] = sizeof(bool),
        [OPTION_STRING] = sizeof(const char *),
        [OPTION_LIST] = sizeof(string_list),
        [OPTION_INTEGER] = sizeof(long),
        [OPTION_REAL] = sizeof(double),
        [OPTION_CHOICE] = sizeof(int),
        [OPTION_SETTING] = 0,
    };
    return memcmp((const char *)settings + row->offset, (const char *)defaults + row->offset,
                  sizes[row->type]) != 0;
}

const char *options_first_outside(const struct verb *verb, const char *const *allowed,
                                  const void *settings, const void *defaults)
{
    for (const option *row = verb->options; row->name; row++)
        if (!is_among(row->name, allowed) && option_given(row, settings, defaults))
            return row->name;
    return NULL;
}

const char *model_type_name(att_model_type type)
{
    static const char *const names[ATT_MODEL_TYPES] = {
        [ATT_MODEL_SEQ2SEQ] = "a seq2seq model", [ATT_MODEL_LM] = "a language model",
        [ATT_MODEL_CLASSIFIER] = "a classifier", [ATT_MODEL_CAPTION] = "a caption model",
        [ATT_MODEL_TAGGER] = "a tagger",
    };
    return names[type];
}

/* The first option given that does not apply to models of this type, one that names another way
 * before the others; NULL: all apply. */
static const option *first_inapplicable(const struct verb *verb, att_model_type type,
                                        const void *settings, const void *defaults)
{
    const option *first = NULL;
    for (const option *row = verb->options; row->name; row++) {
        bool applies = row->model_types == 0 || (row->model_types >> type & 1);
        if (!applies && option_given(row, settings, defaults) &&
            (!first || (row->instead && !first->instead)))
            first = row;
    }
    return first;
}

exit_code options_check_model_type(const struct verb *verb, att_model_type type,
                                   const void *settings, const void *defaults)
{
    const option *row = first_inapplicable(verb, type, settings, defaults);
    if (!row)
        return EXIT_DONE;
    return report_usage(verb, "--%s does not apply to %s%s%s", row->name, model_type_name(type),
                        row->instead ? ": " : "", row->instead ? row->instead : "");
}
