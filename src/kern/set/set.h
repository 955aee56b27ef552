/* The names of one set's kernels. ATT_SET, given by the build, is ref, avx2, …; a kernel `exp` of
 * set avx2 is the function att_avx2_exp. */
#ifndef ATT_KERN_SET_SET_H
#define ATT_KERN_SET_SET_H

#include "kern/kern.h"

#define ATT_PASTE3_(a, b, c) a##b##c
#define ATT_PASTE3(a, b, c)  ATT_PASTE3_(a, b, c)
#define ATT_TEXT_(a)         #a
#define ATT_TEXT(a)          ATT_TEXT_(a)

#define KERNEL(name) ATT_PASTE3(att_, ATT_SET, _##name)

#define ATT_KERNEL_DECLARE(type, name) type KERNEL(name);
ATT_KERNELS(ATT_KERNEL_DECLARE)
#undef ATT_KERNEL_DECLARE

#endif
