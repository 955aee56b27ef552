/* Row-wise attention in plain loops; see kern/attention_rowwise.h. */
#include "kern/scalar/partials.h"
#include "kern/isa/isa.h"

void KERNEL(additive)(float *scores, const float *query, const float *v, att_matrix_view keys)
{
    for (size_t j = 0; j < keys.rows; j++) {
        const float *key = keys.data + (ptrdiff_t)j * keys.stride;
        partials sums = partials_fill(0.0f);
        for (size_t a = 0; a < keys.columns; a++)
            sums.lane[a % ATT_LANES] =
                fmaf(v[a], tanh_of(query[a] + key[a]), sums.lane[a % ATT_LANES]);
        scores[j] = tree_sum(sums);
    }
}

void KERNEL(additive_backward)(const att_additive_grads *grads, const float *query, const float *v,
                               att_matrix_view keys)
{
    for (size_t j = 0; j < keys.rows; j++) {
        const float *key = keys.data + (ptrdiff_t)j * keys.stride;
        float grad = grads->scores[j];
        if (grad == 0)
            continue;
        for (size_t a = 0; a < keys.columns; a++) {
            float t = tanh_of(query[a] + key[a]);
            float inner = grad * v[a] * tanh_derivative(t);
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
