/* Timing of benchmarks, their input data, and the settings of the process during a measurement. */
#include "bench/bench.h"

#include "base/clock.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/progress.h"
#include "kern/kern.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_SAMPLES = 1024 };

static const double min_sample_seconds = 50e-6; /* a thousand times longer than reading the clock */
static const double max_repeated_seconds = 2;   /* a call longer than this is made only once */

/* Measures the seconds that `times` calls take together. */
static att_status time_sample(double *out, att_bench_function *run, void *context, size_t times,
                              att_error *err)
{
    double begin = att_clock_seconds();
    ATT_TRY(run(context, times, err));
    *out = att_clock_seconds() - begin;
    return ATT_OK;
}

/* Finds the number of calls that fill a sample, and the time they took. */
static att_status calibrate_repeats(size_t *times, double *took, att_bench_function *run,
                                    void *context, double sample, att_error *err)
{
    for (*times = 1;; *times *= 2) {
        ATT_TRY(time_sample(took, run, context, *times, err));
        if (*took >= sample / 2)
            return ATT_OK;
    }
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

att_status att_bench_time(att_bench_times *out, att_bench_function *run, void *context,
                          double seconds, att_error *err)
{
    double samples[MAX_SAMPLES], first, begin = att_clock_seconds();
    double sample = fmax(min_sample_seconds, seconds / MAX_SAMPLES);
    size_t times, count = 1;
    ATT_TRY(time_sample(&first, run, context, 1, err));
    *out = (att_bench_times){ first, first, 1 };
    if (first > max_repeated_seconds)
        return ATT_OK;
    ATT_TRY(calibrate_repeats(&times, &samples[0], run, context, sample, err));
    for (; count < MAX_SAMPLES && att_clock_seconds() - begin < seconds; count++) {
        ATT_TRY(time_sample(&samples[count], run, context, times, err));
        ATT_TRY(att_progress_check(err));
    }
    qsort(samples, count, sizeof *samples, compare);
    *out = (att_bench_times){
        .best = samples[0] / (double)times,
        .median = (samples[(count - 1) / 2] + samples[count / 2]) / 2 / (double)times,
        .calls = (int64_t)(times * count),
    };
    return ATT_OK;
}

/* Uniform with variance 1, from the upper bits of a Weyl sequence after one mixing step of
 * splitmix64. */
void att_bench_fill(float *x, size_t count, uint64_t seed)
{
    const float width = 3.4641016f; /* 2 sqrt(3) */
    for (size_t i = 0; i < count; i++) {
        uint64_t z = (seed << 40) + (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        x[i] = width * ((float)(z >> 40) * 0x1p-24f - 0.5f);
    }
}

double att_bench_seconds(const att_bench_options *options)
{
    return options && options->seconds > 0 ? options->seconds : 0.1;
}

const char *att_bench_cpu(size_t index)
{
    ATT_FOR_EACH_CPU (cpu) {
        const att_kernels *kernels = att_kernels_for((att_cpu)cpu);
        if (kernels && index-- == 0)
            return kernels->name;
    }
    return NULL;
}

att_status att_bench_begin(att_bench_saved_state *before, const att_bench_options *options,
                           att_error *err)
{
    *before = (att_bench_saved_state){ (int)att_cpu_get(), att_threads_get() };
    if (options && options->cpu) {
        att_cpu cpu;
        att_status status = att_cpu_parse(&cpu, options->cpu, att_cpu_best(), err);
        if (status != ATT_OK) {
            if (err)
                snprintf(err->place, sizeof err->place, "bench");
            return status;
        }
        if (!att_kernels_for(cpu))
            return att_fail(err, ATT_UNSUPPORTED, "bench", "this build has no kernels for %s",
                            options->cpu);
        att_cpu_set(cpu);
    }
    if (options && options->threads > 0)
        att_threads_set(options->threads);
    return ATT_OK;
}

void att_bench_end(att_bench_saved_state before)
{
    att_cpu_set((att_cpu)before.cpu);
    att_threads_set(before.threads);
}
