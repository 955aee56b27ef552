/* What the files of attend bench share: what is to be measured, and what came out. */
#ifndef BENCH_H
#define BENCH_H

#include "attend.h"
#include "dev/attend_dev.h"

/* An instruction set and a number of threads, with what the machine can do at best on them. */
typedef struct bench_config {
    const char *cpu;
    int threads;
    double limits[ATT_LIMITS];
} bench_config;

/* One benchmark on one setting. */
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
    bench_result *results; /* those of a setting stand together */
    size_t count;
    size_t measured;      /* how many, from the first on */
    size_t skipped_count; /* that would take too long unless they are named */
} bench_plan;

/* What the best call reached of the limit that applies: 1 is all of it. */
double bench_fraction_of_limit(const bench_result *result);

/* The table, from top to bottom. Each call writes whole lines. */
typedef struct bench_table {
    int name_width;
    int bar_width; /* 0: no bars */
    bool ascii;
    att_color color;
} bench_table;

bench_table bench_table_new(const bench_plan *plan, bool ascii);
void bench_table_machine(const bench_plan *plan);
void bench_table_config(const bench_table *table, const bench_config *setting);
void bench_table_row(const bench_table *table, const bench_result *result, bool new_group);

/* The names of all benchmarks and what they are. */
void bench_table_list(const size_t *chosen, size_t count);

att_status bench_json(att_string *out, const bench_plan *plan);

/* A line on standard error, where that is a terminal, that says what is being measured and how long
 * it will go on. */
typedef struct bench_progress {
    double begin;
    double done;  /* seconds expected for what is measured, */
    double total; /* and for everything */
} bench_progress;

void bench_progress_begin(void); /* the limits come first */
bench_progress bench_progress_new(const bench_plan *plan);
void bench_progress_show(const bench_progress *progress, const bench_plan *plan);
void bench_progress_step(bench_progress *progress, const bench_plan *plan);

#endif
