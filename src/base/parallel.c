/* The parallel loop over OpenMP; see parallel.h. Without OpenMP it is a plain loop. */
#include "base/parallel.h"

#include "base/error.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#else
static int omp_get_num_procs(void)
{
    return 1;
}

static int omp_in_parallel(void)
{
    return 0;
}
#endif

static atomic_int threads; /* 0: not yet decided */

static int within_limits(int count)
{
    return count < 1 ? 1 : count > ATT_MOST_THREADS ? ATT_MOST_THREADS : count;
}

att_status att_threads_choose(int *out, const char *wish, att_error *err)
{
    *out = 0;
    if (!wish || !*wish)
        return ATT_OK;
    size_t digits = strspn(wish, "0123456789");
    if (wish[digits] != '\0' || strspn(wish, "0") == digits)
        return att_fail(err, ATT_BAD_INPUT, "ATTEND_THREADS",
                        "'%s' is no number of threads, expected 1 or more", wish);
    *out = digits > 4 ? ATT_MOST_THREADS : within_limits(atoi(wish));
    return ATT_OK;
}

void att_threads_set(int count)
{
    atomic_store(&threads, within_limits(count > 0 ? count : omp_get_num_procs()));
}

int att_threads_get(void)
{
    int count = atomic_load(&threads);
    if (count > 0)
        return count;
    (void)att_threads_choose(&count, getenv("ATTEND_THREADS"), NULL);
    att_threads_set(count);
    return atomic_load(&threads);
}

/* A loop to share out: `count` things, `grain` at a time. */
typedef struct work {
    int64_t count, grain;
    void (*body)(void *context, int64_t begin, int64_t end);
    void *context;
} work;

static void run_range(const work *w, int64_t index)
{
    int64_t begin = index * w->grain;
    w->body(w->context, begin, w->count - begin > w->grain ? begin + w->grain : w->count);
}

/* Ranges are handed out one by one, because they seldom cost the same: the last rows of a causal
 * mask see the most keys. */
static void run_shared(const work *w, int64_t ranges, int team)
{
    (void)team;
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic, 1) num_threads(team)
#endif
    for (int64_t i = 0; i < ranges; i++)
        run_range(w, i);
}

void att_parallel_for(int64_t count, int64_t grain,
                      void (*body)(void *context, int64_t begin, int64_t end), void *context)
{
    if (count <= 0)
        return;
    work w = { count, grain < 1 ? 1 : grain, body, context };
    int64_t ranges = (count - 1) / w.grain + 1;
    int team = omp_in_parallel() ? 1 : att_threads_get();
    if (team > ranges)
        team = (int)ranges;
    if (team > 1) {
        run_shared(&w, ranges, team);
        return;
    }
    for (int64_t i = 0; i < ranges; i++) /* a team of one would cost half a microsecond to start */
        run_range(&w, i);
}
