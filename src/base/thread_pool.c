/* The team; see team.h.
 *
 * There is one job at a time. A word holds its number and the next range to be taken; a range is
 * taken by a compare-and-exchange of that word, which fails once the job is another. So a worker
 * that wakes late may look at an old job or at one being written, but can take nothing of it: what
 * it has read counts only if the exchange succeeds. Nobody therefore has to wait for workers that
 * have taken nothing. */
#include "base/thread_pool.h"

#include "base/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

typedef void task_function(void *context, int64_t index);

/* The word: the job's number above, the next range below; RANGE_MASK there: the job is closed. */
enum { RANGE_BITS = 28 };
#define RANGE_MASK ((UINT64_C(1) << RANGE_BITS) - 1)

/* How often a worker looks for a new job before it sleeps, and the caller for the end of ranges
 * before it offers its place on the core: some tens of microseconds, as long as waking takes. */
enum { SPIN_COUNT = 1000 };

static struct thread_pool {
    _Alignas(64) _Atomic(uint64_t) ticket;
    _Alignas(64) _Atomic(int64_t) ranges_done;
    _Alignas(64) _Atomic(int64_t) ranges;
    _Atomic(int) max_workers; /* workers below this number may take part */
    _Atomic(task_function *) body;
    _Atomic(void *) context;

    pthread_mutex_t owner_lock; /* held by the thread whose job it is */
    pthread_mutex_t wake_lock;
    pthread_cond_t wake;
    _Atomic(int) sleepers;
    _Atomic(bool) quit;
    int started;
    pthread_t workers[ATT_MAX_THREADS];
} thread_pool = {
    .owner_lock = PTHREAD_MUTEX_INITIALIZER,
    .wake_lock = PTHREAD_MUTEX_INITIALIZER,
    .wake = PTHREAD_COND_INITIALIZER,
};

static _Thread_local bool in_task; /* a body runs on this thread */

static void cpu_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* Takes the next range of the job whose number is that of `seen`; -1 where none is left. */
static int64_t claim_range(uint64_t seen)
{
    uint64_t word = atomic_load(&thread_pool.ticket);
    for (;;) {
        int64_t index = (int64_t)(word & RANGE_MASK);
        if (word >> RANGE_BITS != seen >> RANGE_BITS || index >= atomic_load(&thread_pool.ranges))
            return -1;
        if (atomic_compare_exchange_weak(&thread_pool.ticket, &word, word + 1))
            return index;
    }
}

/* Works on the job of `seen` as long as there are ranges. */
static void run_ranges(uint64_t seen)
{
    task_function *body = atomic_load(&thread_pool.body);
    void *context = atomic_load(&thread_pool.context);
    for (int64_t index; (index = claim_range(seen)) >= 0;) {
        body(context, index);
        atomic_fetch_add(&thread_pool.ranges_done, 1);
    }
}

/* ---- workers */

static uint64_t job_number(void)
{
    return atomic_load(&thread_pool.ticket) >> RANGE_BITS;
}

/* Waits for a job other than number `last`: looks for a while, then sleeps. */
static void wait_for_job(uint64_t last)
{
    for (int i = 0; i < SPIN_COUNT; i++, cpu_pause())
        if (job_number() != last || atomic_load(&thread_pool.quit))
            return;
    pthread_mutex_lock(&thread_pool.wake_lock);
    atomic_fetch_add(&thread_pool.sleepers, 1);
    while (job_number() == last && !atomic_load(&thread_pool.quit))
        pthread_cond_wait(&thread_pool.wake, &thread_pool.wake_lock);
    atomic_fetch_sub(&thread_pool.sleepers, 1);
    pthread_mutex_unlock(&thread_pool.wake_lock);
}

static void *worker_main(void *number)
{
    int place = (int)(intptr_t)number;
    uint64_t last = 0;
    in_task = true;
    while (!atomic_load(&thread_pool.quit)) {
        uint64_t seen = atomic_load(&thread_pool.ticket);
        if (seen >> RANGE_BITS == last) {
            wait_for_job(last);
            continue;
        }
        last = seen >> RANGE_BITS;
        if (place < atomic_load(&thread_pool.max_workers))
            run_ranges(seen);
    }
    return NULL;
}

/* A process that was forked has none of its parent's workers. */
static void reset_after_fork(void)
{
    thread_pool.started = 0;
    atomic_store(&thread_pool.sleepers, 0);
    pthread_mutex_init(&thread_pool.owner_lock, NULL);
    pthread_mutex_init(&thread_pool.wake_lock, NULL);
    pthread_cond_init(&thread_pool.wake, NULL);
}

static void register_fork_handler(void)
{
    (void)pthread_atfork(NULL, NULL, reset_after_fork);
}

/* Has at least `count` workers if the system gives them. Signals are for the program's threads. */
static void start_workers(int count)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (thread_pool.started >= count)
        return;
    pthread_once(&once, register_fork_handler);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (thread_pool.started < count &&
           pthread_create(&thread_pool.workers[thread_pool.started], NULL, worker_main,
                          (void *)(intptr_t)thread_pool.started) == 0)
        thread_pool.started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void wake_all(void)
{
    pthread_mutex_lock(&thread_pool.wake_lock);
    pthread_cond_broadcast(&thread_pool.wake);
    pthread_mutex_unlock(&thread_pool.wake_lock);
}

/* Before the library is unloaded, or the program ends, its threads do. */
__attribute__((destructor)) static void stop_workers(void)
{
    atomic_store(&thread_pool.quit, true);
    wake_all();
    for (int i = 0; i < thread_pool.started; i++)
        pthread_join(thread_pool.workers[i], NULL);
    thread_pool.started = 0;
}

/* ---- the caller */

/* Ranges that others have begun are nearly done; else their threads need this core. */
static void wait_for_ranges(int64_t ranges)
{
    for (int i = 0; atomic_load(&thread_pool.ranges_done) < ranges; i++) {
        if (i < SPIN_COUNT)
            cpu_pause();
        else
            sched_yield();
    }
}

static void run_job(int64_t ranges, int threads, task_function *body, void *context)
{
    start_workers(threads - 1);
    atomic_store(&thread_pool.body, body);
    atomic_store(&thread_pool.context, context);
    atomic_store(&thread_pool.max_workers, threads - 1);
    atomic_store(&thread_pool.ranges_done, 0);
    atomic_store(&thread_pool.ranges, ranges);
    uint64_t word = (job_number() + 1) << RANGE_BITS;
    atomic_store(&thread_pool.ticket, word);
    if (atomic_load(&thread_pool.sleepers) > 0)
        wake_all();
    run_ranges(word);
    wait_for_ranges(ranges);
    atomic_store(&thread_pool.ticket,
                 word | RANGE_MASK); /* what is written next belongs to no open job */
}

bool att_thread_pool_run(int64_t ranges, int threads, task_function *body, void *context)
{
    if (in_task || threads < 2 || ranges > (int64_t)(RANGE_MASK >> 1) ||
        pthread_mutex_trylock(&thread_pool.owner_lock) != 0)
        return false;
    in_task = true;
    run_job(ranges, threads, body, context);
    in_task = false;
    pthread_mutex_unlock(&thread_pool.owner_lock);
    return true;
}
