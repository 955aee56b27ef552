/* One set's table, filled from the list: compiled once per instruction set. */
#include "kern/isa/isa.h"

extern const att_kernels ATT_PASTE3(att_kernels_, ATT_ISA, );

const att_kernels ATT_PASTE3(att_kernels_, ATT_ISA, ) = { .name = ATT_STRINGIFY(ATT_ISA),
#define ATT_KERNEL_ROW(type, kernel) .kernel = KERNEL(kernel),
                                                          ATT_KERNELS(ATT_KERNEL_ROW) };
