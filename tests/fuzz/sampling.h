/* Which inputs get the expensive part of a target: a fixed share of them, by a hash, so that an
 * input does the same each time and the descendants of an expensive input are not all expensive. */
#ifndef TESTS_FUZZ_SAMPLING_H
#define TESTS_FUZZ_SAMPLING_H

#include "fuzz/fuzz.h"

/* Eight bytes at a time: with sanitizers, a hash by bytes would itself be expensive. */
static inline bool one_input_in(uint64_t share, const uint8_t *data, size_t size)
{
    uint64_t hash = size, word;
    for (; size >= sizeof word; data += sizeof word, size -= sizeof word) {
        memcpy(&word, data, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 32;
    }
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ data[i]) * UINT64_C(0x9E3779B97F4A7C15);
    return (hash >> 32) % share == 0;
}

#endif
