/* The option parser; see options.h. */
#include "options.h"

#include "program.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAMES = 64 };

/* Where we are in the arguments. */
typedef struct cursor {
    const struct verb *verb;
    int count;
    char **args;
    int next;
    void *settings;
} cursor;

static const option *find_long(const option *options, const char *name, size_t length)
{
    for (; options && options->name; options++)
        if (strlen(options->name) == length && memcmp(options->name, name, length) == 0)
            return options;
    return NULL;
}

static const option *find_short(const option *options, char letter)
{
    for (; options && options->name; options++)
        if (options->short_name == letter)
            return options;
    return NULL;
}

/* Tells that a word is not among those known, and the nearest if one is near. */
static parse_result unknown(const struct verb *verb, const char *what, const char *dashes,
                            const char *word, const char *const *known, size_t count)
{
    const char *nearest = att_suggest(word, known, count);
    if (nearest)
        report_usage(verb, "%s %s%s; did you mean %s%s?", what, dashes, word, dashes, nearest);
    else
        report_usage(verb, "%s %s%s", what, dashes, word);
    return PARSE_ERROR;
}

static parse_result unknown_long(const struct verb *verb, const char *name, size_t length)
{
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)(length < 60 ? length : 60), name);
    const char *known[MAX_NAMES] = { "help" };
    size_t count = 1;
    for (const option *row = verb->options; row && row->name && count < MAX_NAMES; row++)
        if (row->help)
            known[count++] = row->name;
    return unknown(verb, "unknown option", "--", word, known, count);
}

static parse_result set_numeric(cursor *at, const option *row, const char *value)
{
    char *end = NULL;
    errno = 0;
    double real = strtod(value, &end);
    bool whole = row->kind == OPTION_REAL || (real == floor(real) && !strpbrk(value, ".eExX"));
    bool plain = end != value && *end == '\0' && isfinite(real) && !strpbrk(value, " \t\n");
    if (!plain || !whole || real < row->min || real > row->max) {
        report_usage(at->verb, "--%s expects a %snumber from %.16g to %.16g, not '%s'", row->name,
                     row->kind == OPTION_INTEGER ? "whole " : "", row->min, row->max, value);
        return PARSE_ERROR;
    }
    char *member = (char *)at->settings + row->offset;
    if (row->kind == OPTION_REAL)
        *(double *)(void *)member = real;
    else
        *(long *)(void *)member = (long)real;
    return PARSE_OK;
}

static parse_result set_choice(cursor *at, const option *row, const char *value)
{
    int count = 0;
    for (; row->choices[count]; count++) {
        if (strcmp(row->choices[count], value) != 0)
            continue;
        *(int *)(void *)((char *)at->settings + row->offset) = count;
        return PARSE_OK;
    }
    const char *nearest = att_suggest(value, row->choices, (size_t)count);
    char choices[256] = "";
    for (int i = 0; i < count; i++) {
        size_t used = strlen(choices);
        snprintf(choices + used, sizeof choices - used, "%s%s", i ? ", " : "", row->choices[i]);
    }
    report_usage(at->verb, "--%s expects one of %s, not '%s'%s%s%s", row->name, choices, value,
                 nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
    return PARSE_ERROR;
}

static parse_result set_string(cursor *at, const option *row, const char *value)
{
    if (!value[0] && !row->allow_empty) {
        report_usage(at->verb, "--%s expects %s, but it is empty", row->name, row->placeholder);
        return PARSE_ERROR;
    }
    *(const char **)(void *)((char *)at->settings + row->offset) = value;
    return PARSE_OK;
}

/* Stores the value of an option; `value` is NULL where none was attached to it. */
static parse_result set(cursor *at, const option *row, const char *value)
{
    if (row->kind == OPTION_FLAG) {
        if (value) {
            report_usage(at->verb, "--%s takes no value", row->name);
            return PARSE_ERROR;
        }
        *(bool *)((char *)at->settings + row->offset) = true;
        return PARSE_OK;
    }
    if (!value && at->next < at->count)
        value = at->args[at->next++];
    if (!value) {
        report_usage(at->verb, "--%s expects %s after it", row->name, row->placeholder);
        return PARSE_ERROR;
    }
    if (row->kind == OPTION_STRING)
        return set_string(at, row, value);
    return row->kind == OPTION_CHOICE ? set_choice(at, row, value) : set_numeric(at, row, value);
}

static parse_result parse_long(cursor *at, const char *name)
{
    const char *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    if (length == 4 && memcmp(name, "help", 4) == 0)
        return PARSE_HELP;
    const option *row = find_long(at->verb->options, name, length);
    if (!row)
        return unknown_long(at->verb, name, length);
    return set(at, row, equals ? equals + 1 : NULL);
}

/* Letters may be joined (-qa); a value may follow its letter at once (-ofile). */
static parse_result parse_short(cursor *at, const char *letters)
{
    for (; *letters; letters++) {
        if (*letters == 'h')
            return PARSE_HELP;
        const option *row = find_short(at->verb->options, *letters);
        if (!row) {
            report_usage(at->verb, "unknown option -%s", letters);
            return PARSE_ERROR;
        }
        bool takes_rest = row->kind != OPTION_FLAG && letters[1];
        parse_result result = set(at, row, takes_rest ? letters + 1 : NULL);
        if (result != PARSE_OK || takes_rest)
            return result;
    }
    return PARSE_OK;
}

parse_result options_parse(const struct verb *verb, int count, char **args, void *settings,
                           int *operands)
{
    cursor at = { .verb = verb, .count = count, .args = args, .settings = settings };
    bool ended = false;
    *operands = 0;
    while (at.next < count) {
        char *arg = args[at.next++];
        parse_result result = PARSE_OK;
        if (ended || arg[0] != '-' || !arg[1])
            args[(*operands)++] = arg;
        else if (strcmp(arg, "--") == 0)
            ended = true;
        else if (arg[1] == '-')
            result = parse_long(&at, arg + 2);
        else
            result = parse_short(&at, arg + 1);
        if (result != PARSE_OK)
            return result;
    }
    return PARSE_OK;
}

static size_t size_of(option_kind kind)
{
    static const size_t sizes[] = { [OPTION_FLAG] = sizeof(bool),
                                    [OPTION_STRING] = sizeof(const char *),
                                    [OPTION_INTEGER] = sizeof(long),
                                    [OPTION_REAL] = sizeof(double),
                                    [OPTION_CHOICE] = sizeof(int) };
    return sizes[kind];
}

bool option_given(const option *row, const void *settings, const void *usual)
{
    return memcmp((const char *)settings + row->offset, (const char *)usual + row->offset,
                  size_of(row->kind)) != 0;
}

static bool is_among(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

const option *options_first_outside(const struct verb *verb, const char *const *allowed,
                                    const void *settings, const void *usual)
{
    for (const option *row = verb->options; row->name; row++)
        if (!is_among(row->name, allowed) && option_given(row, settings, usual))
            return row;
    return NULL;
}
