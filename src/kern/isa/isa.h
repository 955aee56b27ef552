/* The names of one set's kernels. ATT_ISA, given by the build, is scalar, avx2, …; a kernel `exp`
 * of set avx2 is the function att_avx2_exp. */
#ifndef ATT_KERN_ISA_ISA_H
#define ATT_KERN_ISA_ISA_H

#include "kern/kern.h"

#define ATT_PASTE3_(a, b, c) a##b##c
#define ATT_PASTE3(a, b, c)  ATT_PASTE3_(a, b, c)
#define ATT_STRINGIFY_(a)    #a
#define ATT_STRINGIFY(a)     ATT_STRINGIFY_(a)

#define KERNEL(name) ATT_PASTE3(att_, ATT_ISA, _##name)

#define ATT_KERNEL_DECLARE(type, name) type KERNEL(name);
ATT_KERNELS(ATT_KERNEL_DECLARE)
#undef ATT_KERNEL_DECLARE

#endif
