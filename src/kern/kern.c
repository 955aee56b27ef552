/* Selects the kernels of an instruction set; see kern.h. A set that is not in this build
 * (kern.cmake) has no row, and the next simpler set is used. */
#include "kern/kern.h"

#define DECLARE_KERNELS(set) extern const att_kernels att_kernels_##set;
DECLARE_KERNELS(scalar)
#ifdef ATT_HAVE_AVX2
DECLARE_KERNELS(avx2)
#endif
#ifdef ATT_HAVE_AVX512
DECLARE_KERNELS(avx512)
#endif
#ifdef ATT_HAVE_NEON
DECLARE_KERNELS(neon)
#endif

static const att_kernels *const kernel_tables[] = {
    [ATT_CPU_SCALAR] = &att_kernels_scalar,
#ifdef ATT_HAVE_AVX2
    [ATT_CPU_AVX2] = &att_kernels_avx2,
#endif
#ifdef ATT_HAVE_AVX512
    [ATT_CPU_AVX512] = &att_kernels_avx512,
#endif
#ifdef ATT_HAVE_NEON
    [ATT_CPU_NEON] = &att_kernels_neon,
#endif
};
enum { KERNEL_TABLE_COUNT = sizeof kernel_tables / sizeof *kernel_tables };

const att_kernels *att_kernels_for(att_cpu cpu)
{
    size_t set = cpu;
    return att_cpu_has(cpu) && set < KERNEL_TABLE_COUNT ? kernel_tables[set] : NULL;
}

const att_kernels *att_kernels_get(void)
{
    size_t set = att_cpu_get();
    if (set >= KERNEL_TABLE_COUNT)
        set = KERNEL_TABLE_COUNT - 1;
    while (!kernel_tables[set])
        set--;
    return kernel_tables[set];
}

const float att_tile_ones[ATT_TILE_LANES] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                              1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
