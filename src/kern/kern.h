/* Kernels on raw arrays, and the table that selects them by instruction set.
 *
 * ATT_KERNELS below is the one list: it declares every kernel, fills every set's table, and drives
 * the tests and the benchmark. The versions in scalar/ are plain loops and the specification;
 * those in vec/ are compiled once per vector header. All of them give the same bits
 * (docs/kernels.md).
 *
 * Unless stated otherwise: arrays do not overlap, except that an output may be the same array as an
 * input; pointers need no alignment; n may be 0; gradients are added to. NaN inputs give NaN
 * results, with unspecified NaN bits. */
#ifndef ATT_KERN_KERN_H
#define ATT_KERN_KERN_H

#include "base/cpu.h"
#include "kern/attention.h"
#include "kern/attention_rowwise.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* Lanes of the logical vector on every set: sums along a row keep this many partial sums, element i
 * in partial i mod 16, which one fixed tree adds up (i with i + 8, then + 4, + 2, + 1). */
enum { ATT_LANES = 16 };

/* y[i] = f(x[i]). */
typedef void att_kern_elementwise(float *y, const float *x, size_t n);

/* dx[i] += dy[i] f'(x[i]); `kept` is x or y = f(x), as the list says. */
typedef void att_kern_elementwise_backward(float *dx, const float *dy, const float *kept, size_t n);

/* y[i] = x[i], from 16-bit floating point (kern/half.h). */
typedef void att_kern_from_half(float *y, const uint16_t *x, size_t n);

/* One number from a row. */
typedef float att_kern_reduce(const float *x, size_t n);
typedef float att_kern_dot(const float *x, const float *y, size_t n);

/* y[i] += a x[i]. */
typedef void att_kern_axpy(float *y, float a, const float *x, size_t n);

/* y[i] = f(x)[i] over a row; y may be x. Returns log(sum(exp(x))). A row of -inf only has
 * softmax 0. */
typedef float att_kern_softmax(float *y, const float *x, size_t n);

/* The target of cross-entropy: the class, and the probability that label smoothing moves from it to
 * all n classes, evenly. */
typedef struct att_cross_entropy_target {
    size_t class;
    float label_smoothing;
} att_cross_entropy_target;

/* -sum(t log softmax(x)) with the smoothed target t, n >= 1; *lse = log(sum(exp(x))) for the
 * backward. */
typedef float att_kern_cross_entropy(const float *x, size_t n, att_cross_entropy_target target,
                                     float *lse);

/* dx += dloss (softmax(x) - t). */
typedef void att_kern_cross_entropy_backward(float *dx, float dloss, const float *x, size_t n,
                                             att_cross_entropy_target target, float lse);

/* y = (x - mean) rstd gain + bias; mean is 0 and bias unused for the RMS norm. */
typedef struct att_norm_stats {
    float mean;
    float rstd; /* 1 / sqrt(variance + epsilon) */
} att_norm_stats;

/* 1 / sqrt(mean square + epsilon); NaN where the mean square overflowed: 0 would hide values that
 * are too large behind a row of zeros. */
static inline float att_norm_rstd(float mean_square, float epsilon)
{
    return mean_square <= FLT_MAX ? 1.0f / sqrtf(mean_square + epsilon) : NAN;
}

typedef void att_kern_norm(float *y, att_norm_stats *stats, const float *x, const float *gain,
                           const float *bias, size_t n, float epsilon);

/* `dx`, `dgain` and `dbias` are added to. */
typedef void att_kern_norm_backward(float *dx, float *dgain, float *dbias, const float *dy,
                                    const float *x, const float *gain, const att_norm_stats *stats,
                                    size_t n);

/* LSTM: `gates` [4,n] holds the pre-activations of the input, forget, candidate and output gates
 * and is replaced by the gates. `from` [4,n], unless NULL, is added first: the part from the layer
 * input, where `gates` does not contain it. cell = forget cell_before + input candidate; hidden =
 * output tanh(cell). */
typedef void att_kern_lstm(float *hidden, float *cell, float *gates, const float *from,
                           const float *cell_before, size_t n);

/* dgates [4,n] (of the pre-activations) and dcell_before are overwritten; dcell_before may be
 * dcell. */
typedef void att_kern_lstm_backward(float *dgates, float *dcell_before, const float *dhidden,
                                    const float *dcell, const float *gates, const float *cell,
                                    const float *cell_before, size_t n);

/* GRU: from_input and from_hidden [3,n] are the products for the reset and update gates and the
 * candidate; gates [3,n] is overwritten. candidate = tanh(from_input + reset from_hidden);
 * hidden = candidate + update (hidden_before - candidate). */
typedef void att_kern_gru(float *hidden, float *gates, const float *from_input,
                          const float *from_hidden, const float *hidden_before, size_t n);

/* All outputs are overwritten; dhidden_before holds only the direct path, not that through
 * from_hidden. */
typedef void att_kern_gru_backward(float *dfrom_input, float *dfrom_hidden, float *dhidden_before,
                                   const float *dhidden, const float *gates,
                                   const float *from_hidden, const float *hidden_before, size_t n);

/* Element i is dropped where att_random_float(seed, stream, i) < probability, and scaled by
 * 1 / (1 - probability) elsewhere. With one stream per row, a row's result does not depend on other
 * rows. */
typedef struct att_dropout_options {
    uint64_t seed;
    uint64_t stream;
    float probability;
} att_dropout_options;

typedef void att_kern_dropout(float *y, const float *x, size_t n, const att_dropout_options *drop);

/* The gradient of an optimizer step is g = scale gradient + l2_penalty parameter; `scale` averages
 * and clips. Moments are zeros before the first step. */
typedef struct att_gradient_options {
    float scale, l2_penalty;
} att_gradient_options;

/* velocity = momentum velocity + g; parameter -= learning_rate velocity. */
typedef struct att_sgd_step {
    att_gradient_options gradient;
    float learning_rate, momentum;
} att_sgd_step;

typedef void att_kern_sgd(float *parameter, float *velocity, const float *gradient, size_t n,
                          const att_sgd_step *step);

/* One step of Adam. The bias corrections are 1 - beta1^t and 1 - beta2^t; weight_decay shrinks the
 * parameter itself (AdamW). */
typedef struct att_adam_step {
    att_gradient_options gradient;
    float learning_rate, beta1, beta2, epsilon, weight_decay;
    float bias_correction1, bias_correction2;
} att_adam_step;

typedef void att_kern_adam(float *parameter, float *moment1, float *moment2, const float *gradient,
                           size_t n, const att_adam_step *step);

/* squares = rho squares + (1 - rho) g^2; change = sqrt(changes + epsilon) / sqrt(squares + epsilon)
 * g; changes likewise of change^2; parameter -= learning_rate change. */
typedef struct att_adadelta_step {
    att_gradient_options gradient;
    float learning_rate, rho, epsilon;
} att_adadelta_step;

typedef void att_kern_adadelta(float *parameter, float *squares, float *changes,
                               const float *gradient, size_t n, const att_adadelta_step *step);

/* The matrix product C [rows,columns] = A [rows,depth] B [depth,columns] sums in this order,
 * whatever the shapes, the tiles and the threads: along the depth in blocks of ATT_DEPTH_BLOCK, in
 * each block fused multiply-adds in index order from zero; block sums are added to C in order.
 *
 * B is given in panels of 16 columns: element [k, 16 p + j] is at b[p * b_panel_stride +
 * k * b_row_stride + j]. The last panel is stored in full; columns beyond `columns` are multiplied
 * but not stored. Or, for few rows, B is given transposed, with b_column_stride not 0: element [k,
 * j] is at b[j * b_column_stride + k], and nothing beyond `columns` is read. */
enum { ATT_DEPTH_BLOCK = 256, ATT_PANEL_COLUMNS = ATT_LANES };

enum { ATT_ACTIVATION_COUNT = ATT_ACTIVATION_SIGMOID + 1 };

typedef struct att_matmul_block {
    size_t rows, columns, depth; /* depth at most ATT_DEPTH_BLOCK */
    const float *a; /* element [i, k] is at a[i * a_row_stride + k * a_column_stride] */
    size_t a_row_stride, a_column_stride;
    const float *b;
    size_t b_panel_stride, b_row_stride, b_column_stride;
    float *c; /* element [i, j] is at c[i * c_row_stride + j] */
    size_t c_row_stride;
    bool accumulate;           /* the block's sums are added to C, else they replace it */
    bool is_last;              /* C is complete with this block: */
    const float *bias;         /* [columns], added, or NULL */
    att_activation activation; /* then applied */
} att_matmul_block;

typedef void att_kern_matmul(const att_matmul_block *block);

/* Copies [depth, columns] of B into panels, b_row_stride = ATT_PANEL_COLUMNS and b_panel_stride =
 * ATT_PANEL_COLUMNS * depth, with zeros in the last panel's missing columns. Element [k, j] is at
 * b[k * stride + j], or at b[j * stride + k] where `transposed`. */
typedef void att_kern_matmul_pack(float *panels, const float *b, size_t stride, bool transposed,
                                  size_t depth, size_t columns);

/* The peak multiply-add rate, to which benchmarks compare the other kernels: each of the
 * ATT_FMA_CHAINS x 16 elements of x becomes x a + b, fused, `rounds` times. The chains are
 * independent and stay in registers. */
enum { ATT_FMA_CHAINS = 24 };
typedef void att_kern_fma_chains(float *x, size_t rounds, float a, float b);

/* Every kernel: its type, then its name. */
#define ATT_KERNELS(K)                                                                             \
    K(att_kern_elementwise, exp)                                                                   \
    K(att_kern_elementwise, log)                                                                   \
    K(att_kern_elementwise, tanh)                                                                  \
    K(att_kern_elementwise, sigmoid)                                                               \
    K(att_kern_elementwise, erf)                                                                   \
    K(att_kern_elementwise, relu)                                                                  \
    K(att_kern_elementwise, gelu)                      /* x Phi(x), with erf */                    \
    K(att_kern_elementwise, silu)                      /* x sigmoid(x) */                          \
    K(att_kern_elementwise_backward, tanh_backward)    /* keeps y */                               \
    K(att_kern_elementwise_backward, sigmoid_backward) /* keeps y */                               \
    K(att_kern_elementwise_backward, relu_backward)    /* keeps x or y */                          \
    K(att_kern_elementwise_backward, gelu_backward)    /* keeps x */                               \
    K(att_kern_elementwise_backward, silu_backward)    /* keeps x */                               \
    K(att_kern_from_half, float16_to_float32)                                                      \
    K(att_kern_from_half, bfloat16_to_float32)                                                     \
    K(att_kern_reduce, sum)                                                                        \
    K(att_kern_reduce, sum_squares)                                                                \
    K(att_kern_reduce, max) /* -inf for an empty row; a NaN may be ignored */                      \
    K(att_kern_dot, dot)    /* by 16 partial sums, unlike the matrix product */                    \
    K(att_kern_axpy, axpy)                                                                         \
    K(att_kern_softmax, softmax)                                                                   \
    K(att_kern_softmax, log_softmax)                                                               \
    K(att_kern_elementwise_backward, softmax_backward)     /* keeps y */                           \
    K(att_kern_elementwise_backward, log_softmax_backward) /* keeps y */                           \
    K(att_kern_cross_entropy, cross_entropy)                                                       \
    K(att_kern_cross_entropy_backward, cross_entropy_backward)                                     \
    K(att_kern_norm, layer_norm)                                                                   \
    K(att_kern_norm_backward, layer_norm_backward)                                                 \
    K(att_kern_norm, rms_norm)                                                                     \
    K(att_kern_norm_backward, rms_norm_backward)                                                   \
    K(att_kern_lstm, lstm)                                                                         \
    K(att_kern_lstm_backward, lstm_backward)                                                       \
    K(att_kern_gru, gru)                                                                           \
    K(att_kern_gru_backward, gru_backward)                                                         \
    K(att_kern_dropout, dropout)                                                                   \
    K(att_kern_dropout, dropout_backward) /* adds to y */                                          \
    K(att_kern_sgd, sgd)                                                                           \
    K(att_kern_adam, adam)                                                                         \
    K(att_kern_adadelta, adadelta)                                                                 \
    K(att_kern_matmul, matmul)                                                                     \
    K(att_kern_matmul_pack, matmul_pack)                                                           \
    K(att_kern_fma_chains, fma_chains)                                                             \
    ATT_TILE_KERNELS(K)                                                                            \
    ATT_ROWWISE_KERNELS(K)

/* One instruction set's kernels. */
typedef struct att_kernels {
    const char *name;
#define ATT_KERNEL_MEMBER(type, kernel) type *kernel;
    ATT_KERNELS(ATT_KERNEL_MEMBER)
#undef ATT_KERNEL_MEMBER
} att_kernels;

/* The kernels of a set, or NULL where this build or this machine lacks it. */
const att_kernels *att_kernels_for(att_cpu cpu);

/* The kernels of the set in use. */
const att_kernels *att_kernels_get(void);

#endif
