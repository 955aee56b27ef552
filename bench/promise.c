/* What the fixed order of sums costs: kernels of the library against versions that may add in any
 * order, in turns in one process. The free versions are written over the same vector header and do
 * the same work; see free_… for what each is allowed. bench/promise compiles and runs this. */
#include "kern/vec/math.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROW = 512, DEPTH = 2048, COLUMNS = 96, ROWS = 48, TRIALS = 400, FREE_SUMS = 4 };

static float x[DEPTH * 2], y[DEPTH * 2], z[DEPTH * 2], ones[ROW], a[ROWS * DEPTH];
static float b[DEPTH * COLUMNS], c[ROWS * COLUMNS];
static volatile float result; /* so that no call is left out */
static const att_kernels *kernels;

/* ---- sums along a row: four vectors of partial sums instead of one, which hides the latency of
 * the addition. */

static vec tree(const vec sums[FREE_SUMS])
{
    return v_add(v_add(sums[0], sums[1]), v_add(sums[2], sums[3]));
}

static float free_sum(const float *p, size_t n)
{
    vec sums[FREE_SUMS] = { v_set(0), v_set(0), v_set(0), v_set(0) };
    for (size_t i = 0; i < n; i += FREE_SUMS * LANES)
#pragma GCC unroll 4
        for (size_t s = 0; s < FREE_SUMS; s++)
            sums[s] = v_add(sums[s], v_load(p + i + s * LANES));
    return v_reduce_sum(tree(sums));
}

static float free_dot(const float *p, const float *q, size_t n)
{
    vec sums[FREE_SUMS] = { v_set(0), v_set(0), v_set(0), v_set(0) };
    for (size_t i = 0; i < n; i += FREE_SUMS * LANES)
#pragma GCC unroll 4
        for (size_t s = 0; s < FREE_SUMS; s++)
            sums[s] = v_fma(v_load(p + i + s * LANES), v_load(q + i + s * LANES), sums[s]);
    return v_reduce_sum(tree(sums));
}

static void free_softmax(float *out, const float *in, size_t n)
{
    vec shift = v_set(row_max(in, n));
    vec sums[FREE_SUMS] = { v_set(0), v_set(0), v_set(0), v_set(0) };
    for (size_t i = 0; i < n; i += FREE_SUMS * LANES)
#pragma GCC unroll 4
        for (size_t s = 0; s < FREE_SUMS; s++) {
            vec e = v_exp(v_sub(v_load(in + i + s * LANES), shift));
            sums[s] = v_add(sums[s], e);
            v_store(out + i + s * LANES, e);
        }
    vec inverse = v_set(1.0f / v_reduce_sum(tree(sums)));
    for (size_t i = 0; i < n; i += LANES)
        v_store(out + i, v_mul(v_load(out + i), inverse));
}

static void free_layer_norm(float *out, const float *in, size_t n)
{
    float mean = free_sum(in, n) / (float)n;
    vec sums[FREE_SUMS] = { v_set(0), v_set(0), v_set(0), v_set(0) };
    for (size_t i = 0; i < n; i += FREE_SUMS * LANES)
#pragma GCC unroll 4
        for (size_t s = 0; s < FREE_SUMS; s++) {
            vec d = v_sub(v_load(in + i + s * LANES), v_set(mean));
            sums[s] = v_fma(d, d, sums[s]);
        }
    vec rstd = v_set(att_norm_rstd(v_reduce_sum(tree(sums)) / (float)n, 1e-5f));
    for (size_t i = 0; i < n; i += LANES)
        v_store(out + i, v_fma(v_mul(v_sub(v_load(in + i), v_set(mean)), rstd), v_load(ones + i),
                               v_load(ones + i)));
}

/* ---- products: B is packed. The library sums blocks of 256 along the depth and adds them to C; a
 * free version sums the whole depth in registers and touches C once. */

static void multiply(size_t rows, size_t columns, size_t step)
{
    att_matmul_block block = { .rows = rows,
                               .columns = columns,
                               .a_row_stride = DEPTH,
                               .a_column_stride = 1,
                               .b_panel_stride = (size_t)DEPTH * LANES,
                               .b_row_stride = LANES,
                               .c = c,
                               .c_row_stride = COLUMNS };
    for (size_t k = 0; k < DEPTH; k += step) {
        block.depth = step;
        block.a = a + k;
        block.b = b + k * LANES;
        block.accumulate = k > 0;
        kernels->matmul(&block);
    }
    result = c[0];
}

/* One row and one panel: a single chain of additions in the library; four here. */
static void free_narrow(void)
{
    vec sums[FREE_SUMS] = { v_set(0), v_set(0), v_set(0), v_set(0) };
    for (size_t k = 0; k < DEPTH; k += FREE_SUMS)
#pragma GCC unroll 4
        for (size_t s = 0; s < FREE_SUMS; s++)
            sums[s] = v_fma(v_set(a[k + s]), v_load(b + (k + s) * LANES), sums[s]);
    v_store(c, tree(sums));
    result = c[0];
}

/* ---- the contest */

#define RUN(name, statement)                                                                       \
    static void name(void)                                                                         \
    {                                                                                              \
        statement;                                                                                 \
    }
RUN(ours_sum, result = kernels->sum(x, ROW))
RUN(theirs_sum, result = free_sum(x, ROW))
RUN(ours_dot, result = kernels->dot(x, y, ROW))
RUN(theirs_dot, result = free_dot(x, y, ROW))
RUN(ours_softmax, kernels->softmax(z, x, ROW))
RUN(theirs_softmax, free_softmax(z, x, ROW))
RUN(ours_norm, att_norm_stats stats; kernels->layer_norm(z, &stats, x, ones, ones, ROW, 1e-5f))
RUN(theirs_norm, free_layer_norm(z, x, ROW))
RUN(ours_product, multiply(ROWS, COLUMNS, ATT_DEPTH_BLOCK))
RUN(theirs_product, multiply(ROWS, COLUMNS, DEPTH))
RUN(ours_row, multiply(1, COLUMNS, ATT_DEPTH_BLOCK))
RUN(theirs_row, multiply(1, COLUMNS, DEPTH))
RUN(ours_narrow, multiply(1, LANES, ATT_DEPTH_BLOCK))
RUN(theirs_narrow, free_narrow())

static const struct contest {
    const char *name;
    void (*ours)(void), (*theirs)(void);
    int repeats;
} contests[] = {
    { "matrix product, 48 × 96, depth 2048", ours_product, theirs_product, 2 },
    { "matrix product, 1 × 96, depth 2048", ours_row, theirs_row, 60 },
    { "matrix product, 1 × 16, depth 2048", ours_narrow, theirs_narrow, 300 },
    { "softmax of 512", ours_softmax, theirs_softmax, 1500 },
    { "layer norm of 512", ours_norm, theirs_norm, 4000 },
    { "sum of 512", ours_sum, theirs_sum, 20000 },
    { "dot product of 512", ours_dot, theirs_dot, 10000 },
};

/* Processor time of this thread: other processes disturb it less than the clock. */
static double seconds_of(void (*run)(void), int repeats)
{
    struct timespec begin, end;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    for (int i = 0; i < repeats; i++)
        run();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    return (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
}

static void fill(float *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (float)((i * 2654435761u >> 7) % 2001) / 1000.0f - 1.0f;
}

#define FILL(array) fill(array, sizeof(array) / sizeof *(array))

int main(void)
{
    kernels = att_kernels_get();
    if (strcmp(kernels->name, ATT_STRINGIFY(ATT_ISA)) != 0) {
        fprintf(stderr, "promise: compiled for %s, but the library uses %s\n",
                ATT_STRINGIFY(ATT_ISA), kernels->name);
        return 2;
    }
    FILL(x), FILL(y), FILL(ones), FILL(a), FILL(b);
    printf("| %s | fixed order, µs | free order, µs | cost |\n|---|---|---|---|\n", kernels->name);
    for (size_t i = 0; i < sizeof contests / sizeof *contests; i++) {
        const struct contest *now = &contests[i];
        double ours = INFINITY, theirs = INFINITY;
        for (int trial = 0; trial < TRIALS; trial++) {
            ours = fmin(ours, seconds_of(now->ours, now->repeats));
            theirs = fmin(theirs, seconds_of(now->theirs, now->repeats));
        }
        printf("| %s | %.3f | %.3f | %+.1f %% |\n", now->name, ours / now->repeats * 1e6,
               theirs / now->repeats * 1e6, (ours / theirs - 1) * 100);
    }
    return EXIT_SUCCESS;
}
