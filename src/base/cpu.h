/* The instruction sets that the processor has and the operating system supports. Kernels are chosen
 * by att_cpu_get(); no other code may query the processor. */
#ifndef ATT_BASE_CPU_H
#define ATT_BASE_CPU_H

#include "attend.h"

/* A later instruction set is faster. Those of one machine include those before them; AVX and NEON
 * are never on the same machine. */
typedef enum att_cpu {
    ATT_CPU_SCALAR, /* plain C */
    ATT_CPU_AVX2,   /* AVX2 and FMA */
    ATT_CPU_AVX512, /* AVX-512 F, BW, DQ and VL */
    ATT_CPU_NEON,   /* of 64-bit ARM */
    ATT_CPU_COUNT
} att_cpu;

/* The best instruction set of this machine. */
att_cpu att_cpu_best(void);

/* Whether this machine supports an instruction set. */
bool att_cpu_has(att_cpu cpu);

/* Runs the following statement for each instruction set of this machine, `cpu` an int. */
#define ATT_FOR_EACH_CPU(cpu)                                                                      \
    for (int cpu = ATT_CPU_SCALAR; cpu < ATT_CPU_COUNT; cpu++)                                     \
        if (!att_cpu_has((att_cpu)cpu)) {                                                          \
        } else

/* The instruction set in use: the best, unless ATTEND_CPU or att_cpu_set() chose another. */
att_cpu att_cpu_get(void);

/* Chooses the instruction set of later calls. Returns false, and changes nothing, where the machine
 * does not support it. For tests and benchmarks that compare instruction sets in one process. */
bool att_cpu_set(att_cpu cpu);

/* The instruction set that three registers describe: ECX of CPUID leaf 1, EBX of leaf 7, and XCR0
 * (0 where the system does not set it). A function of its own so that tests can describe any
 * machine. */
att_cpu att_cpu_from_registers(uint32_t leaf1_ecx, uint32_t leaf7_ebx, uint64_t xcr0);

/* Whether the SHA instructions may be used: the processor has them and plain C was not chosen. They
 * need no more than the SSE registers, so they are not tied to AVX2. */
bool att_cpu_has_sha(void);

/* The same of ECX of CPUID leaf 1 and EBX of leaf 7, without the choice. */
bool att_cpu_sha_from_registers(uint32_t leaf1_ecx, uint32_t leaf7_ebx);

/* Parses the value of ATTEND_CPU, such as "avx2" (NULL or empty: `best`), for a machine whose best
 * instruction set is `best`. On failure *out is `best`. */
att_status att_cpu_parse(att_cpu *out, const char *requested, att_cpu best, att_error *err);

/* The model name of the processor, or "unknown processor". */
enum { ATT_CPU_MODEL_SIZE = 64 };
void att_cpu_model(char out[ATT_CPU_MODEL_SIZE]);

#endif
