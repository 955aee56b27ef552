/* Instruction sets: their detection from the registers of many machines, and the environment
 * variables. */
#include "base/cpu.h"

#include "base/parallel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Registers of a Skylake server under Linux, which saves all vector registers. */
static const uint32_t FULL_LEAF1 = 1u << 12 | 1u << 27 | 1u << 28;
static const uint32_t FULL_LEAF7 = 1u << 5 | 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;
static const uint64_t FULL_XCR0 = 0xE7;

static void a_complete_machine_has_avx512(void **state)
{
    (void)state;
    assert_int_equal(att_cpu_from_registers(FULL_LEAF1, FULL_LEAF7, FULL_XCR0), ATT_CPU_AVX512);
}

static void each_missing_part_of_avx512_leaves_avx2(void **state)
{
    (void)state;
    for (int bit = 16; bit < 32; bit++)
        if (FULL_LEAF7 >> bit & 1)
            assert_int_equal(
                att_cpu_from_registers(FULL_LEAF1, FULL_LEAF7 & ~(1u << bit), FULL_XCR0),
                ATT_CPU_AVX2);
    for (int bit = 5; bit < 8; bit++)
        assert_int_equal(
            att_cpu_from_registers(FULL_LEAF1, FULL_LEAF7, FULL_XCR0 & ~(UINT64_C(1) << bit)),
            ATT_CPU_AVX2);
}

static void each_missing_part_of_avx2_leaves_plain_c(void **state)
{
    (void)state;
    const int leaf1_bits[] = { 12, 27, 28 };
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(
            att_cpu_from_registers(FULL_LEAF1 & ~(1u << leaf1_bits[i]), FULL_LEAF7, FULL_XCR0),
            ATT_CPU_SCALAR);
    assert_int_equal(att_cpu_from_registers(FULL_LEAF1, FULL_LEAF7 & ~(1u << 5), FULL_XCR0),
                     ATT_CPU_SCALAR);
    assert_int_equal(att_cpu_from_registers(FULL_LEAF1, FULL_LEAF7, 0xE5), ATT_CPU_SCALAR);
    assert_int_equal(att_cpu_from_registers(FULL_LEAF1, FULL_LEAF7, 0xE3), ATT_CPU_SCALAR);
}

static void the_sha_instructions_need_sse41_and_ssse3(void **state)
{
    (void)state;
    const uint32_t leaf1 = 1u << 9 | 1u << 19, leaf7 = 1u << 29;
    assert_true(att_cpu_sha_from_registers(leaf1, leaf7));
    assert_false(att_cpu_sha_from_registers(leaf1, 0));
    assert_false(att_cpu_sha_from_registers(1u << 9, leaf7));
    assert_false(att_cpu_sha_from_registers(1u << 19, leaf7));
}

static void plain_c_leaves_the_sha_instructions_out(void **state)
{
    (void)state;
    att_cpu before = att_cpu_get();
    assert_true(att_cpu_set(ATT_CPU_SCALAR));
    assert_false(att_cpu_has_sha());
    assert_true(att_cpu_set(before));
}

static void detection_agrees_with_the_compiler(void **state)
{
    (void)state;
#if defined(__x86_64__) || defined(__i386__)
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    assert_int_equal(att_cpu_best(), avx512 ? ATT_CPU_AVX512
                                     : avx2 ? ATT_CPU_AVX2
                                            : ATT_CPU_SCALAR);
#elif defined(__aarch64__)
    assert_int_equal(att_cpu_best(), ATT_CPU_NEON);
#else
    assert_int_equal(att_cpu_best(), ATT_CPU_SCALAR);
#endif
}

static void a_supported_instruction_set_is_used(void **state)
{
    (void)state;
    att_cpu got;
    assert_int_equal(att_cpu_parse(&got, "scalar", ATT_CPU_AVX512, NULL), ATT_OK);
    assert_int_equal(got, ATT_CPU_SCALAR);
    assert_int_equal(att_cpu_parse(&got, "avx2", ATT_CPU_AVX512, NULL), ATT_OK);
    assert_int_equal(got, ATT_CPU_AVX2);
    assert_int_equal(att_cpu_parse(&got, "avx512", ATT_CPU_AVX512, NULL), ATT_OK);
    assert_int_equal(got, ATT_CPU_AVX512);
    assert_int_equal(att_cpu_parse(&got, NULL, ATT_CPU_AVX2, NULL), ATT_OK);
    assert_int_equal(got, ATT_CPU_AVX2);
    assert_int_equal(att_cpu_parse(&got, "", ATT_CPU_AVX2, NULL), ATT_OK);
    assert_int_equal(got, ATT_CPU_AVX2);
}

static void an_unsupported_instruction_set_leaves_the_best_and_is_reported(void **state)
{
    (void)state;
    att_cpu got;
    att_error err = { 0 };
    assert_int_equal(att_cpu_parse(&got, "avx512", ATT_CPU_AVX2, &err), ATT_BAD_INPUT);
    assert_int_equal(got, ATT_CPU_AVX2);
    assert_string_equal(err.place, "ATTEND_CPU");
    assert_string_equal(err.message,
                        "this machine does not support avx512; the best it supports is avx2");
    assert_int_equal(att_cpu_parse(&got, "AVX", ATT_CPU_AVX2, &err), ATT_BAD_INPUT);
    assert_int_equal(got, ATT_CPU_AVX2);
    assert_string_equal(err.message, "expected scalar, avx2, avx512 or neon, found 'AVX'");
}

static void no_machine_has_both_avx_and_neon(void **state)
{
    (void)state;
    att_cpu got;
    att_error err = { 0 };
    assert_int_equal(att_cpu_parse(&got, "neon", ATT_CPU_NEON, NULL), ATT_OK);
    assert_int_equal(got, ATT_CPU_NEON);
    assert_int_equal(att_cpu_parse(&got, "scalar", ATT_CPU_NEON, NULL), ATT_OK);
    assert_int_equal(got, ATT_CPU_SCALAR);
    assert_int_equal(att_cpu_parse(&got, "avx2", ATT_CPU_NEON, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message,
                        "this machine does not support avx2; the best it supports is neon");
    assert_int_equal(att_cpu_parse(&got, "neon", ATT_CPU_AVX512, &err), ATT_BAD_INPUT);
    assert_int_equal(got, ATT_CPU_AVX512);
    assert_false(att_cpu_has(ATT_CPU_AVX2) && att_cpu_has(ATT_CPU_NEON));
    assert_true(att_cpu_has(ATT_CPU_SCALAR) && att_cpu_has(att_cpu_best()));
}

static void the_environment_is_checked_as_a_whole(void **state)
{
    (void)state;
    att_error err = { 0 };
    unsetenv("ATTEND_CPU");
    unsetenv("ATTEND_THREADS");
    assert_int_equal(att_cpu_check(&err), ATT_OK);
    setenv("ATTEND_CPU", "scalar", 1);
    setenv("ATTEND_THREADS", "3", 1);
    assert_int_equal(att_cpu_check(&err), ATT_OK);
    setenv("ATTEND_CPU", "mmx", 1);
    assert_int_equal(att_cpu_check(&err), ATT_BAD_INPUT);
    assert_string_equal(err.place, "ATTEND_CPU");
    setenv("ATTEND_CPU", "scalar", 1);
    setenv("ATTEND_THREADS", "many", 1);
    assert_int_equal(att_cpu_check(&err), ATT_BAD_INPUT);
    assert_string_equal(err.place, "ATTEND_THREADS");
    assert_string_equal(err.message, "expected a number of threads, 1 or more, found 'many'");
    unsetenv("ATTEND_CPU");
    unsetenv("ATTEND_THREADS");
}

static void the_instruction_set_in_use_has_a_name_and_can_be_changed(void **state)
{
    (void)state;
    static const char *const names[] = { "scalar", "avx2", "avx512", "neon" };
    for (int i = ATT_CPU_SCALAR; i < ATT_CPU_COUNT; i++) {
        att_cpu before = att_cpu_get();
        bool possible = att_cpu_has((att_cpu)i);
        assert_int_equal(att_cpu_set((att_cpu)i), possible);
        assert_int_equal(att_cpu_get(), possible ? (att_cpu)i : before);
        assert_string_equal(att_cpu_name(), names[att_cpu_get()]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_complete_machine_has_avx512),
        cmocka_unit_test(each_missing_part_of_avx512_leaves_avx2),
        cmocka_unit_test(each_missing_part_of_avx2_leaves_plain_c),
        cmocka_unit_test(the_sha_instructions_need_sse41_and_ssse3),
        cmocka_unit_test(plain_c_leaves_the_sha_instructions_out),
        cmocka_unit_test(detection_agrees_with_the_compiler),
        cmocka_unit_test(a_supported_instruction_set_is_used),
        cmocka_unit_test(an_unsupported_instruction_set_leaves_the_best_and_is_reported),
        cmocka_unit_test(no_machine_has_both_avx_and_neon),
        cmocka_unit_test(the_environment_is_checked_as_a_whole),
        cmocka_unit_test(the_instruction_set_in_use_has_a_name_and_can_be_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
