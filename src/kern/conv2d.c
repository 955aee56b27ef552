/* 2-D convolution as matrix products of patches; see conv2d.h. */
#include "kern/conv2d.h"

#include "base/minmax.h"
#include "base/parallel.h"

#include <string.h>

enum {
    PATCHES_PER_BLOCK = 60, /* of 256 floats each: 60 kB on the stack, which stay in the caches */
    TILE = 12,              /* a multiple of the tile rows of every instruction set */
    SMALL_WORK = 1 << 18,   /* multiply-adds that one thread does before a second one has started */
    JOBS_PER_THREAD = 2,
};

/* A block of the matrix of patches: contiguous rows of `depth` floats. */
typedef struct patch_block {
    _Alignas(64) float at[PATCHES_PER_BLOCK * ATT_DEPTH_BLOCK];
} patch_block;

size_t att_conv2d_patch_size(const att_conv2d_shape *sizes)
{
    return sizes->kernel_height * sizes->kernel_width * sizes->channels;
}

static int64_t grain_for(const att_conv2d_shape *s, size_t jobs)
{
    double work = (double)s->batch * (double)(s->out_height * s->out_width) *
                  (double)s->out_channels * (double)att_conv2d_patch_size(s);
    return work < SMALL_WORK && jobs > 0 ? (int64_t)jobs : 1;
}

/* ---------------------------------------------------------------- patches */

/* Patch elements that are contiguous in memory: those of one kernel row that are inside the image
 * and inside the requested part of the patch. */
typedef struct row_run {
    size_t at;           /* offset of the first element in the image */
    size_t patch_offset; /* likewise in the requested part of the patch */
    size_t count;
} row_run;

/* The start of the patch at (oy, ox); negative outside the image. */
typedef struct corner {
    int64_t y, x;
} corner;

static corner corner_of(const att_conv2d_shape *s, size_t oy, size_t ox)
{
    int64_t padding = (int64_t)s->padding, stride = (int64_t)s->stride;
    return (corner){ (int64_t)oy * stride - padding, (int64_t)ox * stride - padding };
}

/* The run of kernel row `ky` within elements [first, first + count) of a patch. */
static row_run row_run_of(const att_conv2d_shape *s, corner at, size_t ky, size_t first,
                          size_t count)
{
    size_t line = s->kernel_width * s->channels, start = ky * line;
    int64_t y = at.y + (int64_t)ky, width = (int64_t)(s->width * s->channels);
    if (y < 0 || y >= (int64_t)s->height)
        return (row_run){ 0 };
    size_t from = first > start ? first - start : 0;
    size_t to = att_min_size(line, first + count - start);
    int64_t x = at.x * (int64_t)s->channels;
    int64_t begin = att_clamp_i64(x + (int64_t)from, 0, width),
            end = att_clamp_i64(x + (int64_t)to, 0, width);
    if (begin == end)
        return (row_run){ 0 };
    return (row_run){ .at = (size_t)(y * width + begin),
                      .patch_offset = (size_t)(begin - x) + start - first,
                      .count = (size_t)(end - begin) };
}

/* The kernel rows that elements [first, first + count) of a patch belong to. */
typedef struct row_range {
    size_t begin, end;
} row_range;

static row_range kernel_rows(const att_conv2d_shape *s, size_t first, size_t count)
{
    size_t line = s->kernel_width * s->channels;
    return (row_range){ first / line, att_ceil_div(first + count, line) };
}

/* Gathers elements [first, first + count) of patches from `patch` on, counted over the batch. */
static void im2col(float *out, const att_conv2d_shape *s, const float *x, size_t patch,
                   size_t patches, size_t first, size_t count)
{
    size_t in_item = s->out_height * s->out_width, image = s->height * s->width * s->channels;
    if (count == 0)
        return;
    row_range k = kernel_rows(s, first, count);
    for (size_t n = patch; n < patch + patches; n++, out += count) {
        const float *from = x + n / in_item * image;
        corner at = corner_of(s, n % in_item / s->out_width, n % s->out_width);
        bool inside = at.y >= 0 && at.x >= 0 &&
                      at.y + (int64_t)s->kernel_height <= (int64_t)s->height &&
                      at.x + (int64_t)s->kernel_width <= (int64_t)s->width;
        if (!inside)
            memset(out, 0, count * sizeof *out);
        for (size_t ky = k.begin; ky < k.end; ky++) {
            row_run r = row_run_of(s, at, ky, first, count);
            memcpy(out + r.patch_offset, from + r.at, r.count * sizeof *out);
        }
    }
}

/* Adds the same elements back to the image, but only in its rows [begin, end). */
static void col2im(float *dx, const att_conv2d_shape *s, const float *parts, size_t oy, size_t ox,
                   size_t patches, size_t first, size_t count, row_range within)
{
    const att_kernels *kernels = att_kernels_get();
    size_t width = s->width * s->channels;
    row_range k = kernel_rows(s, first, count);
    for (size_t n = 0; n < patches; n++, parts += count)
        for (size_t ky = k.begin; ky < k.end; ky++) {
            row_run r = row_run_of(s, corner_of(s, oy, ox + n), ky, first, count);
            if (r.count > 0 && r.at / width >= within.begin && r.at / width < within.end)
                kernels->axpy(dx + r.at, 1, parts + r.patch_offset, r.count);
        }
}

/* ---------------------------------------------------------------- forward */

/* The outputs of patches [patch, patch + rows). */
static void conv2d_patches(const att_conv2d_call *c, size_t patch, size_t rows)
{
    patch_block patches;
    size_t K = att_conv2d_patch_size(&c->shape), N = c->shape.out_channels, k = 0;
    do {
        size_t depth = att_min_size(ATT_DEPTH_BLOCK, K - k);
        im2col(patches.at, &c->shape, c->x, patch, rows, k, depth);
        att_kernels_get()->matmul(&(att_matmul_block){ .rows = rows,
                                                       .columns = N,
                                                       .depth = depth,
                                                       .a = patches.at,
                                                       .a_row_stride = depth,
                                                       .a_column_stride = 1,
                                                       .b = c->panels + k * ATT_PANEL_COLUMNS,
                                                       .b_panel_stride = K * ATT_PANEL_COLUMNS,
                                                       .b_row_stride = ATT_PANEL_COLUMNS,
                                                       .c = c->y + patch * N,
                                                       .c_row_stride = N,
                                                       .accumulate = k > 0,
                                                       .is_last = k + depth == K,
                                                       .bias = c->bias,
                                                       .activation = c->activation });
        k += depth;
    } while (k < K);
}

static void conv2d_jobs(void *context, int64_t begin, int64_t end)
{
    const att_conv2d_call *c = context;
    const att_conv2d_shape *s = &c->shape;
    size_t all = s->batch * s->out_height * s->out_width;
    for (size_t job = (size_t)begin; job < (size_t)end; job++) {
        size_t patch = job * PATCHES_PER_BLOCK;
        conv2d_patches(c, patch, att_min_size(PATCHES_PER_BLOCK, all - patch));
    }
}

void att_conv2d_run(const att_conv2d_call *call)
{
    att_conv2d_call c = *call;
    size_t patches = c.shape.batch * c.shape.out_height * c.shape.out_width;
    size_t jobs = att_ceil_div(patches, PATCHES_PER_BLOCK);
    att_parallel_for((int64_t)jobs, grain_for(&c.shape, jobs), conv2d_jobs, &c);
}

/* ---------------------------------------------------------------- gradient of the weights */

typedef struct weights_job {
    const att_conv2d_weight_grad_call *call;
    size_t numbers; /* patch elements per job */
} weights_job;

/* The gradient of the weights for elements [first, first + count) of a patch: sums over all
 * patches, 256 per block of the depth. */
static void weight_grad_block(const att_conv2d_weight_grad_call *c, size_t first, size_t count)
{
    patch_block patches;
    const att_conv2d_shape *s = &c->shape;
    size_t all = s->batch * s->out_height * s->out_width, N = s->out_channels, patch = 0;
    do {
        size_t depth = att_min_size(ATT_DEPTH_BLOCK, all - patch);
        im2col(patches.at, s, c->x, patch, depth, first, count);
        att_kernels_get()->matmul(&(att_matmul_block){ .rows = count,
                                                       .columns = N,
                                                       .depth = depth,
                                                       .a = patches.at,
                                                       .a_row_stride = 1,
                                                       .a_column_stride = count,
                                                       .b = c->panels + patch * ATT_PANEL_COLUMNS,
                                                       .b_panel_stride = all * ATT_PANEL_COLUMNS,
                                                       .b_row_stride = ATT_PANEL_COLUMNS,
                                                       .c = c->dw + first * N,
                                                       .c_row_stride = N,
                                                       .accumulate = c->accumulate || patch > 0,
                                                       .is_last = patch + depth == all });
        patch += depth;
    } while (patch < all);
}

static void weights_jobs(void *context, int64_t begin, int64_t end)
{
    const weights_job *w = context;
    size_t all = att_conv2d_patch_size(&w->call->shape);
    for (size_t job = (size_t)begin; job < (size_t)end; job++) {
        size_t first = job * w->numbers;
        weight_grad_block(w->call, first, att_min_size(w->numbers, all - first));
    }
}

void att_conv2d_backward_weights(const att_conv2d_weight_grad_call *call)
{
    size_t K = att_conv2d_patch_size(&call->shape);
    size_t share = att_ceil_div(K, (size_t)att_threads_get() * JOBS_PER_THREAD);
    weights_job w = { call, att_min_size(PATCHES_PER_BLOCK, att_ceil_div(share, TILE) * TILE) };
    size_t jobs = K > 0 ? att_ceil_div(K, w.numbers) : 0;
    att_parallel_for((int64_t)jobs, grain_for(&call->shape, jobs), weights_jobs, &w);
}

/* ---------------------------------------------------------------- gradient of the input */

typedef struct input_job {
    const att_conv2d_input_grad_call *call;
    size_t row_bands; /* bands of rows per image */
} input_job;

/* parts [rows, count] = dz [rows,N] times columns [first, first + count) of wᵀ. */
static void input_grad_patches(float *parts, const att_conv2d_input_grad_call *c, const float *dz,
                               size_t rows, size_t first, size_t count)
{
    size_t N = c->shape.out_channels, n = 0;
    do {
        size_t depth = att_min_size(ATT_DEPTH_BLOCK, N - n);
        const float *panels = c->panels + first * N + n * ATT_PANEL_COLUMNS;
        att_kernels_get()->matmul(&(att_matmul_block){ .rows = rows,
                                                       .columns = count,
                                                       .depth = depth,
                                                       .a = dz + n,
                                                       .a_row_stride = N,
                                                       .a_column_stride = 1,
                                                       .b = panels,
                                                       .b_panel_stride = N * ATT_PANEL_COLUMNS,
                                                       .b_row_stride = ATT_PANEL_COLUMNS,
                                                       .c = parts,
                                                       .c_row_stride = count,
                                                       .accumulate = n > 0,
                                                       .is_last = n + depth == N });
        n += depth;
    } while (n < N);
}

/* Adds the contributions of output row `oy` to rows `within` of its image. Their order does not
 * depend on `within`, so every element is summed in the same order however images are split. */
static void input_grad_row(const att_conv2d_input_grad_call *c, size_t item, size_t oy,
                           row_range within)
{
    patch_block parts;
    const att_conv2d_shape *s = &c->shape;
    size_t K = att_conv2d_patch_size(s);
    float *dx = c->dx + item * s->height * s->width * s->channels;
    for (size_t ox = 0; ox < s->out_width; ox += PATCHES_PER_BLOCK) {
        size_t rows = att_min_size(PATCHES_PER_BLOCK, s->out_width - ox);
        size_t patch = (item * s->out_height + oy) * s->out_width + ox;
        for (size_t k = 0; k < K; k += ATT_DEPTH_BLOCK) {
            size_t count = att_min_size(ATT_DEPTH_BLOCK, K - k);
            input_grad_patches(parts.at, c, c->dz + patch * s->out_channels, rows, k, count);
            col2im(dx, s, parts.at, oy, ox, rows, k, count, within);
        }
    }
}

static void input_jobs(void *context, int64_t begin, int64_t end)
{
    const input_job *j = context;
    const att_conv2d_shape *s = &j->call->shape;
    for (size_t job = (size_t)begin; job < (size_t)end; job++) {
        size_t item = job / j->row_bands, band = job % j->row_bands;
        row_range within = { s->height * band / j->row_bands,
                             s->height * (band + 1) / j->row_bands };
        for (size_t oy = 0; oy < s->out_height; oy++) {
            int64_t top = corner_of(s, oy, 0).y;
            if (top + (int64_t)s->kernel_height > (int64_t)within.begin &&
                top < (int64_t)within.end)
                input_grad_row(j->call, item, oy, within);
        }
    }
}

/* Output rows near the border of two bands are computed in both; bands have many rows. */
void att_conv2d_backward_input(const att_conv2d_input_grad_call *call)
{
    const att_conv2d_shape *s = &call->shape;
    size_t wanted = (size_t)att_threads_get() * JOBS_PER_THREAD;
    size_t max = s->height / (4 * s->kernel_height);
    input_job j = { call, 1 };
    if (s->batch > 0 && s->batch < wanted && max > 1 && wanted > JOBS_PER_THREAD)
        j.row_bands = att_min_size(max, att_ceil_div(wanted, s->batch));
    size_t jobs = s->batch * j.row_bands;
    att_parallel_for((int64_t)jobs, grain_for(s, jobs), input_jobs, &j);
}
