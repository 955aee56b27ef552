/* Random numbers from a counter (Philox4x32-10: Salmon et al., "Parallel random numbers: as easy as
 * 1, 2, 3", 2011). There is no state: element `index` of stream `stream` under `seed` can be
 * computed alone, in any order, on any thread, and has the same bits on every machine.
 *
 * The functions below derive their values from the same bits, so each use needs its own stream. */
#ifndef ATT_BASE_RANDOM_H
#define ATT_BASE_RANDOM_H

#include <stdint.h>

/* The generator: a 128-bit counter encrypted under a 64-bit key. */
void att_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2]);

/* 32 random bits. */
uint32_t att_random_bits(uint64_t seed, uint64_t stream, uint64_t index);

/* Uniform in [0, 1): multiples of 2^-24, and of 2^-53. */
float att_random_float(uint64_t seed, uint64_t stream, uint64_t index);
double att_random_double(uint64_t seed, uint64_t stream, uint64_t index);

/* Normal with mean 0 and variance 1. */
double att_random_normal(uint64_t seed, uint64_t stream, uint64_t index);

#endif
