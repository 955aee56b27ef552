/* What a processor has or lacks beside its instruction set (base/cpu.h): instructions for sums of
 * products of bytes, and the rate of its widest vectors. */
#ifndef ATT_BASE_CPU_FEATURES_H
#define ATT_BASE_CPU_FEATURES_H

#include <stdbool.h>
#include <stdint.h>

enum {
    ATT_CPU_AVX_VNNI = 1,    /* vpdpbusd of 256 bits without AVX-512 */
    ATT_CPU_AVX512_VNNI = 2, /* vpdpbusd of 512 bits */
    ATT_CPU_AMX_INT8 = 4,    /* tile registers, granted by the operating system */
    ATT_CPU_DOTPROD = 8,     /* sdot of ARM */
    ATT_CPU_HALF_RATE = 16,  /* AVX-512 at half the rate of a full unit: Zen 4 */
};

/* The features of this machine, as bits. The first call asks the operating system for the tile
 * registers. */
unsigned att_cpu_features(void);

/* The same of registers: ECX and EDX of CPUID leaf 7, EAX of its subleaf 1, and XCR0 (0 where the
 * system does not set it). A function of its own so that tests can describe any machine; that the
 * system granted the tile registers is not in it. */
unsigned att_cpu_features_from_registers(uint32_t leaf7_ecx, uint32_t leaf7_edx,
                                         uint32_t leaf7_1_eax, uint64_t xcr0);

/* Whether AVX-512 runs at half rate, by EAX of CPUID leaf 1 and EBX of leaf 0: on AMD's family 25.
 */
bool att_cpu_has_half_rate(uint32_t leaf1_eax, uint32_t leaf0_ebx);

#endif
