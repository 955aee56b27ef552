/* How far row-wise attention may be from the reference, which gets the same floats and works in
 * double.
 *
 * Numbers of these scenes are about 1. A score is a chain of at most `steps` roundings of partial
 * results no larger than `size`, the largest sum of absolute values on its way; so it is off by
 * EPS · steps · size, and so, relative to itself, is whatever depends on it through a normalizer,
 * whose slope is at most 1 but for `sum`: that divides by Σ s, and loses Σ|s| / |Σ s| twice over in
 * its gradient. Sums over keys and queries add their own steps. */
#ifndef TESTS_ATTENTION_ROWWISE_CHECK_H
#define TESTS_ATTENTION_ROWWISE_CHECK_H

#include "grads.h"

#include <float.h>

#define EPS 0x1p-24

/* The largest finite element, and the largest Σ|x| / |Σ x| of a row. */
static inline double largest(const att_tensor *t, double *cancelled)
{
    double most = 0;
    int64_t index[4] = { 0 }, columns = t->shape[t->rank - 1];
    double sum = 0, size = 0;
    for (int64_t n = 0; n < att_tensor_count(t); n++) {
        double x = att_tensor_get(t, index);
        if (isfinite(x)) {
            most = fmax(most, fabs(x));
            sum += x;
            size += fabs(x);
        }
        if (n % columns == columns - 1) {
            if (cancelled && size > 0)
                *cancelled = fmax(*cancelled, size / fabs(sum));
            sum = size = 0;
        }
        for (int d = t->rank - 1; d >= 0 && ++index[d] == t->shape[d]; d--)
            index[d] = 0;
    }
    return most;
}

/* The error of what comes out of a scene, relative to its largest number. */
static inline double tolerance(const scene *s, const results *exact)
{
    const choice *c = &s->c;
    double cancelled = 1, score = largest(exact->out.scores, &cancelled);
    double steps = (double)(2 * c->K + c->A + c->S + c->M + 64);
    double size = (double)(c->K + 2) * (c->score == ATT_SCORE_ADDITIVE ? (double)c->A : 2.0);
    if (c->score == ATT_SCORE_GENERAL)
        size *= (double)c->K;
    if (c->score == ATT_SCORE_GAUSSIAN)
        size *= score + 1;
    return EPS * steps * (size + score + 1) * (c->normalizer == ATT_NORMALIZE_SUM ? cancelled : 1);
}

static inline void check_tensor(const char *name, const att_tensor *found, const att_tensor *exact,
                                double limit, const choice *c)
{
    int64_t index[4] = { 0 };
    double bound = limit * (largest(exact, NULL) + 1) + FLT_MIN;
    for (int64_t n = 0; n < att_tensor_count(exact); n++) {
        double a = att_tensor_get(found, index), b = att_tensor_get(exact, index);
        bool same = a == b || (isnan(a) && isnan(b));
        if (!same && !(fabs(a - b) <= bound))
            fail_msg("%s, element %d, is %.9g, expected %.9g within %.3g: %s", name, (int)n, a, b,
                     bound, choice_name(c));
        for (int d = exact->rank - 1; d >= 0 && ++index[d] == exact->shape[d]; d--)
            index[d] = 0;
    }
}

/* All scores and normalizers that do not go straight through tiles. */
enum { SCORES = ATT_SCORE_COUNT, NORMALIZERS = ATT_NORMALIZER_COUNT };

#define FOR_KINDS(score, normalizer)                                                               \
    for (int score = 0; score < SCORES; score++)                                                   \
        for (int normalizer = score <= ATT_SCORE_SCALED; normalizer < NORMALIZERS; normalizer++)

/* A small scene of that kind, to be changed. */
static inline choice kind(int score, int normalizer, uint64_t seed)
{
    return (choice){ .B = 2,
                     .T = 7,
                     .S = 20,
                     .H = 2,
                     .G = 1,
                     .K = 6,
                     .M = 5,
                     .A = 9,
                     .spread = 0.7,
                     .score = (att_score)score,
                     .normalizer = (att_normalizer)normalizer,
                     .seed = seed };
}

/* Every kind at sizes that no tile is made for, some of them 0. */
static inline void for_every_size(void check(choice))
{
    static const int64_t sizes[][5] = {
        /* T, S, K, M, A */
        { 1, 1, 1, 1, 1 },  { 1, 40, 64, 64, 64 }, { 33, 17, 16, 3, 17 }, { 5, 300, 3, 20, 40 },
        { 40, 0, 4, 4, 4 }, { 0, 9, 4, 4, 4 },     { 3, 5, 0, 2, 0 },     { 65, 129, 7, 0, 5 }
    };
    FOR_KINDS(score, normalizer)
    for (size_t n = (size_t)(score + normalizer) % THIN; n < COUNT(sizes); n += THIN) {
        choice c = kind(score, normalizer, n);
        c.T = sizes[n][0];
        c.S = sizes[n][1];
        c.K = sizes[n][2];
        c.M = sizes[n][3];
        c.A = sizes[n][4];
        check(c);
    }
}

/* Every kind with every mask, and biases, soft cap, dropout, scales, layouts and shared heads by
 * turns. */
static inline void for_every_mask(void check(choice))
{
    uint64_t seed = 0;
    FOR_KINDS(score, normalizer)
    for (size_t m = (size_t)(score + normalizer) % THIN; m < COUNT(masks); m += THIN, seed++) {
        choice c = kind(score, normalizer, seed);
        c.mask = masks[m];
        c.bias = biases[seed % COUNT(biases)];
        c.B = masks[m] & PACKED ? 1 : 2;
        c.T = 35 + (int64_t)seed % 5;
        c.S = 90 - (int64_t)seed % 7;
        c.H = 4;
        c.G = 1 << seed % 3;
        c.cap = seed % 5 == 1 ? 1.5 : 0;
        c.dropout = seed % 4 == 2 ? 0.3 : 0;
        c.scale = seed % 3 == 1 ? -0.7 : 0;
        c.layout = (layout)(seed % LAYOUTS);
        check(c);
    }
}

/* A scene of each kind that is large enough to be shared between threads. */
static inline void for_every_kind_shared(void check(choice))
{
    uint64_t seed = 0;
    FOR_KINDS(score, normalizer)
    {
        choice c = kind(score, normalizer, seed++);
        c.mask = masks[seed % COUNT(masks)];
        c.bias = seed % 3 ? 0 : biases[seed % COUNT(biases)];
        c.B = c.mask & PACKED ? 1 : 5;
        c.T = 40;
        c.S = 150;
        c.K = 19;
        c.A = 35;
        c.dropout = seed % 3 == 0 ? 0.2 : 0;
        check(c);
    }
}

#endif
