/* What attend bench is to measure: benchmarks chosen by pattern, on the settings asked for. */
#ifndef BENCH_PLAN_H
#define BENCH_PLAN_H

#include "bench.h"

/* As given; NULL where it was not. */
typedef struct bench_request {
    const char *cpu;     /* "avx2,avx512", or "all" */
    const char *threads; /* "1,2" */
    double seconds;
    char *const *patterns; /* [pattern_count]; none: everything that does not take too long */
    int pattern_count;
} bench_request;

/* Benchmarks that match, in the order of the library; *chosen is the caller's to free. A pattern
 * that matches none is ATT_BAD_INPUT. */
att_status bench_select(size_t **chosen, size_t *count, const bench_request *wish, att_error *err);

/* Reads the wish and measures the limits of each setting. Release with bench_plan_free(), also
 * after a failure. */
att_status bench_plan_new(bench_plan *out, const bench_request *wish, att_error *err);
void bench_plan_free(bench_plan *plan);

#endif
