/* Peak multiply-add rate, over vectors; see kern.h and scalar/fma_chains.c. */
#include "kern/vec/vec.h"

/* As many chains at a time as there are registers for sums: enough to hide the latency. */
_Static_assert(ATT_FMA_CHAINS % TILE_SUMS == 0, "the chains must come in whole groups");

void KERNEL(fma_chains)(float *x, size_t rounds, float a, float b)
{
    vec factor = v_set(a), addend = v_set(b);
    for (size_t group = 0; group < ATT_FMA_CHAINS; group += TILE_SUMS, x += TILE_SUMS * LANES) {
        vec chain[TILE_SUMS];
        for (size_t c = 0; c < TILE_SUMS; c++)
            chain[c] = v_load(x + c * LANES);
        for (size_t r = 0; r < rounds; r++)
#pragma GCC unroll 24
            for (size_t c = 0; c < TILE_SUMS; c++)
                chain[c] = v_fma(chain[c], factor, addend);
        for (size_t c = 0; c < TILE_SUMS; c++)
            v_store(x + c * LANES, chain[c]);
    }
}
