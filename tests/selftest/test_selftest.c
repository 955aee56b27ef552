/* The self-test: every item has its published digest, and a difference is found and named. */
#include "base/cpu.h"
#include "base/minmax.h"
#include "kern/int8/kernels.h"
#include "selftest/selftest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static size_t find(const char *name)
{
    for (size_t i = 0; i < att_selftest_count(); i++) {
        att_selftest item;
        att_selftest_get(&item, i);
        if (strcmp(item.name, name) == 0)
            return i;
    }
    fail_msg("there is no item %s", name);
    return 0;
}

static void every_item_has_its_published_digest(void **state)
{
    (void)state;
    for (size_t i = 0; i < att_selftest_count(); i++) {
        att_selftest item;
        att_error err = { 0 };
        assert_int_equal(att_selftest_run(&item, i, &err), ATT_OK);
        if (!item.passed)
            fail_msg("%s: %s", item.name, item.difference);
        assert_string_equal(item.digest, item.expected);
    }
}

/* The published rows, with another digest for one of them. */
static void the_first_kernel_that_differs_is_named_with_its_instruction_set(void **state)
{
    (void)state;
    att_selftest_digest_row rows[256];
    size_t count = 0;
    do {
        rows[count] = att_selftest_published[count];
        if (rows[count].name && strcmp(rows[count].name, "kernels/tanh") == 0)
            rows[count].digest = "0123";
    } while (rows[count++].name && count < ATT_COUNT(rows));
    att_selftest item;
    att_error err = { 0 };
    att_selftest_use_rows(rows);
    assert_int_equal(att_selftest_run(&item, find("kernels"), &err), ATT_OK);
    att_selftest_use_rows(NULL);
    assert_false(item.passed);
    assert_string_equal(item.difference, "tanh on scalar");
    assert_string_not_equal(item.digest, item.expected);
}

static void a_case_without_a_published_digest_differs(void **state)
{
    (void)state;
    const att_selftest_digest_row none[] = { { NULL, NULL } };
    att_selftest item;
    att_error err = { 0 };
    att_selftest_use_rows(none);
    assert_int_equal(att_selftest_run(&item, find("matrix products"), &err), ATT_OK);
    att_selftest_use_rows(NULL);
    assert_false(item.passed);
    assert_string_equal(item.difference, "1 x 300 x 77 on scalar");
}

/* A version whose products are those of plain C, counted. */
static int products_counted;

static void counted_matmul(const att_int8_block *block)
{
    products_counted++;
    att_int8_versions[0]->matmul(block);
}

static void int8_cases_run_with_the_version_in_use(void **state)
{
    (void)state;
    att_int8_kernels counted = *att_int8_versions[0];
    counted.matmul = counted_matmul;
    att_sha256 hash;
    att_error err = { 0 };
    att_sha256_begin(&hash);
    att_int8_kernels_use(&counted);
    assert_int_equal(att_selftest_int8.run_case(&hash, 0, &err), ATT_OK);
    assert_int_equal(products_counted, 1);
    assert_null(att_selftest_int8.use_version(SIZE_MAX));
    assert_int_equal(att_selftest_int8.run_case(&hash, 0, &err), ATT_OK);
    assert_int_equal(products_counted, 1);
}

static void every_version_of_int8_kernels_that_this_machine_has_is_run(void **state)
{
    (void)state;
    att_cpu before = att_cpu_get();
    assert_true(att_cpu_set(att_cpu_best()));
    size_t index = 0;
    for (int i = 0; i < att_int8_version_count; i++)
        if (att_int8_version_runs(att_int8_versions[i], att_cpu_best())) {
            assert_string_equal(att_selftest_int8.use_version(index++), att_int8_versions[i]->name);
            assert_ptr_equal(att_int8_kernels_get(1), att_int8_versions[i]);
        }
    assert_null(att_selftest_int8.use_version(index));
    assert_true(att_cpu_set(ATT_CPU_SCALAR));
    assert_string_equal(att_selftest_int8.use_version(0), "scalar");
    assert_null(att_selftest_int8.use_version(1));
    att_cpu_set(before);
}

static void the_instruction_set_in_use_stays(void **state)
{
    (void)state;
    att_cpu before = att_cpu_get();
    att_selftest item;
    att_error err = { 0 };
    assert_true(att_cpu_set(ATT_CPU_SCALAR));
    assert_int_equal(att_selftest_run(&item, find("matrix products"), &err), ATT_OK);
    assert_int_equal(att_cpu_get(), ATT_CPU_SCALAR);
    att_cpu_set(before);
}

static void an_item_past_the_last_is_refused(void **state)
{
    (void)state;
    att_selftest item;
    att_error err = { 0 };
    assert_int_equal(att_selftest_run(&item, att_selftest_count(), &err), ATT_BAD_INPUT);
}

/* What is hashed does not depend on which NaN a machine makes. */
static void any_nan_has_the_same_digest(void **state)
{
    (void)state;
    const uint32_t bits[] = { 0x7FC00000, 0xFFC00000, 0x7FC00001 };
    char first[ATT_DIGEST_SIZE], other[ATT_DIGEST_SIZE];
    for (int i = 0; i < 3; i++) {
        float value;
        att_sha256 hash;
        memcpy(&value, &bits[i], sizeof value);
        att_sha256_begin(&hash);
        att_selftest_add_floats(&hash, &value, 1);
        att_sha256_end_hex(&hash, i == 0 ? first : other);
        if (i > 0)
            assert_string_equal(first, other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_item_has_its_published_digest),
        cmocka_unit_test(the_first_kernel_that_differs_is_named_with_its_instruction_set),
        cmocka_unit_test(a_case_without_a_published_digest_differs),
        cmocka_unit_test(int8_cases_run_with_the_version_in_use),
        cmocka_unit_test(every_version_of_int8_kernels_that_this_machine_has_is_run),
        cmocka_unit_test(the_instruction_set_in_use_stays),
        cmocka_unit_test(an_item_past_the_last_is_refused),
        cmocka_unit_test(any_nan_has_the_same_digest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
