/* The parallel loop, on the thread pool, and the number of threads. */
#include "base/parallel.h"

#include "base/error.h"
#include "base/minmax.h"
#include "base/progress.h"
#include "base/thread_pool.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_int threads; /* 0: not set yet */

static int clamp_threads(int count)
{
    return (int)att_clamp_i64(count, 1, ATT_MAX_THREADS);
}

att_status att_threads_parse(int *out, const char *requested, att_error *err)
{
    *out = 0;
    if (!requested || !*requested)
        return ATT_OK;
    size_t digits = strspn(requested, "0123456789");
    if (requested[digits] != '\0' || strspn(requested, "0") == digits)
        return att_fail(err, ATT_BAD_INPUT, "ATTEND_THREADS",
                        "expected a number of threads, 1 or more, found '%s'", requested);
    *out = digits > 4 ? ATT_MAX_THREADS : clamp_threads(atoi(requested));
    return ATT_OK;
}

void att_threads_set(int count)
{
    atomic_store(&threads, clamp_threads(count > 0 ? count : att_usable_cores()));
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

/* A loop over [0, count) in ranges of `grain`. */
typedef struct parallel_loop {
    int64_t count, grain;
    void (*body)(void *context, int64_t begin, int64_t end);
    void *context;
    atomic_bool *abandoned; /* by its caller, who alone is asked to stop */
} parallel_loop;

/* Threads claim ranges one by one, because the costs of ranges differ: under a causal mask the last
 * rows attend to the most keys. */
static void run_range(void *context, int64_t index)
{
    const parallel_loop *loop = context;
    int64_t begin = index * loop->grain;
    const atomic_bool *outer = att_progress_follow(loop->abandoned);
    if (!att_progress_abandoned()) {
        loop->body(loop->context, begin, begin + att_min_i64(loop->grain, loop->count - begin));
        att_progress_poll(); /* on workers it does nothing */
    }
    if (att_progress_abandoned())
        atomic_store_explicit(loop->abandoned, true, memory_order_relaxed);
    att_progress_follow(outer);
}

int64_t att_spread_unit(int64_t turn, int64_t count, int64_t workers)
{
    int64_t worker = turn % workers, each = count / workers, more = count % workers;
    return worker * each + att_min_i64(worker, more) + turn / workers;
}

void att_parallel_for(int64_t count, int64_t grain,
                      void (*body)(void *context, int64_t begin, int64_t end), void *context)
{
    if (count <= 0)
        return;
    atomic_bool abandoned = false;
    parallel_loop loop = { count, att_max_i64(grain, 1), body, context, &abandoned };
    int64_t ranges = (count - 1) / loop.grain + 1;
    if (ranges > 1 && att_thread_pool_run(ranges, att_threads_get(), run_range, &loop)) {
        att_progress_poll(); /* workers may have claimed every range, and they do not poll */
        return;
    }
    for (int64_t i = 0; i < ranges; i++)
        run_range(&loop, i);
}
