/* The kernels of row-wise attention (src/attention/rowwise.h), where a query's scores are
 * contiguous: the additive score, and normalizers that need the whole row. They are part of the
 * list in kern.h. */
#ifndef ATT_KERN_ATTENTION_ROWWISE_H
#define ATT_KERN_ATTENTION_ROWWISE_H

#include "kern/attention.h"

/* scores[j] = Σ_a v[a] tanh(query[a] + keys[j][a]), by 16 partial sums. */
typedef void att_kern_additive(float *scores, const float *query, const float *v,
                               att_matrix_view keys);

/* Gradients through the additive score of one query. Keys whose score has the gradient 0 are
 * skipped, so that NaN in a masked key does not spread. */
typedef struct att_additive_grads {
    float *query;        /* [A], added to in the order of keys */
    float *v;            /* [A], likewise */
    float *keys;         /* [keys][key_stride], added to */
    size_t key_stride;   /* floats from one to the next */
    const float *scores; /* [keys] */
} att_additive_grads;

typedef void att_kern_additive_backward(const att_additive_grads *grads, const float *query,
                                        const float *v, att_matrix_view keys);

/* y = f(x) over a row, with sum 1. NaN or +inf in the row, or -inf only, makes it NaN. Newton's
 * method finds the threshold t from below and never exceeds it: sums over the elements above the
 * last threshold, by 16 partial sums, give the next until it no longer grows. */
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
