/* Tiles of attention, backward, over vectors; see kern/attention.h and ref/attention_back.c. */
#include "kern/vec/math.h"
#include "kern/vec/tile.h"

void KERNEL(tile_cap_slope)(float *slope, const float *x, size_t n, float inverse)
{
    vec by = v_set(inverse);
    for (size_t i = 0; i < n; i += LANES)
        v_store_upto(slope + i, v_tanh_slope(v_mul(v_load_upto(x + i, n - i), by)), n - i);
}

INLINE void back_lanes(float *scores, float *grads, vec shift, vec along, size_t n)
{
    vec weight = v_exp2(v_min(v_set(0.0f), v_sub(v_load_upto(scores, n), shift)));
    v_store_upto(scores, weight, n);
    v_store_upto(grads, v_mul(weight, v_sub(v_load_upto(grads, n), along)), n);
}

void KERNEL(tile_back)(float *scores, float *grads, size_t lanes, size_t keys, const float *shift,
                       const float *along)
{
    if (lanes == 1) {
        for (size_t j = 0; j < keys; j += LANES)
            back_lanes(scores + j, grads + j, v_set(*shift), v_set(*along), keys - j);
        return;
    }
    for (size_t q = 0; q < lanes; q += LANES) {
        vec down = v_load(shift + q), less = v_load(along + q);
        for (size_t j = 0; j < keys; j++)
            back_lanes(scores + j * lanes + q, grads + j * lanes + q, down, less, LANES);
    }
}

INLINE void spread_strip(size_t rows, size_t j, size_t vecs, bool whole, float *sums, size_t stride,
                         const float *tile, size_t lanes, right values)
{
    vec sum[SUMS];
    multiply(sum, rows, vecs, whole, (left){ tile + j * lanes, (ptrdiff_t)lanes, 1 }, values);
    for (size_t r = 0; r < rows; r++)
        for (size_t v = 0; v < vecs; v++) {
            float *at = sums + (j + r) * stride + v * LANES;
            size_t width = whole ? LANES : values.width - v * LANES;
            v_store_upto(at, v_add(v_load_upto(at, width), sum[r * vecs + v]), width);
        }
}

void KERNEL(tile_spread)(float *sums, size_t stride, size_t keys, const float *tile, size_t lanes,
                         att_rows rows)
{
    size_t m = 0;
    right from = { rows.at, rows.stride, rows.count, rows.width };
    for (; m + WIDE * LANES <= rows.width; m += WIDE * LANES, from.at += WIDE * LANES)
        IN_STRIPS(keys, spread_strip, WIDE, true, sums + m, stride, tile, lanes, from);
    for (; m < rows.width; m += LANES, from.at += LANES) {
        from.width = smaller(rows.width - m, LANES);
        IN_STRIPS(keys, spread_strip, 1, false, sums + m, stride, tile, lanes, from);
    }
}

void KERNEL(tile_spread_allowed)(float *sums, size_t stride, size_t keys, const float *tile,
                                 size_t lanes, att_rows rows, const uint32_t *allow)
{
    for (size_t j = 0; j < keys; j++)
        for (size_t m = 0; m < rows.width; m += LANES) {
            size_t width = rows.width - m;
            vec sum = v_set(0.0f);
            for (size_t q = 0; q < rows.count; q++)
                if (allow[j] >> q & 1)
                    sum = v_fma(v_set(tile[j * lanes + q]), v_load_upto(row_of(rows, q) + m, width),
                                sum);
            float *at = sums + j * stride + m;
            v_store_upto(at, v_add(v_load_upto(at, width), sum), width);
        }
}
