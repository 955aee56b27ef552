/* Tiles of attention in plain loops; see kern/attention.h. */
#include "base/random.h"
#include "kern/ref/partials.h"
#include "kern/set/set.h"

void KERNEL(tile_pack)(float *tile, size_t lanes, att_rows rows, float scale)
{
    for (size_t c = 0; c < rows.width; c++)
        for (size_t q = 0; q < lanes; q++)
            tile[c * lanes + q] =
                q < rows.count ? rows.at[(ptrdiff_t)q * rows.stride + (ptrdiff_t)c] * scale : 0.0f;
}

void KERNEL(tile_scores)(float *scores, size_t lanes, const float *tile, att_rows keys)
{
    for (size_t j = 0; j < keys.count; j++) {
        const float *key = keys.at + (ptrdiff_t)j * keys.stride;
        for (size_t q = 0; q < lanes; q++) {
            float sum = 0.0f;
            for (size_t c = 0; c < keys.width; c++)
                sum = fmaf(key[c], tile[c * lanes + q], sum);
            scores[j * lanes + q] = sum;
        }
    }
}

/* One query's scores stand `lanes` apart. Where nothing but -inf was met there is no largest score
 * to subtract; nothing is subtracted then. */
static void softmax_lane(float *scores, size_t lanes, size_t keys, float *most, float *sum,
                         float *keep)
{
    float before = *most;
    for (size_t j = 0; j < keys; j++)
        *most = max_of(scores[j * lanes], *most);
    *most += 0.0f; /* which of 0 and -0 is larger depends on the order; now it is 0 */
    float shift = *most == -INFINITY ? 0.0f : *most;
    *keep = exp2_of(before - shift);
    partials sums = partials_of(0.0f);
    for (size_t j = 0; j < keys; j++) {
        scores[j * lanes] = exp2_of(scores[j * lanes] - shift);
        sums.at[j % ATT_LANES] += scores[j * lanes];
    }
    *sum = fmaf(*sum, *keep, tree_sum(sums));
}

void KERNEL(tile_softmax)(float *scores, size_t lanes, size_t keys, att_tile_state *state)
{
    for (size_t q = 0; q < lanes; q++)
        softmax_lane(scores + q, lanes, keys, &state->most[q], &state->sum[q], &state->keep[q]);
}

void KERNEL(tile_weights)(float *scores, size_t lanes, size_t keys, const float *shift,
                          const float *factor)
{
    for (size_t j = 0; j < keys; j++)
        for (size_t q = 0; q < lanes; q++)
            scores[j * lanes + q] = exp2_of(scores[j * lanes + q] - shift[q]) * factor[q];
}

void KERNEL(tile_combine)(float *sums, size_t stride, size_t queries, const float *keep,
                          const float *weights, size_t lanes, att_rows values)
{
    for (size_t q = 0; q < queries; q++)
        for (size_t m = 0; m < values.width; m++) {
            float sum = 0.0f;
            for (size_t j = 0; j < values.count; j++)
                sum = fmaf(weights[j * lanes + q],
                           values.at[(ptrdiff_t)j * values.stride + (ptrdiff_t)m], sum);
            sums[q * stride + m] = keep ? fmaf(sums[q * stride + m], keep[q], sum) : sum;
        }
}

void KERNEL(tile_combine_allowed)(float *sums, size_t stride, size_t queries, const float *keep,
                                  const float *weights, size_t lanes, att_rows values,
                                  const uint32_t *allow)
{
    for (size_t q = 0; q < queries; q++)
        for (size_t m = 0; m < values.width; m++) {
            float sum = 0.0f;
            for (size_t j = 0; j < values.count; j++)
                if (allow[j] >> q & 1)
                    sum = fmaf(weights[j * lanes + q],
                               values.at[(ptrdiff_t)j * values.stride + (ptrdiff_t)m], sum);
            sums[q * stride + m] = keep ? fmaf(sums[q * stride + m], keep[q], sum) : sum;
        }
}

void KERNEL(row_scores)(float *scores, const float *query, att_rows keys, att_rows ahead)
{
    (void)ahead;
    KERNEL(tile_scores)(scores, 1, query, keys);
}

void KERNEL(row_add)(float *sums, const float *weights, att_rows values, att_rows ahead)
{
    (void)ahead;
    for (size_t j = 0; j < values.count; j++)
        for (size_t m = 0; m < values.width; m++)
            sums[m] =
                fmaf(weights[j], values.at[(ptrdiff_t)j * values.stride + (ptrdiff_t)m], sums[m]);
}

void KERNEL(tile_mask)(float *tile, size_t lanes, size_t keys, const uint32_t *allow, float fill)
{
    for (size_t j = 0; j < keys; j++)
        for (size_t q = 0; q < lanes; q++)
            if (!(allow[j] >> q & 1))
                tile[j * lanes + q] = fill;
}

void KERNEL(tile_allow)(uint32_t *allow, size_t keys, const uint8_t *bytes, ptrdiff_t stride,
                        size_t queries)
{
    for (size_t j = 0; j < keys; j++)
        for (size_t q = 0; q < queries; q++)
            if (bytes[(ptrdiff_t)q * stride + (ptrdiff_t)j] == 0)
                allow[j] &= ~((uint32_t)1 << q);
}

void KERNEL(tile_draw)(uint32_t *kept, size_t lanes, size_t keys, const att_tile_draw *draw)
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

void KERNEL(tile_diagonals)(float *scores, size_t lanes, size_t keys, const float *by_distance)
{
    for (size_t j = 0; j < keys; j++)
        for (size_t q = 0; q < lanes; q++)
            scores[j * lanes + q] += by_distance[q + keys - 1 - j];
}

void KERNEL(tile_cap)(float *x, size_t n, float cap, float inverse)
{
    for (size_t i = 0; i < n; i++)
        x[i] = cap * tanh_of(x[i] * inverse);
}

void KERNEL(tile_finish)(float *out, ptrdiff_t out_stride, const float *factor, att_rows sums)
{
    for (size_t r = 0; r < sums.count; r++)
        for (size_t m = 0; m < sums.width; m++)
            out[(ptrdiff_t)r * out_stride + (ptrdiff_t)m] =
                sums.at[(ptrdiff_t)r * sums.stride + (ptrdiff_t)m] * factor[r] + 0.0f;
}

/* x - x is 0 for finite x, else NaN. */
float KERNEL(rows_finite)(att_rows rows)
{
    for (size_t r = 0; r < rows.count; r++)
        for (size_t c = 0; c < rows.width; c++) {
            float x = rows.at[(ptrdiff_t)r * rows.stride + (ptrdiff_t)c];
            if (x - x != 0)
                return 0.0f;
        }
    return 1.0f;
}
