/* The parallel loop on the team of threads; see parallel.h. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "base/parallel.h"

#include "base/error.h"
#include "base/progress.h"
#include "base/thread_pool.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_int threads; /* 0: not yet decided */

static int clamp_threads(int count)
{
    return count < 1 ? 1 : count > ATT_MAX_THREADS ? ATT_MAX_THREADS : count;
}

/* The processors that this process may use. */
static int available_cpus(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

att_status att_threads_parse(int *out, const char *requested, att_error *err)
{
    *out = 0;
    if (!requested || !*requested)
        return ATT_OK;
    size_t digits = strspn(requested, "0123456789");
    if (requested[digits] != '\0' || strspn(requested, "0") == digits)
        return att_fail(err, ATT_BAD_INPUT, "ATTEND_THREADS",
                        "'%s' is no number of threads, expected 1 or more", requested);
    *out = digits > 4 ? ATT_MAX_THREADS : clamp_threads(atoi(requested));
    return ATT_OK;
}

void att_threads_set(int count)
{
    atomic_store(&threads, clamp_threads(count > 0 ? count : available_cpus()));
}

int att_threads_get(void)
{
    int count = atomic_load(&threads);
    if (count > 0)
        return count;
    (void)att_threads_parse(&count, getenv("ATTEND_THREADS"), NULL);
    att_threads_set(count);
    return atomic_load(&threads);
}

/* A loop to share out: `count` things, `grain` at a time. */
typedef struct parallel_loop {
    int64_t count, grain;
    void (*body)(void *context, int64_t begin, int64_t end);
    void *context;
} parallel_loop;

/* Ranges are handed out one by one, because they seldom cost the same: the last rows of a causal
 * mask see the most keys. */
static void run_range(void *context, int64_t index)
{
    const parallel_loop *w = context;
    int64_t begin = index * w->grain;
    w->body(w->context, begin, w->count - begin > w->grain ? begin + w->grain : w->count);
    att_progress_poll(); /* does something on the calling thread alone */
}

void att_parallel_for(int64_t count, int64_t grain,
                      void (*body)(void *context, int64_t begin, int64_t end), void *context)
{
    if (count <= 0)
        return;
    parallel_loop w = { count, grain < 1 ? 1 : grain, body, context };
    int64_t ranges = (count - 1) / w.grain + 1;
    int threads_wanted = att_threads_get();
    if (threads_wanted > ranges)
        threads_wanted = (int)ranges;
    if (threads_wanted > 1 && att_thread_pool_run(ranges, threads_wanted, run_range, &w))
        return;
    for (int64_t i = 0; i < ranges; i++)
        run_range(&w, i);
}
