/* The instructions for products of bytes, by the registers of machines. */
#include "base/cpu_features.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { YMM = 0x06, ZMM = 0xE6, TILES = 0x60000 };
enum { VNNI = 1 << 11, AMX_TILE = 1 << 24, AMX_INT8 = 1 << 25, AVX_VNNI = 1 << 4 };

static void each_instruction_needs_its_bit_and_its_registers(void **state)
{
    (void)state;
    const struct {
        uint32_t ecx, edx, eax;
        uint64_t xcr0;
        unsigned features;
    } machines[] = {
        { 0, 0, 0, YMM, 0 },                            /* Zen 3, Skylake */
        { 0, 0, AVX_VNNI, YMM, ATT_CPU_AVX_VNNI },      /* Alder Lake */
        { 0, 0, AVX_VNNI, 0, 0 },                       /* the system saves no vectors */
        { VNNI, 0, 0, YMM | ZMM, ATT_CPU_AVX512_VNNI }, /* Zen 4, Ice Lake */
        { VNNI, 0, 0, YMM, 0 },
        { VNNI, AMX_TILE | AMX_INT8, AVX_VNNI, ZMM | TILES,
          ATT_CPU_AVX_VNNI | ATT_CPU_AVX512_VNNI | ATT_CPU_AMX_INT8 }, /* Sapphire Rapids */
        { VNNI, AMX_TILE | AMX_INT8, 0, ZMM, ATT_CPU_AVX512_VNNI },    /* an older kernel */
        { VNNI, AMX_TILE, 0, ZMM | TILES, ATT_CPU_AVX512_VNNI },       /* tiles without int8 */
    };
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        assert_int_equal(att_cpu_features_from_registers(machines[i].ecx, machines[i].edx,
                                                         machines[i].eax, machines[i].xcr0),
                         machines[i].features);
}

static void the_family_tells_the_rate_of_avx512(void **state)
{
    (void)state;
    const uint32_t amd = 0x68747541, intel = 0x756E6547;    /* "Auth", "Genu" */
    assert_true(att_cpu_has_half_rate(0x00A10F11, amd));    /* Zen 4: family 15 + 10 */
    assert_false(att_cpu_has_half_rate(0x00B00F21, amd));   /* Zen 5: 15 + 11 */
    assert_false(att_cpu_has_half_rate(0x00000619, amd));   /* the family is not extended */
    assert_false(att_cpu_has_half_rate(0x000806F8, intel)); /* Sapphire Rapids: 6 */
    assert_false(att_cpu_has_half_rate(0x00A10F11, intel));
}

static void the_features_of_this_machine_do_not_change(void **state)
{
    (void)state;
    assert_int_equal(att_cpu_features(), att_cpu_features());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_instruction_needs_its_bit_and_its_registers),
        cmocka_unit_test(the_family_tells_the_rate_of_avx512),
        cmocka_unit_test(the_features_of_this_machine_do_not_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
