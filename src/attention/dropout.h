/* Dropout of attention weights from a counter-based generator: whether weight (b, h, i, j) is kept
 * depends on the seed, step, layer and those four indices alone, never on the order of the work. */
#ifndef ATT_ATTENTION_DROPOUT_H
#define ATT_ATTENTION_DROPOUT_H

#include "attend.h"
#include "kern/attention.h"

typedef struct att_attention_dropout {
    uint32_t key[2];
    uint64_t threshold; /* a weight is dropped where its 32 random bits are below; 0: no dropout */
    double keep_scale;  /* factor of a kept weight, 1/(1-p) */
} att_attention_dropout;

att_attention_dropout att_attention_dropout_new(const att_attention_options *options);

/* The factor of one weight: 0 or 1/(1-p). */
double att_attention_dropout_factor(const att_attention_dropout *drop, int64_t b, int64_t h,
                                    int64_t i, int64_t j);

/* The same for the kernels, from weight (b, h, i, j) on. */
att_tile_dropout att_attention_dropout_draw(const att_attention_dropout *drop, int64_t b, int64_t h,
                                            int64_t i, int64_t j);

#endif
