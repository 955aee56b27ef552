/* The thread pool: workers that help with the loops of any number of callers at once.
 *
 * Each caller's loop is a job in one of JOB_SLOTS static slots. A word of the slot, the ticket,
 * holds the generation of the job and its next unclaimed range. A range is claimed by a
 * compare-and-exchange of that word, which fails once the slot holds another job. So a worker that
 * wakes late may read an old job or one that is being written, but cannot claim a range of it: the
 * values it has read count only if the exchange succeeds. Nobody therefore has to wait for workers
 * that have claimed nothing.
 *
 * `pool.claimable` has one bit per slot whose job has unclaimed ranges. Workers sleep while it is
 * 0; otherwise they take one range at a time from the jobs in turn, so that a short job gets help
 * while a long one runs. A caller works only on its own job. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "base/thread_pool.h"

#include "base/hash.h"
#include "base/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

typedef void task_function(void *context, int64_t index);

/* The ticket: generation in the high bits, 1 + next unclaimed range in the low bits; 0 in the low
 * bits marks a closed job, as in a slot that was never used. */
enum { RANGE_BITS = 28, JOB_SLOTS = 64 };
#define RANGE_MASK ((UINT64_C(1) << RANGE_BITS) - 1)

/* SPIN_COUNT: polls before a worker sleeps, and before a caller yields its core to the threads
 * whose ranges it waits for: some tens of microseconds, about as long as waking a thread takes.
 * YIELD_COUNT: yields before a caller sleeps: about a millisecond. */
enum { SPIN_COUNT = 1000, YIELD_COUNT = 2000 };

/* The loop of one caller. The fields are written only while the ticket is closed. */
typedef struct job_slot {
    _Alignas(64) _Atomic(uint64_t) ticket;
    _Alignas(64) _Atomic(int64_t) ranges_done;
    _Atomic(bool) caller_sleeps;
    _Alignas(64) _Atomic(int64_t) ranges;
    _Atomic(task_function *) body;
    _Atomic(void *) context;
} job_slot;

static struct thread_pool {
    _Alignas(64) _Atomic(uint64_t) claimable; /* slots with unclaimed ranges */
    _Atomic(int) max_workers;                 /* workers below this number may take part */
    _Atomic(int) sleepers;
    _Atomic(bool) quit;
    _Alignas(64) _Atomic(uint64_t) taken; /* slots that belong to a caller */
    _Atomic(int) started;

    pthread_mutex_t start_lock;
    pthread_mutex_t wake_lock;
    pthread_cond_t wake; /* claimable, max_workers or quit has changed */
    pthread_mutex_t done_lock;
    pthread_cond_t done; /* the last range of some job whose caller sleeps has ended */
    pthread_t workers[ATT_MAX_THREADS];
    job_slot slots[JOB_SLOTS];
} pool = {
    .start_lock = PTHREAD_MUTEX_INITIALIZER,
    .wake_lock = PTHREAD_MUTEX_INITIALIZER,
    .wake = PTHREAD_COND_INITIALIZER,
    .done_lock = PTHREAD_MUTEX_INITIALIZER,
    .done = PTHREAD_COND_INITIALIZER,
};

static _Thread_local bool in_task; /* a body runs on this thread */

static void cpu_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* ---- ranges */

/* Claims the next range of the job that `seen`, a ticket, belongs to; -1 where none is left.
 * Whoever claims the last range marks the job as claimed; the job cannot end, nor its slot be
 * reused, before that range has run. */
static int64_t claim_range(int slot, uint64_t seen)
{
    job_slot *job = &pool.slots[slot];
    uint64_t word = seen;
    for (;;) {
        int64_t index = (int64_t)(word & RANGE_MASK) - 1, ranges = atomic_load(&job->ranges);
        if (word >> RANGE_BITS != seen >> RANGE_BITS || index < 0 || index >= ranges)
            return -1;
        if (atomic_compare_exchange_weak(&job->ticket, &word, word + 1)) {
            if (index + 1 == ranges)
                atomic_fetch_and(&pool.claimable, ~(UINT64_C(1) << slot));
            return index;
        }
    }
}

/* Counts a range as run. The slot may belong to another caller right after the addition; then the
 * broadcast wakes somebody for nothing, which is harmless. */
static void finish_range(job_slot *job)
{
    atomic_fetch_add(&job->ranges_done, 1);
    if (!atomic_load(&job->caller_sleeps))
        return;
    pthread_mutex_lock(&pool.done_lock);
    pthread_cond_broadcast(&pool.done);
    pthread_mutex_unlock(&pool.done_lock);
}

/* Claims and runs one range of the job now in `slot`; false where no range is unclaimed. */
static bool run_range(int slot)
{
    job_slot *job = &pool.slots[slot];
    uint64_t seen = atomic_load(&job->ticket);
    task_function *body = atomic_load(&job->body);
    void *context = atomic_load(&job->context);
    int64_t index = claim_range(slot, seen);
    if (index < 0)
        return false;
    body(context, index);
    finish_range(job);
    return true;
}

/* ---- workers */

static bool has_work(int worker)
{
    return atomic_load(&pool.claimable) != 0 && worker < atomic_load(&pool.max_workers);
}

/* Waits until there is work for this worker: polls for a while, then sleeps. */
static void wait_for_work(int worker)
{
    for (int i = 0; i < SPIN_COUNT; i++, cpu_pause())
        if (has_work(worker) || atomic_load(&pool.quit))
            return;
    pthread_mutex_lock(&pool.wake_lock);
    atomic_fetch_add(&pool.sleepers, 1);
    while (!has_work(worker) && !atomic_load(&pool.quit))
        pthread_cond_wait(&pool.wake, &pool.wake_lock);
    atomic_fetch_sub(&pool.sleepers, 1);
    pthread_mutex_unlock(&pool.wake_lock);
}

/* The claimable slot that follows `slot` in cyclic order; -1 where there is none. */
static int next_slot(int slot)
{
    uint64_t claimable = atomic_load(&pool.claimable);
    if (claimable == 0)
        return -1;
    uint64_t above = slot + 1 < JOB_SLOTS ? claimable >> (slot + 1) << (slot + 1) : 0;
    return __builtin_ctzll(above ? above : claimable);
}

static void *worker_main(void *number)
{
    int worker = (int)(intptr_t)number, slot = worker % JOB_SLOTS;
    in_task = true;
    while (!atomic_load(&pool.quit)) {
        int next = has_work(worker) ? next_slot(slot) : -1;
        if (next < 0) {
            wait_for_work(worker);
            continue;
        }
        slot = next;
        if (!run_range(slot))
            cpu_pause();
    }
    return NULL;
}

/* A forked child has neither the workers of its parent nor the other callers. */
static void reset_after_fork(void)
{
    atomic_store(&pool.started, 0);
    atomic_store(&pool.sleepers, 0);
    atomic_store(&pool.claimable, 0);
    atomic_store(&pool.taken, 0);
    for (int i = 0; i < JOB_SLOTS; i++) {
        atomic_fetch_and(&pool.slots[i].ticket, ~RANGE_MASK);
        atomic_store(&pool.slots[i].caller_sleeps, false);
    }
    pthread_mutex_init(&pool.start_lock, NULL);
    pthread_mutex_init(&pool.wake_lock, NULL);
    pthread_cond_init(&pool.wake, NULL);
    pthread_mutex_init(&pool.done_lock, NULL);
    pthread_cond_init(&pool.done, NULL);
}

static void register_fork_handler(void)
{
    (void)pthread_atfork(NULL, NULL, reset_after_fork);
}

/* Starts workers until there are `count`, or as many as the system permits. Another caller may be
 * doing the same; nobody waits for it. Workers block all signals: these belong to the program's own
 * threads. */
static void start_workers(int count)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (atomic_load(&pool.started) >= count || pthread_mutex_trylock(&pool.start_lock) != 0)
        return;
    pthread_once(&once, register_fork_handler);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int started = atomic_load(&pool.started);
    while (started < count && !atomic_load(&pool.quit) &&
           pthread_create(&pool.workers[started], NULL, worker_main, (void *)(intptr_t)started) ==
               0)
        atomic_store(&pool.started, ++started);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_mutex_unlock(&pool.start_lock);
}

/* Wakes all sleeping workers, even for few ranges: a worker woken for one job may take a range of
 * another, so counted signals could leave a range without a thread. */
static void wake_workers(void)
{
    pthread_mutex_lock(&pool.wake_lock);
    pthread_cond_broadcast(&pool.wake);
    pthread_mutex_unlock(&pool.wake_lock);
}

/* The workers end before the library is unloaded or the process ends. */
__attribute__((destructor)) static void stop_workers(void)
{
    atomic_store(&pool.quit, true);
    wake_workers();
    pthread_mutex_lock(&pool.start_lock);
    int started = atomic_exchange(&pool.started, 0);
    pthread_mutex_unlock(&pool.start_lock);
    for (int i = 0; i < started; i++)
        pthread_join(pool.workers[i], NULL);
}

/* ---- callers */

/* Takes a free slot; -1 where more callers than slots are at work. */
static int take_slot(void)
{
    uint64_t taken = atomic_load(&pool.taken);
    while (~taken != 0) {
        int slot = __builtin_ctzll(~taken);
        if (atomic_compare_exchange_weak(&pool.taken, &taken, taken | UINT64_C(1) << slot))
            return slot;
    }
    return -1;
}

static void sleep_until_done(job_slot *job, int64_t ranges)
{
    pthread_mutex_lock(&pool.done_lock);
    atomic_store(&job->caller_sleeps, true);
    while (atomic_load(&job->ranges_done) < ranges)
        pthread_cond_wait(&pool.done, &pool.done_lock);
    atomic_store(&job->caller_sleeps, false);
    pthread_mutex_unlock(&pool.done_lock);
}

/* Waits for the ranges that workers have begun. They are usually nearly done; where they are not,
 * their threads may need this core. */
static void wait_for_ranges(job_slot *job, int64_t ranges)
{
    for (int i = 0; atomic_load(&job->ranges_done) < ranges; i++) {
        if (i < SPIN_COUNT) {
            cpu_pause();
        } else if (i < SPIN_COUNT + YIELD_COUNT) {
            sched_yield();
        } else {
            sleep_until_done(job, ranges);
        }
    }
}

static void run_job(int slot, int64_t ranges, int workers, task_function *body, void *context)
{
    job_slot *job = &pool.slots[slot];
    atomic_store(&job->body, body);
    atomic_store(&job->context, context);
    atomic_store(&job->ranges_done, 0);
    atomic_store(&job->ranges, ranges);
    if (atomic_load(&pool.max_workers) != workers)
        atomic_store(&pool.max_workers, workers);
    /* The bit first: whoever claims the last range clears it, which must come after. */
    atomic_fetch_or(&pool.claimable, UINT64_C(1) << slot);
    uint64_t generation = (atomic_load(&job->ticket) >> RANGE_BITS) + 1;
    atomic_store(&job->ticket, generation << RANGE_BITS | 1);
    if (atomic_load(&pool.sleepers) > 0)
        wake_workers();
    while (run_range(slot))
        continue;
    wait_for_ranges(job, ranges);
    atomic_store(&job->ticket, generation << RANGE_BITS);
}

bool att_thread_pool_run(int64_t ranges, int threads, task_function *body, void *context)
{
    if (in_task || threads < 2 || ranges < 2 || ranges > (int64_t)(RANGE_MASK >> 1))
        return false;
    int slot = take_slot();
    if (slot < 0)
        return false;
    in_task = true;
    start_workers(threads - 1);
    run_job(slot, ranges, threads - 1, body, context);
    in_task = false;
    atomic_fetch_and(&pool.taken, ~(UINT64_C(1) << slot));
    return true;
}

int att_usable_cores(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

uint64_t att_usable_cores_hash(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? att_hash(&set, sizeof set) : 0;
}
