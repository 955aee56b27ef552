/* Confidence intervals of a metric by bootstrap resampling of lines (Efron, "Bootstrap methods:
 * another look at the jackknife", 1979; Koehn, "Statistical significance tests for machine
 * translation evaluation", 2004). */
#ifndef ATT_METRICS_BOOTSTRAP_H
#define ATT_METRICS_BOOTSTRAP_H

#include "attend.h"

enum { ATT_BOOTSTRAP_MAX_STATS = 24 };

/* The statistics of every line, and the score of their sums. */
typedef struct att_bootstrap {
    const double *stats; /* [lines, stat_count] */
    size_t lines;
    size_t stat_count; /* at most ATT_BOOTSTRAP_MAX_STATS */
    double (*score)(const double *sums);
} att_bootstrap;

/* The interval that holds the middle 95 % of the scores of `resamples` resamples; NaN if there are
 * none. Which lines are drawn depends only on the seed and the number of lines, so all metrics of a
 * test set are computed on the same resamples. */
att_status att_bootstrap_interval(att_interval *out, const att_bootstrap *from, int64_t resamples,
                                  uint64_t seed, att_error *err);

#endif
