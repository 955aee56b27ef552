/* Row-wise attention over vectors; see kern/attention_rowwise.h and scalar/attention_rowwise.c. */
#include "kern/vec/math.h"
#include "kern/vec/tile.h"

#include <string.h>

/* Lanes past the end of a row are zeros: v = 0 there adds nothing. */
INLINE vec tanh_of_sum(const float *query, const float *key, size_t n)
{
    return v_tanh(v_add(v_load_upto(query, n), v_load_upto(key, n)));
}

void KERNEL(additive)(float *scores, const float *query, const float *v, att_matrix_view keys)
{
    size_t n = keys.columns;
    for (size_t j = 0; j < keys.rows; j++) {
        const float *key = row_of(keys, j);
        vec sums = v_set(0.0f);
        for (size_t a = 0; a < n; a += LANES)
            sums = v_fma(v_load_upto(v + a, n - a), tanh_of_sum(query + a, key + a, n - a), sums);
        scores[j] = v_reduce_sum(sums);
    }
}

/* Sixteen of the A columns at a time visit all keys, so that their sums stay in registers. */
void KERNEL(additive_backward)(const att_additive_grads *grads, const float *query, const float *v,
                               att_matrix_view keys)
{
    for (size_t a = 0; a < keys.columns; a += LANES) {
        size_t n = keys.columns - a;
        vec by = v_load_upto(v + a, n), to_v = v_load_upto(grads->v + a, n);
        vec to_query = v_load_upto(grads->query + a, n);
        for (size_t j = 0; j < keys.rows; j++) {
            if (grads->scores[j] == 0)
                continue;
            float *to_key = grads->keys + j * grads->key_stride + a;
            vec grad = v_set(grads->scores[j]);
            vec t = tanh_of_sum(query + a, row_of(keys, j) + a, n);
            vec inner = v_mul(v_mul(grad, by), v_tanh_derivative(t));
            to_v = v_fma(grad, t, to_v);
            to_query = v_add(to_query, inner);
            v_store_upto(to_key, v_add(v_load_upto(to_key, n), inner), n);
        }
        v_store_upto(grads->v + a, to_v, n);
        v_store_upto(grads->query + a, to_query, n);
    }
}

INLINE bool subtract_max(float *y, const float *x, size_t n, float factor)
{
    vec top = v_set(row_max(x, n)), by = v_set(factor);
    bool valid = true;
    for (size_t i = 0; i < n; i += LANES) {
        vec shifted = v_mul(v_sub(v_load_upto(x + i, n - i), top), by);
        uint32_t wanted = m_to_bits(m_first_lanes(min_size(n - i, LANES)));
        valid &= (m_to_bits(v_equal(shifted, shifted)) & wanted) == wanted;
        v_store_upto(y + i, shifted, n - i);
    }
    for (size_t i = 0; i < n && !valid; i++)
        y[i] = NAN;
    return valid;
}

void KERNEL(sparsemax)(float *y, const float *x, size_t n)
{
    if (!subtract_max(y, x, n, 1.0f))
        return;
    vec zero = v_set(0.0f), one = v_set(1.0f);
    float threshold = -1.0f, next = -1.0f;
    do {
        threshold = next;
        vec sums = zero, counts = zero, limit = v_set(threshold);
        for (size_t i = 0; i < n; i += LANES) {
            vec z = v_load_fill(y + i, n - i, -INFINITY);
            mask above = v_less(limit, z);
            sums = v_add(sums, v_select(above, z, zero));
            counts = v_add(counts, v_select(above, one, zero));
        }
        next = (v_reduce_sum(sums) - 1.0f) / v_reduce_sum(counts);
    } while (next > threshold);
    vec limit = v_set(threshold);
    for (size_t i = 0; i < n; i += LANES) {
        vec z = v_load_upto(y + i, n - i);
        v_store_upto(y + i, v_select(v_less(limit, z), v_sub(z, limit), zero), n - i);
    }
}

void KERNEL(entmax15)(float *y, const float *x, size_t n)
{
    if (!subtract_max(y, x, n, 0.5f))
        return;
    vec zero = v_set(0.0f);
    float threshold = -1.0f, next = -1.0f;
    do {
        threshold = next;
        vec sums = zero, squares = zero, limit = v_set(threshold);
        for (size_t i = 0; i < n; i += LANES) {
            vec above = v_max(v_sub(v_load_fill(y + i, n - i, -INFINITY), limit), zero);
            sums = v_add(sums, above);
            squares = v_fma(above, above, squares);
        }
        next = threshold + (v_reduce_sum(squares) - 1.0f) / (2.0f * v_reduce_sum(sums));
    } while (next > threshold);
    vec limit = v_set(threshold);
    for (size_t i = 0; i < n; i += LANES) {
        vec above = v_max(v_sub(v_load_upto(y + i, n - i), limit), zero);
        v_store_upto(y + i, v_mul(above, above), n - i);
    }
}

/* Up to sixteen keys of sixteen queries, transposed in registers. */
static void unpack_16x16(float *rows, size_t stride, size_t queries, const float *tile,
                         size_t lanes, size_t keys)
{
    vec square[LANES];
    for (size_t j = 0; j < LANES; j++)
        square[j] = j < keys ? v_load(tile + j * lanes) : v_set(0.0f);
    v_transpose(square);
    for (size_t q = 0; q < queries; q++)
        v_store_upto(rows + q * stride, square[q], keys);
}

void KERNEL(tile_unpack)(float *rows, size_t stride, size_t queries, const float *tile,
                         size_t lanes, size_t keys)
{
    if (lanes == 1) {
        memcpy(rows, tile, queries * keys * sizeof(float));
        return;
    }
    for (size_t q = 0; q < queries; q += LANES)
        for (size_t j = 0; j < keys; j += LANES)
            unpack_16x16(rows + q * stride + j, stride, min_size(queries - q, LANES),
                         tile + j * lanes + q, lanes, min_size(keys - j, LANES));
}
