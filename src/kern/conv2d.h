/* 2-D convolution on raw arrays (implicit im2col): a matrix product whose left operand, the patches
 * of an image, is never stored as a whole. Each thread gathers a few patches at a time and
 * multiplies them with the weights.
 *
 * An image is [H,W,C]; its patches are the rows of a matrix [OH OW, kh kw C], patch elements in the
 * order (ky, kx, c); the weights are a matrix [kh kw C, N]. Results have the bits of kern/matmul.h
 * on the whole matrix of patches, at any number of threads and any batch. */
#ifndef ATT_KERN_CONV2D_H
#define ATT_KERN_CONV2D_H

#include "kern/kern.h"

/* Sizes of one convolution. Patch elements outside the image are 0. */
typedef struct att_conv2d_shape {
    size_t batch, height, width, channels;      /* input images: [B,H,W,C] */
    size_t out_height, out_width, out_channels; /* output: [B,OH,OW,N] */
    size_t kernel_height, kernel_width;
    size_t stride, padding;
} att_conv2d_shape;

/* Elements of a patch: kh kw C. */
size_t att_conv2d_patch_size(const att_conv2d_shape *sizes);

/* y = activation(patches w + bias); `panels` is w packed by att_matmul_pack(), bias [N] or NULL.
 */
typedef struct att_conv2d_call {
    att_conv2d_shape shape;
    const float *x; /* [B,H,W,C] */
    const float *panels, *bias;
    att_activation activation;
    float *y; /* [B,OH,OW,N] */
} att_conv2d_call;

void att_conv2d_run(const att_conv2d_call *call);

/* dw = patchesᵀ dz, or added to it; `panels` is dz [B OH OW, N] packed. */
typedef struct att_conv2d_weight_grad_call {
    att_conv2d_shape shape;
    const float *x, *panels;
    float *dw; /* [kh kw C, N] */
    bool accumulate;
} att_conv2d_weight_grad_call;

void att_conv2d_backward_weights(const att_conv2d_weight_grad_call *call);

/* dx += dz wᵀ, each row added to the elements of its patch, in the order of patches; `panels` is
 * the packed transpose of w, [N, kh kw C]. */
typedef struct att_conv2d_input_grad_call {
    att_conv2d_shape shape;
    const float *dz, *panels;
    float *dx; /* [B,H,W,C] */
} att_conv2d_input_grad_call;

void att_conv2d_backward_input(const att_conv2d_input_grad_call *call);

#endif
