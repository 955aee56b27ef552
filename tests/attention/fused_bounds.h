/* How far fused attention may be from the reference, which gets the same floats and works in
 * double.
 *
 * With EPS = 2^-24, the relative error of one rounding, a score s = scale Σ q k is off by at most
 *     EPS ((K + 12) scale Σ|q k| + 8 |s| + 4 cap + 8)
 * from K fused multiply-adds, the factor of the query, soft cap and biases, which may cancel. A
 * weight's relative error is twice that (the sum of weights has it, too), plus the rounding of
 * differences to the largest score, at most EPS times the range of scores in the weight and again
 * over all rescalings, plus exp's own, plus four roundings per block in rescaling. Sums add one
 * rounding per key of a block and one per block, in the output and in the sum of weights. */
#ifndef TESTS_ATTENTION_FUSED_BOUNDS_H
#define TESTS_ATTENTION_FUSED_BOUNDS_H

#include "fused_scene.h"

#include "kern/attention.h"

#define EPS 0x1p-24

/* The largest error of a score of one query, and of its weights relative to themselves. */
typedef struct bounds {
    double score;
    double weight;
} bounds;

static inline double scale_of(const choice *c)
{
    if (c->scale != 0)
        return fabs(c->scale);
    return c->score == ATT_SCORE_SCALED ? 1 / sqrt((double)c->K) : 1;
}

static inline bounds row_bounds(const scene *s, const results *exact, int64_t b, int64_t h,
                                int64_t i)
{
    const choice *c = &s->c;
    double product = 0, low = 0, high = 0;
    for (int64_t j = 0; j < c->S; j++) {
        double score = get(exact->out.scores, b, h, i, j), sum = 0;
        if (!isfinite(score))
            continue;
        for (int64_t k = 0; k < c->K; k++)
            sum += fabs(get(s->in.query, b, i, h, k) * get(s->in.key, b, j, h / (c->H / c->G), k));
        product = fmax(product, scale_of(c) * sum);
        low = fmin(low, score);
        high = fmax(high, score);
    }
    double blocks = (double)(c->S / ATT_BLOCK_KEYS + 1);
    bounds found = { .score = EPS * ((double)(c->K + 12) * product + 8 * fmax(-low, high) +
                                     4 * c->cap + 8) };
    found.weight = 2 * found.score + EPS * (2 * (high - low) + 4 * blocks + 16) +
                   2 * EPS * ((double)ATT_BLOCK_KEYS + blocks);
    return found;
}

/* Every number of queries and keys around a tile, and some far beyond it. */
static inline void for_every_count(void check(choice))
{
    for (int64_t n = 0; n<68; n += THIN> 1 ? 3 : 1) { /* odd: every remainder */
        check((choice){ 1, n, 67 - n, 1, 1, 5, 3, .seed = (uint64_t)n });
        check((choice){ 1, 67 - n % 7, n, 2, 1, 4, 2, .mask = CAUSAL, .seed = (uint64_t)n });
    }
    check((choice){ 1, 3, 300, 1, 1, 8, 8, .seed = 1 });
    check((choice){ 1, 140, 600, 1, 1, 8, 8, .mask = CAUSAL, .seed = 2 });
    check((choice){ 1, 140, 513, 1, 1, 8, 8, .mask = CAUSAL, .seed = 2 });
    check((choice){ 1, 300, 3, 1, 1, 8, 8, .seed = 3 });
    check((choice){ 1, 1, 1, 1, 1, 1, 1, .seed = 4 });
}

/* Every mask with every bias, each with heads of their own, shared, and all shared; `like` gives B,
 * K and M. */
static inline void for_every_mask_and_bias(choice like, void check(choice))
{
    for (size_t n = 0; n < COUNT(masks) * COUNT(biases) * 3; n += THIN) {
        choice c = like;
        int extra = (int)(n % 3);
        c.mask = masks[n / 3 / COUNT(biases)];
        c.bias = biases[n / 3 % COUNT(biases)];
        c.B = c.mask & PACKED ? 1 : like.B;
        c.T = 51 + extra * 5;
        c.S = 150 - extra * 13;
        c.H = 4;
        c.G = 4 >> extra;
        c.cap = extra == 1 ? 1.5 : 0;
        c.dropout = extra == 2 ? 0.3 : 0;
        c.scale = extra == 1 ? -0.7 : 0;
        c.layout = (layout)extra;
        c.score = ATT_SCORE_SCALED;
        c.seed = n;
        check(c);
    }
}

/* Every mask with every bias, in scenes that several threads share; `like` gives S, K and M. */
static inline void for_every_mask_shared(choice like, void check(choice))
{
    const uint64_t step = THIN == 1 ? 1 : 7; /* 7 meets every mask and every bias */
    for (uint64_t seed = 0; seed < COUNT(masks) * COUNT(biases); seed += step) {
        choice c = like;
        c.mask = masks[seed / COUNT(biases)];
        c.bias = biases[seed % COUNT(biases)];
        c.B = c.mask & PACKED ? 1 : 2;
        c.T = 45 + (int64_t)seed % 7;
        c.H = 2;
        c.G = 1 + (int64_t)seed % 2;
        c.cap = seed % 3 == 1 ? 2 : 0;
        c.dropout = seed % 4 == 1 ? 0.2 : 0;
        c.layout = (layout)(seed % LAYOUTS);
        c.seed = seed;
        check(c);
    }
}

#endif
