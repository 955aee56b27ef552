/* 16-bit floating point to float32, in plain loops; see kern.h. */
#include "kern/half.h"
#include "kern/isa/isa.h"

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
