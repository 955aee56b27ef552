/* Convolution as products of patches; see convolve.h. */
#include "kern/conv2d.h"

#include "base/parallel.h"

#include <string.h>

enum {
    PATCHES_PER_BLOCK = 60, /* with 256 numbers of each, 60 kB on the stack: it stays in caches */
    TILE = 12,              /* rows of products that suit the tiles of every instruction set */
    SMALL_WORK = 1 << 18,   /* multiply-adds that are done before a second thread has woken up */
    JOBS_PER_THREAD = 2,
};

/* A block of the matrix of patches: rows of `depth` numbers, without gaps. */
typedef struct patch_block {
    _Alignas(64) float at[PATCHES_PER_BLOCK * ATT_DEPTH_BLOCK];
} patch_block;

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t ceil_div(size_t count, size_t by)
{
    return (count + by - 1) / by;
}

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

/* Numbers of a patch that lie side by side in memory: those of one line of the kernel which both
 * the picture and the part of the patch that was asked for have. */
typedef struct row_run {
    size_t at;           /* of its first number in the picture */
    size_t patch_offset; /* likewise in the part of the patch that was asked for */
    size_t count;
} row_run;

/* Where the patch at (oy, ox) begins; negative beyond the border. */
typedef struct corner {
    int64_t y, x;
} corner;

static corner corner_of(const att_conv2d_shape *s, size_t oy, size_t ox)
{
    int64_t padding = (int64_t)s->padding, stride = (int64_t)s->stride;
    return (corner){ (int64_t)oy * stride - padding, (int64_t)ox * stride - padding };
}

static int64_t clamp(int64_t value, int64_t max)
{
    return value < 0 ? 0 : value > max ? max : value;
}

/* The run of the kernel's line `ky`, of a patch's numbers [first, first + count). */
static row_run row_run_of(const att_conv2d_shape *s, corner at, size_t ky, size_t first,
                          size_t count)
{
    size_t line = s->kernel_width * s->channels, start = ky * line;
    int64_t y = at.y + (int64_t)ky, width = (int64_t)(s->width * s->channels);
    if (y < 0 || y >= (int64_t)s->height)
        return (row_run){ 0 };
    size_t from = first > start ? first - start : 0;
    size_t to = min_size(line, first + count - start);
    int64_t x = at.x * (int64_t)s->channels;
    int64_t begin = clamp(x + (int64_t)from, width), end = clamp(x + (int64_t)to, width);
    if (begin == end)
        return (row_run){ 0 };
    return (row_run){ .at = (size_t)(y * width + begin),
                      .patch_offset = (size_t)(begin - x) + start - first,
                      .count = (size_t)(end - begin) };
}

/* Lines of the kernel that numbers [first, first + count) of a patch lie in. */
typedef struct row_range {
    size_t begin, end;
} row_range;

static row_range kernel_rows(const att_conv2d_shape *s, size_t first, size_t count)
{
    size_t line = s->kernel_width * s->channels;
    return (row_range){ first / line, ceil_div(first + count, line) };
}

/* Numbers [first, first + count) of patches from `patch` on, counted through the batch. */
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

/* Adds the same numbers to where they come from, but only in lines [begin, end) of the picture. */
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

/* Results of patches [patch, patch + rows). */
static void conv2d_patches(const att_conv2d_call *c, size_t patch, size_t rows)
{
    patch_block patches;
    size_t K = att_conv2d_patch_size(&c->shape), N = c->shape.out_channels, k = 0;
    do {
        size_t depth = min_size(ATT_DEPTH_BLOCK, K - k);
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
        conv2d_patches(c, patch, min_size(PATCHES_PER_BLOCK, all - patch));
    }
}

void att_conv2d_run(const att_conv2d_call *call)
{
    att_conv2d_call c = *call;
    size_t patches = c.shape.batch * c.shape.out_height * c.shape.out_width;
    size_t jobs = ceil_div(patches, PATCHES_PER_BLOCK);
    att_parallel_for((int64_t)jobs, grain_for(&c.shape, jobs), conv2d_jobs, &c);
}

/* ---------------------------------------------------------------- gradient of the weights */

typedef struct weights_job {
    const att_conv2d_weight_grad_call *call;
    size_t numbers; /* of a patch, in each job */
} weights_job;

/* The gradient of the weights that numbers [first, first + count) of a patch meet: sums over all
 * patches, a block of the depth being 256 of these. */
static void weight_grad_block(const att_conv2d_weight_grad_call *c, size_t first, size_t count)
{
    patch_block patches;
    const att_conv2d_shape *s = &c->shape;
    size_t all = s->batch * s->out_height * s->out_width, N = s->out_channels, patch = 0;
    do {
        size_t depth = min_size(ATT_DEPTH_BLOCK, all - patch);
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
        weight_grad_block(w->call, first, min_size(w->numbers, all - first));
    }
}

void att_conv2d_backward_weights(const att_conv2d_weight_grad_call *call)
{
    size_t K = att_conv2d_patch_size(&call->shape);
    size_t share = ceil_div(K, (size_t)att_threads_get() * JOBS_PER_THREAD);
    weights_job w = { call, min_size(PATCHES_PER_BLOCK, ceil_div(share, TILE) * TILE) };
    size_t jobs = K > 0 ? ceil_div(K, w.numbers) : 0;
    att_parallel_for((int64_t)jobs, grain_for(&call->shape, jobs), weights_jobs, &w);
}

/* ---------------------------------------------------------------- gradient of the input */

typedef struct input_job {
    const att_conv2d_input_grad_call *call;
    size_t row_bands; /* of lines that a picture is cut into */
} input_job;

/* parts [rows, count] = dz [rows,N] times columns [first, first + count) of wᵀ. */
static void input_grad_patches(float *parts, const att_conv2d_input_grad_call *c, const float *dz,
                               size_t rows, size_t first, size_t count)
{
    size_t N = c->shape.out_channels, n = 0;
    do {
        size_t depth = min_size(ATT_DEPTH_BLOCK, N - n);
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

/* What the patches of line `oy` of one result give to lines `within` of its picture. Their order
 * does not depend on `within`: a number gets its sum in the same order however pictures are cut. */
static void input_grad_row(const att_conv2d_input_grad_call *c, size_t item, size_t oy,
                           row_range within)
{
    patch_block parts;
    const att_conv2d_shape *s = &c->shape;
    size_t K = att_conv2d_patch_size(s);
    float *dx = c->dx + item * s->height * s->width * s->channels;
    for (size_t ox = 0; ox < s->out_width; ox += PATCHES_PER_BLOCK) {
        size_t rows = min_size(PATCHES_PER_BLOCK, s->out_width - ox);
        size_t patch = (item * s->out_height + oy) * s->out_width + ox;
        for (size_t k = 0; k < K; k += ATT_DEPTH_BLOCK) {
            size_t count = min_size(ATT_DEPTH_BLOCK, K - k);
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

/* Lines of results near the border of two bands are worked out in both: bands are high. */
void att_conv2d_backward_input(const att_conv2d_input_grad_call *call)
{
    const att_conv2d_shape *s = &call->shape;
    size_t wanted = (size_t)att_threads_get() * JOBS_PER_THREAD;
    size_t max = s->height / (4 * s->kernel_height);
    input_job j = { call, 1 };
    if (s->batch > 0 && s->batch < wanted && max > 1 && wanted > JOBS_PER_THREAD)
        j.row_bands = min_size(max, ceil_div(wanted, s->batch));
    size_t jobs = s->batch * j.row_bands;
    att_parallel_for((int64_t)jobs, grain_for(s, jobs), input_jobs, &j);
}
