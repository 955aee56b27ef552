/* The kernels of fused attention (src/attention/fused.h): one tile of queries against one
 * block of keys. They are part of the list in kern.h.
 *
 * A tile holds 32, 16 or 1 queries, its `lanes`. Everything that belongs to a query is in its lane:
 * a tile of scores is [keys][lanes]; with one lane it is a plain row of scores. So no sum runs
 * across lanes, keys and values are used in place, and the number of lanes changes no bit of any
 * result.
 *
 * Scores are in base 2: queries are packed with the factor scale * log2(e), and a weight is
 * 2^(score - largest score). That saves a multiplication per score. */
#ifndef ATT_KERN_ATTENTION_H
#define ATT_KERN_ATTENTION_H

#include <stddef.h>
#include <stdint.h>

enum {
    ATT_TILE_LANES = 32, /* queries in the widest tile */
    ATT_BLOCK_KEYS = 128 /* keys in a block, after which maxima and sums are updated */
};

/* `rows` rows of `columns` floats, `stride` floats from one to the next. */
typedef struct att_matrix_view {
    const float *data;
    ptrdiff_t stride;
    size_t rows;
    size_t columns;
} att_matrix_view;

/* The softmax state of each query after some blocks: the maximum score, the sum of 2^(score - max),
 * and the factor by which the last block rescaled the earlier sums. */
typedef struct att_tile_state {
    float max[ATT_TILE_LANES];
    float sum[ATT_TILE_LANES];
    float rescale[ATT_TILE_LANES];
} att_tile_state;

/* tile[c][lane] = rows[lane][c] * scale; 0 in the lanes past the last row. */
typedef void att_kern_tile_pack(float *tile, size_t lanes, att_matrix_view rows, float scale);

/* scores[j][lane] = sum of tile[c][lane] * keys[j][c], fused multiply-adds from 0 on in the order
 * of c. */
typedef void att_kern_tile_scores(float *scores, size_t lanes, const float *tile,
                                  att_matrix_view keys);

/* Scores become weights 2^(score - max) and the state is updated. The weights of the
 * block are summed in 16 partial sums, key j in j mod 16, by the usual tree (kern.h). -inf becomes
 * weight 0, also where all scores are -inf. */
typedef void att_kern_tile_softmax(float *scores, size_t lanes, size_t keys, att_tile_state *state);

/* Scores become 2^(score - shift[lane]) * factor[lane], no score being above its shift. */
typedef void att_kern_tile_weights(float *scores, size_t lanes, size_t keys, const float *shift,
                                   const float *factor);

/* sums[q] = sums[q] * keep[q] + the sum of weights[j][q] * values[j] in the order of j, fused
 * multiply-adds from 0 on; for the first `queries` lanes. Rows of `sums` are `stride` floats apart.
 * Where `keep` is NULL, the old sums are not read. */
typedef void att_kern_tile_combine(float *sums, size_t stride, size_t queries, const float *keep,
                                   const float *weights, size_t lanes, att_matrix_view values);

/* The `keep` that adds to the existing values. */
extern const float att_tile_ones[ATT_TILE_LANES];

/* The same over the pairs that bit q of allow[j] allows: others are skipped, not multiplied by
 * zero, so that NaN and infinity in their values do not spread. For finite values the result is the
 * same except for the sign of zero. */
typedef void att_kern_tile_combine_masked(float *sums, size_t stride, size_t queries,
                                          const float *keep, const float *weights, size_t lanes,
                                          att_matrix_view values, const uint32_t *allow);

/* tile[j][lane] = fill where bit `lane` of allow[j] is not set. */
typedef void att_kern_tile_mask(float *tile, size_t lanes, size_t keys, const uint32_t *allow,
                                float fill);

/* Clears bit q of allow[j] where bytes[q * stride + j] is 0. */
typedef void att_kern_tile_mask_from_bytes(uint32_t *allow, size_t keys, const uint8_t *bytes,
                                           ptrdiff_t stride, size_t queries);

/* Whether a weight survives dropout: word j mod 4 of the block of Philox at counter (j/4, i, h, b)
 * is at least the threshold. i and j are the indices of the query in lane 0 and the first key. */
typedef struct att_tile_dropout {
    uint64_t key, threshold;
    uint32_t b, h, i, j;
} att_tile_dropout;

/* Bit `lane` of kept[j] is set where that weight survives. */
typedef void att_kern_tile_dropout_mask(uint32_t *kept, size_t lanes, size_t keys,
                                        const att_tile_dropout *draw);

/* scores[j][lane] += by_distance[lane + keys - 1 - j]: a bias that depends only on the distance of
 * query and key. */
typedef void att_kern_tile_add_distance_bias(float *scores, size_t lanes, size_t keys,
                                             const float *by_distance);

/* x = cap * tanh(x * inverse). */
typedef void att_kern_tile_soft_cap(float *x, size_t n, float cap, float inverse);

/* slope[i] = 1 - (x[i] * inverse)^2: the derivative of tile_soft_cap, from its result and 1/cap. */
typedef void att_kern_tile_soft_cap_derivative(float *slope, const float *x, size_t n,
                                               float inverse);

/* Backward through softmax. Scores become weights p = 2^(score - shift[lane]), at most 1, and
 * `grads`, of the weights, become those of the scores: p (grad - along[lane]). */
typedef void att_kern_tile_softmax_backward(float *scores, float *grads, size_t lanes, size_t keys,
                                            const float *shift, const float *along);

/* sums[j] += the sum of tile[j][q] * rows[q] in the order of q, fused multiply-adds from 0 on. Rows
 * of `sums` are `stride` floats apart. */
typedef void att_kern_tile_combine_transposed(float *sums, size_t stride, size_t keys,
                                              const float *tile, size_t lanes,
                                              att_matrix_view rows);

/* The same over the pairs that are allowed, as in tile_combine_masked. */
typedef void att_kern_tile_combine_transposed_masked(float *sums, size_t stride, size_t keys,
                                                     const float *tile, size_t lanes,
                                                     att_matrix_view rows, const uint32_t *allow);

/* One query, as in decoding over a KV cache: tile_scores with one lane, and sums + the weighted sum
 * of some values, in order, each a fused multiply-add. Both are limited by memory, so they prefetch
 * the rows of `ahead`, which will be needed soon; `ahead` may be empty. */
typedef void att_kern_single_query_scores(float *scores, const float *query, att_matrix_view keys,
                                          att_matrix_view ahead);
typedef void att_kern_single_query_combine(float *sums, const float *weights,
                                           att_matrix_view values, att_matrix_view ahead);

/* out[r] = sums[r] * factor[r], and never -0. */
typedef void att_kern_tile_scale_output(float *out, ptrdiff_t out_stride, const float *factor,
                                        att_matrix_view sums);

/* 1 if all elements are finite, else 0. */
typedef float att_kern_all_finite(att_matrix_view rows);

#define ATT_TILE_KERNELS(K)                                                                        \
    K(att_kern_tile_pack, tile_pack)                                                               \
    K(att_kern_tile_scores, tile_scores)                                                           \
    K(att_kern_tile_softmax, tile_softmax)                                                         \
    K(att_kern_tile_weights, tile_weights)                                                         \
    K(att_kern_tile_combine, tile_combine)                                                         \
    K(att_kern_tile_combine_masked, tile_combine_masked)                                           \
    K(att_kern_tile_mask, tile_mask)                                                               \
    K(att_kern_tile_mask_from_bytes, tile_mask_from_bytes)                                         \
    K(att_kern_tile_dropout_mask, tile_dropout_mask)                                               \
    K(att_kern_tile_add_distance_bias, tile_add_distance_bias)                                     \
    K(att_kern_tile_soft_cap, tile_soft_cap)                                                       \
    K(att_kern_tile_soft_cap_derivative, tile_soft_cap_derivative)                                 \
    K(att_kern_tile_softmax_backward, tile_softmax_backward)                                       \
    K(att_kern_tile_combine_transposed, tile_combine_transposed)                                   \
    K(att_kern_tile_combine_transposed_masked, tile_combine_transposed_masked)                     \
    K(att_kern_single_query_scores, single_query_scores)                                           \
    K(att_kern_single_query_combine, single_query_combine)                                         \
    K(att_kern_tile_scale_output, tile_scale_output)                                               \
    K(att_kern_all_finite, all_finite)

#endif
