/* Bootstrap resampling of the lines of a test set, on several threads. */
#include "metrics/bootstrap.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/progress.h"
#include "base/parallel.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>

typedef struct resampling {
    const att_bootstrap *from;
    uint64_t seed;
    double *scores; /* [resamples] */
} resampling;

/* Each resample has as many lines as there are, drawn with replacement. */
static void resample(void *context, int64_t first, int64_t end)
{
    const resampling *d = context;
    const att_bootstrap *from = d->from;
    if (att_progress_cancelled())
        return; /* the calling thread claims what is left, and the check below fails */
    for (int64_t r = first; r < end; r++) {
        double sum[ATT_BOOTSTRAP_MAX_STATS] = { 0 };
        for (size_t i = 0; i < from->lines; i++) {
            double drawn = att_random_double(d->seed, (uint64_t)r, i) * (double)from->lines;
            const double *row = from->stats + (size_t)drawn * from->stat_count;
            for (size_t n = 0; n < from->stat_count; n++)
                sum[n] += row[n];
        }
        d->scores[r] = from->score(sum);
    }
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

att_status att_bootstrap_interval(att_interval *out, const att_bootstrap *from, int64_t resamples,
                                  uint64_t seed, att_error *err)
{
    *out = (att_interval){ NAN, NAN };
    if (resamples <= 0)
        return ATT_OK;
    resampling d = { from, seed, att_alloc((size_t)resamples, sizeof *d.scores) };
    if (!d.scores)
        return att_fail_memory(err);
    att_parallel_for(resamples, 1, resample, &d);
    att_status status = att_progress_check(err);
    if (status != ATT_OK) {
        att_free(d.scores);
        return status;
    }
    qsort(d.scores, (size_t)resamples, sizeof *d.scores, by_value);
    int64_t beyond = (int64_t)(0.025 * (double)resamples);
    *out = (att_interval){ d.scores[beyond], d.scores[resamples - 1 - beyond] };
    att_free(d.scores);
    return ATT_OK;
}
