/* Peak multiply-add rate, in plain loops; see kern.h. */
#include "kern/isa/isa.h"

#include <math.h>

void KERNEL(fma_chains)(float *x, size_t rounds, float a, float b)
{
    for (size_t r = 0; r < rounds; r++)
        for (size_t i = 0; i < ATT_FMA_CHAINS * ATT_LANES; i++)
            x[i] = fmaf(x[i], a, b);
}
