/* Tiles of fused attention over vectors; see kern/attention.h and scalar/attention.c. */
#include "kern/vec/math.h"
#include "kern/vec/philox.h"
#include "kern/vec/tile.h"

#include <string.h>

static const uint32_t lane_numbers[LANES] = {
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
};

/* ---- scores */

void KERNEL(tile_pack)(float *tile, size_t lanes, att_matrix_view rows, float scale)
{
    vec by = v_set(scale);
    if (lanes == 1) {
        for (size_t c = 0; c < rows.columns; c += LANES)
            v_store_upto(tile + c, v_mul(v_load_upto(rows.data + c, rows.columns - c), by),
                         rows.columns - c);
        return;
    }
    for (size_t q = 0; q < lanes; q += LANES)
        for (size_t c = 0; c < rows.columns; c += LANES) {
            vec x[LANES];
            load_transposed(x, rows, min_size(q, rows.rows), c);
            size_t columns = min_size(rows.columns - c, LANES);
            for (size_t i = 0; i < columns; i++)
                v_store(tile + (c + i) * lanes + q, v_mul(x[i], by));
        }
}

INLINE void scores_strip(size_t rows, size_t j, size_t vecs, float *scores, size_t lanes,
                         const float *tile, att_matrix_view keys)
{
    vec sum[SUMS];
    tile_dot(sum, rows, vecs, true, (left_operand){ row_of(keys, j), keys.stride, 1 },
             (right_operand){ tile, (ptrdiff_t)lanes, keys.columns, vecs * LANES });
    for (size_t r = 0; r < rows; r++)
        for (size_t v = 0; v < vecs; v++)
            v_store(scores + (j + r) * lanes + v * LANES, sum[r * vecs + v]);
}

void KERNEL(tile_scores)(float *scores, size_t lanes, const float *tile, att_matrix_view keys)
{
    if (lanes == 1) {
        KERNEL(single_query_scores)(scores, tile, keys, (att_matrix_view){ 0 });
        return;
    }
    size_t q = 0;
    for (; q + WIDE * LANES <= lanes; q += WIDE * LANES)
        IN_STRIPS(keys.rows, scores_strip, WIDE, scores + q, lanes, tile + q, keys);
    if (q < lanes)
        IN_STRIPS(keys.rows, scores_strip, 1, scores + q, lanes, tile + q, keys);
}

void KERNEL(tile_mask)(float *tile, size_t lanes, size_t keys, const uint32_t *allow, float fill)
{
    vec other = v_set(fill);
    for (size_t j = 0; j < keys; j++)
        if (lanes == 1)
            tile[j] = allow[j] & 1 ? tile[j] : fill;
        else
            for (size_t q = 0; q < lanes; q += LANES) {
                float *at = tile + j * lanes + q;
                v_store(at, v_select(m_bits(allow[j] >> q), v_load(at), other));
            }
}

/* The compiler vectorizes this along the keys. */
void KERNEL(tile_mask_from_bytes)(uint32_t *allow, size_t keys, const uint8_t *bytes,
                                  ptrdiff_t stride, size_t queries)
{
    for (size_t q = 0; q < queries; q++) {
        const uint8_t *row = bytes + (ptrdiff_t)q * stride;
        for (size_t j = 0; j < keys; j++)
            allow[j] &= ~((uint32_t)(row[j] == 0) << q);
    }
}

/* One query: sixteen blocks of Philox give the bits of 64 keys. */
INLINE void dropout_row(uint32_t *kept, size_t keys, const att_tile_dropout *draw)
{
    uint32_t word[4][LANES];
    for (size_t j = 0; j < keys; j++) {
        uint32_t key = draw->j + (uint32_t)j, block = key / 4, lane = block % LANES;
        if (j == 0 || (key % 4 == 0 && lane == 0)) {
            ivec c[4] = { i_add(i_set(block - lane), i_load(lane_numbers)), i_set(draw->i),
                          i_set(draw->h), i_set(draw->b) };
            philox(c, draw->key);
            for (size_t w = 0; w < 4; w++) {
                float bits[LANES];
                v_store(bits, v_bits(c[w]));
                memcpy(word[w], bits, sizeof bits);
            }
        }
        kept[j] = word[key % 4][lane] >= draw->threshold;
    }
}

void KERNEL(tile_dropout_mask)(uint32_t *kept, size_t lanes, size_t keys,
                               const att_tile_dropout *draw)
{
    if (lanes == 1) {
        dropout_row(kept, keys, draw);
        return;
    }
    bool all = draw->threshold > UINT32_MAX;
    for (size_t j = 0; j < keys; j++)
        kept[j] = 0;
    for (size_t q = 0; q < lanes && !all; q += LANES) {
        ivec c[4], limit = i_set((uint32_t)draw->threshold);
        for (size_t j = 0; j < keys; j++) {
            uint32_t key = draw->j + (uint32_t)j;
            if (j == 0 || key % 4 == 0) {
                c[0] = i_set(key / 4);
                c[1] = i_add(i_set(draw->i + (uint32_t)q), i_load(lane_numbers));
                c[2] = i_set(draw->h);
                c[3] = i_set(draw->b);
                philox(c, draw->key);
            }
            kept[j] |= (~m_to_bits(i_less_unsigned(c[key % 4], limit)) & 0xffff) << q;
        }
    }
}

void KERNEL(tile_add_distance_bias)(float *scores, size_t lanes, size_t keys,
                                    const float *by_distance)
{
    for (size_t j = 0; j < keys; j++)
        for (size_t q = 0; q < lanes; q += LANES) {
            float *at = scores + j * lanes + q;
            vec bias = v_load_upto(by_distance + q + keys - 1 - j, lanes);
            v_store_upto(at, v_add(v_load_upto(at, lanes), bias), lanes);
        }
}

void KERNEL(tile_soft_cap)(float *x, size_t n, float cap, float inverse)
{
    vec by = v_set(cap), in = v_set(inverse);
    for (size_t i = 0; i < n; i += LANES)
        v_store_upto(x + i, v_mul(by, v_tanh(v_mul(v_load_upto(x + i, n - i), in))), n - i);
}

/* ---- weights */

/* The value to subtract from scores whose maximum is `max`: 0 where that is -inf. */
INLINE vec finite_max(vec max)
{
    return v_select(v_equal(max, v_set(-INFINITY)), v_set(0.0f), max);
}

/* The maximum scores of sixteen queries; four independent chains hide the latency of max. */
INLINE vec max_of_scores(const float *scores, size_t lanes, size_t keys, vec max)
{
    vec chain[4] = { max, max, max, max };
    size_t j = 0;
    for (; j + 4 <= keys; j += 4)
        for (size_t i = 0; i < 4; i++)
            chain[i] = v_max(v_load(scores + (j + i) * lanes), chain[i]);
    for (; j < keys; j++)
        chain[0] = v_max(v_load(scores + j * lanes), chain[0]);
    return v_max(v_max(chain[0], chain[1]), v_max(chain[2], chain[3]));
}

/* The weights of `n` keys from `at` on, added to their partial sums. Stage by stage for all of
 * them, since one exponential after another would wait for its own latency. */
INLINE void exp_and_add(vec *part, float *at, size_t lanes, vec shift, const size_t n)
{
    vec weight[EXPS_AT_ONCE];
#pragma GCC unroll 8
    for (size_t i = 0; i < n; i++)
        weight[i] = v_sub(v_load(at + i * lanes), shift);
    v_exp2_each(weight, n);
#pragma GCC unroll 8
    for (size_t i = 0; i < n; i++) {
        part[i] = v_add(part[i], weight[i]);
        v_store(at + i * lanes, weight[i]);
    }
}

/* Writes the weights of sixteen queries and returns their sums. Key j adds to partial sum j mod 16;
 * keys are visited nearly in order, because loads 4096 bytes after a recent store would wait for it
 * on Intel processors. */
INLINE vec exp_and_sum(float *scores, size_t lanes, size_t keys, vec shift)
{
    vec part[ATT_LANES];
    for (size_t r = 0; r < ATT_LANES; r += EXPS_AT_ONCE) {
        vec some[EXPS_AT_ONCE];
        for (size_t i = 0; i < EXPS_AT_ONCE; i++)
            some[i] = v_set(0.0f);
        size_t j = r;
        for (; j + EXPS_AT_ONCE <= keys; j += ATT_LANES)
            exp_and_add(some, scores + j * lanes, lanes, shift, EXPS_AT_ONCE);
        for (size_t i = 0; i < EXPS_AT_ONCE && j + i < keys; i++)
            exp_and_add(some + i, scores + (j + i) * lanes, lanes, shift, 1);
        for (size_t i = 0; i < EXPS_AT_ONCE; i++)
            part[r + i] = some[i];
    }
    for (size_t half = ATT_LANES / 2; half > 0; half /= 2)
        for (size_t r = 0; r < half; r++)
            part[r] = v_add(part[r], part[r + half]);
    return part[0];
}

INLINE void softmax_lanes(float *scores, size_t lanes, size_t keys, float *max, float *sum,
                          float *keep)
{
    vec before = v_load(max);
    vec now = v_add(max_of_scores(scores, lanes, keys, before), v_set(0.0f));
    vec shift = finite_max(now);
    vec kept = v_exp2(v_sub(before, shift));
    v_store(max, now);
    v_store(keep, kept);
    v_store(sum, v_fma(v_load(sum), kept, exp_and_sum(scores, lanes, keys, shift)));
}

INLINE void softmax_row(float *scores, size_t keys, float *max, float *sum, float *keep)
{
    float before = *max, largest = row_max(scores, keys);
    *max = (largest > before ? largest : before) + 0.0f;
    vec shift = finite_max(v_set(*max)), sums = v_set(0.0f);
    for (size_t j = 0; j < keys; j += LANES) {
        vec weight = v_exp2(v_sub(v_load_fill(scores + j, keys - j, -INFINITY), shift));
        sums = v_add(sums, weight);
        v_store_upto(scores + j, weight, keys - j);
    }
    v_store_part(keep, v_exp2(v_sub(v_set(before), shift)), 1);
    v_store_part(sum, v_fma(v_set(*sum), v_set(*keep), v_set(v_reduce_sum(sums))), 1);
}

void KERNEL(tile_softmax)(float *scores, size_t lanes, size_t keys, att_tile_state *state)
{
    if (lanes == 1)
        softmax_row(scores, keys, state->max, state->sum, state->rescale);
    else
        for (size_t q = 0; q < lanes; q += LANES)
            softmax_lanes(scores + q, lanes, keys, state->max + q, state->sum + q,
                          state->rescale + q);
}

INLINE void weights_of_keys(float *at, size_t lanes, vec shift, vec factor, const size_t n)
{
    vec weight[EXPS_AT_ONCE];
#pragma GCC unroll 8
    for (size_t i = 0; i < n; i++)
        weight[i] = v_sub(v_load(at + i * lanes), shift);
    v_exp2_each(weight, n);
#pragma GCC unroll 8
    for (size_t i = 0; i < n; i++)
        v_store(at + i * lanes, v_mul(weight[i], factor));
}

void KERNEL(tile_weights)(float *scores, size_t lanes, size_t keys, const float *shift,
                          const float *factor)
{
    if (lanes == 1) {
        vec down = v_set(*shift), by = v_set(*factor);
        for (size_t j = 0; j < keys; j += LANES) {
            vec weight = v_exp2(v_sub(v_load_upto(scores + j, keys - j), down));
            v_store_upto(scores + j, v_mul(weight, by), keys - j);
        }
        return;
    }
    for (size_t q = 0; q < lanes; q += LANES) {
        vec down = v_load(shift + q), by = v_load(factor + q);
        size_t j = 0;
        for (; j + EXPS_AT_ONCE <= keys; j += EXPS_AT_ONCE)
            weights_of_keys(scores + j * lanes + q, lanes, down, by, EXPS_AT_ONCE);
        for (; j < keys; j++)
            weights_of_keys(scores + j * lanes + q, lanes, down, by, 1);
    }
}

/* ---- weighted sums of values */

INLINE void combine_strip(size_t rows, size_t q, size_t vecs, bool whole, float *sums,
                          size_t stride, const float *keep, const float *weights, size_t lanes,
                          right_operand values)
{
    vec sum[SUMS];
    tile_dot(sum, rows, vecs, whole, (left_operand){ weights + q, 1, (ptrdiff_t)lanes }, values);
    for (size_t r = 0; r < rows; r++)
        for (size_t v = 0; v < vecs; v++) {
            float *at = sums + (q + r) * stride + v * LANES;
            size_t width = whole ? LANES : values.width - v * LANES;
            vec total = sum[r * vecs + v];
            if (keep)
                total = v_fma(v_load_upto(at, width), v_set(keep[q + r]), total);
            v_store_upto(at, total, width);
        }
}

void KERNEL(tile_combine)(float *sums, size_t stride, size_t queries, const float *keep,
                          const float *weights, size_t lanes, att_matrix_view values)
{
    size_t m = 0, width = values.columns;
    right_operand from = { values.data, values.stride, values.rows, width };
    if (queries == 1)
        for (; m + ROW_WIDE * LANES <= width; m += ROW_WIDE * LANES, from.data += ROW_WIDE * LANES)
            combine_strip(1, 0, ROW_WIDE, true, sums + m, stride, keep, weights, lanes, from);
    for (; m + WIDE * LANES <= width; m += WIDE * LANES, from.data += WIDE * LANES)
        IN_STRIPS(queries, combine_strip, WIDE, true, sums + m, stride, keep, weights, lanes, from);
    for (; m < width; m += LANES, from.data += LANES) {
        from.width = min_size(width - m, LANES);
        IN_STRIPS(queries, combine_strip, 1, false, sums + m, stride, keep, weights, lanes, from);
    }
}

void KERNEL(tile_combine_masked)(float *sums, size_t stride, size_t queries, const float *keep,
                                 const float *weights, size_t lanes, att_matrix_view values,
                                 const uint32_t *allow)
{
    for (size_t q = 0; q < queries; q++)
        for (size_t m = 0; m < values.columns; m += LANES) {
            size_t width = values.columns - m;
            vec sum = v_set(0.0f);
            for (size_t j = 0; j < values.rows; j++)
                if (allow[j] >> q & 1)
                    sum = v_fma(v_set(weights[j * lanes + q]),
                                v_load_upto(row_of(values, j) + m, width), sum);
            float *at = sums + q * stride + m;
            if (keep)
                sum = v_fma(v_load_upto(at, width), v_set(keep[q]), sum);
            v_store_upto(at, sum, width);
        }
}

void KERNEL(tile_scale_output)(float *out, ptrdiff_t out_stride, const float *factor,
                               att_matrix_view sums)
{
    for (size_t r = 0; r < sums.rows; r++)
        for (size_t m = 0; m < sums.columns; m += LANES) {
            vec sum = v_load_upto(row_of(sums, r) + m, sums.columns - m);
            v_store_upto(out + (ptrdiff_t)r * out_stride + (ptrdiff_t)m,
                         v_add(v_mul(sum, v_set(factor[r])), v_set(0.0f)), sums.columns - m);
        }
}

/* x - x is 0 for finite x, else NaN, which the sum keeps. */
float KERNEL(all_finite)(att_matrix_view rows)
{
    vec sums = v_set(0.0f);
    for (size_t r = 0; r < rows.rows; r++)
        for (size_t c = 0; c < rows.columns; c += LANES) {
            vec x = v_load_upto(row_of(rows, r) + c, rows.columns - c);
            sums = v_add(sums, v_sub(x, x));
        }
    return v_reduce_sum(sums) == 0 ? 1.0f : 0.0f;
}
