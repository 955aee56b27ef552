/* attend bench: how fast everything is on this machine, and how fast it could be. */
#include "program.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "bench_plan.h"
#include "output.h"

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
    "Measures what this machine can do at best: fused multiply-adds, reading memory, moving data\n"
    "in the first cache. Then measures attention, matrix products, recurrent layers, convolutions\n"
    "and every kernel, and tells each one's best and median time and its share of the limit that\n"
    "applies.\n"
    "\n"
    "PATTERN chooses benchmarks: a name (kernel/exp), the beginning of names (attention/forward),\n"
    "the last part of one (exp), or a glob ('*/1024'). Without one, all are measured but those "
    "that\n"
    "take seconds for one call. Ctrl-C ends the run after the benchmark at hand.\n";

#define ROW(NAME, KIND, MEMBER, TAKES, SAYS, ...)                                                  \
    {                                                                                              \
        .name = NAME, .kind = OPTION_##KIND, .offset = offsetof(settings, MEMBER),                 \
        .placeholder = TAKES, .help = SAYS, ##__VA_ARGS__                                          \
    }

const option bench_options[] = {
    ROW("cpu", STRING, cpu, "SETS",
        "instruction sets: scalar,avx2,avx512 or all (default: the best available)"),
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
        return "--quick and --time say different things";
    if (set->list && (set->json || set->quick || set->seconds > 0 || set->cpu || set->threads))
        return "--list measures nothing; it goes with patterns alone";
    if (set->json && set->ascii)
        return "--ascii is for the table";
    return NULL;
}

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    interrupted = number;
}

/* The first Ctrl-C asks for an end; a second one, while a long call runs, ends at once. */
static void catch_interrupts(void)
{
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* Writes what was printed. A reader that has gone away makes further measuring pointless. */
static att_status flush_row(bool *gone, att_error *err)
{
    errno = 0;
    att_status status = output_flush(err);
    *gone = errno == EPIPE;
    return status;
}

/* Whether a new heading, or an empty line, comes before this row. */
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

/* Measures one after the other, and prints each row where a table is wanted. */
static att_status measure(bench_plan *plan, const bench_table *table, att_error *err)
{
    bench_progress progress = bench_progress_new(plan);
    att_status status = ATT_OK;
    bool gone = false;
    while (plan->measured < plan->count && !interrupted && !gone && status == ATT_OK) {
        bench_result *next = &plan->results[plan->measured];
        att_bench_options how = { next->config->cpu, next->config->threads, plan->seconds };
        bench_progress_show(&progress, plan);
        status = att_bench_run(&next->times, next->index, &how, err);
        output_progress_clear();
        if (status != ATT_OK)
            break;
        plan->measured++;
        bench_progress_step(&progress, plan);
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

/* More than all there is can only mean that something else ran while the limit was measured. */
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
        fprintf(stderr, "attend bench: some figures exceed what the machine did at best, so it was "
                        "busy; measure again when it is not\n");
    if (interrupted)
        fprintf(stderr, "attend bench: interrupted, %zu of %zu measured\n", plan->measured,
                plan->count);
    else if (plan->skipped_count > 0)
        fprintf(stderr, "attend bench: %zu left out that take seconds; name them to measure them\n",
                plan->skipped_count);
}

static exit_code run(const settings *set, const bench_request *wish)
{
    att_error err = { 0 };
    bench_plan plan;
    catch_interrupts();
    bench_progress_begin();
    att_status status = bench_plan_new(&plan, wish, &err);
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

static exit_code list(const bench_request *wish)
{
    att_error err = { 0 };
    size_t *chosen = NULL, count = 0;
    att_status status = bench_select(&chosen, &count, wish, &err);
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
    parse_result parsed = options_parse(verb, count, args, &set, &operands);
    if (parsed != PARSE_OK)
        return parsed == PARSE_HELP ? help_verb(verb) : EXIT_BAD_INPUT;
    const char *wrong = conflict(&set);
    if (wrong)
        return report_usage(verb, "%s", wrong);
    double seconds = set.quick ? quick_seconds : set.seconds > 0 ? set.seconds : default_seconds;
    const bench_request wish = { set.cpu, set.threads, seconds, args, operands };
    if (set.list)
        return list(&wish);
    exit_code code = run(&set, &wish);
    if (interrupted)
        raise(interrupted); /* the caller learns how it ended; the handler is the default again */
    return code;
}
