/* The parallel loop: every range once, the same ranges at any number of threads. */
#include "base/parallel.h"

#include "base/minmax.h"
#include "thin.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { MAX_COUNT = 1000 };

typedef struct record {
    atomic_int visits[MAX_COUNT];
    atomic_int ranges;
    int64_t end_of[MAX_COUNT]; /* the end of the range that began here, or 0 */
} record;

static void note(void *context, int64_t begin, int64_t end)
{
    record *seen = context;
    atomic_fetch_add(&seen->ranges, 1);
    seen->end_of[begin] = end;
    for (int64_t i = begin; i < end; i++)
        atomic_fetch_add(&seen->visits[i], 1);
}

static void every_index_is_visited_once_in_the_same_ranges_at_any_thread_count(void **state)
{
    (void)state;
    static record seen;
    const int64_t counts[] = { 0, 1, 2, 7, 64, 65, 999, 1000 };
    const int64_t grains[] = { 1, 3, 64, 1000, INT64_MAX };
    for (int threads = 1; threads <= 5; threads++)
        for (size_t c = 0; c < ATT_COUNT(counts); c++)
            for (size_t g = 0; g < ATT_COUNT(grains); g++) {
                int64_t count = counts[c], grain = grains[g];
                memset(&seen, 0, sizeof seen);
                att_threads_set(threads);
                att_parallel_for(count, grain, note, &seen);
                for (int64_t i = 0; i < MAX_COUNT; i++)
                    assert_int_equal(seen.visits[i], i < count);
                for (int64_t i = 0; i < count; i += att_min_i64(grain, count - i))
                    assert_int_equal(seen.end_of[i], i + att_min_i64(grain, count - i));
                assert_int_equal(seen.ranges, count ? (count - 1) / grain + 1 : 0);
            }
    att_threads_set(0);
}

static void a_grain_below_one_counts_as_one(void **state)
{
    (void)state;
    static record seen;
    att_parallel_for(3, 0, note, &seen);
    assert_int_equal(seen.ranges, 3);
    att_parallel_for(-5, 1, note, &seen);
    assert_int_equal(seen.ranges, 3);
}

/* A meeting of `expected` bodies: each waits until all are there, which happens only if they run at
 * the same time. */
typedef struct meeting {
    int expected;
    atomic_int present;
    atomic_int met;
} meeting;

static void meet(void *context, int64_t begin, int64_t end)
{
    (void)begin;
    (void)end;
    meeting *all = context;
    atomic_fetch_add(&all->present, 1);
    for (int tries = 0; tries < 30000 && atomic_load(&all->present) < all->expected; tries++)
        usleep(1000);
    atomic_fetch_add(&all->met, atomic_load(&all->present) == all->expected);
}

static void ranges_run_at_the_same_time(void **state)
{
    (void)state;
    meeting two = { .expected = 2 };
    att_threads_set(2);
    att_parallel_for(2, 1, meet, &two);
    att_threads_set(0);
    assert_int_equal(two.met, 2);
}

/* Forks a child that runs a loop on two threads; returns its exit status, 0 on success. */
static int fork_and_loop(void)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        meeting two = { .expected = 2 };
        att_parallel_for(2, 1, meet, &two);
        _exit(two.met == 2 ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void a_forked_process_has_threads_of_its_own(void **state)
{
    (void)state;
    meeting two = { .expected = 2 };
    att_threads_set(2);
    att_parallel_for(2, 1, meet, &two);
    int status = fork_and_loop();
    for (int tries = 1; status != 0 && tries < 3;
         tries++) /* a sanitizer may lose a race at fork() */
        status = fork_and_loop();
    assert_int_equal(status, 0);
    att_threads_set(0);
}

/* ---- several callers at once */

static void start(pthread_t *thread, void *(*run)(void *), void *context)
{
    assert_int_equal(pthread_create(thread, NULL, run, context), 0);
}

static void join(pthread_t thread)
{
    assert_int_equal(pthread_join(thread, NULL), 0);
}

enum { LOOPS = 200 / THIN };

static void *run_loops(void *seen)
{
    for (int i = 0; i < LOOPS; i++)
        att_parallel_for(MAX_COUNT, 10, note, seen);
    return NULL;
}

static void check_loops_of(int callers)
{
    enum { MAX_CALLERS = 80 };
    static record seen[MAX_CALLERS];
    pthread_t threads[MAX_CALLERS];
    memset(seen, 0, sizeof seen);
    att_threads_set(3);
    for (int i = 0; i < callers; i++)
        start(&threads[i], run_loops, &seen[i]);
    for (int i = 0; i < callers; i++)
        join(threads[i]);
    att_threads_set(0);
    for (int i = 0; i < callers; i++)
        for (int k = 0; k < MAX_COUNT; k++)
            assert_int_equal(seen[i].visits[k], LOOPS);
}

static void loops_of_eight_callers_do_not_mix(void **state)
{
    (void)state;
    check_loops_of(8);
}

/* The pool has room for 64 callers; the others run their loops alone. */
static void loops_of_eighty_callers_do_not_mix(void **state)
{
    (void)state;
    check_loops_of(80);
}

static void *meet_in_a_loop(void *context)
{
    att_parallel_for(2, 1, meet, context);
    return NULL;
}

/* The four ranges of two loops run at once. Four workers, since they may take a caller's ranges
 * before the caller does. */
static void every_caller_is_helped_by_workers(void **state)
{
    (void)state;
    meeting four = { .expected = 4 };
    pthread_t callers[2];
    att_threads_set(5);
    for (int i = 0; i < 2; i++)
        start(&callers[i], meet_in_a_loop, &four);
    for (int i = 0; i < 2; i++)
        join(callers[i]);
    att_threads_set(0);
    assert_int_equal(four.met, 4);
}

/* A loop of many ranges that ends early once `stop` is set. */
typedef struct long_loop {
    atomic_int begun;
    atomic_bool stop;
} long_loop;

static void run_until_stopped(void *context, int64_t begin, int64_t end)
{
    (void)begin;
    (void)end;
    long_loop *loop = context;
    atomic_fetch_add(&loop->begun, 1);
    if (!atomic_load(&loop->stop))
        usleep(1000);
}

static void *run_long_loop(void *loop)
{
    att_parallel_for(1000000, 1, run_until_stopped, loop);
    return NULL;
}

static void start_long_loop(pthread_t *caller, long_loop *loop)
{
    start(caller, run_long_loop, loop);
    while (atomic_load(&loop->begun) < 4) /* the caller and the worker are both busy with it */
        usleep(1000);
}

/* One worker: it must leave the long loop, whose ranges are short, for the ranges of the other. */
static void a_short_loop_is_helped_while_a_long_one_runs(void **state)
{
    (void)state;
    long_loop loop = { 0 };
    meeting two = { .expected = 2 };
    pthread_t caller;
    att_threads_set(2);
    start_long_loop(&caller, &loop);
    att_parallel_for(2, 1, meet, &two);
    atomic_store(&loop.stop, true);
    join(caller);
    att_threads_set(0);
    assert_int_equal(two.met, 2);
}

/* The child has neither the other caller nor the worker that helps it. */
static void a_process_forked_while_another_thread_loops_can_loop(void **state)
{
    (void)state;
    long_loop loop = { 0 };
    pthread_t caller;
    att_threads_set(2);
    start_long_loop(&caller, &loop);
    int failed = 0;
    for (int i = 0; i < 10; i++)
        failed += fork_and_loop() != 0;
    atomic_store(&loop.stop, true);
    join(caller);
    att_threads_set(0);
    assert_int_equal(failed, 0);
}

/* Ranges of which the worker's takes longer than a caller spins or yields. */
typedef struct uneven {
    meeting two;
    pthread_t caller;
    atomic_int slept;
} uneven;

static void sleep_on_the_worker(void *context, int64_t begin, int64_t end)
{
    uneven *ranges = context;
    meet(&ranges->two, begin, end);
    if (!pthread_equal(pthread_self(), ranges->caller)) {
        usleep(50000);
        atomic_fetch_add(&ranges->slept, 1);
    }
}

static void a_caller_waits_for_a_long_range_of_a_worker(void **state)
{
    (void)state;
    att_threads_set(2);
    for (int i = 0; i < 3; i++) {
        uneven ranges = { .two = { .expected = 2 }, .caller = pthread_self() };
        att_parallel_for(2, 1, sleep_on_the_worker, &ranges);
        assert_int_equal(ranges.slept, 1);
    }
    att_threads_set(0);
}

/* ---- nesting and the number of threads */

typedef struct nest {
    atomic_int inner;
    atomic_int out_of_order;
} nest;

typedef struct order {
    nest *nest;
    int64_t next;
} order;

static void in_order(void *context, int64_t begin, int64_t end)
{
    order *expected = context;
    if (begin != expected->next)
        atomic_fetch_add(&expected->nest->out_of_order, 1);
    expected->next = end; /* not atomic: a race here is what the sanitizer would see */
    atomic_fetch_add(&expected->nest->inner, 1);
}

static void loop_again(void *context, int64_t begin, int64_t end)
{
    (void)begin;
    (void)end;
    order expected = { .nest = context };
    att_parallel_for(50, 1, in_order, &expected);
}

static void a_loop_inside_a_loop_runs_in_order(void **state)
{
    (void)state;
    nest seen = { 0 };
    att_threads_set(3);
    att_parallel_for(6, 1, loop_again, &seen);
    att_threads_set(0);
    assert_int_equal(seen.inner, 300);
    assert_int_equal(seen.out_of_order, 0);
}

static void the_thread_count_is_kept_within_limits(void **state)
{
    (void)state;
    att_threads_set(7);
    assert_int_equal(att_threads_get(), 7);
    att_threads_set(1000000);
    assert_int_equal(att_threads_get(), ATT_MAX_THREADS);
    att_threads_set(0);
    assert_true(att_threads_get() >= 1);
    int all = att_threads_get();
    att_threads_set(-3);
    assert_int_equal(att_threads_get(), all);
}

static void the_environment_may_ask_for_a_count(void **state)
{
    (void)state;
    static const struct {
        const char *requested;
        att_status status;
        int count;
    } cases[] = {
        { NULL, ATT_OK, 0 },        { "", ATT_OK, 0 },
        { "1", ATT_OK, 1 },         { "16", ATT_OK, 16 },
        { "007", ATT_OK, 7 },       { "99999999999999999999", ATT_OK, ATT_MAX_THREADS },
        { "0", ATT_BAD_INPUT, 0 },  { "000", ATT_BAD_INPUT, 0 },
        { "-1", ATT_BAD_INPUT, 0 }, { "two", ATT_BAD_INPUT, 0 },
        { "4x", ATT_BAD_INPUT, 0 }, { " 4", ATT_BAD_INPUT, 0 },
    };
    for (size_t i = 0; i < ATT_COUNT(cases); i++) {
        int count = -1;
        assert_int_equal(att_threads_parse(&count, cases[i].requested, NULL), cases[i].status);
        assert_int_equal(count, cases[i].count);
    }
}

static void turns_are_spread_over_all_units_once(void **state)
{
    (void)state;
    for (int64_t workers = 1; workers <= 9; workers++)
        for (int64_t count = 1; count <= 40; count++) {
            bool seen[40] = { false };
            for (int64_t turn = 0; turn < count; turn++) {
                int64_t unit = att_spread_unit(turn, count, workers);
                assert_true(unit >= 0 && unit < count && !seen[unit]);
                seen[unit] = true;
                if (turn >= workers) /* in lockstep, each worker goes on to the next unit */
                    assert_int_equal(unit, att_spread_unit(turn - workers, count, workers) + 1);
            }
        }
    assert_int_equal(att_spread_unit(1, 8, 2), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_index_is_visited_once_in_the_same_ranges_at_any_thread_count),
        cmocka_unit_test(a_grain_below_one_counts_as_one),
        cmocka_unit_test(turns_are_spread_over_all_units_once),
        cmocka_unit_test(ranges_run_at_the_same_time),
        cmocka_unit_test(a_forked_process_has_threads_of_its_own),
        cmocka_unit_test(loops_of_eight_callers_do_not_mix),
        cmocka_unit_test(loops_of_eighty_callers_do_not_mix),
        cmocka_unit_test(every_caller_is_helped_by_workers),
        cmocka_unit_test(a_short_loop_is_helped_while_a_long_one_runs),
        cmocka_unit_test(a_process_forked_while_another_thread_loops_can_loop),
        cmocka_unit_test(a_caller_waits_for_a_long_range_of_a_worker),
        cmocka_unit_test(a_loop_inside_a_loop_runs_in_order),
        cmocka_unit_test(the_thread_count_is_kept_within_limits),
        cmocka_unit_test(the_environment_may_ask_for_a_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
