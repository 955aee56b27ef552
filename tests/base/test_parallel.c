/* The parallel loop: every range once, the same ranges at any number of threads. */
#include "base/parallel.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST = 1000 };

typedef struct record {
    atomic_int visits[MOST];
    atomic_int ranges;
    int64_t end_of[MOST]; /* the end of the range that began here, or 0 */
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
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
            for (size_t g = 0; g < sizeof grains / sizeof *grains; g++) {
                int64_t count = counts[c], grain = grains[g];
                memset(&seen, 0, sizeof seen);
                att_threads_set(threads);
                att_parallel_for(count, grain, note, &seen);
                for (int64_t i = 0; i < MOST; i++)
                    assert_int_equal(seen.visits[i], i < count);
                for (int64_t i = 0; i<count; i += count - i> grain ? grain : count - i)
                    assert_int_equal(seen.end_of[i], count - i > grain ? i + grain : count);
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

struct company {
    atomic_int present;
    atomic_int met;
};

/* Each body waits until the other one is there too, which only happens if they run at the same
 * time. */
static void wait_for_company(void *context, int64_t begin, int64_t end)
{
    (void)begin;
    (void)end;
    struct company *company = context;
    atomic_fetch_add(&company->present, 1);
    for (int tries = 0; tries < 5000 && atomic_load(&company->present) < 2; tries++)
        usleep(1000);
    atomic_fetch_add(&company->met, atomic_load(&company->present) == 2);
}

static void ranges_run_at_the_same_time(void **state)
{
    (void)state;
    struct company company = { 0 };
    att_threads_set(2);
    att_parallel_for(2, 1, wait_for_company, &company);
    att_threads_set(0);
    assert_int_equal(company.met, 2);
}

/* The threads of a process are not those of its child. */
static void a_forked_process_has_threads_of_its_own(void **state)
{
    (void)state;
    struct company company = { 0 };
    att_threads_set(2);
    att_parallel_for(2, 1, wait_for_company, &company);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct company again = { 0 };
        att_parallel_for(2, 1, wait_for_company, &again);
        _exit(again.met == 2 ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    att_threads_set(0);
}

static void *run_a_loop(void *seen)
{
    for (int i = 0; i < 200; i++)
        att_parallel_for(MOST, 10, note, seen);
    return NULL;
}

static void loops_of_several_threads_do_not_mix(void **state)
{
    (void)state;
    enum { CALLERS = 4 };
    static record seen[CALLERS];
    pthread_t callers[CALLERS];
    att_threads_set(3);
    for (int i = 0; i < CALLERS; i++)
        assert_int_equal(pthread_create(&callers[i], NULL, run_a_loop, &seen[i]), 0);
    for (int i = 0; i < CALLERS; i++)
        assert_int_equal(pthread_join(callers[i], NULL), 0);
    att_threads_set(0);
    for (int i = 0; i < CALLERS; i++)
        for (int k = 0; k < MOST; k++)
            assert_int_equal(seen[i].visits[k], 200);
}

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
    expected->next = end; /* not atomic: a race here is what the sanitiser would see */
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
        const char *wish;
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
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int count = -1;
        assert_int_equal(att_threads_parse(&count, cases[i].wish, NULL), cases[i].status);
        assert_int_equal(count, cases[i].count);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_index_is_visited_once_in_the_same_ranges_at_any_thread_count),
        cmocka_unit_test(a_grain_below_one_counts_as_one),
        cmocka_unit_test(ranges_run_at_the_same_time),
        cmocka_unit_test(a_forked_process_has_threads_of_its_own),
        cmocka_unit_test(loops_of_several_threads_do_not_mix),
        cmocka_unit_test(a_loop_inside_a_loop_runs_in_order),
        cmocka_unit_test(the_thread_count_is_kept_within_limits),
        cmocka_unit_test(the_environment_may_ask_for_a_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
