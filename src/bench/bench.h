/* How benchmarks are listed and timed. A family is a table of benchmarks of one kind: kernels (all
 * of the list in kern.h), matrix products, attention, recurrent layers, convolutions. bench.c joins
 * the families to one list. */
#ifndef ATT_BENCH_BENCH_H
#define ATT_BENCH_BENCH_H

#include "dev/attend_dev.h"

typedef struct att_bench_suite {
    size_t count;
    void (*info)(att_bench *out, size_t index);

    /* Makes the inputs; what it made is released by close(), also where it failed half-way. */
    att_status (*open)(void **state, size_t index, att_error *err);
    att_status (*run)(void *state, size_t times, att_error *err);
    void (*close)(void *state);
} att_bench_suite;

extern const att_bench_suite att_bench_kernels;
extern const att_bench_suite att_bench_matmul;
extern const att_bench_suite att_bench_attention;
extern const att_bench_suite att_bench_rnn;
extern const att_bench_suite att_bench_conv2d;

/* Something to time: does its work `times` times. */
typedef att_status att_bench_function(void *context, size_t times, att_error *err);

/* Calls it until `seconds` are over, several calls to a sample where one is too short for the
 * clock, and at least twice unless one call takes seconds. The first call does not count unless it
 * is the only one: it meets cold caches and memory never touched. */
att_status att_bench_time(att_bench_times *out, att_bench_function *run, void *context,
                          double seconds, att_error *err);

/* Numbers of mean 0 and variance 1, the same for the same seed, drawn faster than memory is
 * written. */
void att_bench_fill(float *x, size_t count, uint64_t seed);

/* The time that `how` gives. */
double att_bench_seconds(const att_bench_options *options);

/* What was in use before a measurement, to be put back after it. */
typedef struct att_bench_saved_state {
    int cpu;
    int threads;
} att_bench_saved_state;

att_status att_bench_begin(att_bench_saved_state *before, const att_bench_options *options,
                           att_error *err);
void att_bench_end(att_bench_saved_state before);

#endif
