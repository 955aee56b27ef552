/* `attend bench --json`: its output is complete JSON with plausible values; with every allocation
 * failing in turn the exit code is 3, nothing is written and nothing leaks. */
#include "attend.h"
#include "base/file.h"
#include "dev/attend_dev.h"
#include "json_help.h"
#include "program/in_process.h"

static att_json_doc measured(const char *const *words)
{
    att_string text = { 0 };
    assert_int_equal(run(words, 0).code, 0);
    assert_int_equal(att_file_read(&text, stdout_path, SIZE_MAX, NULL), ATT_OK);
    att_json_doc doc = json_of(&text);
    att_string_free(&text);
    return doc;
}

static void json_tells_the_machine_and_the_limits_of_each_configuration(void **state)
{
    (void)state;
    const char *const words[] = { "bench",     "--json", "--time", "0.001", "relu",
                                  "--threads", "1",      "--cpu",  "all",   NULL };
    att_json_doc doc = measured(words);
    const att_json *machine = member(doc.root, "machine");
    bool complete = false;
    assert_string_equal(string_of(doc.root, "attend"), att_version());
    assert_int_equal(att_json_get_bool(&complete, doc.root, "complete", "json", NULL), ATT_OK);
    assert_true(complete);
    assert_true(strlen(string_of(machine, "processor")) > 0);
    assert_true(number_of(machine, "cores") >= 1);
    assert_int_equal(item_count(machine, "caches"), 3);
    size_t configs = item_count(doc.root, "configs");
    for (size_t i = 0; i < configs; i++) {
        const att_json *config = item(doc.root, "configs", i);
        assert_string_equal(string_of(config, "cpu"), att_bench_cpu(i));
        assert_int_equal(number_of(config, "threads"), 1);
        for (int limit = 0; limit < ATT_LIMITS; limit++)
            assert_true(number_of(member(config, "limits"), att_limit_name((att_limit)limit)) > 0);
    }
    assert_null(att_bench_cpu(configs));
    att_json_free(&doc);
}

static void json_has_every_benchmark_asked_for_with_its_work_and_times(void **state)
{
    (void)state;
    const char *const words[] = {
        "bench", "--json",    "--time", "0.001",     "matmul/packed/32x256x64",
        "e?p",   "--threads", "1,2",    "*/softmax", NULL
    };
    att_json_doc doc = measured(words);
    assert_int_equal(item_count(doc.root, "configs"), 2);
    static const char *const expected[2][3] = {
        { "matmul/packed/32x256x64", "kernel/exp", "kernel/softmax" },
        { "matmul/packed/32x256x64" },
    };
    static const size_t counts[] = { 3, 1 }; /* kernels run on one thread */
    for (size_t s = 0; s < 2; s++) {
        const att_json *config = item(doc.root, "configs", s);
        assert_int_equal(item_count(config, "results"), counts[s]);
        for (size_t i = 0; i < counts[s]; i++) {
            const att_json *result = item(config, "results", i);
            assert_string_equal(string_of(result, "name"), expected[s][i]);
            assert_true(number_of(result, "best_seconds") > 0);
            assert_true(number_of(result, "median_seconds") >= number_of(result, "best_seconds"));
            assert_true(number_of(result, "fraction_of_limit") > 0);
        }
        const att_json *product = item(config, "results", 0);
        assert_int_equal(number_of(product, "flops"), 2 * 32 * 256 * 64);
        assert_string_equal(string_of(product, "limit"), "compute");
    }
    att_json_free(&doc);
}

static void it_fails_cleanly_when_memory_is_out(void **state)
{
    (void)state;
    const char *const words[] = { "bench", "--json",    "--time", "0.001",
                                  "exp",   "--threads", "1",      NULL };
    fails_cleanly(words);
}

static void the_list_fails_cleanly_too(void **state)
{
    (void)state;
    const char *const words[] = { "bench", "--list", "attention", NULL };
    fails_cleanly(words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_tells_the_machine_and_the_limits_of_each_configuration),
        cmocka_unit_test(json_has_every_benchmark_asked_for_with_its_work_and_times),
        cmocka_unit_test(it_fails_cleanly_when_memory_is_out),
        cmocka_unit_test(the_list_fails_cleanly_too),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
