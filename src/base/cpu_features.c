/* Detection of what a processor has beside its instruction set. */
#include "base/cpu_features.h"

#include <stdatomic.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__linux__)
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

enum {
    LEAF7_ECX_AVX512_VNNI = 1 << 11,
    LEAF7_EDX_AMX_TILE = 1 << 24,
    LEAF7_EDX_AMX_INT8 = 1 << 25,
    LEAF7_1_EAX_AVX_VNNI = 1 << 4,
    XCR0_YMM = 0x06,
    XCR0_AVX512 = 0xE6,
    XCR0_TILES = 0x60000, /* tile configuration and tile data */
};

static bool has_all(uint64_t bits, uint64_t wanted)
{
    return (bits & wanted) == wanted;
}

unsigned att_cpu_features_from_registers(uint32_t leaf7_ecx, uint32_t leaf7_edx,
                                         uint32_t leaf7_1_eax, uint64_t xcr0)
{
    unsigned features = 0;
    if (has_all(leaf7_1_eax, LEAF7_1_EAX_AVX_VNNI) && has_all(xcr0, XCR0_YMM))
        features |= ATT_CPU_AVX_VNNI;
    if (has_all(leaf7_ecx, LEAF7_ECX_AVX512_VNNI) && has_all(xcr0, XCR0_AVX512))
        features |= ATT_CPU_AVX512_VNNI;
    if (has_all(leaf7_edx, LEAF7_EDX_AMX_TILE | LEAF7_EDX_AMX_INT8) && has_all(xcr0, XCR0_TILES))
        features |= ATT_CPU_AMX_INT8;
    return features;
}

bool att_cpu_has_half_rate(uint32_t leaf1_eax, uint32_t leaf0_ebx)
{
    const uint32_t amd = 0x68747541; /* "Auth" of AuthenticAMD */
    uint32_t family = leaf1_eax >> 8 & 0xF;
    if (family == 0xF)
        family += leaf1_eax >> 20 & 0xFF;
    return leaf0_ebx == amd && family == 25;
}

#if defined(__x86_64__)
/* Tile data enlarges the saved state of a thread by 8 KB, so Linux enables it for a process only
 * after it was asked: arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA). */
static bool tiles_are_granted(void)
{
#if defined(__linux__) && defined(SYS_arch_prctl)
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
#else
    return false;
#endif
}

static unsigned detect(void)
{
    unsigned eax, ebx, ecx, edx, unused;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & 1 << 27))
        return 0; /* without OSXSAVE, XGETBV itself is an illegal instruction */
    uint32_t leaf1_eax = eax, leaf0_ebx = 0;
    __get_cpuid(0, &unused, &leaf0_ebx, &ecx, &edx);
    if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx))
        return 0;
    unsigned leaf7_1_eax = 0;
    if (eax >= 1 && !__get_cpuid_count(7, 1, &leaf7_1_eax, &unused, &unused, &unused))
        leaf7_1_eax = 0;
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    unsigned features =
        att_cpu_features_from_registers(ecx, edx, leaf7_1_eax, (uint64_t)high << 32 | low);
    if (att_cpu_has_half_rate(leaf1_eax, leaf0_ebx))
        features |= ATT_CPU_HALF_RATE;
    if (features & ATT_CPU_AMX_INT8 && !tiles_are_granted())
        features &= ~(unsigned)ATT_CPU_AMX_INT8;
    return features;
}
#elif defined(__aarch64__) && defined(__linux__)
static unsigned detect(void)
{
    const unsigned long dot_products = 1UL << 20; /* HWCAP_ASIMDDP */
    return getauxval(AT_HWCAP) & dot_products ? ATT_CPU_DOTPROD : 0;
}
#else
static unsigned detect(void)
{
    return 0;
}
#endif

/* 1 + the features, or 0 while they are unknown. Several threads may detect them at the same time;
 * all store the same value. */
static atomic_uint known_features;

unsigned att_cpu_features(void)
{
    unsigned known = atomic_load_explicit(&known_features, memory_order_relaxed);
    if (known == 0) {
        known = detect() + 1;
        atomic_store_explicit(&known_features, known, memory_order_relaxed);
    }
    return known - 1;
}
