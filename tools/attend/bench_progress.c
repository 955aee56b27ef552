/* How far attend bench is; see bench.h. */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#include "output.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void bench_progress_begin(void)
{
    output_progress("measuring what the machine can do at best");
}

/* A guess: the time given to a measurement, or a few calls at half the limit. */
static double expected(const bench_plan *plan, const bench_result *result)
{
    double at_best = result->info.flops / result->config->limits[ATT_LIMIT_COMPUTE];
    return fmax(plan->seconds, 4 * at_best);
}

bench_progress bench_progress_new(const bench_plan *plan)
{
    bench_progress progress = { .begin = now() };
    for (size_t i = 0; i < plan->count; i++)
        progress.total += expected(plan, &plan->results[i]);
    return progress;
}

/* What is left is stretched by how much longer than expected the others took. */
static double seconds_left(const bench_progress *progress)
{
    double stretch = progress->done > 0 ? (now() - progress->begin) / progress->done : 1;
    return stretch * (progress->total - progress->done);
}

void bench_progress_show(const bench_progress *progress, const bench_plan *plan)
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

void bench_progress_step(bench_progress *progress, const bench_plan *plan)
{
    progress->done += expected(plan, &plan->results[plan->measured - 1]);
}
