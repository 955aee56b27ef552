/* Permutations without memory, and epochs that read files by their weights. */
#include "data/mix.h"
#include "data/permutation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void a_permutation_has_every_element_once(void **state)
{
    (void)state;
    static const int64_t counts[] = { 1, 2, 3, 4, 5, 16, 17, 100, 257, 4096, 5000 };
    static bool seen[5000];
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        memset(seen, 0, sizeof seen);
        for (int64_t i = 0; i < counts[c]; i++) {
            int64_t at = att_permutation_at(7, 3, counts[c], i);
            assert_in_range(at, 0, counts[c] - 1);
            assert_false(seen[at]);
            seen[at] = true;
        }
    }
}

static void permutations_differ_by_seed_and_stream(void **state)
{
    (void)state;
    int same_seed = 0, same_stream = 0, in_place = 0;
    for (int64_t i = 0; i < 1000; i++) {
        int64_t at = att_permutation_at(1, 1, 1000, i);
        same_seed += at == att_permutation_at(1, 2, 1000, i);
        same_stream += at == att_permutation_at(2, 1, 1000, i);
        in_place += at == i;
    }
    /* each is 1 on average; 10 would happen once in ten million */
    assert_true(same_seed < 10);
    assert_true(same_stream < 10);
    assert_true(in_place < 10);
}

/* The numbers must never change: they determine the batches of large corpora. */
static void the_order_is_fixed(void **state)
{
    (void)state;
    static const int64_t first[] = { 2025621434, 2823236280, 2176169767, 2976767284,
                                     2758633608, 508911253,  552892638,  294168744 };
    for (int64_t i = 0; i < 8; i++)
        assert_int_equal(att_permutation_at(42, UINT64_C(1) << 45, INT64_C(3000000000), i),
                         first[i]);
}

static void every_file_is_read_once_by_default(void **state)
{
    (void)state;
    att_mix_file files[] = { { 3, att_mix_read_count(3, 1) }, { 5, att_mix_read_count(5, 1) } };
    const att_mix mix = { files, 2 };
    int64_t run;
    assert_int_equal(att_mix_total(&mix), 8);
    for (int64_t epoch = 0; epoch < 3; epoch++)
        for (int64_t i = 0; i < 8; i++) {
            assert_int_equal(att_mix_at(&mix, epoch, i, &run), i);
            assert_int_equal(run, i < 3 ? 3 - i : 8 - i);
        }
}

static void a_whole_weight_repeats_a_file(void **state)
{
    (void)state;
    att_mix_file files[] = { { 2, 2 }, { 3, att_mix_read_count(3, 2) } };
    const att_mix mix = { files, 2 };
    static const int64_t expected[] = { 0, 1, 2, 3, 4, 2, 3, 4 };
    int64_t run;
    assert_int_equal(att_mix_total(&mix), 8);
    for (int64_t i = 0; i < 8; i++)
        assert_int_equal(att_mix_at(&mix, 5, i, &run), expected[i]);
}

static void parts_of_a_file_go_on_in_the_next_epoch(void **state)
{
    (void)state;
    att_mix_file files[] = { { 10, att_mix_read_count(10, 0.3) } };
    const att_mix mix = { files, 1 };
    int times[10] = { 0 };
    int64_t run;
    assert_int_equal(att_mix_total(&mix), 3);
    for (int64_t epoch = 0; epoch < 10; epoch++)
        for (int64_t i = 0; i < 3; i++) {
            int64_t at = att_mix_at(&mix, epoch, i, &run);
            assert_int_equal(at, (3 * epoch + i) % 10);
            assert_true(run >= 1 && run <= 3 - i && at + run <= 10);
            times[at]++;
        }
    for (int i = 0; i < 10; i++)
        assert_int_equal(times[i], 3);
}

static void a_tiny_weight_still_reads_one_example(void **state)
{
    (void)state;
    assert_int_equal(att_mix_read_count(10, 0.001), 1);
    assert_int_equal(att_mix_read_count(10, 1.25), 13);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_permutation_has_every_element_once),
        cmocka_unit_test(permutations_differ_by_seed_and_stream),
        cmocka_unit_test(the_order_is_fixed),
        cmocka_unit_test(every_file_is_read_once_by_default),
        cmocka_unit_test(a_whole_weight_repeats_a_file),
        cmocka_unit_test(parts_of_a_file_go_on_in_the_next_epoch),
        cmocka_unit_test(a_tiny_weight_still_reads_one_example),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
