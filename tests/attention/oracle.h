/* An oracle for scenes, written another way than the library: in long double, every pair from
 * scratch, masks as their definitions read, softmax as exp over sum, sparsemax and 1.5-entmax by
 * halving the interval of the threshold. Small inputs only. */
#ifndef TESTS_ATTENTION_ORACLE_H
#define TESTS_ATTENTION_ORACLE_H

#include "scene.h"

#include <float.h>
#include <stdlib.h>

/* Element of a tensor of the scene; a size of 1 is shared by all. */
static inline long double oracle_at(const scene *s, att_slot slot, int64_t a, int64_t b, int64_t c,
                                    int64_t d)
{
    const att_tensor *t = &s->tensor[slot];
    int64_t index[4] = { a, b, c, d };
    for (int dim = 0; dim < t->rank; dim++)
        index[dim] = t->shape[dim] == 1 ? 0 : index[dim];
    return (long double)att_tensor_get(t, index);
}

static inline int oracle_sequence(const int64_t *offsets, int64_t at)
{
    for (int s = 0; s < 3; s++)
        if (at >= offsets[s] && at < offsets[s + 1])
            return s;
    return -1;
}

/* Position of key j minus position of query i. */
static inline int64_t oracle_distance(const scene *s, int64_t b, int64_t i, int64_t j)
{
    int64_t sequence = b;
    if (s->choice.mask & PACKED) {
        sequence = oracle_sequence(s->query_offsets, i);
        i -= s->query_offsets[sequence];
        j -= s->key_offsets[oracle_sequence(s->key_offsets, j)];
    }
    return j - (i + (s->options.offsets ? s->offsets[sequence] : s->options.offset));
}

static inline bool oracle_allows(const scene *s, int64_t b, int64_t h, int64_t i, int64_t j)
{
    int mask = s->choice.mask;
    if (mask & PACKED && oracle_sequence(s->query_offsets, i) != oracle_sequence(s->key_offsets, j))
        return false;
    if (mask & LENGTHS && (i >= s->query_lengths[b] || j >= s->key_lengths[b]))
        return false;
    int64_t distance = oracle_distance(s, b, i, j);
    if (mask & CAUSAL && distance > 0)
        return false;
    if (mask & WINDOW && distance < -s->options.window_left)
        return false;
    if (mask & WINDOW && s->options.window_right >= 0 && distance > s->options.window_right)
        return false;
    bool listed = !(mask & BLOCKS);
    for (int n = 0; n < 4; n++)
        listed |= s->blocks[n].query == i / 2 && s->blocks[n].key == j / 2;
    return listed && (!(mask & DENSE) || s->allow[(h * s->T + i) * s->S + j]);
}

static inline long double oracle_qk(const scene *s, int64_t b, int64_t h, int64_t i, int64_t j)
{
    long double sum = 0;
    for (int64_t c = 0; c < s->Kq; c++)
        sum += oracle_at(s, ATT_SLOT_QUERY, b, i, h, c) *
               oracle_at(s, ATT_SLOT_KEY, b, j, h * s->G / s->H, c);
    return sum;
}

/* Σ_c matrix[h,row,c] · vector_c, the vector being query i or key j; without a matrix, the vector
 * is that already. */
static inline long double oracle_mv(const scene *s, att_slot matrix, att_slot vector, int64_t h,
                                    int64_t row, int64_t b, int64_t n)
{
    long double sum = 0;
    int64_t head = vector == ATT_SLOT_KEY ? h * s->G / s->H : h;
    if (!s->tensor[matrix].data)
        return oracle_at(s, vector, b, n, head, row);
    for (int64_t c = 0; c < s->tensor[vector].shape[3]; c++)
        sum += oracle_at(s, matrix, h, row, c, 0) * oracle_at(s, vector, b, n, head, c);
    return sum;
}

static inline long double oracle_optional_b(const scene *s, int64_t h, int64_t row)
{
    return s->tensor[ATT_SLOT_SCORE_B].data ? oracle_at(s, ATT_SLOT_SCORE_B, h, row, 0, 0) : 0;
}

static inline long double oracle_additive(const scene *s, int64_t b, int64_t h, int64_t i,
                                          int64_t j)
{
    long double sum = 0;
    for (int64_t a = 0; a < s->A; a++)
        sum += oracle_at(s, ATT_SLOT_SCORE_V, h, a, 0, 0) *
               tanhl(oracle_mv(s, ATT_SLOT_SCORE_W, ATT_SLOT_QUERY, h, a, b, i) +
                     oracle_mv(s, ATT_SLOT_SCORE_U, ATT_SLOT_KEY, h, a, b, j) +
                     oracle_optional_b(s, h, a));
    return sum;
}

/* vᵀ[q;k] before the relu. */
static inline long double oracle_concat(const scene *s, int64_t b, int64_t h, int64_t i, int64_t j)
{
    long double sum = 0;
    for (int64_t c = 0; c < s->Kq + s->Kk; c++)
        sum += oracle_at(s, ATT_SLOT_SCORE_V, h, c, 0, 0) *
               (c < s->Kq ? oracle_at(s, ATT_SLOT_QUERY, b, i, h, c)
                          : oracle_at(s, ATT_SLOT_KEY, b, j, h * s->G / s->H, c - s->Kq));
    return sum;
}

static inline long double oracle_cosine(const scene *s, int64_t b, int64_t h, int64_t i, int64_t j)
{
    long double qq = 0, kk = 0;
    for (int64_t c = 0; c < s->Kq; c++) {
        qq += powl(oracle_at(s, ATT_SLOT_QUERY, b, i, h, c), 2);
        kk += powl(oracle_at(s, ATT_SLOT_KEY, b, j, h * s->G / s->H, c), 2);
    }
    return oracle_qk(s, b, h, i, j) / sqrtl(qq * kk);
}

static inline long double oracle_raw(const scene *s, int64_t b, int64_t h, int64_t i, int64_t j)
{
    long double sum = 0;
    switch (s->choice.score) {
    case ATT_SCORE_DOT:
    case ATT_SCORE_SCALED:
        return oracle_qk(s, b, h, i, j);
    case ATT_SCORE_GENERAL:
        for (int64_t r = 0; r < s->Kq; r++)
            sum += oracle_at(s, ATT_SLOT_QUERY, b, i, h, r) *
                   oracle_mv(s, ATT_SLOT_SCORE_W, ATT_SLOT_KEY, h, r, b, j);
        return sum;
    case ATT_SCORE_ADDITIVE:
        return oracle_additive(s, b, h, i, j);
    case ATT_SCORE_CONCAT:
        return fmaxl(0, oracle_concat(s, b, h, i, j));
    case ATT_SCORE_GAUSSIAN:
        return expl(oracle_qk(s, b, h, i, j));
    case ATT_SCORE_COSINE:
        return oracle_cosine(s, b, h, i, j);
    case ATT_SCORE_LOCATION:
        if (s->choice.mask & PACKED)
            j -= s->key_offsets[oracle_sequence(s->key_offsets, j)];
        return oracle_mv(s, ATT_SLOT_SCORE_W, ATT_SLOT_QUERY, h, j, b, i) +
               oracle_optional_b(s, h, j);
    }
    fail_msg("no such score");
    return 0;
}

/* score → scale → soft cap → bias */
static inline long double oracle_score(const scene *s, int64_t b, int64_t h, int64_t i, int64_t j)
{
    long double scale = s->options.scale != 0                 ? (long double)s->options.scale
                        : s->choice.score == ATT_SCORE_SCALED ? 1 / sqrtl((long double)s->Kq)
                                                              : 1;
    long double cap = s->options.soft_cap;
    long double score = scale * oracle_raw(s, b, h, i, j);
    if (cap > 0)
        score = cap * tanhl(score / cap);
    int64_t distance = oracle_distance(s, b, i, j);
    if (s->choice.bias & (FULL_BIAS | SHARED_BIAS))
        score += oracle_at(s, ATT_SLOT_BIAS, b, h, i, j);
    if (s->choice.bias & ALIBI)
        score -= oracle_at(s, ATT_SLOT_ALIBI, h, 0, 0, 0) * (long double)llabs(distance);
    if (s->choice.bias & RELATIVE) {
        int64_t step = distance < -2 ? -2 : distance > 2 ? 2 : distance;
        score += oracle_at(s, ATT_SLOT_RELATIVE, h, step + 2, 0, 0);
    }
    return score;
}

/* Σ of max(half·z - t, 0)^power: what sparsemax (1, 1) and 1.5-entmax (1/2, 2) make equal to 1. */
static inline long double oracle_excess(const long double *z, int64_t count, long double half,
                                        int power, long double t)
{
    long double sum = 0;
    for (int64_t n = 0; n < count; n++)
        sum += powl(fmaxl(half * z[n] - t, 0), power);
    return sum;
}

static inline void oracle_threshold(long double *w, const long double *z, int64_t count,
                                    long double half, int power)
{
    long double low = -100, high = 100;
    for (int step = 0; step < 100; step++) {
        long double middle = (low + high) / 2;
        if (oracle_excess(z, count, half, power, middle) > 1)
            low = middle;
        else
            high = middle;
    }
    for (int64_t n = 0; n < count; n++)
        w[n] = powl(fmaxl(half * z[n] - low, 0), power);
}

static inline void oracle_normalize(att_normalizer kind, long double *w, const long double *z,
                                    int64_t count)
{
    long double sum = 0, sum_exp = 0;
    for (int64_t n = 0; n < count; n++) {
        sum += z[n];
        sum_exp += expl(z[n]);
    }
    for (int64_t n = 0; n < count; n++) {
        const long double each[] = { [ATT_NORMALIZE_SOFTMAX] = expl(z[n]) / sum_exp,
                                     [ATT_NORMALIZE_MEAN] = z[n] / (long double)count,
                                     [ATT_NORMALIZE_SIGMOID] = 1 / (1 + expl(-z[n])),
                                     [ATT_NORMALIZE_SUM] = z[n] / sum,
                                     [ATT_NORMALIZE_NONE] = z[n] };
        w[n] = each[kind];
    }
    if (kind == ATT_NORMALIZE_SPARSEMAX)
        oracle_threshold(w, z, count, 1, 1);
    if (kind == ATT_NORMALIZE_ENTMAX15)
        oracle_threshold(w, z, count, 0.5L, 2);
}

/* Whether a weight is kept, drawn as docs/attention.md describes the counter. */
static inline long double oracle_factor(const scene *s, int64_t b, int64_t h, int64_t i, int64_t j)
{
    if (!s->choice.dropped)
        return 1;
    uint32_t key[4], word[4];
    att_philox(
        key,
        (uint32_t[]){ (uint32_t)s->options.dropout_step, 0, (uint32_t)s->options.dropout_layer, 0 },
        (uint32_t[]){ (uint32_t)s->seed, (uint32_t)(s->seed >> 32) });
    att_philox(word, (uint32_t[]){ (uint32_t)j / 4, (uint32_t)i, (uint32_t)h, (uint32_t)b }, key);
    return word[j % 4] * 0x1p-32L < 0.25L ? 0 : 1 / 0.75L;
}

/* One row of the scene. */
static inline void oracle_row(scene_results *r, const scene *s, int64_t b, int64_t h, int64_t i)
{
    long double z[8], w[8];
    int64_t key[8], count = 0, row = (b * s->H + h) * s->T + i;
    long double sum_exp = 0, entropy = 0;
    for (int64_t j = 0; j < s->S; j++) {
        r->scores[row * s->S + j] = -INFINITY;
        r->weights[row * s->S + j] = 0;
        if (!oracle_allows(s, b, h, i, j))
            continue;
        z[count] = oracle_score(s, b, h, i, j);
        r->scores[row * s->S + j] = (double)z[count];
        sum_exp += expl(z[count]);
        key[count++] = j;
    }
    oracle_normalize(s->choice.normalizer, w, z, count);
    for (int64_t n = 0; n < count; n++) {
        r->weights[row * s->S + key[n]] = (double)w[n];
        r->key_totals[(b * s->H + h) * s->S + key[n]] += (double)w[n];
        entropy -= w[n] == 0 ? 0 : w[n] * logl(w[n]);
    }
    r->log_sum_exp[row] = (double)logl(sum_exp);
    r->entropy[row] = (double)entropy;
    for (int64_t m = 0; m < s->M; m++) {
        long double sum = 0;
        for (int64_t n = 0; n < count; n++)
            sum += w[n] * oracle_factor(s, b, h, i, key[n]) *
                   oracle_at(s, ATT_SLOT_VALUE, b, key[n], h * s->G / s->H, m);
        r->output[((b * s->T + i) * s->H + h) * s->M + m] = (double)sum;
    }
}

static inline void oracle_forward(scene_results *r, const scene *s)
{
    memset(r->key_totals, 0, sizeof r->key_totals);
    for (int64_t b = 0; b < s->B; b++)
        for (int64_t h = 0; h < s->H; h++)
            for (int64_t i = 0; i < s->T; i++)
                oracle_row(r, s, b, h, i);
}

#endif
