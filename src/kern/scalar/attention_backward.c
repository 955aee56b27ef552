/* Tiles of fused attention, backward, in plain loops; see kern/attention.h. */
#include "kern/scalar/math.h"
#include "kern/isa/isa.h"

void KERNEL(tile_soft_cap_derivative)(float *slope, const float *x, size_t n, float inverse)
{
    for (size_t i = 0; i < n; i++)
        slope[i] = tanh_derivative(x[i] * inverse);
}

void KERNEL(tile_softmax_backward)(float *scores, float *grads, size_t lanes, size_t keys,
                                   const float *shift, const float *along)
{
    for (size_t j = 0; j < keys; j++)
        for (size_t q = 0; q < lanes; q++) {
            float weight = exp2_of(min_float(0.0f, scores[j * lanes + q] - shift[q]));
            scores[j * lanes + q] = weight;
            grads[j * lanes + q] = weight * (grads[j * lanes + q] - along[q]);
        }
}

void KERNEL(tile_combine_transposed)(float *sums, size_t stride, size_t keys, const float *tile,
                                     size_t lanes, att_matrix_view rows)
{
    for (size_t j = 0; j < keys; j++)
        for (size_t m = 0; m < rows.columns; m++) {
            float sum = 0.0f;
            for (size_t q = 0; q < rows.rows; q++)
                sum = fmaf(tile[j * lanes + q],
                           rows.data[(ptrdiff_t)q * rows.stride + (ptrdiff_t)m], sum);
            sums[j * stride + m] += sum;
        }
}

void KERNEL(tile_combine_transposed_masked)(float *sums, size_t stride, size_t keys,
                                            const float *tile, size_t lanes, att_matrix_view rows,
                                            const uint32_t *allow)
{
    for (size_t j = 0; j < keys; j++)
        for (size_t m = 0; m < rows.columns; m++) {
            float sum = 0.0f;
            for (size_t q = 0; q < rows.rows; q++)
                if (allow[j] >> q & 1)
                    sum = fmaf(tile[j * lanes + q],
                               rows.data[(ptrdiff_t)q * rows.stride + (ptrdiff_t)m], sum);
            sums[j * stride + m] += sum;
        }
}
