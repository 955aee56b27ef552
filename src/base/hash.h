/* A hash for tables in memory. It is the same on every machine. It is no protection against inputs
 * chosen to collide. */
#ifndef ATT_BASE_HASH_H
#define ATT_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* FNV-1a, 64 bits: the hash of no bytes, and the hash `h` continued by more bytes. */
#define ATT_FNV1A_START UINT64_C(0xCBF29CE484222325)

static inline uint64_t att_hash_fnv1a_add(uint64_t h, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        h = (h ^ at[i]) * UINT64_C(0x100000001B3);
    return h;
}

static inline uint64_t att_hash_fnv1a(const void *bytes, size_t size)
{
    return att_hash_fnv1a_add(ATT_FNV1A_START, bytes, size);
}

/* The same with the upper half folded into the lower bits, which index tables. */
static inline uint64_t att_hash(const void *bytes, size_t size)
{
    uint64_t h = att_hash_fnv1a(bytes, size);
    return h ^ h >> 32;
}

#endif
