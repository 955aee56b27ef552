/* The arguments of attend train: settings by their keys. */
#include "train.h"

#include <string.h>

enum { MAX_KEYS = 160, MAX_KEY_LENGTH = 64 };

typedef struct cursor {
    const struct verb *verb;
    int count;
    char **args;
    int next;
    train_request *request;
    const char *configs[16]; /* read first, whatever their place */
    size_t config_count;
} cursor;

static exit_code unknown_option(const cursor *at, const char *name)
{
    const char *known[MAX_KEYS] = { "help", "config", "quiet" };
    size_t count = 3;
    for (size_t i = 0; i < att_setting_count() && count < MAX_KEYS; i++)
        if (strcmp(att_setting_get(i)->key, "task") != 0)
            known[count++] = att_setting_get(i)->key;
    const char *nearest = att_suggest(name, known, count);
    if (nearest)
        return report_usage(at->verb, "unknown option --%s; did you mean --%s?", name, nearest);
    return report_usage(at->verb, "unknown option --%s", name);
}

/* The value after `=`, or the next argument. */
static const char *value_of(cursor *at, const char *attached)
{
    if (attached)
        return attached;
    return at->next < at->count ? at->args[at->next++] : NULL;
}

static exit_code set(cursor *at, const char *key, const char *value)
{
    att_error err = { 0 };
    att_status status = att_settings_set(at->request->settings, key, value, &err);
    if (status == ATT_OK)
        return EXIT_DONE;
    return status == ATT_BAD_INPUT ? report_usage(at->verb, "--%s", err.message)
                                   : report(status, &err);
}

static exit_code set_flag(cursor *at, const char *key, const char *attached, bool yes)
{
    if (attached && !yes)
        return report_usage(at->verb, "--no-%s takes no value", key);
    return set(at, key, attached ? attached : yes ? "yes" : "no");
}

static exit_code add_config(cursor *at, const char *path)
{
    if (!path)
        return report_usage(at->verb, "--config expects FILE after it");
    if (at->config_count == sizeof at->configs / sizeof *at->configs)
        return report_usage(at->verb, "more than %zu config files", at->config_count);
    at->configs[at->config_count++] = path;
    return EXIT_DONE;
}

/* An option of the verb itself; false where it is none. */
static bool parse_verb_option(cursor *at, const char *name, const char *attached, exit_code *code)
{
    bool flag = strcmp(name, "help") == 0 || strcmp(name, "quiet") == 0;
    *code = EXIT_DONE;
    if (strcmp(name, "config") == 0)
        *code = add_config(at, value_of(at, attached));
    else if (flag && attached)
        *code = report_usage(at->verb, "--%s takes no value", name);
    else if (strcmp(name, "help") == 0)
        at->request->help = true;
    else if (strcmp(name, "quiet") == 0)
        at->request->quiet = true;
    else
        return false;
    return true;
}

static exit_code parse_long(cursor *at, const char *text)
{
    char name[MAX_KEY_LENGTH];
    size_t length = strcspn(text, "=");
    const char *attached = text[length] ? text + length + 1 : NULL;
    exit_code code;
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1),
             text);
    if (parse_verb_option(at, name, attached, &code))
        return code;
    bool denied = strncmp(name, "no-", 3) == 0;
    const att_setting *row = att_setting_find(denied ? name + 3 : name);
    if (!row || (denied && row->type != ATT_SETTING_FLAG) || strcmp(row->key, "task") == 0)
        return unknown_option(at, name);
    if (row->type == ATT_SETTING_FLAG)
        return set_flag(at, row->key, attached, !denied);
    const char *value = value_of(at, attached);
    if (!value)
        return report_usage(at->verb, "--%s expects %s after it", row->key, row->placeholder);
    return set(at, row->key, value);
}

static exit_code parse_argument(cursor *at, const char *arg)
{
    if (arg[0] == '-' && arg[1] == '-' && arg[2])
        return parse_long(at, arg + 2);
    if (strcmp(arg, "-h") == 0)
        at->request->help = true;
    else if (strcmp(arg, "-q") == 0)
        at->request->quiet = true;
    else if (arg[0] == '-')
        return report_usage(at->verb, "unknown option %s", arg);
    else if (at->request->task)
        return report_usage(at->verb, "expects one task, not '%s' and '%s'", at->request->task,
                            arg);
    else
        at->request->task = arg;
    return EXIT_DONE;
}

static exit_code set_task(cursor *at)
{
    const char *task = at->request->task;
    att_error err = { 0 };
    att_status status = att_settings_set(at->request->settings, "task", task, &err);
    if (status == ATT_OK)
        return EXIT_DONE;
    return status == ATT_BAD_INPUT ? report_usage(at->verb, "%s", err.message)
                                   : report(status, &err);
}

static exit_code load_configs(cursor *at)
{
    for (size_t i = 0; i < at->config_count; i++) {
        att_error err = { 0 };
        att_status status = att_settings_load(at->request->settings, at->configs[i], &err);
        if (status != ATT_OK)
            return report(status, &err);
    }
    return EXIT_DONE;
}

exit_code train_parse(train_request *out, const struct verb *verb, int count, char **args)
{
    cursor at = { .verb = verb, .count = count, .args = args, .request = out };
    exit_code code = EXIT_DONE;
    while (code == EXIT_DONE && at.next < count)
        code = parse_argument(&at, args[at.next++]);
    if (code == EXIT_DONE && out->task)
        code = set_task(&at);
    if (code == EXIT_DONE && !out->help)
        code = load_configs(&at);
    return code;
}
