/* The team; see team.h.
 *
 * There is one job at a time. A word holds its number and the next range to be taken; a range is
 * taken by a compare-and-exchange of that word, which fails once the job is another. So a worker
 * that wakes late may look at an old job or at one being written, but can take nothing of it: what
 * it has read counts only if the exchange succeeds. Nobody therefore has to wait for workers that
 * have taken nothing. */
#include "base/team.h"

#include "base/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

typedef void team_body(void *context, int64_t index);

/* The word: the job's number above, the next range below; RANGE_MASK there: the job is closed. */
enum { RANGE_BITS = 28 };
#define RANGE_MASK ((UINT64_C(1) << RANGE_BITS) - 1)

/* How often a worker looks for a new job before it sleeps, and the caller for the end of ranges
 * before it offers its place on the core: some tens of microseconds, as long as waking takes. */
enum { LOOKS = 1000 };

static struct team {
    _Alignas(64) _Atomic(uint64_t) word;
    _Alignas(64) _Atomic(int64_t) done;
    _Alignas(64) _Atomic(int64_t) ranges;
    _Atomic(int) helpers; /* workers below this number may take part */
    _Atomic(team_body *) body;
    _Atomic(void *) context;

    pthread_mutex_t use; /* held by the thread whose job it is */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    _Atomic(int) sleepers;
    _Atomic(bool) quit;
    int started;
    pthread_t workers[ATT_MOST_THREADS];
} team = {
    .use = PTHREAD_MUTEX_INITIALIZER,
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .wake = PTHREAD_COND_INITIALIZER,
};

static _Thread_local bool inside; /* a body runs on this thread */

static void rest(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* Takes the next range of the job whose number is that of `seen`; -1 where none is left. */
static int64_t take(uint64_t seen)
{
    uint64_t word = atomic_load(&team.word);
    for (;;) {
        int64_t index = (int64_t)(word & RANGE_MASK);
        if (word >> RANGE_BITS != seen >> RANGE_BITS || index >= atomic_load(&team.ranges))
            return -1;
        if (atomic_compare_exchange_weak(&team.word, &word, word + 1))
            return index;
    }
}

/* Works on the job of `seen` as long as there are ranges. */
static void work_on(uint64_t seen)
{
    team_body *body = atomic_load(&team.body);
    void *context = atomic_load(&team.context);
    for (int64_t index; (index = take(seen)) >= 0;) {
        body(context, index);
        atomic_fetch_add(&team.done, 1);
    }
}

/* ---- workers */

static uint64_t job_number(void)
{
    return atomic_load(&team.word) >> RANGE_BITS;
}

/* Waits for a job other than number `last`: looks for a while, then sleeps. */
static void await_job(uint64_t last)
{
    for (int i = 0; i < LOOKS; i++, rest())
        if (job_number() != last || atomic_load(&team.quit))
            return;
    pthread_mutex_lock(&team.lock);
    atomic_fetch_add(&team.sleepers, 1);
    while (job_number() == last && !atomic_load(&team.quit))
        pthread_cond_wait(&team.wake, &team.lock);
    atomic_fetch_sub(&team.sleepers, 1);
    pthread_mutex_unlock(&team.lock);
}

static void *work(void *number)
{
    int place = (int)(intptr_t)number;
    uint64_t last = 0;
    inside = true;
    while (!atomic_load(&team.quit)) {
        uint64_t seen = atomic_load(&team.word);
        if (seen >> RANGE_BITS == last) {
            await_job(last);
            continue;
        }
        last = seen >> RANGE_BITS;
        if (place < atomic_load(&team.helpers))
            work_on(seen);
    }
    return NULL;
}

/* A process that was forked has none of its parent's workers. */
static void forget_workers(void)
{
    team.started = 0;
    atomic_store(&team.sleepers, 0);
    pthread_mutex_init(&team.use, NULL);
    pthread_mutex_init(&team.lock, NULL);
    pthread_cond_init(&team.wake, NULL);
}

static void at_first(void)
{
    (void)pthread_atfork(NULL, NULL, forget_workers);
}

/* Has at least `count` workers if the system gives them. Signals are for the program's threads. */
static void start_workers(int count)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (team.started >= count)
        return;
    pthread_once(&once, at_first);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (team.started < count && pthread_create(&team.workers[team.started], NULL, work,
                                                  (void *)(intptr_t)team.started) == 0)
        team.started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void wake_all(void)
{
    pthread_mutex_lock(&team.lock);
    pthread_cond_broadcast(&team.wake);
    pthread_mutex_unlock(&team.lock);
}

/* Before the library is unloaded, or the program ends, its threads do. */
__attribute__((destructor)) static void end_workers(void)
{
    atomic_store(&team.quit, true);
    wake_all();
    for (int i = 0; i < team.started; i++)
        pthread_join(team.workers[i], NULL);
    team.started = 0;
}

/* ---- the caller */

/* Ranges that others have begun are nearly done; else their threads need this core. */
static void await_ranges(int64_t ranges)
{
    for (int i = 0; atomic_load(&team.done) < ranges; i++) {
        if (i < LOOKS)
            rest();
        else
            sched_yield();
    }
}

static void run_job(int64_t ranges, int threads, team_body *body, void *context)
{
    start_workers(threads - 1);
    atomic_store(&team.body, body);
    atomic_store(&team.context, context);
    atomic_store(&team.helpers, threads - 1);
    atomic_store(&team.done, 0);
    atomic_store(&team.ranges, ranges);
    uint64_t word = (job_number() + 1) << RANGE_BITS;
    atomic_store(&team.word, word);
    if (atomic_load(&team.sleepers) > 0)
        wake_all();
    work_on(word);
    await_ranges(ranges);
    atomic_store(&team.word, word | RANGE_MASK); /* what is written next belongs to no open job */
}

bool att_team_run(int64_t ranges, int threads, team_body *body, void *context)
{
    if (inside || threads < 2 || ranges > (int64_t)(RANGE_MASK >> 1) ||
        pthread_mutex_trylock(&team.use) != 0)
        return false;
    inside = true;
    run_job(ranges, threads, body, context);
    inside = false;
    pthread_mutex_unlock(&team.use);
    return true;
}
