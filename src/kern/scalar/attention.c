/* Tiles of fused attention in plain loops; see kern/attention.h. */
#include "base/random.h"
#include "kern/scalar/partials.h"
#include "kern/isa/isa.h"

void KERNEL(tile_pack)(float *tile, size_t lanes, att_matrix_view rows, float scale)
{
    for (size_t c = 0; c < rows.columns; c++)
        for (size_t q = 0; q < lanes; q++)
            tile[c * lanes + q] =
                q < rows.rows ? rows.data[(ptrdiff_t)q * rows.stride + (ptrdiff_t)c] * scale : 0.0f;
}

void KERNEL(tile_scores)(float *scores, size_t lanes, const float *tile, att_matrix_view keys)
{
    for (size_t j = 0; j < keys.rows; j++) {
        const float *key = keys.data + (ptrdiff_t)j * keys.stride;
        for (size_t q = 0; q < lanes; q++) {
            float sum = 0.0f;
            for (size_t c = 0; c < keys.columns; c++)
                sum = fmaf(key[c], tile[c * lanes + q], sum);
            scores[j * lanes + q] = sum;
        }
    }
}

/* One query's scores are `lanes` apart. If all scores so far are -inf, there is no maximum to
 * subtract, and 0 is subtracted instead. */
static void softmax_lane(float *scores, size_t lanes, size_t keys, float *max, float *sum,
                         float *keep)
{
    float before = *max;
    for (size_t j = 0; j < keys; j++)
        *max = max_float(scores[j * lanes], *max);
    *max += 0.0f; /* the maximum of 0 and -0 depends on the order: make it 0 */
    float shift = *max == -INFINITY ? 0.0f : *max;
    *keep = exp2_of(before - shift);
    partials sums = partials_fill(0.0f);
    for (size_t j = 0; j < keys; j++) {
        scores[j * lanes] = exp2_of(scores[j * lanes] - shift);
        sums.lane[j % ATT_LANES] += scores[j * lanes];
    }
    *sum = fmaf(*sum, *keep, tree_sum(sums));
}

void KERNEL(tile_softmax)(float *scores, size_t lanes, size_t keys, att_tile_state *state)
{
    for (size_t q = 0; q < lanes; q++)
        softmax_lane(scores + q, lanes, keys, &state->max[q], &state->sum[q], &state->rescale[q]);
}

void KERNEL(tile_weights)(float *scores, size_t lanes, size_t keys, const float *shift,
                          const float *factor)
{
    for (size_t j = 0; j < keys; j++)
        for (size_t q = 0; q < lanes; q++)
            scores[j * lanes + q] = exp2_of(scores[j * lanes + q] - shift[q]) * factor[q];
}

void KERNEL(tile_combine)(float *sums, size_t stride, size_t queries, const float *keep,
                          const float *weights, size_t lanes, att_matrix_view values)
{
    for (size_t q = 0; q < queries; q++)
        for (size_t m = 0; m < values.columns; m++) {
            float sum = 0.0f;
            for (size_t j = 0; j < values.rows; j++)
                sum = fmaf(weights[j * lanes + q],
                           values.data[(ptrdiff_t)j * values.stride + (ptrdiff_t)m], sum);
            sums[q * stride + m] = keep ? fmaf(sums[q * stride + m], keep[q], sum) : sum;
        }
}

void KERNEL(tile_combine_masked)(float *sums, size_t stride, size_t queries, const float *keep,
                                 const float *weights, size_t lanes, att_matrix_view values,
                                 const uint32_t *allow)
{
    for (size_t q = 0; q < queries; q++)
        for (size_t m = 0; m < values.columns; m++) {
            float sum = 0.0f;
            for (size_t j = 0; j < values.rows; j++)
                if (allow[j] >> q & 1)
                    sum = fmaf(weights[j * lanes + q],
                               values.data[(ptrdiff_t)j * values.stride + (ptrdiff_t)m], sum);
            sums[q * stride + m] = keep ? fmaf(sums[q * stride + m], keep[q], sum) : sum;
        }
}

void KERNEL(single_query_scores)(float *scores, const float *query, att_matrix_view keys,
                                 att_matrix_view ahead)
{
    (void)ahead;
    KERNEL(tile_scores)(scores, 1, query, keys);
}

void KERNEL(single_query_combine)(float *sums, const float *weights, att_matrix_view values,
                                  att_matrix_view ahead)
{
    (void)ahead;
    for (size_t j = 0; j < values.rows; j++)
        for (size_t m = 0; m < values.columns; m++)
            sums[m] =
                fmaf(weights[j], values.data[(ptrdiff_t)j * values.stride + (ptrdiff_t)m], sums[m]);
}

void KERNEL(tile_mask)(float *tile, size_t lanes, size_t keys, const uint32_t *allow, float fill)
{
    for (size_t j = 0; j < keys; j++)
        for (size_t q = 0; q < lanes; q++)
            if (!(allow[j] >> q & 1))
                tile[j * lanes + q] = fill;
}

void KERNEL(tile_mask_from_bytes)(uint32_t *allow, size_t keys, const uint8_t *bytes,
                                  ptrdiff_t stride, size_t queries)
{
    for (size_t j = 0; j < keys; j++)
        for (size_t q = 0; q < queries; q++)
            if (bytes[(ptrdiff_t)q * stride + (ptrdiff_t)j] == 0)
                allow[j] &= ~((uint32_t)1 << q);
}

void KERNEL(tile_dropout_mask)(uint32_t *kept, size_t lanes, size_t keys,
                               const att_tile_dropout *draw)
{
    const uint32_t seed[2] = { (uint32_t)draw->key, (uint32_t)(draw->key >> 32) };
    for (size_t j = 0; j < keys; j++) {
        uint32_t key = draw->j + (uint32_t)j;
        kept[j] = 0;
        for (size_t q = 0; q < lanes; q++) {
            const uint32_t counter[4] = { key / 4, draw->i + (uint32_t)q, draw->h, draw->b };
            uint32_t word[4];
            att_philox(word, counter, seed);
            kept[j] |= (uint32_t)(word[key % 4] >= draw->threshold) << q;
        }
    }
}

void KERNEL(tile_add_distance_bias)(float *scores, size_t lanes, size_t keys,
                                    const float *by_distance)
{
    for (size_t j = 0; j < keys; j++)
        for (size_t q = 0; q < lanes; q++)
            scores[j * lanes + q] += by_distance[q + keys - 1 - j];
}

void KERNEL(tile_soft_cap)(float *x, size_t n, float cap, float inverse)
{
    for (size_t i = 0; i < n; i++)
        x[i] = cap * tanh_of(x[i] * inverse);
}

void KERNEL(tile_scale_output)(float *out, ptrdiff_t out_stride, const float *factor,
                               att_matrix_view sums)
{
    for (size_t r = 0; r < sums.rows; r++)
        for (size_t m = 0; m < sums.columns; m++)
            out[(ptrdiff_t)r * out_stride + (ptrdiff_t)m] =
                sums.data[(ptrdiff_t)r * sums.stride + (ptrdiff_t)m] * factor[r] + 0.0f;
}

/* x - x is 0 for finite x, else NaN. */
float KERNEL(all_finite)(att_matrix_view rows)
{
    for (size_t r = 0; r < rows.rows; r++)
        for (size_t c = 0; c < rows.columns; c++) {
            float x = rows.data[(ptrdiff_t)r * rows.stride + (ptrdiff_t)c];
            if (x - x != 0)
                return 0.0f;
        }
    return 1.0f;
}
