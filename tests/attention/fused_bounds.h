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

static inline double get(const att_tensor *t, int64_t a, int64_t b, int64_t c, int64_t d)
{
    const int64_t index[4] = { a, b, c, d };
    return att_tensor_get(t, index);
}

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

#endif
