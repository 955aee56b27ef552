/* Dropout; see dropout.h. Seed, step and layer are enciphered into one key; the counter under it is
 * (j/4, i, h, b), and j mod 4 picks one of the four words, so that a kernel draws four neighbouring
 * keys at once. The comparison is of integers: no rounding can make two machines differ. */
#include "attention/dropout.h"

#include "base/random.h"

#include <math.h>

att_drop_mask att_drop_mask_new(const att_attention *how)
{
    const uint32_t seed[2] = { (uint32_t)how->drop_seed, (uint32_t)(how->drop_seed >> 32) };
    const uint32_t place[4] = { (uint32_t)how->drop_step, (uint32_t)(how->drop_step >> 32),
                                (uint32_t)how->drop_layer, (uint32_t)(how->drop_layer >> 32) };
    uint32_t block[4];
    att_philox(block, place, seed);
    return (att_drop_mask){ .key = { block[0], block[1] },
                            .threshold = (uint64_t)ceil(how->dropout * 0x1p32),
                            .kept = 1 / (1 - how->dropout) };
}

double att_drop_mask_factor(const att_drop_mask *drop, int64_t b, int64_t h, int64_t i, int64_t j)
{
    if (drop->threshold == 0)
        return 1;
    const uint32_t counter[4] = { (uint32_t)(j / 4), (uint32_t)i, (uint32_t)h, (uint32_t)b };
    uint32_t block[4];
    att_philox(block, counter, drop->key);
    return block[j % 4] < drop->threshold ? 0 : drop->kept;
}
