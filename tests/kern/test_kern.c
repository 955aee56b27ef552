/* Every kernel of the list, on every instruction set of this machine: the same bits as the plain
 * version, nothing read or written past an end, at any alignment and length. */
#include "kern/runs.h"
#include "thin.h"

#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>

static const size_t large[] = { 127, 128, 129, 255, 256, 257, 1000, 4099 };
enum { SMALL = 68, LENGTHS = SMALL + sizeof large / sizeof *large };

static size_t length_at(size_t i)
{
    return i < SMALL ? i : large[i - SMALL];
}

/* Runs one kernel in a fresh scene; fails where a fence fell. */
static uint64_t run_hash(const struct run *run, const att_kernels *kernels, scene s)
{
    run->run(kernels, &s);
    uint64_t hash = scene_hash(&s);
    if (!scene_fences_stand(&s))
        fail_msg("%s on %s wrote outside its arrays, n = %zu", run->name, kernels->name, s.n);
    scene_clear(&s);
    return hash;
}

static void compare_sets(const struct run *run, scene s)
{
    uint64_t plain = run_hash(run, att_kernels_for(ATT_CPU_SCALAR), s);
    for (int cpu = ATT_CPU_AVX2; cpu < ATT_CPU_COUNT; cpu++) {
        const att_kernels *kernels = att_kernels_for((att_cpu)cpu);
        if (kernels && run_hash(run, kernels, s) != plain)
            fail_msg("%s on %s differs from ref: n = %zu, seed = %u, values %d", run->name,
                     kernels->name, s.n, (unsigned)s.seed, (int)s.values);
    }
}

/* Kernels take turns where tests are thin. */
enum { LENGTH_STEP = THIN > 1 ? 3 : 1 };

static void compare_all(scene_values values, bool at_page_end)
{
    for (size_t k = 0; k < RUN_COUNT; k++)
        for (size_t i = k % LENGTH_STEP; i < LENGTHS; i += LENGTH_STEP)
            compare_sets(&runs[k], (scene){ .n = length_at(i),
                                            .seed = 77 + i,
                                            .values = values,
                                            .at_page_end = at_page_end });
}

static void every_set_gives_the_bits_of_the_plain_version(void **state)
{
    (void)state;
    compare_all(SCENE_ORDINARY, false);
}

static void so_it_does_on_nan_infinities_denormals_and_huge_numbers(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 40; seed += LENGTH_STEP)
        for (size_t k = 0; k < RUN_COUNT; k++)
            compare_sets(&runs[k],
                         (scene){ .n = seed * 5 % 67, .seed = seed, .values = SCENE_WILD });
    compare_all(SCENE_WILD, false);
}

static void zeros_keep_the_same_signs(void **state)
{
    (void)state;
    compare_all(SCENE_ZEROS, false);
}

static void no_kernel_reads_past_the_end_of_an_array(void **state)
{
    (void)state;
    compare_all(SCENE_ORDINARY, true);
}

static void the_set_in_use_is_the_one_chosen(void **state)
{
    (void)state;
    att_cpu before = att_cpu_get();
    ATT_FOR_EACH_CPU (cpu) {
        assert_true(att_cpu_set((att_cpu)cpu));
        if (att_kernels_for((att_cpu)cpu))
            assert_ptr_equal(att_kernels_get(), att_kernels_for((att_cpu)cpu));
    }
    att_cpu_set(before);
}

static void every_kernel_of_every_set_is_there(void **state)
{
    (void)state;
    for (int cpu = ATT_CPU_SCALAR; cpu < ATT_CPU_COUNT; cpu++) {
        const att_kernels *kernels = att_kernels_for((att_cpu)cpu);
        if (!kernels)
            continue;
#define IS_THERE(type, kernel) assert_non_null(kernels->kernel);
        ATT_KERNELS(IS_THERE)
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_set_gives_the_bits_of_the_plain_version),
        cmocka_unit_test(so_it_does_on_nan_infinities_denormals_and_huge_numbers),
        cmocka_unit_test(zeros_keep_the_same_signs),
        cmocka_unit_test(no_kernel_reads_past_the_end_of_an_array),
        cmocka_unit_test(the_set_in_use_is_the_one_chosen),
        cmocka_unit_test(every_kernel_of_every_set_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
