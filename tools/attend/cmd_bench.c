/* attend bench: the speed of kernels and layers on this machine, against its limits. */
#include "program.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "output.h"
#include "signals.h"

typedef struct settings {
    const char *cpu;
    const char *threads;
    double seconds; /* 0: not given */
    bool quick;
    bool json;
    bool list;
    bool ascii;
} settings;

static const double default_seconds = 0.15, quick_seconds = 0.02;

const char bench_details[] =
    "Measures the limits of this machine: fused multiply-adds, memory reads and L1 cache moves. "
    "Then measures attention, matrix products, RNN layers, convolutions and every kernel, and "
    "prints the best and the median time of each, and its fraction of the limit that applies.\n"
    "\n"
    "PATTERN selects benchmarks: a name (kernel/exp), a prefix of names (attention/forward), the "
    "last part of a name (exp), or a glob ('*/1024'). Without PATTERN, all benchmarks run except "
    "those that take seconds per call. Ctrl-C ends the run after the current benchmark.\n";

#define ROW(NAME, TYPE, MEMBER, PLACEHOLDER, HELP, ...)                                            \
    OPTION_ROW(settings, NAME, 0, TYPE, MEMBER, PLACEHOLDER, HELP, ##__VA_ARGS__)

const option bench_options[] = {
    ROW("cpu", STRING, cpu, "SETS",
        "instruction sets: scalar,avx2,avx512,neon or all (default: the best available)"),
    ROW("threads", STRING, threads, "LIST", "thread counts, for example 1,2 (default: 1 and all)"),
    ROW("time", REAL, seconds, "S", "seconds per benchmark (default 0.15)", .min = 0.001,
        .max = 1000),
    ROW("quick", FLAG, quick, NULL, "0.02 seconds per benchmark"),
    ROW("json", FLAG, json, NULL, "print JSON, including a description of the machine"),
    ROW("list", FLAG, list, NULL, "list the benchmarks and exit"),
    ROW("ascii", FLAG, ascii, NULL, "use only ASCII characters"),
    { 0 },
};

static const char *conflict(const settings *set)
{
    if (set->quick && set->seconds > 0)
        return "--quick and --time exclude each other";
    if (set->list && (set->json || set->quick || set->seconds > 0 || set->cpu || set->threads))
        return "--list takes no other options";
    if (set->json && set->ascii)
        return "--ascii is for the table, not for --json";
    return NULL;
}

/* ---- progress on standard error */

typedef struct bench_progress {
    double start;
    double done;  /* seconds expected for the measured benchmarks, */
    double total; /* and for all */
} bench_progress;

/* Estimate: the time given to a measurement, or a few calls at half the limit. */
static double expected(const bench_plan *plan, const bench_result *result)
{
    double min_seconds = result->info.flops / result->config->limits[ATT_LIMIT_COMPUTE];
    return fmax(plan->seconds, 4 * min_seconds);
}

static bench_progress progress_new(const bench_plan *plan)
{
    bench_progress progress = { .start = output_seconds() };
    for (size_t i = 0; i < plan->count; i++)
        progress.total += expected(plan, &plan->results[i]);
    return progress;
}

/* The estimate of the rest, scaled by how much longer than estimated the others took. */
static double seconds_left(const bench_progress *progress)
{
    double factor = progress->done > 0 ? (output_seconds() - progress->start) / progress->done : 1;
    return factor * (progress->total - progress->done);
}

static void progress_show(const bench_progress *progress, const bench_plan *plan)
{
    if (plan->measured == plan->count)
        return;
    const bench_result *next = &plan->results[plan->measured];
    char text[160];
    snprintf(text, sizeof text, "%zu of %zu, %.0f s left: %s on %s, %d thread%s",
             plan->measured + 1, plan->count, ceil(seconds_left(progress)), next->info.name,
             next->config->cpu, next->config->threads, next->config->threads == 1 ? "" : "s");
    output_progress(text);
}

static void progress_step(bench_progress *progress, const bench_plan *plan)
{
    progress->done += expected(plan, &plan->results[plan->measured - 1]);
}

/* ---- measuring */

/* Flushes a row. If the reader has closed its end, measuring can stop. */
static att_status flush_row(bool *gone, att_error *err)
{
    errno = 0;
    att_status status = output_flush(err);
    *gone = errno == EPIPE;
    return status;
}

/* Whether a heading, or an empty line, comes before this row. */
static bool is_new_config(const bench_plan *plan, size_t i)
{
    return i == 0 || plan->results[i].config != plan->results[i - 1].config;
}

static bool is_new_group(const bench_plan *plan, size_t i)
{
    const char *name = plan->results[i].info.name;
    return is_new_config(plan, i) ||
           strncmp(name, plan->results[i - 1].info.name, strcspn(name, "/") + 1) != 0;
}

static void print_row(const bench_table *table, const bench_plan *plan, size_t i)
{
    if (is_new_config(plan, i))
        bench_table_config(table, plan->results[i].config);
    bench_table_row(table, &plan->results[i], is_new_group(plan, i) && !is_new_config(plan, i));
}

/* Runs the benchmarks in order, and prints each row if there is a table. */
static att_status measure(bench_plan *plan, const bench_table *table, att_error *err)
{
    bench_progress progress = progress_new(plan);
    att_status status = ATT_OK;
    bool gone = false;
    while (plan->measured < plan->count && !signals_caught() && !gone && status == ATT_OK) {
        bench_result *next = &plan->results[plan->measured];
        att_bench_options options = { next->config->cpu, next->config->threads, plan->seconds };
        progress_show(&progress, plan);
        status = att_bench_run(&next->times, next->index, &options, err);
        output_progress_clear();
        if (status != ATT_OK)
            break;
        plan->measured++;
        progress_step(&progress, plan);
        if (table) {
            print_row(table, plan, plan->measured - 1);
            status = flush_row(&gone, err);
        }
    }
    return status;
}

static att_status write_json(const bench_plan *plan, att_error *err)
{
    att_string text = { 0 };
    att_status status = bench_json(&text, plan);
    status = status == ATT_OK ? output_stdout(text.data, text.length, err) : error_memory(err);
    att_string_free(&text);
    return status;
}

/* A speed above the limit means that other work ran while the limit was measured. */
static bool exceeds_limit(const bench_plan *plan)
{
    for (size_t i = 0; i < plan->measured; i++)
        if (plan->results[i].info.limit == ATT_LIMIT_COMPUTE &&
            bench_fraction_of_limit(&plan->results[i]) > 1.1)
            return true;
    return false;
}

static void print_warnings(const bench_plan *plan)
{
    if (exceeds_limit(plan))
        fprintf(stderr,
                "attend bench: some speeds exceed the measured limits, so the machine was busy; "
                "measure again when it is idle\n");
    if (signals_caught())
        fprintf(stderr, "attend bench: interrupted, %zu of %zu measured\n", plan->measured,
                plan->count);
    else if (plan->skipped_count > 0)
        fprintf(stderr,
                "attend bench: skipped %zu benchmarks that take seconds per call; name them to "
                "run them\n",
                plan->skipped_count);
}

static exit_code run(const settings *set, const bench_request *request)
{
    att_error err = { 0 };
    bench_plan plan;
    signals_catch();
    output_progress("measuring the limits of the machine");
    att_status status = bench_plan_new(&plan, request, &err);
    output_progress_clear();
    if (status == ATT_OK && set->json) {
        status = measure(&plan, NULL, &err);
        if (status == ATT_OK)
            status = write_json(&plan, &err);
    } else if (status == ATT_OK) {
        bench_table table = bench_table_new(&plan, set->ascii);
        bench_table_machine(&plan);
        status = measure(&plan, &table, &err);
    }
    if (status == ATT_OK)
        print_warnings(&plan);
    bench_plan_free(&plan);
    return status == ATT_OK ? EXIT_DONE : report(status, &err);
}

static exit_code list(const bench_request *request)
{
    att_error err = { 0 };
    size_t *chosen = NULL, count = 0;
    att_status status = bench_select(&chosen, &count, request, &err);
    if (status == ATT_OK) {
        bench_table_list(chosen, count);
        status = output_flush(&err);
    }
    free(chosen);
    return status == ATT_OK ? EXIT_DONE : report(status, &err);
}

exit_code bench_run(const struct verb *verb, int count, char **args)
{
    settings set = { 0 };
    int operands = 0;
    exit_code code;
    if (!options_parse(&code, verb, count, args, &set, &operands))
        return code;
    const char *wrong = conflict(&set);
    if (wrong)
        return report_usage(verb, "%s", wrong);
    double seconds = set.quick ? quick_seconds : set.seconds > 0 ? set.seconds : default_seconds;
    const bench_request request = { set.cpu, set.threads, seconds, args, operands };
    if (set.list)
        return list(&request);
    code = run(&set, &request);
    signals_raise();
    return code;
}
