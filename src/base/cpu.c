/* Detection of instruction sets. CPUID alone is not enough: the vector registers are usable only if
 * the operating system saves them on a task switch, which XCR0 shows. */
#include "base/cpu.h"

#include "base/error.h"
#include "base/minmax.h"
#include "base/parallel.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#define HAVE_CPUID 1
#endif

enum {
    LEAF1_ECX_SSSE3 = 1 << 9,
    LEAF1_ECX_FMA = 1 << 12,
    LEAF1_ECX_SSE41 = 1 << 19,
    LEAF1_ECX_OSXSAVE = 1 << 27,
    LEAF1_ECX_AVX = 1 << 28,
    LEAF7_EBX_AVX2 = 1 << 5,
    LEAF7_EBX_AVX512F = 1 << 16,
    LEAF7_EBX_AVX512DQ = 1 << 17,
    LEAF7_EBX_SHA = 1 << 29,
    LEAF7_EBX_AVX512BW = 1 << 30,
    XCR0_YMM = 0x06,    /* the SSE and AVX parts of the vector registers */
    XCR0_AVX512 = 0xE6, /* also mask registers, upper halves and the upper sixteen registers */
};
static const uint32_t LEAF7_EBX_AVX512VL = UINT32_C(1) << 31;

#define SET(cpu) (1U << (cpu))

/* The sets that a machine has whose best is this one. */
static const struct instruction_set {
    const char *name;
    unsigned includes;
} sets[ATT_CPU_COUNT] = {
    [ATT_CPU_SCALAR] = { "scalar", SET(ATT_CPU_SCALAR) },
    [ATT_CPU_AVX2] = { "avx2", SET(ATT_CPU_SCALAR) | SET(ATT_CPU_AVX2) },
    [ATT_CPU_AVX512] = { "avx512", SET(ATT_CPU_SCALAR) | SET(ATT_CPU_AVX2) | SET(ATT_CPU_AVX512) },
    [ATT_CPU_NEON] = { "neon", SET(ATT_CPU_SCALAR) | SET(ATT_CPU_NEON) },
};

static bool has_all(uint64_t bits, uint64_t wanted)
{
    return (bits & wanted) == wanted;
}

att_cpu att_cpu_from_registers(uint32_t leaf1_ecx, uint32_t leaf7_ebx, uint64_t xcr0)
{
    const uint32_t avx512 =
        LEAF7_EBX_AVX512F | LEAF7_EBX_AVX512DQ | LEAF7_EBX_AVX512BW | LEAF7_EBX_AVX512VL;
    if (!has_all(leaf1_ecx, LEAF1_ECX_FMA | LEAF1_ECX_OSXSAVE | LEAF1_ECX_AVX) ||
        !has_all(leaf7_ebx, LEAF7_EBX_AVX2) || !has_all(xcr0, XCR0_YMM))
        return ATT_CPU_SCALAR;
    if (!has_all(leaf7_ebx, avx512) || !has_all(xcr0, XCR0_AVX512))
        return ATT_CPU_AVX2;
    return ATT_CPU_AVX512;
}

bool att_cpu_sha_from_registers(uint32_t leaf1_ecx, uint32_t leaf7_ebx)
{
    return has_all(leaf1_ecx, LEAF1_ECX_SSSE3 | LEAF1_ECX_SSE41) &&
           has_all(leaf7_ebx, LEAF7_EBX_SHA);
}

#ifdef HAVE_CPUID
static uint64_t read_xcr0(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static att_cpu detect(void)
{
    unsigned eax, ebx, ecx, edx;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & LEAF1_ECX_OSXSAVE))
        return ATT_CPU_SCALAR; /* without OSXSAVE, XGETBV itself is an illegal instruction */
    unsigned leaf1_ecx = ecx;
    if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx))
        return ATT_CPU_SCALAR;
    return att_cpu_from_registers(leaf1_ecx, ebx, read_xcr0());
}

static bool detect_sha(void)
{
    unsigned eax, ebx, ecx, edx;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx))
        return false;
    unsigned leaf1_ecx = ecx;
    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) &&
           att_cpu_sha_from_registers(leaf1_ecx, ebx);
}

/* Three leaves of 16 characters each, padded with spaces on either side. */
static void read_model(char out[ATT_CPU_MODEL_SIZE])
{
    enum { FIRST = 0x80000002, LEAVES = 3 };
    for (unsigned i = 0; i < LEAVES; i++) {
        unsigned text[4];
        if (!__get_cpuid(FIRST + i, &text[0], &text[1], &text[2], &text[3]))
            return;
        memcpy(out + i * sizeof text, text, sizeof text);
    }
}
#else
static att_cpu detect(void)
{
#ifdef __aarch64__ /* NEON is a part of the architecture */
    return ATT_CPU_NEON;
#else
    return ATT_CPU_SCALAR;
#endif
}

static bool detect_sha(void)
{
    return false;
}

static void read_model(char out[ATT_CPU_MODEL_SIZE])
{
    (void)out;
}
#endif

void att_cpu_model(char out[ATT_CPU_MODEL_SIZE])
{
    char raw[ATT_CPU_MODEL_SIZE] = { 0 };
    read_model(raw);
    size_t begin = strspn(raw, " "), end = strlen(raw);
    while (end > begin && raw[end - 1] == ' ')
        end--;
    raw[end] = '\0';
    strcpy(out, end > begin ? raw + begin : "unknown processor");
}

/* 1 + the value, or 0 while it is unknown. Several threads may detect it at the same time; all
 * store the same value. */
static atomic_int best_known;
static atomic_int in_use;
static atomic_int sha_known;

att_cpu att_cpu_best(void)
{
    int known = atomic_load_explicit(&best_known, memory_order_relaxed);
    if (known == 0) {
        known = (int)detect() + 1;
        atomic_store_explicit(&best_known, known, memory_order_relaxed);
    }
    return (att_cpu)(known - 1);
}

bool att_cpu_has(att_cpu cpu)
{
    return sets[att_cpu_best()].includes & SET(cpu);
}

bool att_cpu_has_sha(void)
{
    int known = atomic_load_explicit(&sha_known, memory_order_relaxed);
    if (known == 0) {
        known = detect_sha() + 1;
        atomic_store_explicit(&sha_known, known, memory_order_relaxed);
    }
    return known == 2 && att_cpu_get() != ATT_CPU_SCALAR;
}

att_status att_cpu_parse(att_cpu *out, const char *requested, att_cpu best, att_error *err)
{
    *out = best;
    if (!requested || !*requested)
        return ATT_OK;
    const struct instruction_set *found = NULL;
    for (size_t i = 0; i < ATT_COUNT(sets) && !found; i++)
        if (strcmp(requested, sets[i].name) == 0)
            found = &sets[i];
    if (!found)
        return att_fail(err, ATT_BAD_INPUT, "ATTEND_CPU",
                        "expected scalar, avx2, avx512 or neon, found '%s'", requested);
    att_cpu wanted = (att_cpu)(found - sets);
    if (!(sets[best].includes & SET(wanted)))
        return att_fail(err, ATT_BAD_INPUT, "ATTEND_CPU",
                        "this machine does not support %s; the best it supports is %s", requested,
                        sets[best].name);
    *out = wanted;
    return ATT_OK;
}

att_cpu att_cpu_get(void)
{
    int known = atomic_load_explicit(&in_use, memory_order_relaxed);
    if (known == 0) {
        att_cpu chosen;
        (void)att_cpu_parse(&chosen, getenv("ATTEND_CPU"), att_cpu_best(), NULL);
        known = (int)chosen + 1;
        atomic_store_explicit(&in_use, known, memory_order_relaxed);
    }
    return (att_cpu)(known - 1);
}

bool att_cpu_set(att_cpu cpu)
{
    if (!att_cpu_has(cpu))
        return false;
    atomic_store_explicit(&in_use, (int)cpu + 1, memory_order_relaxed);
    return true;
}

const char *att_cpu_name(void)
{
    return sets[att_cpu_get()].name;
}

att_status att_cpu_check(att_error *err)
{
    att_cpu chosen;
    int threads;
    ATT_TRY(att_cpu_parse(&chosen, getenv("ATTEND_CPU"), att_cpu_best(), err));
    return att_threads_parse(&threads, getenv("ATTEND_THREADS"), err);
}
