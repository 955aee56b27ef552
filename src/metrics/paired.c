/* Paired significance tests (paired.h), on several threads. Trials are divided into a fixed number
 * of parts, each with sums of its own, so the result does not depend on the number of threads. */
#include "metrics/paired.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/parallel.h"
#include "base/progress.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 64 };

/* The streams of the randomization: one per trial, after those of the bootstrap. */
#define RANDOMIZATION_STREAM (UINT64_C(1) << 40)

typedef struct paired_trials {
    const att_paired *from;
    uint64_t seed;
    int64_t first, count;               /* the trials of a slice: from `first` to below `count` */
    double *sums;                       /* [PARTS, systems, sum_count] */
    double *scores[ATT_PAIRED_SYSTEMS]; /* [count] */
} paired_trials;

void att_paired_add_stats(double *sums, size_t sum_count, const void *system, size_t line)
{
    const double *row = (const double *)system + line * sum_count;
    for (size_t n = 0; n < sum_count; n++)
        sums[n] += row[n];
}

/* ---- one trial: `sums` are those of the baseline and of the system */

typedef void trial_function(double *sums[ATT_PAIRED_SYSTEMS], const paired_trials *t,
                            int64_t trial);

/* Draws as many lines as there are, with replacement, the same of both systems. */
static void add_resample(double *sums[ATT_PAIRED_SYSTEMS], const paired_trials *t, int64_t trial)
{
    const att_paired *from = t->from;
    for (size_t i = 0; i < from->lines; i++) {
        double drawn = att_random_double(t->seed, (uint64_t)trial, i) * (double)from->lines;
        for (int s = 0; s < ATT_PAIRED_SYSTEMS; s++)
            from->add(sums[s], from->sum_count, from->systems[s], (size_t)drawn);
    }
}

/* Exchanges each line between the systems with probability one half. */
static void add_exchanged(double *sums[ATT_PAIRED_SYSTEMS], const paired_trials *t, int64_t trial)
{
    const att_paired *from = t->from;
    uint64_t stream = RANDOMIZATION_STREAM + (uint64_t)trial;
    for (size_t i = 0; i < from->lines; i++) {
        int exchanged = att_random_double(t->seed, stream, i) < 0.5;
        for (int s = 0; s < ATT_PAIRED_SYSTEMS; s++)
            from->add(sums[s], from->sum_count, from->systems[s ^ exchanged], i);
    }
}

static void run_part(const paired_trials *t, int64_t part, trial_function *add)
{
    size_t count = t->from->sum_count;
    double *block = t->sums + (size_t)part * ATT_PAIRED_SYSTEMS * count;
    double *sums[ATT_PAIRED_SYSTEMS] = { block, block + count };
    for (int64_t trial = t->first + part; trial < t->count; trial += PARTS) {
        memset(block, 0, ATT_PAIRED_SYSTEMS * count * sizeof *block);
        add(sums, t, trial);
        for (int s = 0; s < ATT_PAIRED_SYSTEMS; s++)
            t->scores[s][trial] = t->from->score(sums[s], count, t->from->context);
    }
}

static void run_resamples(void *context, int64_t first, int64_t end)
{
    for (int64_t part = first; part < end; part++)
        run_part(context, part, add_resample);
}

static void run_exchanges(void *context, int64_t first, int64_t end)
{
    for (int64_t part = first; part < end; part++)
        run_part(context, part, add_exchanged);
}

/* ---- results */

static void score_systems(att_paired_result *out, const paired_trials *t)
{
    const att_paired *from = t->from;
    for (int s = 0; s < ATT_PAIRED_SYSTEMS; s++) {
        memset(t->sums, 0, from->sum_count * sizeof *t->sums);
        for (size_t i = 0; i < from->lines; i++)
            from->add(t->sums, from->sum_count, from->systems[s], i);
        out->score[s] = from->score(t->sums, from->sum_count, from->context);
    }
}

/* One is added to both counts, so that the probability of a false rejection is not larger than the
 * level of the test. */
static double p_value(int64_t greater, int64_t trials)
{
    return (double)(greater + 1) / (double)(trials + 1);
}

static double bootstrap_p(const paired_trials *t, double observed)
{
    double mean = 0;
    int64_t greater = 0;
    for (int64_t i = 0; i < t->count; i++)
        mean += fabs(t->scores[1][i] - t->scores[0][i]) / (double)t->count;
    for (int64_t i = 0; i < t->count; i++)
        greater += fabs(t->scores[1][i] - t->scores[0][i]) - mean > observed;
    return p_value(greater, t->count);
}

static double randomization_p(const paired_trials *t, double observed)
{
    int64_t greater = 0;
    for (int64_t i = 0; i < t->count; i++)
        greater += fabs(t->scores[1][i] - t->scores[0][i]) > observed;
    return p_value(greater, t->count);
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Sorts the scores. */
static void find_margin(double *mean, double *margin, double *scores, int64_t count)
{
    int64_t beyond = count / 40;
    double sum = 0;
    qsort(scores, (size_t)count, sizeof *scores, by_value);
    for (int64_t i = 0; i < count; i++)
        sum += scores[i];
    *mean = sum / (double)count;
    *margin = (scores[count - 1 - beyond] - scores[beyond]) / 2;
}

/* Runs `count` trials in slices, so that a cancelled call ends soon. */
static att_status run_trials(paired_trials *t, int64_t count,
                             void (*run)(void *context, int64_t first, int64_t end), att_error *err)
{
    enum { SLICE_LINES = 1 << 20 }; /* about 10 ms */
    int64_t slice = PARTS * (1 + SLICE_LINES / PARTS / (int64_t)(t->from->lines + 1));
    for (t->first = 0; t->first < count; t->first = t->count) {
        t->count = att_min_i64(t->first + slice, count);
        att_parallel_for(PARTS, 1, run, t);
        ATT_TRY(att_progress_check(err));
    }
    return ATT_OK;
}

static att_status run_tests(att_paired_result *out, paired_trials *t, int64_t resamples,
                            att_error *err)
{
    score_systems(out, t);
    double observed = fabs(out->score[ATT_PAIRED_SYSTEM] - out->score[ATT_PAIRED_BASELINE]);
    ATT_TRY(run_trials(t, resamples, run_resamples, err));
    out->bootstrap_p = bootstrap_p(t, observed);
    for (int s = 0; s < ATT_PAIRED_SYSTEMS; s++)
        find_margin(&out->mean[s], &out->margin[s], t->scores[s], resamples);
    ATT_TRY(run_trials(t, ATT_PAIRED_TRIALS * resamples, run_exchanges, err));
    out->randomization_p = randomization_p(t, observed);
    return ATT_OK;
}

att_status att_paired_test(att_paired_result *out, const att_paired *from, int64_t resamples,
                           uint64_t seed, att_error *err)
{
    size_t trials = (size_t)resamples * ATT_PAIRED_TRIALS;
    paired_trials t = { .from = from, .seed = seed };
    t.sums = att_alloc(PARTS * ATT_PAIRED_SYSTEMS, from->sum_count * sizeof *t.sums);
    for (int s = 0; s < ATT_PAIRED_SYSTEMS; s++)
        t.scores[s] = att_alloc(trials, sizeof *t.scores[s]);
    att_status status = t.sums && t.scores[0] && t.scores[1] ? ATT_OK : att_fail_memory(err);
    if (status == ATT_OK)
        status = run_tests(out, &t, resamples, err);
    att_free(t.sums);
    for (int s = 0; s < ATT_PAIRED_SYSTEMS; s++)
        att_free(t.scores[s]);
    return status;
}
