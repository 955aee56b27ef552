/* Benchmarks and their timing. A suite is a table of benchmarks of one type: kernels (all of the
 * list in kern.h), matrix products, attention, RNN layers, convolutions. bench.c joins the suites
 * to one list. */
#ifndef ATT_BENCH_BENCH_H
#define ATT_BENCH_BENCH_H

#include "dev/attend_dev.h"

typedef struct att_bench_suite {
    size_t count;
    void (*info)(att_bench *out, size_t index);

    /* Creates the inputs. close() releases them, also where open() failed halfway. */
    att_status (*open)(void **state, size_t index, att_error *err);
    att_status (*run)(void *state, size_t times, att_error *err);
    void (*close)(void *state);
} att_bench_suite;

extern const att_bench_suite att_bench_kernels;
extern const att_bench_suite att_bench_matmul;
extern const att_bench_suite att_bench_attention;
extern const att_bench_suite att_bench_rnn;
extern const att_bench_suite att_bench_conv2d;

/* A function to be timed: does its work `times` times. */
typedef att_status att_bench_function(void *context, size_t times, att_error *err);

/* Measures `run` for about `seconds`: in samples of several calls where one call is too short for
 * the clock, and at least two calls unless one takes more than 2 seconds. The first call counts
 * only where it is the only one, because caches are cold and memory is touched for the first time.
 */
att_status att_bench_time(att_bench_times *out, att_bench_function *run, void *context,
                          double seconds, att_error *err);

/* Fills an array with numbers of mean 0 and variance 1 that depend only on the seed, as fast as
 * memory can be written. */
void att_bench_fill(float *x, size_t count, uint64_t seed);

/* The kernels of the list in kern.h, from 0; NULL past the last. */
const char *att_kernel_name(size_t index);

/* Calls a kernel once, on the instruction set in use and with rows of `row` floats, and hands over
 * what it computed: its output arrays, the number it returns, the mask it made. */
typedef void att_kernel_result(void *context, const float *values, size_t count);
att_status att_kernel_call(size_t index, size_t row, att_kernel_result *take, void *context,
                           att_error *err);

/* The measuring time of `options`, which may be NULL. */
double att_bench_seconds(const att_bench_options *options);

/* The instruction set and number of threads before a measurement, to be restored after it. */
typedef struct att_bench_saved_state {
    int cpu;
    int threads;
} att_bench_saved_state;

att_status att_bench_begin(att_bench_saved_state *before, const att_bench_options *options,
                           att_error *err);
void att_bench_end(att_bench_saved_state before);

#endif
