/* Philox4x32-10 (base/random.h) over sixteen counters at once. */
#ifndef ATT_KERN_VEC_PHILOX_H
#define ATT_KERN_VEC_PHILOX_H

#include "kern/vec/vec.h"

/* c[0] to c[3] hold the four words of each counter and are replaced by those of its block. */
INLINE void philox(ivec c[4], uint64_t key)
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
        ivec a = i_set(0xD2511F53), b = i_set(0xCD9E8D57);
        ivec high0 = i_mul_high(a, c[0]), low0 = i_mul_low(a, c[0]);
        ivec high1 = i_mul_high(b, c[2]), low1 = i_mul_low(b, c[2]);
        c[0] = i_xor(i_xor(high1, c[1]), i_set(k0));
        c[1] = low1;
        c[2] = i_xor(i_xor(high0, c[3]), i_set(k1));
        c[3] = low0;
        k0 += 0x9E3779B9;
        k1 += 0xBB67AE85;
    }
}

#endif
