/* The plan of attend bench: which benchmarks run in which configurations. */
#include "bench.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"

/* Without patterns, benchmarks that need more seconds than this even at the limit are skipped. */
static const double max_seconds = 3;

enum { MAX_THREADS = 1024, MAX_CONFIGS = 64, WORD = 32 };

/* A pattern is a prefix of names that ends at a '/' or at their end, or a glob of a whole name or
 * of its last part. */
static bool matches(const char *pattern, const char *name)
{
    size_t length = strlen(pattern);
    const char *last = strrchr(name, '/') + 1;
    if (strncmp(name, pattern, length) == 0 && (name[length] == '\0' || name[length] == '/'))
        return true;
    return fnmatch(pattern, last, 0) == 0 || fnmatch(pattern, name, 0) == 0;
}

/* The nearest name or last part of a name, for the error message; NULL if none is near. */
static const char *nearest_name(const char *pattern)
{
    size_t count = att_bench_count(), words = 0;
    const char **known = calloc(2 * count, sizeof *known);
    for (size_t i = 0; known && i < count; i++) {
        att_bench about;
        att_bench_get(&about, i);
        known[words++] = about.name;
        known[words++] = strrchr(about.name, '/') + 1;
    }
    const char *nearest = known ? att_suggest(pattern, known, words) : NULL;
    free(known);
    return nearest;
}

static att_status no_match(const char *pattern, att_error *err)
{
    const char *nearest = nearest_name(pattern);
    if (nearest)
        return error_set(err, ATT_BAD_INPUT, "attend bench",
                         "no benchmark matches '%.100s'; did you mean %s?", pattern, nearest);
    return error_set(err, ATT_BAD_INPUT, "attend bench",
                     "no benchmark matches '%.100s'; --list prints all names", pattern);
}

att_status bench_select(size_t **chosen, size_t *count, const bench_request *request,
                        att_error *err)
{
    size_t all = att_bench_count();
    bool used[MAX_CONFIGS] = { false };
    *count = 0;
    *chosen = calloc(all, sizeof **chosen);
    if (!*chosen)
        return error_memory(err);
    if (request->pattern_count > MAX_CONFIGS)
        return error_set(err, ATT_BAD_INPUT, "attend bench", "expects at most %d patterns, not %d",
                         MAX_CONFIGS, request->pattern_count);
    for (size_t i = 0; i < all; i++) {
        att_bench about;
        att_bench_get(&about, i);
        bool wanted = request->pattern_count == 0;
        for (int p = 0; p < request->pattern_count; p++)
            if (matches(request->patterns[p], about.name))
                wanted = used[p] = true;
        if (wanted)
            (*chosen)[(*count)++] = i;
    }
    for (int p = 0; p < request->pattern_count; p++)
        if (!used[p])
            return no_match(request->patterns[p], err);
    return ATT_OK;
}

/* The next word of a list separated by commas, which may be empty; NULL at the end. */
static const char *next_word(const char **list, char word[WORD])
{
    if (!*list)
        return NULL;
    size_t length = strcspn(*list, ",");
    snprintf(word, WORD, "%.*s", (int)(length < WORD ? length : WORD - 1), *list);
    *list = (*list)[length] == ',' ? *list + length + 1 : NULL;
    return word;
}

/* The library's copy of the name outlives the list. */
static att_status find_cpu(const char **out, const char *word, att_error *err)
{
    const char *known[MAX_CONFIGS];
    char names[256] = "";
    size_t count = 0;
    for (; (known[count] = att_bench_cpu(count)); count++) {
        if (strcmp(known[count], word) == 0) {
            *out = known[count];
            return ATT_OK;
        }
        size_t length = strlen(names);
        snprintf(names + length, sizeof names - length, "%s%s", count ? ", " : "", known[count]);
    }
    return error_set(err, ATT_BAD_INPUT, "attend bench",
                     "--cpu expects all, or instruction sets of this machine (%s), not '%s'", names,
                     word);
}

typedef struct config_lists {
    const char *cpus[MAX_CONFIGS];
    int threads[MAX_CONFIGS];
    size_t cpu_count, thread_count;
} config_lists;

static att_status read_cpus(config_lists *out, const char *list, att_error *err)
{
    char word[WORD];
    if (!list || strcmp(list, "all") == 0) {
        while (list && (out->cpus[out->cpu_count] = att_bench_cpu(out->cpu_count)))
            out->cpu_count++;
        return list ? ATT_OK : find_cpu(&out->cpus[out->cpu_count++], att_cpu_name(), err);
    }
    while (next_word(&list, word) && out->cpu_count < MAX_CONFIGS) {
        att_status status = find_cpu(&out->cpus[out->cpu_count++], word, err);
        if (status != ATT_OK)
            return status;
    }
    return ATT_OK;
}

/* Default: one thread, and all. */
static att_status read_threads(config_lists *out, const char *list, att_error *err)
{
    char word[WORD];
    if (!list) {
        out->threads[out->thread_count++] = 1;
        if (att_threads_get() > 1)
            out->threads[out->thread_count++] = att_threads_get();
        return ATT_OK;
    }
    while (next_word(&list, word) && out->thread_count < MAX_CONFIGS) {
        size_t digits = strspn(word, "0123456789");
        long value = digits > 0 && digits < 6 && !word[digits] ? strtol(word, NULL, 10) : 0;
        if (value < 1 || value > MAX_THREADS)
            return error_set(err, ATT_BAD_INPUT, "attend bench",
                             "--threads expects numbers from 1 to %d, not '%s'", MAX_THREADS, word);
        out->threads[out->thread_count++] = (int)value;
    }
    return ATT_OK;
}

static att_status make_configs(bench_plan *plan, const bench_request *request, att_error *err)
{
    config_lists read = { .cpu_count = 0 };
    att_status status = read_cpus(&read, request->cpu, err);
    if (status == ATT_OK)
        status = read_threads(&read, request->threads, err);
    if (status != ATT_OK)
        return status;
    plan->configs = calloc(read.cpu_count * read.thread_count, sizeof *plan->configs);
    if (!plan->configs)
        return error_memory(err);
    for (size_t c = 0; c < read.cpu_count; c++)
        for (size_t t = 0; t < read.thread_count; t++)
            plan->configs[plan->config_count++] =
                (bench_config){ .cpu = read.cpus[c], .threads = read.threads[t] };
    return ATT_OK;
}

static att_status measure_limits(bench_plan *plan, att_error *err)
{
    for (size_t i = 0; i < plan->config_count; i++) {
        bench_config *config = &plan->configs[i];
        att_bench_options options = { config->cpu, config->threads, plan->seconds };
        for (int limit = 0; limit < ATT_LIMITS; limit++) {
            att_status status =
                att_limit_measure(&config->limits[limit], (att_limit)limit, &options, err);
            if (status != ATT_OK)
                return status;
        }
    }
    return ATT_OK;
}

/* Adds a benchmark in a configuration, unless it uses one thread only or takes too long. */
static void add_result(bench_plan *plan, const bench_config *on, size_t index, bool named)
{
    bench_result result = { .config = on, .index = index };
    att_bench_get(&result.info, index);
    double min_seconds = result.info.flops / on->limits[ATT_LIMIT_COMPUTE];
    if (result.info.one_thread && on->threads > 1)
        return;
    if (!named && min_seconds > max_seconds)
        plan->skipped_count++;
    else
        plan->results[plan->count++] = result;
}

static att_status make_results(bench_plan *plan, const bench_request *request, att_error *err)
{
    size_t *chosen = NULL, count = 0;
    att_status status = bench_select(&chosen, &count, request, err);
    if (status == ATT_OK)
        status = make_configs(plan, request, err);
    if (status == ATT_OK)
        status = measure_limits(plan, err);
    if (status == ATT_OK) {
        plan->results = calloc(count * plan->config_count, sizeof *plan->results);
        if (!plan->results)
            status = error_memory(err);
    }
    for (size_t s = 0; status == ATT_OK && s < plan->config_count; s++)
        for (size_t i = 0; i < count; i++)
            add_result(plan, &plan->configs[s], chosen[i], request->pattern_count > 0);
    free(chosen);
    return status;
}

att_status bench_plan_new(bench_plan *out, const bench_request *request, att_error *err)
{
    *out = (bench_plan){ .seconds = request->seconds };
    att_machine_get(&out->machine);
    att_status status = make_results(out, request, err);
    if (status == ATT_OK && out->count == 0)
        return error_set(err, ATT_BAD_INPUT, "attend bench",
                         "these benchmarks run on one thread only; use --threads 1");
    return status;
}

void bench_plan_free(bench_plan *plan)
{
    free(plan->configs);
    free(plan->results);
    *plan = (bench_plan){ 0 };
}
