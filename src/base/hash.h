/* A hash for tables in memory. The same bytes give the same hash on every machine of one byte
 * order; it resists no attacker. */
#ifndef ATT_BASE_HASH_H
#define ATT_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* FNV-1a, its upper half folded in, since tables look at the lower bits. */
static inline uint64_t att_hash(const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    uint64_t h = UINT64_C(0xCBF29CE484222325);
    for (size_t i = 0; i < size; i++)
        h = (h ^ at[i]) * UINT64_C(0x100000001B3);
    return h ^ h >> 32;
}

#endif
