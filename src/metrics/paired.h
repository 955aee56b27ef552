/* Paired significance tests of two systems on the same lines, as sacreBLEU defines them: bootstrap
 * resampling (Koehn 2004, "Statistical significance tests for machine translation evaluation") and
 * approximate randomization (Riezler and Maxwell 2005, "On some pitfalls in automatic evaluation
 * and significance testing for MT"). */
#ifndef ATT_METRICS_PAIRED_H
#define ATT_METRICS_PAIRED_H

#include "attend.h"

enum { ATT_PAIRED_BASELINE, ATT_PAIRED_SYSTEM, ATT_PAIRED_SYSTEMS };

/* A metric of both systems: a function of sums over lines. */
typedef struct att_paired {
    size_t lines, sum_count;
    const void *systems[ATT_PAIRED_SYSTEMS]; /* what `add` reads */
    /* Adds a line of a system to sums [sum_count]. */
    void (*add)(double *sums, size_t sum_count, const void *system, size_t line);
    double (*score)(const double *sums, size_t sum_count, const void *context);
    const void *context; /* of `score`; may be NULL */
} att_paired;

typedef struct att_paired_result {
    double score[ATT_PAIRED_SYSTEMS];
    double mean[ATT_PAIRED_SYSTEMS];   /* of the scores of the bootstrap resamples */
    double margin[ATT_PAIRED_SYSTEMS]; /* half the width of the interval of 95 % of them */
    double bootstrap_p, randomization_p;
} att_paired_result;

/* Runs both tests: the bootstrap with `resamples` resamples (the same as those of
 * att_bootstrap_interval() under the same seed), the randomization with ATT_PAIRED_TRIALS times as
 * many trials. The p-value is (c + 1) / (n + 1), where c of n differences are greater than the
 * observed one: by the bootstrap, absolute differences less their mean; by the randomization,
 * absolute differences of two systems that exchanged a random half of their lines. `resamples` is
 * at least 1. */
enum { ATT_PAIRED_TRIALS = 10 };
att_status att_paired_test(att_paired_result *out, const att_paired *from, int64_t resamples,
                           uint64_t seed, att_error *err);

/* An `add` for statistics in an array [lines, sum_count]. */
void att_paired_add_stats(double *sums, size_t sum_count, const void *system, size_t line);

#endif
