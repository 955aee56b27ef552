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

/* The streams of data and of its order in training. Each is the first of a range, one stream per
 * epoch, example or attempt, unless it says otherwise. Two uses share a number where no run has
 * both. The numbers must not change: they determine every synthetic dataset and every batch. */
#define ATT_STREAM_SYNTHETIC_STRINGS (UINT64_C(1) << 40) /* per attempt */
#define ATT_STREAM_SYNTHETIC_SPLIT   (UINT64_C(1) << 41) /* one stream, indexed by attempt */
#define ATT_STREAM_PAIR_ORDER        (UINT64_C(1) << 42) /* per epoch */
#define ATT_STREAM_BATCH_ORDER       (UINT64_C(1) << 43) /* per epoch */
#define ATT_STREAM_LM_OFFSET         (UINT64_C(1) << 44) /* per epoch, of language models */
#define ATT_STREAM_LM_ORDER          (UINT64_C(1) << 45) /* per epoch, of language models */
#define ATT_STREAM_LM_RESET          (UINT64_C(1) << 46) /* per batch, of language models */
#define ATT_STREAM_SHAPES_TRAIN      (UINT64_C(1) << 44) /* per scene */
#define ATT_STREAM_SHAPES_VALID      (UINT64_C(1) << 45) /* per scene */
#define ATT_STREAM_SHAPES_SPLIT      (UINT64_C(1) << 46) /* one stream, indexed by pair of kinds */
#define ATT_STREAM_BLOCK_ORDER       (UINT64_C(1) << 47) /* per epoch, of pairs in several windows */
#define ATT_STREAM_VALID_SPLIT                                                                     \
    UINT64_C(0x686F6C64) /* one stream, indexed by hash of the source                              \
                          */

#endif
