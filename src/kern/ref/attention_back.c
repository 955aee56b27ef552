/* Tiles of attention, backward, in plain loops; see kern/attention.h. */
#include "kern/ref/math.h"
#include "kern/set/set.h"

void KERNEL(tile_cap_slope)(float *slope, const float *x, size_t n, float inverse)
{
    for (size_t i = 0; i < n; i++)
        slope[i] = tanh_slope(x[i] * inverse);
}

void KERNEL(tile_back)(float *scores, float *grads, size_t lanes, size_t keys, const float *shift,
                       const float *along)
{
    for (size_t j = 0; j < keys; j++)
        for (size_t q = 0; q < lanes; q++) {
            float weight = exp2_of(min_of(0.0f, scores[j * lanes + q] - shift[q]));
            scores[j * lanes + q] = weight;
            grads[j * lanes + q] = weight * (grads[j * lanes + q] - along[q]);
        }
}

void KERNEL(tile_spread)(float *sums, size_t stride, size_t keys, const float *tile, size_t lanes,
                         att_rows rows)
{
    for (size_t j = 0; j < keys; j++)
        for (size_t m = 0; m < rows.width; m++) {
            float sum = 0.0f;
            for (size_t q = 0; q < rows.count; q++)
                sum = fmaf(tile[j * lanes + q], rows.at[(ptrdiff_t)q * rows.stride + (ptrdiff_t)m],
                           sum);
            sums[j * stride + m] += sum;
        }
}

void KERNEL(tile_spread_allowed)(float *sums, size_t stride, size_t keys, const float *tile,
                                 size_t lanes, att_rows rows, const uint32_t *allow)
{
    for (size_t j = 0; j < keys; j++)
        for (size_t m = 0; m < rows.width; m++) {
            float sum = 0.0f;
            for (size_t q = 0; q < rows.count; q++)
                if (allow[j] >> q & 1)
                    sum = fmaf(tile[j * lanes + q],
                               rows.at[(ptrdiff_t)q * rows.stride + (ptrdiff_t)m], sum);
            sums[j * stride + m] += sum;
        }
}
