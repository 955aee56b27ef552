/* Matrix multiplication in plain loops; see kern.h for the order of the sums. */
#include "kern/scalar/math.h"
#include "kern/isa/isa.h"

static float apply_activation(att_activation options, float x)
{
    static float (*const functions[])(float) = {
        [ATT_ACTIVATION_RELU] = relu_of,       [ATT_ACTIVATION_GELU] = gelu_of,
        [ATT_ACTIVATION_SILU] = silu_of,       [ATT_ACTIVATION_TANH] = tanh_of,
        [ATT_ACTIVATION_SIGMOID] = sigmoid_of,
    };
    return functions[options] ? functions[options](x) : x;
}

/* Column j of B, and the stride of its elements. */
static const float *column_of(const att_matmul_block *block, size_t j, size_t *step)
{
    *step = block->b_column_stride ? 1 : block->b_row_stride;
    return block->b_column_stride
               ? block->b + j * block->b_column_stride
               : block->b + j / ATT_PANEL_COLUMNS * block->b_panel_stride + j % ATT_PANEL_COLUMNS;
}

void KERNEL(matmul)(const att_matmul_block *block)
{
    size_t b_step;
    for (size_t i = 0; i < block->rows; i++)
        for (size_t j = 0; j < block->columns; j++) {
            const float *a = block->a + i * block->a_row_stride;
            const float *b = column_of(block, j, &b_step);
            float *c = block->c + i * block->c_row_stride + j;
            float sum = 0.0f;
            for (size_t k = 0; k < block->depth; k++)
                sum = fmaf(a[k * block->a_column_stride], b[k * b_step], sum);
            *c = block->accumulate ? *c + sum : sum;
            if (block->is_last)
                *c = apply_activation(block->activation, block->bias ? *c + block->bias[j] : *c);
        }
}

void KERNEL(matmul_pack)(float *panels, const float *b, size_t stride, bool transposed,
                         size_t depth, size_t columns)
{
    for (size_t j0 = 0; j0 < columns; j0 += ATT_PANEL_COLUMNS)
        for (size_t k = 0; k < depth; k++)
            for (size_t j = j0; j < j0 + ATT_PANEL_COLUMNS; j++, panels++)
                *panels = j >= columns ? 0.0f : transposed ? b[j * stride + k] : b[k * stride + j];
}
