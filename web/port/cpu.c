/* Instruction sets in WebAssembly: the program that loads the module says which kernels it loaded
 * beside it (att_web_kernels_set in kern.c), since a module cannot ask what its engine supports. */
#include "base/cpu.h"

#include "base/parallel.h"

#include <stdlib.h>
#include <string.h>

att_cpu att_cpu_best(void)
{
    return ATT_CPU_SCALAR;
}

bool att_cpu_has(att_cpu cpu)
{
    return cpu == ATT_CPU_SCALAR;
}

att_cpu att_cpu_get(void)
{
    return ATT_CPU_SCALAR;
}

bool att_cpu_set(att_cpu cpu)
{
    return cpu == ATT_CPU_SCALAR;
}

bool att_cpu_has_sha(void)
{
    return false;
}

void att_cpu_model(char out[ATT_CPU_MODEL_SIZE])
{
    strcpy(out, "WebAssembly");
}

att_status att_cpu_check(att_error *err)
{
    int threads;
    return att_threads_parse(&threads, getenv("ATTEND_THREADS"), err);
}
