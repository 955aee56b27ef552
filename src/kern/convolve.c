/* Convolution as products of patches; see convolve.h. */
#include "kern/convolve.h"

#include "base/parallel.h"

#include <string.h>

enum {
    PATCHES_AT_ONCE = 60, /* with 256 numbers of each, 60 kB on the stack: it stays in caches */
    TILE = 12,            /* rows of products that suit the tiles of every instruction set */
    SMALL_WORK = 1 << 18, /* multiply-adds that are done before a second thread has woken up */
    JOBS_PER_THREAD = 2,
};

/* A block of the matrix of patches: rows of `depth` numbers, without gaps. */
typedef struct block {
    _Alignas(64) float at[PATCHES_AT_ONCE * ATT_DEPTH_BLOCK];
} block;

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t divide_up(size_t count, size_t by)
{
    return (count + by - 1) / by;
}

size_t att_convolve_patch(const att_convolve_sizes *sizes)
{
    return sizes->kernel_height * sizes->kernel_width * sizes->channels;
}

static int64_t grain_for(const att_convolve_sizes *s, size_t jobs)
{
    double work = (double)s->items * (double)(s->out_height * s->out_width) * (double)s->columns *
                  (double)att_convolve_patch(s);
    return work < SMALL_WORK && jobs > 0 ? (int64_t)jobs : 1;
}

/* ---------------------------------------------------------------- patches */

/* Numbers of a patch that lie side by side in memory: those of one line of the kernel which both
 * the picture and the part of the patch that was asked for have. */
typedef struct run {
    size_t at;      /* of its first number in the picture */
    size_t in_part; /* likewise in the part of the patch that was asked for */
    size_t count;
} run;

/* Where the patch at (oy, ox) begins; negative beyond the border. */
typedef struct corner {
    int64_t y, x;
} corner;

static corner corner_of(const att_convolve_sizes *s, size_t oy, size_t ox)
{
    int64_t padding = (int64_t)s->padding, stride = (int64_t)s->stride;
    return (corner){ (int64_t)oy * stride - padding, (int64_t)ox * stride - padding };
}

static int64_t clip(int64_t value, int64_t most)
{
    return value < 0 ? 0 : value > most ? most : value;
}

/* The run of the kernel's line `ky`, of a patch's numbers [first, first + count). */
static run run_of(const att_convolve_sizes *s, corner at, size_t ky, size_t first, size_t count)
{
    size_t line = s->kernel_width * s->channels, start = ky * line;
    int64_t y = at.y + (int64_t)ky, width = (int64_t)(s->width * s->channels);
    if (y < 0 || y >= (int64_t)s->height)
        return (run){ 0 };
    size_t from = first > start ? first - start : 0;
    size_t to = least(line, first + count - start);
    int64_t x = at.x * (int64_t)s->channels;
    int64_t begin = clip(x + (int64_t)from, width), end = clip(x + (int64_t)to, width);
    if (begin == end)
        return (run){ 0 };
    return (run){ .at = (size_t)(y * width + begin),
                  .in_part = (size_t)(begin - x) + start - first,
                  .count = (size_t)(end - begin) };
}

/* Lines of the kernel that numbers [first, first + count) of a patch lie in. */
typedef struct lines {
    size_t begin, end;
} lines;

static lines lines_of(const att_convolve_sizes *s, size_t first, size_t count)
{
    size_t line = s->kernel_width * s->channels;
    return (lines){ first / line, divide_up(first + count, line) };
}

/* Numbers [first, first + count) of patches from `patch` on, counted through the batch. */
static void gather(float *out, const att_convolve_sizes *s, const float *x, size_t patch,
                   size_t patches, size_t first, size_t count)
{
    size_t in_item = s->out_height * s->out_width, picture = s->height * s->width * s->channels;
    if (count == 0)
        return;
    lines k = lines_of(s, first, count);
    for (size_t n = patch; n < patch + patches; n++, out += count) {
        const float *from = x + n / in_item * picture;
        corner at = corner_of(s, n % in_item / s->out_width, n % s->out_width);
        bool inside = at.y >= 0 && at.x >= 0 &&
                      at.y + (int64_t)s->kernel_height <= (int64_t)s->height &&
                      at.x + (int64_t)s->kernel_width <= (int64_t)s->width;
        if (!inside)
            memset(out, 0, count * sizeof *out);
        for (size_t ky = k.begin; ky < k.end; ky++) {
            run r = run_of(s, at, ky, first, count);
            memcpy(out + r.in_part, from + r.at, r.count * sizeof *out);
        }
    }
}

/* Adds the same numbers to where they come from, but only in lines [begin, end) of the picture. */
static void scatter(float *dx, const att_convolve_sizes *s, const float *parts, size_t oy,
                    size_t ox, size_t patches, size_t first, size_t count, lines within)
{
    const att_kernels *kernels = att_kernels_get();
    size_t width = s->width * s->channels;
    lines k = lines_of(s, first, count);
    for (size_t n = 0; n < patches; n++, parts += count)
        for (size_t ky = k.begin; ky < k.end; ky++) {
            run r = run_of(s, corner_of(s, oy, ox + n), ky, first, count);
            if (r.count > 0 && r.at / width >= within.begin && r.at / width < within.end)
                kernels->add_scaled(dx + r.at, 1, parts + r.in_part, r.count);
        }
}

/* ---------------------------------------------------------------- forward */

/* Results of patches [patch, patch + rows). */
static void convolve_patches(const att_convolve_call *c, size_t patch, size_t rows)
{
    block patches;
    size_t K = att_convolve_patch(&c->sizes), N = c->sizes.columns, k = 0;
    do {
        size_t depth = least(ATT_DEPTH_BLOCK, K - k);
        gather(patches.at, &c->sizes, c->x, patch, rows, k, depth);
        att_kernels_get()->product(&(att_product_block){ .rows = rows,
                                                         .columns = N,
                                                         .depth = depth,
                                                         .a = patches.at,
                                                         .a_row = depth,
                                                         .a_step = 1,
                                                         .b = c->panels + k * ATT_PANEL,
                                                         .b_panel = K * ATT_PANEL,
                                                         .b_step = ATT_PANEL,
                                                         .c = c->y + patch * N,
                                                         .c_row = N,
                                                         .add = k > 0,
                                                         .last = k + depth == K,
                                                         .bias = c->bias,
                                                         .activation = c->activation });
        k += depth;
    } while (k < K);
}

static void convolve_jobs(void *context, int64_t begin, int64_t end)
{
    const att_convolve_call *c = context;
    const att_convolve_sizes *s = &c->sizes;
    size_t all = s->items * s->out_height * s->out_width;
    for (size_t job = (size_t)begin; job < (size_t)end; job++) {
        size_t patch = job * PATCHES_AT_ONCE;
        convolve_patches(c, patch, least(PATCHES_AT_ONCE, all - patch));
    }
}

void att_convolve_run(const att_convolve_call *call)
{
    att_convolve_call c = *call;
    size_t patches = c.sizes.items * c.sizes.out_height * c.sizes.out_width;
    size_t jobs = divide_up(patches, PATCHES_AT_ONCE);
    att_parallel_for((int64_t)jobs, grain_for(&c.sizes, jobs), convolve_jobs, &c);
}

/* ---------------------------------------------------------------- gradient of the weights */

typedef struct weights_job {
    const att_convolve_weights_call *call;
    size_t numbers; /* of a patch, in each job */
} weights_job;

/* The gradient of the weights that numbers [first, first + count) of a patch meet: sums over all
 * patches, a block of the depth being 256 of these. */
static void gather_weights(const att_convolve_weights_call *c, size_t first, size_t count)
{
    block patches;
    const att_convolve_sizes *s = &c->sizes;
    size_t all = s->items * s->out_height * s->out_width, N = s->columns, patch = 0;
    do {
        size_t depth = least(ATT_DEPTH_BLOCK, all - patch);
        gather(patches.at, s, c->x, patch, depth, first, count);
        att_kernels_get()->product(&(att_product_block){ .rows = count,
                                                         .columns = N,
                                                         .depth = depth,
                                                         .a = patches.at,
                                                         .a_row = 1,
                                                         .a_step = count,
                                                         .b = c->panels + patch * ATT_PANEL,
                                                         .b_panel = all * ATT_PANEL,
                                                         .b_step = ATT_PANEL,
                                                         .c = c->dw + first * N,
                                                         .c_row = N,
                                                         .add = c->add || patch > 0,
                                                         .last = patch + depth == all });
        patch += depth;
    } while (patch < all);
}

static void weights_jobs(void *context, int64_t begin, int64_t end)
{
    const weights_job *w = context;
    size_t all = att_convolve_patch(&w->call->sizes);
    for (size_t job = (size_t)begin; job < (size_t)end; job++) {
        size_t first = job * w->numbers;
        gather_weights(w->call, first, least(w->numbers, all - first));
    }
}

void att_convolve_back_weights(const att_convolve_weights_call *call)
{
    size_t K = att_convolve_patch(&call->sizes);
    size_t share = divide_up(K, (size_t)att_threads_get() * JOBS_PER_THREAD);
    weights_job w = { call, least(PATCHES_AT_ONCE, divide_up(share, TILE) * TILE) };
    size_t jobs = K > 0 ? divide_up(K, w.numbers) : 0;
    att_parallel_for((int64_t)jobs, grain_for(&call->sizes, jobs), weights_jobs, &w);
}

/* ---------------------------------------------------------------- gradient of the input */

typedef struct input_job {
    const att_convolve_input_call *call;
    size_t bands; /* of lines that a picture is cut into */
} input_job;

/* parts [rows, count] = dz [rows,N] times columns [first, first + count) of wᵀ. */
static void multiply_back(float *parts, const att_convolve_input_call *c, const float *dz,
                          size_t rows, size_t first, size_t count)
{
    size_t N = c->sizes.columns, n = 0;
    do {
        size_t depth = least(ATT_DEPTH_BLOCK, N - n);
        const float *panels = c->panels + first * N + n * ATT_PANEL;
        att_kernels_get()->product(&(att_product_block){ .rows = rows,
                                                         .columns = count,
                                                         .depth = depth,
                                                         .a = dz + n,
                                                         .a_row = N,
                                                         .a_step = 1,
                                                         .b = panels,
                                                         .b_panel = N * ATT_PANEL,
                                                         .b_step = ATT_PANEL,
                                                         .c = parts,
                                                         .c_row = count,
                                                         .add = n > 0,
                                                         .last = n + depth == N });
        n += depth;
    } while (n < N);
}

/* What the patches of line `oy` of one result give to lines `within` of its picture. Their order
 * does not depend on `within`: a number gets its sum in the same order however pictures are cut. */
static void scatter_line(const att_convolve_input_call *c, size_t item, size_t oy, lines within)
{
    block parts;
    const att_convolve_sizes *s = &c->sizes;
    size_t K = att_convolve_patch(s);
    float *dx = c->dx + item * s->height * s->width * s->channels;
    for (size_t ox = 0; ox < s->out_width; ox += PATCHES_AT_ONCE) {
        size_t rows = least(PATCHES_AT_ONCE, s->out_width - ox);
        size_t patch = (item * s->out_height + oy) * s->out_width + ox;
        for (size_t k = 0; k < K; k += ATT_DEPTH_BLOCK) {
            size_t count = least(ATT_DEPTH_BLOCK, K - k);
            multiply_back(parts.at, c, c->dz + patch * s->columns, rows, k, count);
            scatter(dx, s, parts.at, oy, ox, rows, k, count, within);
        }
    }
}

static void input_jobs(void *context, int64_t begin, int64_t end)
{
    const input_job *j = context;
    const att_convolve_sizes *s = &j->call->sizes;
    for (size_t job = (size_t)begin; job < (size_t)end; job++) {
        size_t item = job / j->bands, band = job % j->bands;
        lines within = { s->height * band / j->bands, s->height * (band + 1) / j->bands };
        for (size_t oy = 0; oy < s->out_height; oy++) {
            int64_t top = corner_of(s, oy, 0).y;
            if (top + (int64_t)s->kernel_height > (int64_t)within.begin &&
                top < (int64_t)within.end)
                scatter_line(j->call, item, oy, within);
        }
    }
}

/* Lines of results near the border of two bands are worked out in both: bands are high. */
void att_convolve_back_input(const att_convolve_input_call *call)
{
    const att_convolve_sizes *s = &call->sizes;
    size_t wanted = (size_t)att_threads_get() * JOBS_PER_THREAD;
    size_t most = s->height / (4 * s->kernel_height);
    input_job j = { call, 1 };
    if (s->items > 0 && s->items < wanted && most > 1 && wanted > JOBS_PER_THREAD)
        j.bands = least(most, divide_up(wanted, s->items));
    size_t jobs = s->items * j.bands;
    att_parallel_for((int64_t)jobs, grain_for(s, jobs), input_jobs, &j);
}
