/* Dropout; see dropout.h. Philox mixes seed, step and layer into one key. The counter under it is
 * (j/4, i, h, b), and j mod 4 picks one of the four words, so that a kernel draws four adjacent
 * keys at once. The comparison is between integers: no rounding can make two machines differ. */
#include "attention/dropout.h"

#include "base/random.h"

#include <math.h>

att_attention_dropout att_attention_dropout_new(const att_attention_options *options)
{
    const uint32_t seed[2] = { (uint32_t)options->dropout_seed,
                               (uint32_t)(options->dropout_seed >> 32) };
    const uint32_t place[4] = { (uint32_t)options->dropout_step,
                                (uint32_t)(options->dropout_step >> 32),
                                (uint32_t)options->dropout_layer,
                                (uint32_t)(options->dropout_layer >> 32) };
    uint32_t block[4];
    att_philox(block, place, seed);
    return (att_attention_dropout){ .key = { block[0], block[1] },
                                    .threshold = (uint64_t)ceil(options->dropout * 0x1p32),
                                    .keep_scale = 1 / (1 - options->dropout) };
}

double att_attention_dropout_factor(const att_attention_dropout *drop, int64_t b, int64_t h,
                                    int64_t i, int64_t j)
{
    if (drop->threshold == 0)
        return 1;
    const uint32_t counter[4] = { (uint32_t)(j / 4), (uint32_t)i, (uint32_t)h, (uint32_t)b };
    uint32_t block[4];
    att_philox(block, counter, drop->key);
    return block[j % 4] < drop->threshold ? 0 : drop->keep_scale;
}

att_tile_dropout att_attention_dropout_draw(const att_attention_dropout *drop, int64_t b, int64_t h,
                                            int64_t i, int64_t j)
{
    return (att_tile_dropout){ .key = (uint64_t)drop->key[1] << 32 | drop->key[0],
                               .threshold = drop->threshold,
                               .b = (uint32_t)b,
                               .h = (uint32_t)h,
                               .i = (uint32_t)i,
                               .j = (uint32_t)j };
}
