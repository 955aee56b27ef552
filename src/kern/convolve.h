/* Convolution on raw arrays: a matrix product whose left side, the patches of a picture, is never
 * all there. Each thread gathers a few patches at a time and multiplies them at once.
 *
 * A picture is [H,W,C]; its patches are the rows of a matrix [OH OW, kh kw C], patch elements in
 * the order (ky, kx, c); weights [kh kw C, N] are that of a matrix too. Results have the bits of
 * kern/product.h on the whole matrix of patches, at any number of threads and any batch. */
#ifndef ATT_KERN_CONVOLVE_H
#define ATT_KERN_CONVOLVE_H

#include "kern/kern.h"

/* Sizes of one convolution. What a patch has beyond the borders is 0. */
typedef struct att_convolve_sizes {
    size_t items, height, width, channels; /* the pictures: [B,H,W,C] */
    size_t out_height, out_width, columns; /* the results: [B,OH,OW,N] */
    size_t kernel_height, kernel_width;
    size_t stride, padding;
} att_convolve_sizes;

/* Numbers in a patch: kh kw C. */
size_t att_convolve_patch(const att_convolve_sizes *sizes);

/* y = activation(patches w + bias); `panels` is w packed by att_product_pack(), bias [N] or NULL.
 */
typedef struct att_convolve_call {
    att_convolve_sizes sizes;
    const float *x; /* [B,H,W,C] */
    const float *panels, *bias;
    att_activation activation;
    float *y; /* [B,OH,OW,N] */
} att_convolve_call;

void att_convolve_run(const att_convolve_call *call);

/* dw = patchesᵀ dz, or added to it; `panels` is dz [B OH OW, N] packed. */
typedef struct att_convolve_weights_call {
    att_convolve_sizes sizes;
    const float *x, *panels;
    float *dw; /* [kh kw C, N] */
    bool add;
} att_convolve_weights_call;

void att_convolve_back_weights(const att_convolve_weights_call *call);

/* dx += what dz wᵀ gives to the places of each patch, in the order of patches; `panels` is the
 * transpose of w packed, [N, kh kw C]. */
typedef struct att_convolve_input_call {
    att_convolve_sizes sizes;
    const float *dz, *panels;
    float *dx; /* [B,H,W,C] */
} att_convolve_input_call;

void att_convolve_back_input(const att_convolve_input_call *call);

#endif
