/* The AVX-512 VNNI version of the int8 product with its one special instruction replaced by a
 * model, so that it also runs where AVX-512 has no VNNI. Where the machine has it, test_int8 runs
 * the real one. */
#include "kern/check.h"

#include "base/alloc.h"
#include "kern/int8/kernels.h"

#if defined(__x86_64__) && defined(__GNUC__)

#ifdef __clang__
#include <immintrin.h>
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))),        \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl")
#include <immintrin.h>
#endif

static __m512i model_dpbusd(__m512i sums, __m512i a, __m512i b)
{
    int32_t sum[16];
    uint8_t left[64];
    int8_t right[64];
    memcpy(sum, &sums, sizeof sum);
    memcpy(left, &a, sizeof left);
    memcpy(right, &b, sizeof right);
    for (size_t k = 0; k < 64; k++)
        sum[k / 4] += left[k] * right[k];
    memcpy(&sums, sum, sizeof sum);
    return sums;
}

#undef _mm512_dpbusd_epi32
#define _mm512_dpbusd_epi32(sums, a, b) model_dpbusd(sums, a, b)
#define att_int8_avx512vnni             modeled_vnni

#include "../../src/kern/int8/avx512vnni.c"

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#include "kern/int8_product.h"

static void the_kernel_has_the_bits_of_plain_c_on_a_model_of_the_instruction(void **state)
{
    (void)state;
    if (att_cpu_best() < ATT_CPU_AVX512)
        skip();
    const size_t rows[] = { 1, 2, 3, 4, 5, 6, 7, 13 }, columns[] = { 1, 16, 63, 64, 65, 150 },
                 depths[] = { 0, 1, 4, 63, 130, 300 };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t j = 0; j < sizeof columns / sizeof *columns; j++)
            for (size_t k = 0; k < sizeof depths / sizeof *depths; k++)
                int8_product_has_the_bits_of_plain_c(&modeled_vnni, rows[i], columns[j], depths[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kernel_has_the_bits_of_plain_c_on_a_model_of_the_instruction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    printf("1..1\nok 1 - VNNI on a model of its instruction # SKIP not x86-64\n");
    return 0;
}

#endif
