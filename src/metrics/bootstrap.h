/* How sure a figure is: the lines it was counted on drawn again and again (Efron, "Bootstrap
 * methods: another look at the jackknife", 1979; Koehn, "Statistical significance tests for machine
 * translation evaluation", 2004). */
#ifndef ATT_METRICS_BOOTSTRAP_H
#define ATT_METRICS_BOOTSTRAP_H

#include "attend.h"

enum { ATT_BOOTSTRAP_MAX_STATS = 24 };

/* What is drawn from: numbers of lines, and the figure that their sums give. */
typedef struct att_bootstrap {
    const double *stats; /* [lines, width] */
    size_t lines;
    size_t stat_count; /* at most ATT_BOOTSTRAP_MAX_STATS */
    double (*score)(const double *sums);
} att_bootstrap;

/* 95 % of the figures of `resamples` draws lie in *out; NaN where there are none.
 * The draws depend on the seed and the number of lines alone: figures of the same lines are drawn
 * alike. */
att_status att_bootstrap_interval(att_interval *out, const att_bootstrap *from, int64_t resamples,
                                  uint64_t seed, att_error *err);

#endif
