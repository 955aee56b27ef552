/* One set's table, filled from the list: compiled once per instruction set. */
#include "kern/set/set.h"

extern const att_kernels ATT_PASTE3(att_kernels_, ATT_SET, );

const att_kernels ATT_PASTE3(att_kernels_, ATT_SET, ) = { .name = ATT_TEXT(ATT_SET),
#define ATT_KERNEL_ROW(type, kernel) .kernel = KERNEL(kernel),
                                                          ATT_KERNELS(ATT_KERNEL_ROW) };
