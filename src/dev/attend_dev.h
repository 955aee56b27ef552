/* Interface for developers of attend: benchmarks, the gradient check and the self-test. It is not
 * installed, and the shared library does not export its functions. The program includes it for
 * `attend bench`, `attend gradcheck` and `attend selftest` only (scripts/check-layers names the
 * files) and links the static library. */
#ifndef ATT_DEV_ATTEND_DEV_H
#define ATT_DEV_ATTEND_DEV_H

#include "attend.h"

/* ---- machine */

typedef struct att_machine_info {
    char processor[64]; /* model name, as the processor reports it */
    int cores;          /* cores that this process may use */
    int64_t cache[3];   /* bytes of the level 1, 2 and 3 data caches; 0: unknown */
    int64_t memory;     /* bytes of main memory; 0: unknown */
} att_machine_info;

void att_machine_get(att_machine_info *out);

/* ---- benchmarks */

/* A limit of the machine that bounds the speed of a benchmark (roofline). */
typedef enum att_limit {
    ATT_LIMIT_COMPUTE, /* fused multiply-adds on registers alone, in operations per second */
    ATT_LIMIT_MEMORY,  /* reading an array far larger than the caches, in bytes per second */
    ATT_LIMIT_CACHE,   /* y += a x in the level 1 cache, in bytes per second read and written */
} att_limit;
enum { ATT_LIMITS = ATT_LIMIT_CACHE + 1 };

/* "compute", "memory", "cache"; NULL past the last. */
const char *att_limit_name(att_limit limit);

/* The instruction sets that can be measured on this machine, scalar first; NULL past the last. */
const char *att_bench_cpu(size_t index);

/* A benchmark and the work of one call. */
typedef struct att_bench {
    const char *name; /* "attention/forward/1024", "kernel/exp" */
    const char *help; /* the shape in words */
    att_limit limit;  /* the limit that applies */
    double flops;     /* multiplications and additions; 0 where they are not counted */
    double bytes;     /* bytes read and written */
    double elements;  /* elements of the output */
    bool one_thread;  /* never uses more than one thread */
} att_bench;

size_t att_bench_count(void);

/* Benchmark `index`, from 0; its strings are static. */
void att_bench_get(att_bench *out, size_t index);

typedef struct att_bench_options {
    const char *cpu; /* "scalar", "avx2", "avx512" or "neon"; NULL: the instruction set in use */
    int threads;     /* 0: the number in use */
    double seconds;  /* time to measure for; 0: 0.1. At least one call is made */
} att_bench_options;

/* Seconds per call. */
typedef struct att_bench_times {
    double best;
    double median;
    int64_t calls; /* calls measured */
} att_bench_times;

/* Measures one benchmark, or one limit. Meanwhile the instruction set and the number of threads of
 * `options` (may be NULL) apply to the whole process; the previous values are restored at the end.
 */
att_status att_bench_run(att_bench_times *out, size_t index, const att_bench_options *options,
                         att_error *err);
att_status att_limit_measure(double *out, att_limit limit, const att_bench_options *options,
                             att_error *err);

/* ---- gradient check */

/* Each operation on the tape has a forward and a backward in float, a reference formula in double
 * precision, and samples: shapes and options to test, unusual ones among them. A check compares, on
 * one sample, the forward with the formula and the backward with central differences of the
 * formula. */
typedef struct att_gradcheck {
    const char *op;
    const char *sample;
    bool passed;
    double forward_error, forward_bound;   /* relative to the largest entry, or to 1 if larger */
    double backward_error, backward_bound; /* the largest over all inputs */
    int input;                             /* the input with that gradient, from 0 */
} att_gradcheck;

/* Operations are numbered from 0; a name is NULL past the last. */
int att_gradcheck_count(void);
const char *att_gradcheck_name(int op);
int att_gradcheck_samples(int op);

/* Checks an operation on one of its samples. */
att_status att_gradcheck_run(att_gradcheck *out, int op, int sample, att_error *err);

/* ---- self-test */

enum { ATT_DIGEST_SIZE = 65 }; /* SHA-256 as lower-case hexadecimal digits, and the end */

/* An item of the self-test: what this build computes on this machine, as one digest, and the digest
 * that was published with this version. Kernels, attention and products run on every instruction
 * set of the machine; where one differs, its digest is reported. */
typedef struct att_selftest {
    const char *name, *help;
    char digest[ATT_DIGEST_SIZE];
    char expected[ATT_DIGEST_SIZE]; /* "" where nothing was published */
    bool passed;
    char difference[80]; /* the first part that differs: "tanh on avx2"; "" where none does */
} att_selftest;

size_t att_selftest_count(void);
/* Sets the name and the help of item `index`, from 0. */
void att_selftest_get(att_selftest *out, size_t index);
att_status att_selftest_run(att_selftest *out, size_t index, att_error *err);

/* The SHA-256 of some bytes: of the digests of all items. */
void att_selftest_digest(char out[ATT_DIGEST_SIZE], const void *bytes, size_t length);

/* Appends the rows of src/selftest/digests.inc for an item, as this machine computes them. */
att_status att_selftest_record(att_string *out, size_t index, att_error *err);

#endif
