/* What the files of attend bench share: the plan of measurements and their results. */
#ifndef BENCH_H
#define BENCH_H

#include "attend.h"
#include "dev/attend_dev.h"

/* An instruction set and a number of threads, with the limits of the machine for them. */
typedef struct bench_config {
    const char *cpu;
    int threads;
    double limits[ATT_LIMITS];
} bench_config;

/* One benchmark in one configuration. */
typedef struct bench_result {
    const bench_config *config;
    size_t index;
    att_bench info;
    att_bench_times times; /* zeros until it is measured */
} bench_result;

typedef struct bench_plan {
    att_machine_info machine;
    double seconds; /* for each measurement */
    bench_config *configs;
    size_t config_count;
    bench_result *results; /* [count], grouped by configuration */
    size_t count;
    size_t measured;      /* results measured so far, from the first */
    size_t skipped_count; /* benchmarks that take too long unless they are named */
} bench_plan;

/* The speed of the best call as a fraction of the limit that applies. */
double bench_fraction_of_limit(const bench_result *result);

/* The command line; NULL: not given. */
typedef struct bench_request {
    const char *cpu;     /* "avx2,avx512", or "all" */
    const char *threads; /* "1,2" */
    double seconds;
    char *const *patterns; /* [pattern_count]; none: every benchmark that does not take too long */
    int pattern_count;
} bench_request;

/* The benchmarks that match, in the order of the library; release *chosen with free(). A pattern
 * without a match is ATT_BAD_INPUT. */
att_status bench_select(size_t **chosen, size_t *count, const bench_request *request,
                        att_error *err);

/* Makes the plan and measures the limits of each configuration. Release with bench_plan_free(),
 * also on failure. */
att_status bench_plan_new(bench_plan *out, const bench_request *request, att_error *err);
void bench_plan_free(bench_plan *plan);

/* The table, from top to bottom. Each call writes whole lines. */
typedef struct bench_table {
    int name_width;
    int bar_width; /* 0: no bars */
    bool ascii;
    att_color color;
} bench_table;

bench_table bench_table_new(const bench_plan *plan, bool ascii);
void bench_table_machine(const bench_plan *plan);
void bench_table_config(const bench_table *table, const bench_config *config);
void bench_table_row(const bench_table *table, const bench_result *result, bool new_group);

/* Prints the names and descriptions of benchmarks. */
void bench_table_list(const size_t *chosen, size_t count);

att_status bench_json(att_string *out, const bench_plan *plan);

#endif
