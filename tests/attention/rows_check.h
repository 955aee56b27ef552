/* How far attention by rows may be from the reference, which gets the same floats and works in
 * double.
 *
 * Numbers of these scenes are about 1. A score is a chain of at most `steps` roundings of partial
 * results no larger than `size`, the largest sum of absolute values on its way; so it is off by
 * EPS · steps · size, and so, relative to itself, is whatever depends on it through a normaliser,
 * whose slope is at most 1 but for `sum`: that divides by Σ s, and loses Σ|s| / |Σ s| twice over in
 * its gradient. Sums over keys and queries add their own steps. */
#ifndef TESTS_ATTENTION_ROWS_CHECK_H
#define TESTS_ATTENTION_ROWS_CHECK_H

#include "grads.h"

#include <float.h>

#define EPS 0x1p-24

static inline double get(const att_tensor *t, int64_t a, int64_t b, int64_t c, int64_t d)
{
    const int64_t index[4] = { a, b, c, d };
    return att_tensor_get(t, index);
}

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
    return EPS * steps * (size + score + 1) * (c->normaliser == ATT_NORMALISE_SUM ? cancelled : 1);
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
            fail_msg("%s, element %d, is %.9g, expected %.9g within %.3g: %s by %s, %s", name,
                     (int)n, a, b, bound, att_score_name(c->score),
                     att_normaliser_name(c->normaliser), choice_name(c));
        for (int d = exact->rank - 1; d >= 0 && ++index[d] == exact->shape[d]; d--)
            index[d] = 0;
    }
}

/* All scores and normalisers that do not go straight through tiles. */
enum { SCORES = ATT_SCORE_LOCATION + 1, NORMALISERS = ATT_NORMALISE_NONE + 1 };

#define FOR_KINDS(score, normaliser)                                                               \
    for (int score = 0; score < SCORES; score++)                                                   \
        for (int normaliser = score <= ATT_SCORE_SCALED; normaliser < NORMALISERS; normaliser++)

#endif
