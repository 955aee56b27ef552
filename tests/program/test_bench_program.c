/* `attend bench --json` from outside: what it writes is JSON, complete, and makes sense; and with
 * every allocation failing in turn it ends with exit code 3, has written nothing and lost nothing.
 */
#include "attend.h"
#include "program/in_process.h"

#ifdef ATT_HAVE_JANSSON
#include <jansson.h>

static json_t *measured(const char *const *words)
{
    json_error_t fault;
    assert_int_equal(run(words, 0).code, 0);
    json_t *root = json_load_file(stdout_path, JSON_REJECT_DUPLICATES, &fault);
    if (!root)
        fail_msg("line %d: %s", fault.line, fault.text);
    return root;
}

static const char *word_of(json_t *object, const char *key)
{
    const char *word = json_string_value(json_object_get(object, key));
    assert_non_null(word);
    return word;
}

static double number_of(json_t *object, const char *key)
{
    json_t *number = json_object_get(object, key);
    assert_true(json_is_number(number));
    return json_number_value(number);
}

static void json_tells_the_machine_and_the_limits_of_each_configuration(void **state)
{
    (void)state;
    const char *const words[] = { "bench",     "--json", "--time", "0.001", "relu",
                                  "--threads", "1",      "--cpu",  "all",   NULL };
    json_t *root = measured(words);
    assert_string_equal(word_of(root, "attend"), att_version());
    assert_true(json_is_true(json_object_get(root, "complete")));
    json_t *machine = json_object_get(root, "machine");
    assert_true(strlen(word_of(machine, "processor")) > 0);
    assert_true(number_of(machine, "cores") >= 1);
    assert_int_equal(json_array_size(json_object_get(machine, "caches")), 3);
    json_t *configs = json_object_get(root, "configs"), *config;
    size_t index;
    json_array_foreach(configs, index, config)
    {
        assert_string_equal(word_of(config, "cpu"), att_bench_cpu(index));
        assert_int_equal(number_of(config, "threads"), 1);
        for (int limit = 0; limit < ATT_LIMITS; limit++)
            assert_true(number_of(json_object_get(config, "limits"),
                                  att_limit_name((att_limit)limit)) > 0);
    }
    assert_null(att_bench_cpu(json_array_size(configs)));
    json_decref(root);
}

static void json_has_every_benchmark_asked_for_with_its_work_and_times(void **state)
{
    (void)state;
    const char *const words[] = {
        "bench", "--json",    "--time", "0.001",     "product/packed/32x256x64",
        "e?p",   "--threads", "1,2",    "*/softmax", NULL
    };
    json_t *root = measured(words);
    json_t *configs = json_object_get(root, "configs");
    assert_int_equal(json_array_size(configs), 2);
    static const char *const expected[2][3] = {
        { "product/packed/32x256x64", "kernel/exp", "kernel/softmax" },
        { "product/packed/32x256x64" },
    };
    static const size_t counts[] = { 3, 1 }; /* kernels run on one thread */
    for (size_t s = 0; s < 2; s++) {
        json_t *results = json_object_get(json_array_get(configs, s), "results");
        assert_int_equal(json_array_size(results), counts[s]);
        for (size_t i = 0; i < counts[s]; i++) {
            json_t *result = json_array_get(results, i);
            assert_string_equal(word_of(result, "name"), expected[s][i]);
            assert_true(number_of(result, "best_seconds") > 0);
            assert_true(number_of(result, "median_seconds") >= number_of(result, "best_seconds"));
            assert_true(number_of(result, "fraction_of_limit") > 0);
        }
        json_t *product = json_array_get(results, 0);
        assert_int_equal(number_of(product, "flops"), 2 * 32 * 256 * 64);
        assert_string_equal(word_of(product, "limit"), "compute");
    }
    json_decref(root);
}
#endif

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
#ifdef ATT_HAVE_JANSSON
        cmocka_unit_test(json_tells_the_machine_and_the_limits_of_each_configuration),
        cmocka_unit_test(json_has_every_benchmark_asked_for_with_its_work_and_times),
#endif
        cmocka_unit_test(it_fails_cleanly_when_memory_is_out),
        cmocka_unit_test(the_list_fails_cleanly_too),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
