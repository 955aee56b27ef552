/* The list of benchmarks and their timing. No test checks the value of a time. */
#include "base/alloc.h"
#include "base/minmax.h"
#include "base/cpu.h"
#include "kern/kern.h"
#include "bench/bench.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static const att_bench_options briefly = { .seconds = 1e-4 };

static size_t find(const char *name)
{
    for (size_t i = 0; i < att_bench_count(); i++) {
        att_bench about;
        att_bench_get(&about, i);
        if (strcmp(about.name, name) == 0)
            return i;
    }
    fail_msg("there is no benchmark %s", name);
    return 0;
}

static void every_kernel_of_the_list_has_a_benchmark(void **state)
{
    (void)state;
#define IS_LISTED(type, kernel) (void)find("kernel/" #kernel);
    ATT_KERNELS(IS_LISTED)
}

static void each_has_a_unique_name_and_states_its_work(void **state)
{
    (void)state;
    for (size_t i = 0; i < att_bench_count(); i++) {
        att_bench about;
        att_bench_get(&about, i);
        assert_non_null(strchr(about.name, '/'));
        assert_int_equal(find(about.name), i);
        assert_true(strlen(about.help) > 0);
        assert_true(about.elements > 0 && about.bytes > 0);
        assert_true(about.limit != ATT_LIMIT_COMPUTE || about.flops > 0);
    }
}

static void the_work_of_attention_is_that_of_its_products(void **state)
{
    (void)state;
    const double all = 8 * 1024.0 * 1024, causal = 8 * 1024.0 * 1025 / 2;
    att_bench about;
    att_bench_get(&about, find("attention/forward/1024"));
    assert_true(about.flops == 2 * 2 * 64 * all);
    att_bench_get(&about, find("attention/causal/1024"));
    assert_true(about.flops == 2 * 2 * 64 * causal);
    att_bench_get(&about, find("attention/backward/1024"));
    assert_true(about.flops == 5 * 2 * 64 * all);
    att_bench_get(&about, find("attention/decode/4096"));
    assert_true(about.bytes == 4.0 * (2 * 4096 + 2) * 8 * 64);
}

/* All benchmarks that are short even under sanitizers, on every instruction set. */
static void each_can_be_measured_on_every_instruction_set(void **state)
{
    (void)state;
    for (size_t c = 0; att_bench_cpu(c); c++)
        for (size_t i = 0; i < att_bench_count(); i++) {
            att_bench about;
            att_bench_get(&about, i);
            if (about.flops > 4e7 || about.bytes > 1e7)
                continue;
            att_bench_times times;
            att_bench_options options = { .cpu = att_bench_cpu(c), .threads = 2, .seconds = 1e-4 };
            assert_int_equal(att_bench_run(&times, i, &options, NULL), ATT_OK);
            if (!(times.best > 0 && times.median >= times.best && times.calls > 0))
                fail_msg("%s: best %g, median %g", about.name, times.best, times.median);
        }
}

static void attention_backward_and_decoding_can_be_measured(void **state)
{
    (void)state;
    static const char *const names[] = { "attention/backward/causal-1024",
                                         "attention/decode/4096" };
    for (size_t i = 0; i < 2; i++) {
        att_bench_times times;
        assert_int_equal(att_bench_run(&times, find(names[i]), &briefly, NULL), ATT_OK);
        assert_true(times.best > 0);
    }
}

static void limits_are_measured_on_every_instruction_set(void **state)
{
    (void)state;
    for (size_t c = 0; att_bench_cpu(c); c++)
        for (int limit = 0; limit < ATT_LIMITS; limit++) {
            att_bench_options options = { .cpu = att_bench_cpu(c), .threads = 1, .seconds = 1e-4 };
            double rate;
            assert_int_equal(att_limit_measure(&rate, (att_limit)limit, &options, NULL), ATT_OK);
            assert_true(rate > 0 && isfinite(rate));
        }
}

static void instruction_set_and_threads_are_restored(void **state)
{
    (void)state;
    att_bench_times times;
    att_cpu cpu = att_cpu_get();
    att_threads_set(3);
    att_bench_options options = { .cpu = "scalar", .threads = 1, .seconds = 1e-4 };
    assert_int_equal(att_bench_run(&times, find("kernel/relu"), &options, NULL), ATT_OK);
    assert_int_equal(att_cpu_get(), cpu);
    assert_int_equal(att_threads_get(), 3);
    att_threads_set(0);
}

static void invalid_measurements_are_refused(void **state)
{
    (void)state;
    att_bench_times times;
    att_error err;
    double rate;
    att_bench_options options = { .cpu = "mmx" };
    assert_int_equal(att_bench_run(&times, 0, &options, &err), ATT_BAD_INPUT);
    assert_string_equal(err.place, "bench");
    assert_non_null(strstr(err.message, "'mmx'"));
    assert_int_equal(att_bench_run(&times, att_bench_count(), &briefly, &err), ATT_BAD_INPUT);
    assert_int_equal(att_limit_measure(&rate, (att_limit)ATT_LIMITS, &briefly, &err),
                     ATT_BAD_INPUT);
    assert_null(att_limit_name((att_limit)ATT_LIMITS));
    att_bench about;
    att_bench_get(&about, att_bench_count());
    assert_null(about.name);
}

static void out_of_memory_is_reported_and_nothing_leaks(void **state)
{
    (void)state;
    static const char *const names[] = { "kernel/exp", "matmul/packed/32x256x64",
                                         "attention/score/additive" };
    for (size_t i = 0; i < ATT_COUNT(names); i++) {
        size_t index = find(names[i]), live = att_alloc_live(), n = 0;
        att_status status;
        do {
            att_bench_times times;
            att_alloc_fail_at(++n);
            status = att_bench_run(&times, index, &briefly, NULL);
            assert_true(status == ATT_OK || status == ATT_NO_MEMORY);
            assert_int_equal(att_alloc_live(), live);
        } while (status != ATT_OK && n < 100);
        att_alloc_fail_at(0);
        assert_true(n > 1 && status == ATT_OK);
    }
}

/* A function to be timed that counts its calls and fails from a given call on. */
typedef struct counted {
    int64_t calls;
    int64_t fail_at;
} counted;

static att_status count_calls(void *context, size_t times, att_error *err)
{
    counted *c = context;
    (void)err;
    const struct timespec pause = { .tv_nsec = 10000 };
    for (; times > 0; times--) {
        if (++c->calls == c->fail_at)
            return ATT_SYSTEM;
        nanosleep(&pause, NULL);
    }
    return ATT_OK;
}

/* Ten minutes are more than a stalled machine needs for twelve calls. */
static void a_failing_call_ends_the_measurement(void **state)
{
    (void)state;
    for (int64_t at = 1; at < 12; at++) {
        counted c = { .fail_at = at };
        att_bench_times times;
        assert_int_equal(att_bench_time(&times, count_calls, &c, 600, NULL), ATT_SYSTEM);
        assert_int_equal(c.calls, at);
    }
}

static void without_time_a_call_is_still_made_after_a_first(void **state)
{
    (void)state;
    counted c = { 0 };
    att_bench_times times;
    assert_int_equal(att_bench_time(&times, count_calls, &c, 0, NULL), ATT_OK);
    assert_true(times.calls >= 1 && c.calls > times.calls);
    assert_true(times.best >= 10000e-9); /* it slept that long at least */
}

static void filled_numbers_have_mean_0_and_variance_1(void **state)
{
    (void)state;
    enum { COUNT = 100000 };
    static float x[COUNT];
    att_bench_fill(x, COUNT, 7);
    double sum = 0, squares = 0;
    for (size_t i = 0; i < COUNT; i++) {
        sum += x[i];
        squares += (double)x[i] * x[i];
    }
    assert_true(fabs(sum / COUNT) < 6 / sqrt(COUNT)); /* six standard deviations of a mean */
    assert_true(fabs(squares / COUNT - 1) < 6 * sqrt(0.8 / COUNT));
}

static void the_machine_is_described(void **state)
{
    (void)state;
    att_machine_info machine;
    att_machine_get(&machine);
    assert_true(strlen(machine.processor) > 0);
    assert_true(machine.cores >= 1);
    assert_true(machine.memory > 0);
    for (int i = 0; i < 3; i++)
        assert_true(machine.cache[i] >= 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_of_the_list_has_a_benchmark),
        cmocka_unit_test(each_has_a_unique_name_and_states_its_work),
        cmocka_unit_test(the_work_of_attention_is_that_of_its_products),
        cmocka_unit_test(each_can_be_measured_on_every_instruction_set),
        cmocka_unit_test(attention_backward_and_decoding_can_be_measured),
        cmocka_unit_test(limits_are_measured_on_every_instruction_set),
        cmocka_unit_test(instruction_set_and_threads_are_restored),
        cmocka_unit_test(invalid_measurements_are_refused),
        cmocka_unit_test(out_of_memory_is_reported_and_nothing_leaks),
        cmocka_unit_test(a_failing_call_ends_the_measurement),
        cmocka_unit_test(without_time_a_call_is_still_made_after_a_first),
        cmocka_unit_test(filled_numbers_have_mean_0_and_variance_1),
        cmocka_unit_test(the_machine_is_described),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
