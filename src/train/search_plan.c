/* The tries of a search: which settings vary, around which values, and how long each try trains. */
#include "train/search.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/number.h"
#include "base/random.h"
#include "base/string.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The stream of the draws, under settings->seed: one index per attempt and row below. */
#define SEARCH_STREAM (UINT64_C(0x747279))

enum { MAX_ATTEMPTS = 200 };

/* ---- copies of settings */

static bool is_listed(const char *key, const char *const *keys, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

/* Settings of the search itself, and those that each try has of its own. */
static const char *const own_keys[] = { "try", "time", "out", "log", "resume" };

/* The plan of a try follows from that of the first. */
static const char *const plan_keys[] = { "epochs", "steps", "step-plan", "validate-every" };

/* New settings in which the same is given, except the plan if `unplanned`. */
static att_status copy_given(att_settings **out, const att_settings *from, bool unplanned,
                             att_error *err)
{
    const att_setting *row;
    att_status status = att_settings_new(out, att_setting_find("task")->choices[from->task], err);
    for (size_t i = 0; status == ATT_OK && (row = att_setting_get(i)) != NULL; i++) {
        att_string value = { 0 };
        if (!att_settings_is_given(from, row->key) ||
            is_listed(row->key, own_keys, ATT_COUNT(own_keys)) ||
            (unplanned && is_listed(row->key, plan_keys, ATT_COUNT(plan_keys))))
            continue;
        status = att_settings_get(&value, from, row->key, err);
        if (status == ATT_OK && value.length > 0)
            status = att_settings_set(*out, row->key, value.data, err);
        att_string_free(&value);
    }
    return status;
}

static att_status set_number(att_settings *settings, const char *key, int64_t value,
                             att_setting_origin origin, att_error *err)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, value);
    return att_settings_set_from(settings, key, text, origin, err);
}

/* ---- what varies */

/* A setting and the values around its default, by factors or by differences. */
typedef struct variation {
    const char *key;
    bool by_factor;
    double values[4]; /* of which one is drawn */
    int count;
    double min, max;
} variation;

static const variation variations[] = {
    { "hidden-size", true, { 0.5, 1, 2 }, 3, 8, 4096 },
    { "layers", false, { -1, 0, 1 }, 3, 1, 12 },
    { "dropout", false, { -0.1, 0, 0.1, 0.2 }, 4, 0, 0.6 },
    { "learning-rate", true, { 0.5, 1, 1.5, 2 }, 4, 1e-6, 1 },
    { "batch-tokens", true, { 0.5, 1, 2 }, 3, 64, 1e6 },
};

/* Sizes that follow hidden-size. */
static const char *const following_sizes[] = { "embedding-size", "ffn-size" };

static bool may_vary(const att_settings *settings, const char *key)
{
    bool tied = strcmp(key, "hidden-size") == 0 && att_settings_is_given(settings, "preset");
    bool fine_tuned =
        settings->init_from && (strcmp(key, "hidden-size") == 0 || strcmp(key, "layers") == 0);
    return !att_settings_is_given(settings, key) && !tied && !fine_tuned &&
           att_settings_applies(settings, att_setting_find(key));
}

static att_status value_of(double *out, const att_settings *settings, const char *key,
                           att_error *err)
{
    att_string text = { 0 };
    att_status status = att_settings_get(&text, settings, key, err);
    if (status == ATT_OK)
        att_double_parse(out, text.data);
    att_string_free(&text);
    return status;
}

/* A value as a user would write it: integers, sizes as multiples of 8, reals with two digits. */
static void format_value(char out[32], const variation *row, double value)
{
    double clamped = fmin(fmax(value, row->min), row->max);
    if (att_setting_find(row->key)->type == ATT_SETTING_REAL)
        snprintf(out, 32, "%.2g", clamped);
    else if (row->by_factor)
        snprintf(out, 32, "%" PRId64, att_max_i64((int64_t)(clamped / 8), 1) * 8);
    else
        snprintf(out, 32, "%" PRId64, (int64_t)clamped);
}

static att_status vary_sizes(att_search_try *one, const att_settings *given,
                             const att_settings *base, double factor, att_error *err)
{
    for (size_t i = 0; i < ATT_COUNT(following_sizes); i++) {
        const char *key = following_sizes[i];
        double size;
        if (!may_vary(given, key) || !att_settings_applies(base, att_setting_find(key)))
            continue;
        ATT_TRY(value_of(&size, base, key, err));
        int64_t scaled = att_max_i64((int64_t)(size * factor / 8), 1) * 8;
        ATT_TRY(set_number(one->settings, key, scaled, ATT_FROM_CALLER, err));
        if (att_string_printf(&one->options, " --%s %" PRId64, key, scaled) != ATT_OK)
            return att_fail_memory(err);
    }
    return ATT_OK;
}

static att_status vary(att_search_try *one, const att_settings *given, const att_settings *base,
                       const variation *row, double draw, att_error *err)
{
    double value, drawn = row->values[(int)(draw * row->count)];
    char text[32], unchanged[32];
    if (!may_vary(given, row->key) || !att_settings_applies(base, att_setting_find(row->key)))
        return ATT_OK;
    ATT_TRY(value_of(&value, base, row->key, err));
    format_value(text, row, row->by_factor ? value * drawn : value + drawn);
    format_value(unchanged, row, value);
    if (strcmp(text, unchanged) == 0)
        return ATT_OK;
    ATT_TRY(att_settings_set(one->settings, row->key, text, err));
    if (att_string_printf(&one->options, " --%s %s", row->key, text) != ATT_OK)
        return att_fail_memory(err);
    return strcmp(row->key, "hidden-size") == 0 ? vary_sizes(one, given, base, drawn, err) : ATT_OK;
}

static bool is_new(const att_search *search, size_t number)
{
    const char *options = search->tries[number].options.data;
    for (size_t i = 0; i < number; i++) {
        const char *other = search->tries[i].options.data;
        if (strcmp(other ? other : "", options ? options : "") == 0)
            return false;
    }
    return true;
}

/* A try may have lost all dropout. */
static bool is_possible(const att_settings *settings)
{
    return att_settings_check_consistency(settings, NULL) == ATT_OK;
}

/* ---- the tries */

/* `given`: by the user; `base`: with what the data and the budget chose for the first try. */
typedef struct search_base {
    const att_settings *given;
    att_settings *chosen; /* of the first try; copied for the others */
    const att_training *first;
    int64_t rounds;
} search_base;

/* The origin of the plan of a try: a budget may change it during the last round. */
static const att_setting_origin PLAN = ATT_FROM_MODEL;

/* The run of a try: as many tokens for all, so more steps with smaller batches; and rounds that end
 * with a validation. */
static att_status set_length(att_search_try *one, const search_base *base, att_error *err)
{
    const att_settings *first = base->first->settings;
    const att_training_plan *plan = &base->first->plan;
    double smaller = (double)first->batch_tokens / (double)one->settings->batch_tokens;
    if (!may_vary(base->given, "batch-tokens") || one->number == 0)
        smaller = 1;
    int64_t parts = INT64_C(1) << (base->rounds - 1);
    int64_t steps = att_max_i64((int64_t)((double)plan->total_steps * smaller), 1);
    int64_t part = att_ceil_div_i64(steps, parts);
    int64_t every =
        att_settings_is_given(base->given, "validate-every") ? base->given->validate_every : 0;
    if (every > 0)
        part = att_ceil_div_i64(part, every) * every;
    ATT_TRY(set_number(one->settings, "validate-every", every > 0 ? every : part, PLAN, err));
    one->steps = part * parts;
    ATT_TRY(set_number(one->settings, "steps", one->steps, PLAN, err));
    int64_t epoch_steps = att_max_i64((int64_t)((double)plan->epoch_steps * smaller), 1);
    return set_number(one->settings, "epochs", one->steps / epoch_steps + 2, PLAN, err);
}

static att_status make_try(att_search *search, size_t number, const search_base *base,
                           att_error *err)
{
    att_search_try *one = &search->tries[number];
    for (uint64_t attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        uint64_t stream = SEARCH_STREAM + number * MAX_ATTEMPTS + attempt;
        att_settings_free(one->settings);
        one->settings = NULL;
        one->number = number;
        one->options.length = 0;
        ATT_TRY(copy_given(&one->settings, base->chosen, true, err));
        for (size_t i = 0; number > 0 && i < ATT_COUNT(variations); i++)
            ATT_TRY(vary(one, base->given, base->first->settings, &variations[i],
                         att_random_double((uint64_t)base->given->seed, stream, i), err));
        if (!one->options.data && att_string_puts(&one->options, "") != ATT_OK)
            return att_fail_memory(err);
        one->options.data[one->options.length] = '\0';
        if (number > 0 && (!is_new(search, number) || !is_possible(one->settings)))
            continue;
        one->result.options = one->options.data + (one->options.length > 0);
        one->metric = (att_best_metric)base->first->settings->best_metric;
        return set_length(one, base, err);
    }
    return att_fail(err, ATT_BAD_INPUT, NULL,
                    "try %" PRId64 ": there are only %zu different settings to try, since the "
                    "others are given",
                    base->given->tries, number);
}

/* Settings that the budget chose become given ones of every try. */
static att_status keep_chosen(att_settings *to, const att_settings *from, att_error *err)
{
    static const char *const keys[] = { "schedule", "warmup", "hidden-size", "embedding-size",
                                        "ffn-size" };
    for (size_t i = 0; i < ATT_COUNT(keys); i++) {
        att_string value = { 0 }, before = { 0 };
        att_status status = att_settings_get(&value, from, keys[i], err);
        if (status == ATT_OK)
            status = att_settings_get(&before, to, keys[i], err);
        if (status == ATT_OK && strcmp(value.data, before.data) != 0)
            status = att_settings_set(to, keys[i], value.data, err);
        att_string_free(&value);
        att_string_free(&before);
        ATT_TRY(status);
    }
    return ATT_OK;
}

/* ---- files */

#define SUFFIX ".safetensors"

/* "m.try-3.safetensors" and "m.try-3.last.safetensors" beside the output "m.safetensors". */
static att_status name_files(att_search *search, const att_training *first, att_error *err)
{
    const char *model = att_training_model_path(first);
    size_t length = strlen(model), end = strlen(SUFFIX);
    size_t stem =
        length >= end && strcmp(model + length - end, SUFFIX) == 0 ? length - end : length;
    att_status status = att_string_puts(&search->model_path, model);
    if (status == ATT_OK)
        status = att_string_puts(&search->checkpoint_path, att_training_checkpoint_path(first));
    for (size_t i = 0; i < search->count && status == ATT_OK; i++) {
        att_search_try *one = &search->tries[i];
        status =
            att_string_printf(&one->model, "%.*s.try-%zu%s", (int)stem, model, i + 1, model + stem);
        if (status == ATT_OK)
            status = att_string_printf(&one->checkpoint, "%.*s.try-%zu.last%s", (int)stem, model,
                                       i + 1, model + stem);
    }
    if (status != ATT_OK)
        return att_fail_memory(err);
    for (size_t i = 0; i < search->count; i++)
        ATT_TRY(
            att_settings_set(search->tries[i].settings, "out", search->tries[i].model.data, err));
    return ATT_OK;
}

/* ---- the plan */

/* The first try as a run of its own: it reads the data, makes their choices, and with a budget
 * times its steps. Its part of the time is what one full run of the search may take. */
static att_status open_first(att_training **out, att_settings **settings, const att_settings *given,
                             double cost, att_error *err)
{
    double seconds;
    *out = NULL;
    ATT_TRY(copy_given(settings, given, false, err));
    if (given->out)
        ATT_TRY(att_settings_set(*settings, "out", given->out, err));
    ATT_TRY(att_settings_seconds(&seconds, given, err));
    if (seconds > 0) {
        char time[32];
        if (seconds < cost)
            return att_fail(err, ATT_BAD_INPUT, NULL, "time %s is too short for %" PRId64 " tries",
                            given->time, given->tries);
        snprintf(time, sizeof time, "%.0fs", floor(seconds / cost));
        ATT_TRY(att_settings_set(*settings, "time", time, err));
    }
    return att_training_new(out, *settings, NULL, err);
}

static att_status plan_tries(att_search *search, const search_base *base, att_error *err)
{
    search->tries = att_alloc_zero(search->count, sizeof *search->tries);
    search->ranks = att_alloc_zero(search->count, sizeof *search->ranks);
    if (!search->tries || !search->ranks)
        return att_fail_memory(err);
    for (size_t i = 0; i < search->count; i++) {
        search->ranks[i] = &search->tries[i];
        ATT_TRY(make_try(search, i, base, err));
    }
    return name_files(search, base->first, err);
}

att_status att_search_plan(att_search *search, const att_settings *settings, double cost,
                           int64_t rounds, att_error *err)
{
    att_training *first = NULL;
    att_settings *opened = NULL, *chosen = NULL;
    double seconds = 0;
    search->count = (size_t)settings->tries;
    att_status status = open_first(&first, &opened, settings, cost, err);
    if (status == ATT_OK)
        status = att_settings_seconds(&seconds, settings, err);
    if (status == ATT_OK)
        status = copy_given(&chosen, settings, true, err);
    if (status == ATT_OK && seconds > 0) {
        search->deadline = search->start + seconds;
        search->step_seconds = first->budget.step_seconds;
        search->validation_seconds = first->budget.validation_seconds;
        status = keep_chosen(chosen, opened, err);
    }
    if (status == ATT_OK && att_data_report(&search->report, &first->data) != ATT_OK)
        status = att_fail_memory(err);
    const search_base base = { settings, chosen, first, rounds };
    if (status == ATT_OK)
        status = plan_tries(search, &base, err);
    att_training_free(first);
    att_settings_free(opened);
    att_settings_free(chosen);
    return status;
}

/* ---- the command */

/* A value for a shell, in single quotes where it needs them. */
static att_status put_quoted(att_string *out, const char *value)
{
    if (*value && strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_./:,+@%=") == strlen(value))
        return att_string_puts(out, value);
    ATT_TRY(att_string_puts(out, "'"));
    for (const char *at = value; *at; at++)
        ATT_TRY(*at == '\'' ? att_string_puts(out, "'\\''") : att_string_append(out, at, 1));
    return att_string_puts(out, "'");
}

static att_status put_option(att_string *out, const att_setting *row, const char *value)
{
    if (row->type == ATT_SETTING_FLAG)
        return att_string_printf(out, " --%s%s", strcmp(value, "no") == 0 ? "no-" : "", row->key);
    ATT_TRY(att_string_printf(out, " --%s ", row->key));
    return put_quoted(out, value);
}

/* What was given, and the plan. */
static bool is_written(const att_settings *settings, const char *key)
{
    return is_listed(key, plan_keys, ATT_COUNT(plan_keys)) ||
           (att_settings_is_given(settings, key) && strcmp(key, "task") != 0 &&
            !is_listed(key, own_keys, ATT_COUNT(own_keys)));
}

att_status att_search_write_command(att_search *search, const att_settings *settings,
                                    att_error *err)
{
    const att_settings *best = search->ranks[0]->settings;
    const att_setting *row;
    att_string *out = &search->command;
    att_status status = att_string_puts(out, att_setting_find("task")->choices[best->task]);
    for (size_t i = 0; status == ATT_OK && (row = att_setting_get(i)) != NULL; i++) {
        att_string value = { 0 };
        if (!is_written(best, row->key))
            continue;
        status = att_settings_get(&value, best, row->key, err);
        if (status == ATT_OK && value.length > 0)
            status = put_option(out, row, value.data);
        att_string_free(&value);
    }
    if (status == ATT_OK && settings->out)
        status = put_option(out, att_setting_find("out"), settings->out);
    return status == ATT_OK ? ATT_OK : att_fail_memory(err);
}
