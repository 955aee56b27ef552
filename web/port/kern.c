/* Selects the kernels in WebAssembly. Plain C is part of the module; vector kernels are a module of
 * their own that shares the memory and the table of functions (lib/kernels.js), because an engine
 * refuses a whole module that contains one instruction it lacks. */
#include "kern/kern.h"

extern const att_kernels att_kernels_scalar;
static const att_kernels *loaded = &att_kernels_scalar;

__attribute__((export_name("att_web_kernels_set"))) void att_web_kernels_set(
    const att_kernels *kernels)
{
    loaded = kernels ? kernels : &att_kernels_scalar;
}

const att_kernels *att_kernels_for(att_cpu cpu)
{
    return cpu == ATT_CPU_SCALAR ? &att_kernels_scalar : NULL;
}

const att_kernels *att_kernels_get(void)
{
    return loaded;
}

const char *att_cpu_name(void)
{
    return loaded->name;
}

const float att_tile_ones[ATT_TILE_LANES] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                              1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
