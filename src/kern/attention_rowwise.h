/* The kernels of row-wise attention (src/attention/rowwise.h), where a query's scores are
 * contiguous: the additive score, and normalizers that need the whole row. They are part of the
 * list in kern.h. */
#ifndef ATT_KERN_ATTENTION_ROWWISE_H
#define ATT_KERN_ATTENTION_ROWWISE_H

#include "kern/attention.h"

/* The additive score, Σ_a v[a] tanh(query[a] + key[a]). With E = exp(2 query) exp(2 key), tanh is
 * (E - 1) / (E + 1): exponentials are computed once per query and per key, not per pair, and two
 * elements of a pair share one division. The error of a tanh is a few roundings of 1, not of
 * itself, which the sum of the products with v has anyway.
 *
 * exp(2 x) is m 2^n, and E = m_q m_k 2^(n_q + n_k), with the exponent at most 55 either way: far
 * beyond where tanh is 1. Where all |x| are at most 9.5, the exponent needs no limit, and the
 * product of exponentials has the same bits. Beyond 100, where the digits of n would end, m is
 * -inf, and elements use tanh itself, as fractions with the denominator 1. */
#define ATT_ADDITIVE_SMALL 9.5f
#define ATT_ADDITIVE_LARGE 100.0f

/* Of a row: [A] each. */
typedef struct att_additive_exps {
    float *exps;      /* exp(2 x), where |x| is at most ATT_ADDITIVE_SMALL */
    float *mantissas; /* m */
    float *exponents; /* n + EXP2_ROUNDER / 2: the sum of two has the bits of a power of two */
} att_additive_exps;

/* Returns 1 where all |x| are at most ATT_ADDITIVE_SMALL, else 0. */
typedef float att_kern_additive_exps(const att_additive_exps *out, const float *x, size_t n);

typedef struct att_additive {
    const float *query;           /* [A] */
    att_additive_exps query_exps; /* [A] */
    const float *v;               /* [A] */
    att_matrix_view keys;         /* [keys,A] */
    att_additive_exps key_exps;   /* [keys][A] */
    bool small_query;             /* all its elements are at most ATT_ADDITIVE_SMALL */
    const bool *small_keys;       /* [keys] likewise */
} att_additive;

/* scores[j] of all keys: by 16 partial sums of fractions, each of elements a and a + 16. A score
 * that is not finite, since the numerators have overflowed, is computed again as a sum of v tanh.
 */
typedef void att_kern_additive(float *scores, const att_additive *in);

/* Gradients through the additive score of one query. Keys whose score has the gradient 0 are
 * skipped, so that NaN in a masked key does not spread. */
typedef struct att_additive_grads {
    float *query;        /* [A], added to in the order of keys */
    float *v;            /* [A], likewise */
    float *keys;         /* [keys][key_stride], added to */
    size_t key_stride;   /* floats from one to the next */
    const float *scores; /* [keys] */
} att_additive_grads;

typedef void att_kern_additive_backward(const att_additive_grads *grads, const att_additive *in);

/* y = f(x) over a row, with sum 1. NaN or +inf in the row, or -inf only, makes it NaN. Newton's
 * method finds the threshold t from below and never exceeds it: sums over the elements above the
 * last threshold, by 16 partial sums, give the next until it no longer grows. */
typedef void att_kern_simplex(float *y, const float *x, size_t n);

/* rows[q][j] = tile[j][q] for the first `queries` lanes; rows are `stride` floats apart. */
typedef void att_kern_tile_unpack(float *rows, size_t stride, size_t queries, const float *tile,
                                  size_t lanes, size_t keys);

#define ATT_ROWWISE_KERNELS(K)                                                                     \
    K(att_kern_additive_exps, additive_exps)                                                       \
    K(att_kern_additive, additive)                                                                 \
    K(att_kern_additive_backward, additive_backward)                                               \
    K(att_kern_simplex, sparsemax) /* x - t where above 0 */                                       \
    K(att_kern_simplex, entmax15)  /* (x/2 - t)^2 where x/2 is above t */                          \
    K(att_kern_tile_unpack, tile_unpack)

#endif
