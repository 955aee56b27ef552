/* Int8 matrices and products around their kernels: packing, quantization, threads, the choice of a
 * version. */
#include "kern/int8.h"

#include "base/cpu_features.h"
#include "base/minmax.h"
#include "base/parallel.h"
#include "base/progress.h"
#include "kern/int8/kernels.h"

#include <stdatomic.h>
#include <string.h>

enum {
    W = ATT_PANEL_COLUMNS,
    GROUP_BYTES = W * ATT_INT8_GROUP,
    ALIGNMENT = 64,
    ROWS_IN_BLOCK = 256,
    JOBS_PER_THREAD = 4,
    SMALL_WORK = 1 << 19, /* multiply-adds that one thread does before a second one started */
    SMALL_QUANTIZATION = 1 << 14, /* floats, likewise */
};

/* ---------------------------------------------------------------- versions */

#define DECLARE(version) extern const att_int8_kernels att_int8_##version;
DECLARE(scalar)
#ifdef ATT_HAVE_INT8_NEON
DECLARE(neon)
#endif
#ifdef ATT_HAVE_INT8_AVX2
DECLARE(avx2)
#endif
#ifdef ATT_HAVE_INT8_AVXVNNI
DECLARE(avxvnni)
#endif
#ifdef ATT_HAVE_INT8_AVX512VNNI
DECLARE(avx512vnni)
#endif
#ifdef ATT_HAVE_INT8_AMX
DECLARE(amx)
#endif

/* From the simplest to the best. */
const att_int8_kernels *const att_int8_versions[] = {
    &att_int8_scalar,
#ifdef ATT_HAVE_INT8_NEON
    &att_int8_neon,
#endif
#ifdef ATT_HAVE_INT8_AVX2
    &att_int8_avx2,
#endif
#ifdef ATT_HAVE_INT8_AVXVNNI
    &att_int8_avxvnni,
#endif
#ifdef ATT_HAVE_INT8_AVX512VNNI
    &att_int8_avx512vnni,
#endif
#ifdef ATT_HAVE_INT8_AMX
    &att_int8_amx,
#endif
};
const int att_int8_version_count = (int)ATT_COUNT(att_int8_versions);

bool att_int8_version_runs(const att_int8_kernels *version, att_cpu set)
{
    return set >= version->least_set &&
           (att_cpu_features() & version->features) == version->features;
}

static _Atomic(const att_int8_kernels *) demanded;

void att_int8_kernels_use(const att_int8_kernels *version)
{
    atomic_store_explicit(&demanded, version, memory_order_relaxed);
}

const att_int8_kernels *att_int8_kernels_get(size_t rows)
{
    const att_int8_kernels *only = atomic_load_explicit(&demanded, memory_order_relaxed);
    if (only)
        return only;
    att_cpu set = att_cpu_get();
    int version = set == ATT_CPU_SCALAR ? 0 : att_int8_version_count - 1;
    while (version > 0 && (rows < att_int8_versions[version]->least_rows ||
                           !att_int8_version_runs(att_int8_versions[version], set)))
        version--;
    return att_int8_versions[version];
}

/* ---------------------------------------------------------------- matrices */

static size_t group_count(size_t depth)
{
    return att_ceil_div(depth, ATT_INT8_GROUP);
}

size_t att_int8_matrix_size(size_t depth, size_t columns)
{
    size_t wide = att_round_up(columns, W);
    return wide * (group_count(depth) * ATT_INT8_GROUP + sizeof(float) + sizeof(int32_t));
}

att_int8_matrix att_int8_matrix_place(void *block, size_t depth, size_t columns)
{
    size_t wide = att_round_up(columns, W);
    int8_t *panels = block;
    void *behind = panels + wide * group_count(depth) * ATT_INT8_GROUP;
    float *scales = behind;
    void *sums = scales + wide;
    return (att_int8_matrix){
        .depth = depth, .columns = columns, .scales = scales, .sums = sums, .panels = panels
    };
}

/* Where group 0 of column j begins; further groups follow at intervals of GROUP_BYTES. */
static int8_t *column_start(const att_int8_matrix *m, size_t j)
{
    return m->panels + j / W * group_count(m->depth) * GROUP_BYTES + j % W * ATT_INT8_GROUP;
}

/* Stores a column of integers, each `step` apart, and its sum; NULL: zeros. */
static void store_column(const att_int8_matrix *to, size_t j, const int8_t *values, size_t step,
                         float scale)
{
    int8_t *column = column_start(to, j);
    int32_t sum = 0;
    for (size_t k = 0; k < group_count(to->depth) * ATT_INT8_GROUP; k++) {
        int8_t value = values && k < to->depth ? values[k * step] : 0;
        column[k / ATT_INT8_GROUP * GROUP_BYTES + k % ATT_INT8_GROUP] = value;
        sum += value;
    }
    to->scales[j] = scale;
    to->sums[j] = sum;
}

static void clear_padding(const att_int8_matrix *to)
{
    for (size_t j = to->columns; j < att_round_up(to->columns, W); j++)
        store_column(to, j, NULL, 0, 0);
}

void att_int8_matrix_pack(const att_int8_matrix *to, const int8_t *b, size_t stride,
                          bool transposed, const float *scales)
{
    for (size_t j = 0; j < to->columns; j++)
        store_column(to, j, transposed ? b + j * stride : b + j, transposed ? 1 : stride,
                     scales[j]);
    clear_padding(to);
}

void att_int8_matrix_quantize(const att_int8_matrix *to, const float *b, size_t stride,
                              bool transposed, float *column)
{
    const att_int8_kernels *kernels = att_int8_kernels_get(to->columns);
    for (size_t j = 0; j < to->columns; j++) {
        for (size_t k = 0; k < to->depth; k++)
            column[k] = transposed ? b[j * stride + k] : b[k * stride + j];
        int8_t *values = (int8_t *)(column + to->depth);
        float scale = kernels->quantize(values, column, to->depth);
        store_column(to, j, values, 1, scale);
    }
    clear_padding(to);
}

void att_int8_matrix_column(int8_t *to, const att_int8_matrix *from, size_t j, size_t step)
{
    const int8_t *column = column_start(from, j);
    for (size_t k = 0; k < from->depth; k++)
        to[k * step] = column[k / ATT_INT8_GROUP * GROUP_BYTES + k % ATT_INT8_GROUP];
}

void att_int8_matrix_column_floats(float *to, const att_int8_matrix *from, size_t j, size_t step)
{
    const int8_t *column = column_start(from, j);
    float scale = from->scales[j];
    for (size_t k = 0; k < from->depth; k++)
        to[k * step] = (float)column[k / ATT_INT8_GROUP * GROUP_BYTES + k % ATT_INT8_GROUP] * scale;
}

void att_int8_matrix_gather(const att_int8_matrix *to, const att_int8_matrix *from,
                            const int32_t *ids, size_t count)
{
    for (size_t j = 0; j < count; j++) {
        size_t id = (size_t)ids[j];
        int8_t *column = column_start(to, j);
        const int8_t *source = column_start(from, id);
        for (size_t g = 0; g < group_count(from->depth); g++)
            memcpy(column + g * GROUP_BYTES, source + g * GROUP_BYTES, ATT_INT8_GROUP);
        to->scales[j] = from->scales[id];
        to->sums[j] = from->sums[id];
    }
    clear_padding(to);
}

/* ---------------------------------------------------------------- rows of A */

size_t att_int8_rows_size(size_t rows, size_t depth)
{
    return att_round_up(rows * sizeof(float), ALIGNMENT) +
           rows * group_count(depth) * ATT_INT8_GROUP;
}

att_int8_rows att_int8_rows_place(void *block, size_t rows, size_t depth)
{
    return (att_int8_rows){ .row_size = group_count(depth) * ATT_INT8_GROUP,
                            .scales = block,
                            .values =
                                (int8_t *)block + att_round_up(rows * sizeof(float), ALIGNMENT) };
}

void att_int8_rows_quantize(const att_int8_rows *to, const float *a, size_t stride, size_t depth,
                            size_t first, size_t past)
{
    const att_int8_kernels *kernels = att_int8_kernels_get(past - first);
    for (size_t i = first; i < past; i++) {
        int8_t *row = to->values + i * to->row_size;
        to->scales[i] = kernels->quantize(row, a + (i - first) * stride, depth);
        memset(row + depth, 0, to->row_size - depth);
    }
}

/* ---------------------------------------------------------------- products */

static void apply_activation(const att_int8_call *call)
{
    const att_kernels *k = att_kernels_get();
    att_kern_elementwise *const functions[ATT_ACTIVATION_COUNT] = {
        [ATT_ACTIVATION_RELU] = k->relu,       [ATT_ACTIVATION_GELU] = k->gelu,
        [ATT_ACTIVATION_SILU] = k->silu,       [ATT_ACTIVATION_TANH] = k->tanh,
        [ATT_ACTIVATION_SIGMOID] = k->sigmoid,
    };
    att_kern_elementwise *apply = functions[call->activation];
    for (size_t i = 0; apply && i < call->rows; i++)
        apply(call->c + i * call->c_row_stride, call->c + i * call->c_row_stride, call->columns);
}

void att_int8_matmul_part(const att_int8_call *call)
{
    const att_int8_matrix *b = call->b;
    size_t groups = group_count(b->depth);
    att_int8_kernels_get(call->rows)
        ->matmul(&(att_int8_block){ .rows = call->rows,
                                    .columns = call->columns,
                                    .groups = groups,
                                    .a = call->a->values + call->first_row * call->a->row_size,
                                    .a_row_size = call->a->row_size,
                                    .a_scales = call->a->scales + call->first_row,
                                    .b = b->panels + call->first_column / W * groups * GROUP_BYTES,
                                    .b_scales = b->scales + call->first_column,
                                    .b_sums = b->sums + call->first_column,
                                    .c = call->c,
                                    .c_row_stride = call->c_row_stride,
                                    .accumulate = call->accumulate,
                                    .bias = call->bias });
    apply_activation(call);
}

/* How C is split into jobs of a block of rows by a range of columns. */
typedef struct plan {
    const att_int8_product *product;
    att_int8_rows rows;
    size_t row_blocks, column_blocks, columns_in_block;
} plan;

static void quantize_range(void *context, int64_t begin, int64_t end)
{
    const plan *p = context;
    const att_int8_product *product = p->product;
    att_int8_rows_quantize(&p->rows, product->a + (size_t)begin * product->a_row_stride,
                           product->a_row_stride, product->b->depth, (size_t)begin, (size_t)end);
}

static void run_jobs(void *context, int64_t begin, int64_t end)
{
    const plan *p = context;
    const att_int8_product *product = p->product;
    for (size_t job = (size_t)begin; job < (size_t)end && !att_progress_abandoned(); job++) {
        size_t row_block = job / p->column_blocks;
        size_t row = product->rows * row_block / p->row_blocks;
        size_t column = job % p->column_blocks * p->columns_in_block;
        att_int8_matmul_part(&(att_int8_call){
            .b = product->b,
            .a = &p->rows,
            .first_row = row,
            .rows = product->rows * (row_block + 1) / p->row_blocks - row,
            .first_column = column,
            .columns = att_min_size(p->columns_in_block, product->b->columns - column),
            .c = product->c + row * product->c_row_stride + column,
            .c_row_stride = product->c_row_stride,
            .bias = product->bias ? product->bias + column : NULL,
            .activation = product->activation });
        if (job + 1 < (size_t)end)
            att_progress_poll();
    }
}

void att_int8_matmul(const att_int8_product *product)
{
    size_t rows = product->rows, depth = product->b->depth, columns = product->b->columns;
    if (rows == 0 || columns == 0)
        return;
    plan p = { .product = product,
               .rows = att_int8_rows_place(product->scratch, rows, depth),
               .row_blocks = att_ceil_div(rows, ROWS_IN_BLOCK),
               .columns_in_block = att_round_up(columns, W),
               .column_blocks = 1 };
    size_t grain = 1 + SMALL_QUANTIZATION / (depth + 1);
    att_parallel_for((int64_t)rows, (int64_t)grain, quantize_range, &p);
    double work = ((double)rows + 3) * (double)columns * (double)depth;
    size_t threads = (size_t)att_threads_get();
    bool alone = work < SMALL_WORK || threads == 1;
    if (!alone && p.row_blocks < threads * JOBS_PER_THREAD) {
        size_t wanted = att_ceil_div(threads * JOBS_PER_THREAD, p.row_blocks);
        p.columns_in_block = att_round_up(att_ceil_div(columns, wanted), W);
        p.column_blocks = att_ceil_div(columns, p.columns_in_block);
    }
    int64_t jobs = (int64_t)(p.row_blocks * p.column_blocks);
    att_parallel_for(jobs, alone ? jobs : 1, run_jobs, &p);
}
