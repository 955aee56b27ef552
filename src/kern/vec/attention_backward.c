/* Tiles of fused attention, backward, over vectors; see kern/attention.h and
 * scalar/attention_backward.c. */
#include "kern/vec/math.h"
#include "kern/vec/tile.h"

void KERNEL(tile_soft_cap_derivative)(float *slope, const float *x, size_t n, float inverse)
{
    vec by = v_set(inverse);
    for (size_t i = 0; i < n; i += LANES)
        v_store_upto(slope + i, v_tanh_derivative(v_mul(v_load_upto(x + i, n - i), by)), n - i);
}

/* `count` rows of vectors, `step` floats apart, of which `n` floats are used; count and whether n
 * is a whole vector are constants where this is inlined. */
INLINE void softmax_backward_rows(float *scores, float *grads, size_t step, vec shift, vec along,
                                  const size_t count, size_t n)
{
    vec weight[EXPS_AT_ONCE];
#pragma GCC unroll 8
    for (size_t i = 0; i < count; i++)
        weight[i] = v_min(v_set(0.0f), v_sub(v_load_upto(scores + i * step, n), shift));
    v_exp2_each(weight, count);
#pragma GCC unroll 8
    for (size_t i = 0; i < count; i++) {
        float *grad = grads + i * step;
        v_store_upto(scores + i * step, weight[i], n);
        v_store_upto(grad, v_mul(weight[i], v_sub(v_load_upto(grad, n), along)), n);
    }
}

void KERNEL(tile_softmax_backward)(float *scores, float *grads, size_t lanes, size_t keys,
                                   const float *shift, const float *along)
{
    if (lanes == 1) {
        for (size_t j = 0; j < keys; j += LANES)
            softmax_backward_rows(scores + j, grads + j, 0, v_set(*shift), v_set(*along), 1,
                                  keys - j);
        return;
    }
    for (size_t q = 0; q < lanes; q += LANES) {
        vec down = v_load(shift + q), less = v_load(along + q);
        size_t j = 0;
        for (; j + EXPS_AT_ONCE <= keys; j += EXPS_AT_ONCE)
            softmax_backward_rows(scores + j * lanes + q, grads + j * lanes + q, lanes, down, less,
                                  EXPS_AT_ONCE, LANES);
        for (; j < keys; j++)
            softmax_backward_rows(scores + j * lanes + q, grads + j * lanes + q, lanes, down, less,
                                  1, LANES);
    }
}

INLINE void combine_transposed_strip(size_t rows, size_t j, size_t vecs, bool whole, float *sums,
                                     size_t stride, const float *tile, size_t lanes,
                                     right_operand values)
{
    vec sum[SUMS];
    tile_dot(sum, rows, vecs, whole, (left_operand){ tile + j * lanes, (ptrdiff_t)lanes, 1 },
             values);
    for (size_t r = 0; r < rows; r++)
        for (size_t v = 0; v < vecs; v++) {
            float *at = sums + (j + r) * stride + v * LANES;
            size_t width = whole ? LANES : values.width - v * LANES;
            v_store_upto(at, v_add(v_load_upto(at, width), sum[r * vecs + v]), width);
        }
}

void KERNEL(tile_combine_transposed)(float *sums, size_t stride, size_t keys, const float *tile,
                                     size_t lanes, att_matrix_view rows)
{
    size_t m = 0;
    right_operand from = { rows.data, rows.stride, rows.rows, rows.columns };
    for (; m + WIDE * LANES <= rows.columns; m += WIDE * LANES, from.data += WIDE * LANES)
        IN_STRIPS(keys, combine_transposed_strip, WIDE, true, sums + m, stride, tile, lanes, from);
    for (; m < rows.columns; m += LANES, from.data += LANES) {
        from.width = min_size(rows.columns - m, LANES);
        IN_STRIPS(keys, combine_transposed_strip, 1, false, sums + m, stride, tile, lanes, from);
    }
}

void KERNEL(tile_combine_transposed_masked)(float *sums, size_t stride, size_t keys,
                                            const float *tile, size_t lanes, att_matrix_view rows,
                                            const uint32_t *allow)
{
    for (size_t j = 0; j < keys; j++)
        for (size_t m = 0; m < rows.columns; m += LANES) {
            size_t width = rows.columns - m;
            vec sum = v_set(0.0f);
            for (size_t q = 0; q < rows.rows; q++)
                if (allow[j] >> q & 1)
                    sum = v_fma(v_set(tile[j * lanes + q]), v_load_upto(row_of(rows, q) + m, width),
                                sum);
            float *at = sums + j * stride + m;
            v_store_upto(at, v_add(v_load_upto(at, width), sum), width);
        }
}
