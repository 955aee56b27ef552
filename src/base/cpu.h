/* Which instruction sets the processor has and the operating system supports. The kernels pick by
 * att_cpu_get(); nothing else may ask the processor. */
#ifndef ATT_BASE_CPU_H
#define ATT_BASE_CPU_H

#include "attend.h"

/* Each includes the ones before it. */
typedef enum att_cpu {
    ATT_CPU_SCALAR, /* plain C */
    ATT_CPU_AVX2,   /* AVX2 and FMA */
    ATT_CPU_AVX512, /* AVX-512 F, BW, DQ and VL */
} att_cpu;

/* The best this machine can do. */
att_cpu att_cpu_best(void);

/* The one in use: the best, unless ATTEND_CPU or att_cpu_set() chose another. */
att_cpu att_cpu_get(void);

/* Chooses one for calls from now on; false, and no change, where the machine lacks it. For tests
 * that compare instruction sets in one process. */
bool att_cpu_set(att_cpu cpu);

/* What the three registers say: ECX of CPUID leaf 1, EBX of leaf 7, and XCR0 (0 where the system
 * does not set it). Apart from the machine so that machines we do not have can be tested. */
att_cpu att_cpu_from_registers(uint32_t leaf1_ecx, uint32_t leaf7_ebx, uint64_t xcr0);

/* What a wish such as "avx2" (or NULL) comes to on a machine whose best is `best`: the wish if it
 * can be had. If not, `best`, and *err, if given, says why. */
att_status att_cpu_parse(att_cpu *out, const char *requested, att_cpu best, att_error *err);

/* The processor's own name, or "unknown processor". */
enum { ATT_CPU_MODEL_SIZE = 64 };
void att_cpu_model(char out[ATT_CPU_MODEL_SIZE]);

#endif
