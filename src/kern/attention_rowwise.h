/* The kernels of attention by rows (src/attention/rowwise.h), where a query's scores lie next to
 * each other: the additive score, and normalisers that need the whole row. They are part of the
 * list in kern.h. */
#ifndef ATT_KERN_ATTENTION_ROWWISE_H
#define ATT_KERN_ATTENTION_ROWWISE_H

#include "kern/attention.h"

/* scores[j] = Σ_a v[a] tanh(query[a] + keys[j][a]), by 16 partial sums. */
typedef void att_kern_additive(float *scores, const float *query, const float *v,
                               att_matrix_view keys);

/* What goes back through the additive score of one query. Keys whose score has the gradient 0 are
 * skipped, so that NaN in a masked one stays where it is. */
typedef struct att_additive_grads {
    float *query;        /* [A], added to in the order of keys */
    float *v;            /* [A], likewise */
    float *keys;         /* [keys][key_stride], added to */
    size_t key_stride;   /* floats from one to the next */
    const float *scores; /* [keys] */
} att_additive_grads;

typedef void att_kern_additive_backward(const att_additive_grads *grads, const float *query,
                                        const float *v, att_matrix_view keys);

/* y = f(x) over a row, whose sum is 1. NaN, +inf or nothing but -inf in the row make it NaN. The
 * threshold is found by Newton's method from below, which never passes it: sums over the numbers
 * above the last threshold, by 16 partial sums, give the next until it grows no more. */
typedef void att_kern_simplex(float *y, const float *x, size_t n);

/* rows[q][j] = tile[j][q] for the first `queries` lanes; rows are `stride` floats apart. */
typedef void att_kern_tile_unpack(float *rows, size_t stride, size_t queries, const float *tile,
                                  size_t lanes, size_t keys);

#define ATT_ROWWISE_KERNELS(K)                                                                     \
    K(att_kern_additive, additive)                                                                 \
    K(att_kern_additive_backward, additive_backward)                                               \
    K(att_kern_simplex, sparsemax) /* x - t where above 0 */                                       \
    K(att_kern_simplex, entmax15)  /* (x/2 - t)^2 where x/2 is above t */                          \
    K(att_kern_tile_unpack, tile_unpack)

#endif
