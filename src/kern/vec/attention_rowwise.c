/* Row-wise attention over vectors; see kern/attention_rowwise.h and scalar/attention_rowwise.c. */
#include "kern/vec/math.h"
#include "kern/vec/tile.h"

#include <math.h>
#include <string.h>

#define ALL_LANES 0xFFFFU /* the bits of a full mask */

/* ---- additive. Lanes past the end of a row are zeros, also of the exponentials: they are the
 * fraction -1 / 1, and v = 0 makes it add nothing. */

float KERNEL(additive_exps)(const att_additive_exps *out, const float *x, size_t n)
{
    uint32_t small = ALL_LANES;
    vec most = v_set(ADDITIVE_EXPONENT), bias = v_set(EXP2_ROUNDER / 2);
    for (size_t i = 0; i < n; i += LANES) {
        vec at = v_load_upto(x + i, n - i), exponent;
        mask large = v_less(v_set(ATT_ADDITIVE_LARGE), v_abs(at)), number = v_equal(at, at);
        vec usable = v_select(large, v_set(0.0f), v_select(number, at, v_set(0.0f)));
        vec m = v_exp_parts(v_add(usable, usable), &exponent), none = v_set(-INFINITY);
        v_store_upto(out->mantissas + i, v_select(large, none, v_select(number, m, none)), n - i);
        v_store_upto(out->exponents + i, v_add(exponent, bias), n - i);
        v_store_upto(out->exps + i, v_scale2(m, v_min(most, exponent)), n - i);
        small &= ~m_to_bits(v_less(v_set(ATT_ADDITIVE_SMALL), v_abs(at))) & m_to_bits(number);
    }
    return (small & ALL_LANES) == ALL_LANES ? 1.0f : 0.0f;
}

typedef struct fraction {
    vec top, bottom;
} fraction;

INLINE vec sum_of_inputs(const att_additive *in, size_t j, size_t a, size_t n)
{
    return v_add(v_load_upto(in->query + a, n), v_load_upto(row_of(in->keys, j) + a, n));
}

/* exp(2 query) exp(2 key) of elements a … a+15 and key j; n are left in the row. */
INLINE vec product_of_exps(const att_additive *in, size_t j, size_t a, size_t n, bool small)
{
    size_t at = j * in->keys.columns + a;
    const att_additive_exps *q = &in->query_exps, *k = &in->key_exps;
    if (small)
        return v_mul(v_load_upto(q->exps + a, n), v_load_upto(k->exps + at, n));
    vec m = v_mul(v_load_upto(q->mantissas + a, n), v_load_upto(k->mantissas + at, n));
    vec power = v_add(v_load_upto(q->exponents + a, n), v_load_upto(k->exponents + at, n));
    power = v_max(v_set(EXP2_ROUNDER - ADDITIVE_EXPONENT), power);
    power = v_min(v_set(EXP2_ROUNDER + ADDITIVE_EXPONENT), power);
    return v_mul(m, v_bits(i_shift_left(i_bits(power), 23)));
}

/* tanh of these elements. */
INLINE fraction tanh_fraction(const att_additive *in, size_t j, size_t a, size_t n, bool small)
{
    vec one = v_set(1.0f), e = product_of_exps(in, j, a, n, small);
    fraction f = { v_sub(e, one), v_add(e, one) };
    if (small)
        return f;
    mask usable = v_less(v_abs(e), v_set(INFINITY));
    if (m_to_bits(usable) == ALL_LANES)
        return f;
    vec t = v_tanh(sum_of_inputs(in, j, a, n));
    return (fraction){ v_select(usable, f.top, t), v_select(usable, f.bottom, one) };
}

INLINE float sum_of_fractions(const att_additive *in, size_t j, bool small)
{
    size_t n = in->keys.columns;
    vec sums = v_set(0.0f);
    for (size_t a = 0; a < n; a += 2 * LANES) {
        fraction f = tanh_fraction(in, j, a, n - a, small);
        vec top = v_mul(v_load_upto(in->v + a, n - a), f.top), bottom = f.bottom;
        if (a + LANES < n) {
            size_t b = a + LANES;
            fraction g = tanh_fraction(in, j, b, n - b, small);
            vec second = v_mul(v_load_upto(in->v + b, n - b), g.top);
            top = v_fma(second, bottom, v_mul(top, g.bottom));
            bottom = v_mul(bottom, g.bottom);
        }
        sums = v_add(sums, v_div(top, bottom));
    }
    return v_reduce_sum(sums);
}

static float sum_of_tanh(const att_additive *in, size_t j)
{
    size_t n = in->keys.columns;
    vec sums = v_set(0.0f);
    for (size_t a = 0; a < n; a += LANES)
        sums = v_fma(v_load_upto(in->v + a, n - a), v_tanh(sum_of_inputs(in, j, a, n - a)), sums);
    return v_reduce_sum(sums);
}

static float sum_of_small(const att_additive *in, size_t j)
{
    return sum_of_fractions(in, j, true);
}

static float sum_of_large(const att_additive *in, size_t j)
{
    return sum_of_fractions(in, j, false);
}

void KERNEL(additive)(float *scores, const att_additive *in)
{
    for (size_t j = 0; j < in->keys.rows; j++) {
        bool small = in->small_query && in->small_keys[j];
        scores[j] = small ? sum_of_small(in, j) : sum_of_large(in, j);
        if (!isfinite(scores[j]))
            scores[j] = sum_of_tanh(in, j);
    }
}

/* Sixteen of the A columns at a time visit all keys, so that their sums stay in registers. */
void KERNEL(additive_backward)(const att_additive_grads *grads, const att_additive *in)
{
    for (size_t a = 0; a < in->keys.columns; a += LANES) {
        size_t n = in->keys.columns - a;
        vec by = v_load_upto(in->v + a, n), to_v = v_load_upto(grads->v + a, n);
        vec to_query = v_load_upto(grads->query + a, n);
        for (size_t j = 0; j < in->keys.rows; j++) {
            if (grads->scores[j] == 0)
                continue;
            float *to_key = grads->keys + j * grads->key_stride + a;
            fraction f = in->small_query && in->small_keys[j] ? tanh_fraction(in, j, a, n, true)
                                                              : tanh_fraction(in, j, a, n, false);
            vec grad = v_set(grads->scores[j]), t = v_div(f.top, f.bottom);
            vec inner = v_mul(v_mul(grad, by), v_tanh_derivative(t));
            to_v = v_fma(grad, t, to_v);
            to_query = v_add(to_query, inner);
            v_store_upto(to_key, v_add(v_load_upto(to_key, n), inner), n);
        }
        v_store_upto(grads->v + a, to_v, n);
        v_store_upto(grads->query + a, to_query, n);
    }
}

/* ---- normalizers */

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
