/* Which instruction set's kernels to use; see kern.h. A set that this build lacks (kern.cmake) has
 * no row, and the next plainer one serves. */
#include "kern/kern.h"

#define SET_TABLE(set) extern const att_kernels att_kernels_##set;
SET_TABLE(ref)
#ifdef ATT_HAVE_AVX2
SET_TABLE(avx2)
#endif
#ifdef ATT_HAVE_AVX512
SET_TABLE(avx512)
#endif

static const att_kernels *const sets[] = {
    [ATT_CPU_REF] = &att_kernels_ref,
#ifdef ATT_HAVE_AVX2
    [ATT_CPU_AVX2] = &att_kernels_avx2,
#endif
#ifdef ATT_HAVE_AVX512
    [ATT_CPU_AVX512] = &att_kernels_avx512,
#endif
};
enum { SET_COUNT = sizeof sets / sizeof *sets };

const att_kernels *att_kernels_for(att_cpu cpu)
{
    size_t set = cpu;
    return cpu <= att_cpu_best() && set < SET_COUNT ? sets[set] : NULL;
}

const att_kernels *att_kernels_get(void)
{
    size_t set = att_cpu_get();
    if (set >= SET_COUNT)
        set = SET_COUNT - 1;
    while (!sets[set])
        set--;
    return sets[set];
}
