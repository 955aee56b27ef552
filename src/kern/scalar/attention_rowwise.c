/* Row-wise attention in plain loops; see kern/attention_rowwise.h. */
#include "kern/scalar/partials.h"
#include "kern/isa/isa.h"

float KERNEL(additive_exps)(const att_additive_exps *out, const float *x, size_t n)
{
    bool small = true;
    for (size_t i = 0; i < n; i++) {
        bool usable = fabsf(x[i]) <= ATT_ADDITIVE_LARGE;
        float exponent = 0, m = exp_parts(usable ? x[i] + x[i] : 0, &exponent);
        out->mantissas[i] = usable ? m : -INFINITY;
        out->exponents[i] = exponent + EXP2_ROUNDER / 2;
        out->exps[i] = scale2(m, min_float(ADDITIVE_EXPONENT, exponent));
        small &= fabsf(x[i]) <= ATT_ADDITIVE_SMALL;
    }
    return small ? 1.0f : 0.0f;
}

typedef struct fraction {
    float top, bottom;
} fraction;

/* tanh(query[a] + key[a]) of key j. */
static fraction tanh_fraction(const att_additive *in, const float *key, size_t j, size_t a)
{
    size_t at = j * in->keys.columns + a;
    float power = in->query_exps.exponents[a] + in->key_exps.exponents[at];
    power = max_float(EXP2_ROUNDER - ADDITIVE_EXPONENT, power);
    power = min_float(EXP2_ROUNDER + ADDITIVE_EXPONENT, power);
    float e = in->query_exps.mantissas[a] * in->key_exps.mantissas[at] *
              bits_float(float_bits(power) << 23);
    if (isfinite(e))
        return (fraction){ e - 1.0f, e + 1.0f };
    return (fraction){ tanh_of(in->query[a] + key[a]), 1.0f };
}

static const float *key_row(const att_additive *in, size_t j)
{
    return in->keys.data + (ptrdiff_t)j * in->keys.stride;
}

static float sum_of_fractions(const att_additive *in, size_t j)
{
    size_t n = in->keys.columns;
    partials sums = partials_fill(0.0f);
    for (size_t pair = 0; pair < n; pair += 2 * ATT_LANES)
        for (size_t a = pair; a < pair + ATT_LANES && a < n; a++) {
            size_t b = a + ATT_LANES;
            fraction f = tanh_fraction(in, key_row(in, j), j, a);
            float top = in->v[a] * f.top, bottom = f.bottom;
            if (b < n) {
                fraction g = tanh_fraction(in, key_row(in, j), j, b);
                top = fmaf(in->v[b] * g.top, bottom, top * g.bottom);
                bottom *= g.bottom;
            }
            sums.lane[a % ATT_LANES] += top / bottom;
        }
    return tree_sum(sums);
}

static float sum_of_tanh(const att_additive *in, size_t j)
{
    partials sums = partials_fill(0.0f);
    for (size_t a = 0; a < in->keys.columns; a++)
        sums.lane[a % ATT_LANES] =
            fmaf(in->v[a], tanh_of(in->query[a] + key_row(in, j)[a]), sums.lane[a % ATT_LANES]);
    return tree_sum(sums);
}

void KERNEL(additive)(float *scores, const att_additive *in)
{
    for (size_t j = 0; j < in->keys.rows; j++) {
        float score = sum_of_fractions(in, j);
        scores[j] = isfinite(score) ? score : sum_of_tanh(in, j);
    }
}

void KERNEL(additive_backward)(const att_additive_grads *grads, const att_additive *in)
{
    for (size_t j = 0; j < in->keys.rows; j++) {
        float grad = grads->scores[j];
        if (grad == 0)
            continue;
        for (size_t a = 0; a < in->keys.columns; a++) {
            fraction f = tanh_fraction(in, key_row(in, j), j, a);
            float t = f.top / f.bottom, inner = grad * in->v[a] * tanh_derivative(t);
            grads->v[a] = fmaf(grad, t, grads->v[a]);
            grads->query[a] += inner;
            grads->keys[j * grads->key_stride + a] += inner;
        }
    }
}

/* y = (x - max) * factor; returns false and fills y with NaN where that is not defined. */
static bool subtract_max(float *y, const float *x, size_t n, float factor)
{
    float top = KERNEL(max)(x, n);
    bool valid = true;
    for (size_t i = 0; i < n; i++) {
        y[i] = (x[i] - top) * factor;
        valid &= !isnan(y[i]);
    }
    for (size_t i = 0; i < n && !valid; i++)
        y[i] = NAN;
    return valid;
}

/* The maximum is 0 and its weight is at most 1, so the threshold is at least -1. */
void KERNEL(sparsemax)(float *y, const float *x, size_t n)
{
    if (!subtract_max(y, x, n, 1.0f))
        return;
    float threshold = -1.0f, next = -1.0f;
    do {
        threshold = next;
        partials sums = partials_fill(0.0f), counts = partials_fill(0.0f);
        for (size_t i = 0; i < n; i++) {
            bool above = y[i] > threshold;
            sums.lane[i % ATT_LANES] += above ? y[i] : 0.0f;
            counts.lane[i % ATT_LANES] += above ? 1.0f : 0.0f;
        }
        next = (tree_sum(sums) - 1.0f) / tree_sum(counts);
    } while (next > threshold);
    for (size_t i = 0; i < n; i++)
        y[i] = y[i] > threshold ? y[i] - threshold : 0.0f;
}

void KERNEL(entmax15)(float *y, const float *x, size_t n)
{
    if (!subtract_max(y, x, n, 0.5f))
        return;
    float threshold = -1.0f, next = -1.0f;
    do {
        threshold = next;
        partials sums = partials_fill(0.0f), squares = partials_fill(0.0f);
        for (size_t i = 0; i < n; i++) {
            float above = max_float(y[i] - threshold, 0.0f);
            sums.lane[i % ATT_LANES] += above;
            squares.lane[i % ATT_LANES] = fmaf(above, above, squares.lane[i % ATT_LANES]);
        }
        next = threshold + (tree_sum(squares) - 1.0f) / (2.0f * tree_sum(sums));
    } while (next > threshold);
    for (size_t i = 0; i < n; i++) {
        float above = max_float(y[i] - threshold, 0.0f);
        y[i] = above * above;
    }
}

void KERNEL(tile_unpack)(float *rows, size_t stride, size_t queries, const float *tile,
                         size_t lanes, size_t keys)
{
    for (size_t q = 0; q < queries; q++)
        for (size_t j = 0; j < keys; j++)
            rows[q * stride + j] = tile[j * lanes + q];
}
