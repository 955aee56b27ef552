/* A random permutation of any length without memory: each element is computed alone. */
#ifndef ATT_DATA_PERMUTATION_H
#define ATT_DATA_PERMUTATION_H

#include <stdint.h>

/* The element, from 0 to count - 1, at place `index` of a random order of `count` elements, which
 * depends on the seed and the stream. */
int64_t att_permutation_at(uint64_t seed, uint64_t stream, int64_t count, int64_t index);

#endif
