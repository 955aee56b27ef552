/* 16-bit floating point to float32; see kern.h. The compiler vectorizes these loops for the
 * instruction set: the conversion is integer operations and one multiplication per element. */
#include "kern/half.h"
#include "kern/isa/isa.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

void KERNEL(float16_to_float32)(float *y, const uint16_t *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = att_float16_to_float32(x[i]);
}

void KERNEL(bfloat16_to_float32)(float *y, const uint16_t *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = att_bfloat16_to_float32(x[i]);
}
