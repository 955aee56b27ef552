/* Matrix multiplication around its kernels; see matmul.h. The work is split into jobs, each a block
 * of rows by a range of columns of one item's C over the whole depth, so no sum is split. */
#include "kern/matmul.h"

#include "base/alloc.h"
#include "base/progress.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/parallel.h"

#include <stdatomic.h>
#include <string.h>

enum {
    COLUMNS_PER_BLOCK = 2 * ATT_PANEL_COLUMNS, /* of a transposed B: with a depth of 256, 32 kB */
    ROWS_IN_COPY = 60,                         /* of a transposed A: with a depth of 256, 60 kB */
    COLUMNS_IN_COPY = 64,                      /* of a B in place: with a depth of 256, 64 kB */
    MIN_COPIED = 32,        /* rows and columns of C, from which on copying a transposed A pays; */
    MIN_ROWS_COPIED_B = 48, /* and rows and stride for copying B */
    MIN_STRIDE_COPIED_B = 384,
    STEPS_AHEAD = 8,         /* that a copy fetches early: their addresses are too far apart for the
                                hardware to guess */
    ROWS_IN_BLOCK = 168,     /* with a depth of 256, A takes 172 kB of the second-level cache */
    MAX_ROWS_TRANSPOSED = 3, /* up to this many rows, B^T is transposed in registers */
    MAX_ROWS_UNPACKED = 256, /* up to this many rows, B is used in place if its layout allows; */
    MAX_PACKED_FIRST =
        1 << 17, /* with more, it is packed first if it has at most this many elements:
                    new memory for a large B costs more than the product gains */
    MAX_COLUMNS_IN_BLOCK = 1 << 14, /* so that a call can be cancelled soon: a kernel call of 168
                                       rows and a depth of 256 takes some 20 ms */
    JOBS_PER_THREAD = 4,
    SMALL_WORK = 1 << 18, /* multiply-adds that one thread does before a second one has started */
};

size_t att_matmul_packed_size(size_t depth, size_t columns)
{
    return (columns + ATT_PANEL_COLUMNS - 1) / ATT_PANEL_COLUMNS * ATT_PANEL_COLUMNS * depth;
}

/* ---------------------------------------------------------------- packing B */

/* One B, or one item's. */
typedef struct pack_job {
    float *panels;
    const float *b;
    size_t stride, batch_stride, depth, columns, column_groups;
    bool transposed;
} pack_job;

enum { COLUMNS_IN_GROUP = 4 * ATT_PANEL_COLUMNS };

static void pack_groups(void *context, int64_t begin, int64_t end)
{
    const pack_job *p = context;
    const att_kernels *kernels = att_kernels_get();
    for (size_t n = (size_t)begin; n < (size_t)end; n++) {
        size_t item = n / p->column_groups, column = n % p->column_groups * COLUMNS_IN_GROUP;
        float *out = p->panels + item * att_matmul_packed_size(p->depth, p->columns);
        const float *b = p->b + item * p->batch_stride + column * (p->transposed ? p->stride : 1);
        kernels->matmul_pack(out + column * p->depth, b, p->stride, p->transposed, p->depth,
                             att_min_size(COLUMNS_IN_GROUP, p->columns - column));
    }
}

static void pack_all(pack_job p, size_t items)
{
    p.column_groups = att_ceil_div(p.columns, COLUMNS_IN_GROUP);
    size_t count = items * p.column_groups, each = COLUMNS_IN_GROUP * p.depth;
    bool alone = count * each < SMALL_WORK / 4;
    att_parallel_for((int64_t)count, alone ? (int64_t)count : 1, pack_groups, &p);
}

void att_matmul_pack(float *panels, const float *b, size_t b_stride, bool b_transposed,
                     size_t depth, size_t columns)
{
    pack_job p = { .panels = panels,
                   .b = b,
                   .stride = b_stride,
                   .depth = depth,
                   .columns = columns,
                   .transposed = b_transposed };
    pack_all(p, 1);
}

/* ---------------------------------------------------------------- jobs */

/* How C is split, and where B is: in panels, or in place. A transposed B is transposed by each job:
 * in registers, or a few panels of one block of the depth at a time. */
typedef struct plan {
    const att_matmul_call *call;
    const float *b;
    size_t b_panel_stride, b_row_stride, b_batch_stride;
    bool b_is_transposed;
    size_t row_blocks, column_blocks, columns_in_block, jobs;
    bool copies_a, copies_b;
    float *room; /* of each worker, where B is copied: for columns of B, then parts of A */
    size_t room_size;
    size_t workers;
    _Atomic size_t next_job;
} plan;

/* The whole depth of a block whose B is in panels from the first row on. */
static void run_depth(const att_matmul_call *p, att_matmul_block block, const float *a,
                      const float *b)
{
    size_t k = 0;
    do {
        block.depth = att_min_size(ATT_DEPTH_BLOCK, p->depth - k);
        block.a = a + k * p->a_column_stride;
        block.b = b + k * block.b_row_stride;
        block.accumulate = p->accumulate || k > 0;
        block.is_last = k + block.depth == p->depth;
        att_kernels_get()->matmul(&block);
        k += block.depth;
        if (k == p->depth) /* small products need no poll */
            return;
        att_progress_poll();
    } while (!att_progress_abandoned());
}

/* ---------------------------------------------------------------- copies of a depth block */

/* Of a transposed A, each step along the depth is a whole row of memory further: as many cache
 * lines, and up to as many pages, as the depth. So is each step of a B that is used in place, and
 * where its rows are a power of two apart, its lines evict each other from every cache. So the
 * steps of a block of the depth are copied to where they are close together. */
typedef struct block_copies {
    float *a;     /* of a transposed A: parts of at most ROWS_IN_COPY rows; NULL: A is not copied */
    float *b;     /* COLUMNS_IN_COPY columns of B in panels; NULL: B is in panels already, */
    size_t parts; /* of the rows; each is used once then, and all are copied to one place */
} block_copies;

enum { /* floats */
       COPIED_PART = ATT_DEPTH_BLOCK * ROWS_IN_COPY,
       COPIED_B = ATT_DEPTH_BLOCK * COLUMNS_IN_COPY
};

static size_t copied_parts(size_t rows)
{
    return att_ceil_div(rows, ROWS_IN_COPY);
}

static size_t part_start(const block_copies *copies, size_t rows, size_t part)
{
    return rows * part / copies->parts;
}

static float *part_copy(const block_copies *copies, size_t part)
{
    return copies->a + (copies->b ? part * COPIED_PART : 0);
}

/* Step k of the depth begins at block->a + k * block->a_column_stride. */
static void copy_part(const block_copies *copies, const att_matmul_block *block, size_t part)
{
    size_t row = part_start(copies, block->rows, part), stride = block->a_column_stride;
    size_t width = part_start(copies, block->rows, part + 1) - row;
    const float *a = block->a + row;
    float *to = part_copy(copies, part);
    for (size_t k = 0; k < block->depth; k++) {
        const float *ahead = a + att_min_size(k + STEPS_AHEAD, block->depth - 1) * stride;
        for (size_t i = 0; i < width; i += 16)
            __builtin_prefetch(ahead + i);
        memcpy(to + k * ROWS_IN_COPY, a + k * stride, width * sizeof(float));
    }
}

/* Likewise of B, into panels; `columns` is a multiple of ATT_PANEL_COLUMNS. */
static void copy_b(float *panels, const float *b, size_t stride, size_t columns, size_t depth)
{
    for (size_t k = 0; k < depth; k++) {
        const float *ahead = b + att_min_size(k + STEPS_AHEAD, depth - 1) * stride;
        for (size_t j = 0; j < columns; j += ATT_PANEL_COLUMNS) {
            __builtin_prefetch(ahead + j);
            memcpy(panels + j * depth + k * ATT_PANEL_COLUMNS, b + k * stride + j,
                   ATT_PANEL_COLUMNS * sizeof(float));
        }
    }
}

/* All rows of some columns. */
static void run_parts(const block_copies *copies, const att_matmul_block *all)
{
    for (size_t part = 0; part < copies->parts; part++) {
        size_t row = part_start(copies, all->rows, part);
        att_matmul_block block = *all;
        block.rows = part_start(copies, all->rows, part + 1) - row;
        block.c += row * all->c_row_stride;
        if (copies->a) {
            if (!copies->b)
                copy_part(copies, all, part);
            block.a = part_copy(copies, part);
            block.a_column_stride = ROWS_IN_COPY;
        }
        att_kernels_get()->matmul(&block);
    }
}

static void run_columns(const block_copies *copies, const att_matmul_block *all)
{
    for (size_t part = 0; copies->a && part < copies->parts; part++)
        copy_part(copies, all, part);
    for (size_t column = 0; column < all->columns; column += COLUMNS_IN_COPY) {
        att_matmul_block block = *all;
        block.columns = att_min_size(COLUMNS_IN_COPY, all->columns - column);
        block.c += column;
        block.bias = all->bias ? all->bias + column : NULL;
        block.b = copies->b;
        block.b_panel_stride = all->depth * ATT_PANEL_COLUMNS;
        block.b_row_stride = ATT_PANEL_COLUMNS;
        copy_b(copies->b, all->b + column, all->b_row_stride, block.columns, all->depth);
        run_parts(copies, &block);
    }
}

/* As run_depth(), with the copies that are wanted. */
static void run_copying(const att_matmul_call *p, att_matmul_block block, const float *a,
                        const float *b, const block_copies *copies)
{
    size_t k = 0;
    do {
        block.depth = att_min_size(ATT_DEPTH_BLOCK, p->depth - k);
        block.a = a + k * p->a_column_stride;
        block.b = b + k * block.b_row_stride;
        block.accumulate = p->accumulate || k > 0;
        block.is_last = k + block.depth == p->depth;
        (copies->b ? run_columns : run_parts)(copies, &block);
        k += block.depth;
        att_progress_poll();
    } while (k < p->depth && !att_progress_abandoned());
}

/* The same with a B in panels, whose product needs no memory. */
static void run_copying_a(const att_matmul_call *p, att_matmul_block block, const float *a,
                          const float *b)
{
    _Alignas(64) float copy[COPIED_PART];
    run_copying(p, block, a, b, &(block_copies){ .a = copy, .parts = copied_parts(block.rows) });
}

/* ---------------------------------------------------------------- transposed B */

/* The whole depth of a block with a transposed B and few rows. */
static void run_few_rows(const att_matmul_call *p, att_matmul_block block, const float *a,
                         const float *b)
{
    block.b_column_stride = p->b_stride;
    block.b_row_stride = 1;
    run_depth(p, block, a, b);
}

/* The same for more rows: packed panels are used while they are in the L1 and L2 caches. */
static void run_transposing(const att_matmul_call *p, att_matmul_block all, const float *a,
                            const float *b)
{
    _Alignas(64) float panels[ATT_DEPTH_BLOCK * COLUMNS_PER_BLOCK];
    const att_kernels *kernels = att_kernels_get();
    for (size_t column = 0; column < all.columns; column += COLUMNS_PER_BLOCK) {
        att_matmul_block block = all;
        block.columns = att_min_size(COLUMNS_PER_BLOCK, all.columns - column);
        block.c += column;
        block.bias = all.bias ? all.bias + column : NULL;
        block.b = panels;
        size_t k = 0;
        do {
            block.depth = att_min_size(ATT_DEPTH_BLOCK, p->depth - k);
            block.b_panel_stride = ATT_PANEL_COLUMNS * block.depth;
            block.a = a + k * p->a_column_stride;
            block.accumulate = p->accumulate || k > 0;
            block.is_last = k + block.depth == p->depth;
            kernels->matmul_pack(panels, b + column * p->b_stride + k, p->b_stride, true,
                                 block.depth, block.columns);
            kernels->matmul(&block);
            k += block.depth;
        } while (k < p->depth);
        if (column + COLUMNS_PER_BLOCK < all.columns)
            att_progress_poll();
    }
}

static void run_job(const plan *cut, size_t job, float *room)
{
    const att_matmul_call *p = cut->call;
    size_t column_block = job % cut->column_blocks, rest = job / cut->column_blocks;
    size_t row_block = rest % cut->row_blocks, item = rest / cut->row_blocks;
    size_t row = p->rows * row_block / cut->row_blocks;
    size_t column = column_block * cut->columns_in_block;
    const float *a = p->a + item * p->a_batch_stride + row * p->a_row_stride;
    const float *b = cut->b + item * cut->b_batch_stride;
    att_matmul_block block = {
        .rows = p->rows * (row_block + 1) / cut->row_blocks - row,
        .columns = att_min_size(cut->columns_in_block, p->columns - column),
        .a_row_stride = p->a_row_stride,
        .a_column_stride = p->a_column_stride,
        .b_panel_stride = cut->b_panel_stride,
        .b_row_stride = cut->b_row_stride,
        .c = p->c + item * p->c_batch_stride + row * p->c_row_stride + column,
        .c_row_stride = p->c_row_stride,
        .bias = p->bias ? p->bias + column : NULL,
        .activation = p->activation,
    };
    if (cut->b_is_transposed && block.rows <= MAX_ROWS_TRANSPOSED && p->b_stride > 0)
        run_few_rows(p, block, a, b + column * p->b_stride);
    else if (cut->b_is_transposed)
        run_transposing(p, block, a, b + column * p->b_stride);
    else if (cut->copies_b)
        run_copying(p, block, a, b + column / ATT_PANEL_COLUMNS * cut->b_panel_stride,
                    &(block_copies){ .a = cut->copies_a ? room + COPIED_B : NULL,
                                     .b = room,
                                     .parts = cut->copies_a ? copied_parts(block.rows) : 1 });
    else if (cut->copies_a)
        run_copying_a(p, block, a, b + column / ATT_PANEL_COLUMNS * cut->b_panel_stride);
    else
        run_depth(p, block, a, b + column / ATT_PANEL_COLUMNS * cut->b_panel_stride);
}

/* Workers take jobs from a counter; each has its own room. */
static void run_jobs(void *context, int64_t worker, int64_t end)
{
    (void)end;
    plan *cut = context;
    float *room = cut->room ? cut->room + (size_t)worker * cut->room_size : NULL;
    size_t turn;
    while ((turn = atomic_fetch_add(&cut->next_job, 1)) < cut->jobs && !att_progress_abandoned()) {
        size_t job =
            (size_t)att_spread_unit((int64_t)turn, (int64_t)cut->jobs, (int64_t)cut->workers);
        run_job(cut, job, room);
        if (turn + 1 < cut->jobs)
            att_progress_poll();
    }
}

/* Splits C into jobs; returns the number of threads that work. */
static size_t split(plan *cut)
{
    const att_matmul_call *p = cut->call;
    cut->row_blocks = att_ceil_div(p->rows, ROWS_IN_BLOCK);
    cut->columns_in_block = att_ceil_div(p->columns, ATT_PANEL_COLUMNS) * ATT_PANEL_COLUMNS;
    cut->column_blocks = 1;
    /* Loading B takes as long as the multiply-adds of three rows. */
    double rows = (double)p->rows + 3;
    double work = (double)p->batch * rows * (double)p->columns * (double)p->depth;
    size_t threads = (size_t)att_threads_get(), jobs = p->batch * cut->row_blocks;
    bool alone = work < SMALL_WORK || threads == 1;
    if (!alone && jobs < threads * JOBS_PER_THREAD) {
        size_t wanted = att_ceil_div(threads * JOBS_PER_THREAD, jobs);
        size_t panels = att_ceil_div(att_ceil_div(p->columns, wanted), ATT_PANEL_COLUMNS);
        cut->columns_in_block = att_ceil_div(panels, 4) * 4 * ATT_PANEL_COLUMNS;
        cut->column_blocks = att_ceil_div(p->columns, cut->columns_in_block);
    }
    if (cut->columns_in_block > MAX_COLUMNS_IN_BLOCK) {
        cut->columns_in_block = MAX_COLUMNS_IN_BLOCK;
        cut->column_blocks = att_ceil_div(p->columns, cut->columns_in_block);
    }
    cut->jobs = jobs * cut->column_blocks;
    return alone ? 1 : att_min_size(threads, cut->jobs);
}

/* Decides what is copied, by the shape alone. */
static void choose_copies(plan *cut)
{
    const att_matmul_call *p = cut->call;
    size_t rows = att_ceil_div(p->rows, cut->row_blocks);
    if (cut->b_is_transposed || rows < MIN_COPIED || p->columns < MIN_COPIED)
        return;
    cut->copies_a = p->a_row_stride == 1 && p->a_column_stride > ROWS_IN_COPY;
    cut->copies_b = cut->b_row_stride >= MIN_STRIDE_COPIED_B && rows >= MIN_ROWS_COPIED_B;
    if (cut->copies_b)
        cut->room_size = COPIED_B + (cut->copies_a ? copied_parts(rows) * COPIED_PART : 0) +
                         ATT_WORKER_GAP / sizeof(float);
}

static att_status run_plan(plan *cut, att_error *err)
{
    cut->workers = split(cut);
    choose_copies(cut);
    if (cut->room_size > 0) {
        cut->room = att_alloc(cut->workers * cut->room_size, sizeof(float));
        if (!cut->room)
            return att_fail_memory(err);
    }
    att_parallel_for((int64_t)cut->workers, 1, run_jobs, cut);
    att_free(cut->room);
    return ATT_OK;
}

static att_status run_packing_first(const att_matmul_call *p, att_error *err)
{
    size_t size = att_matmul_packed_size(p->depth, p->columns),
           items = p->b_batch_stride ? p->batch : 1;
    if (size != 0 && items > SIZE_MAX / sizeof(float) / size)
        return att_fail_memory(err);
    float *panels = att_alloc(items * size, sizeof(float));
    if (!panels)
        return att_fail_memory(err);
    pack_job all = { .panels = panels,
                     .b = p->b,
                     .stride = p->b_stride,
                     .batch_stride = p->b_batch_stride,
                     .depth = p->depth,
                     .columns = p->columns,
                     .transposed = p->b_transposed };
    pack_all(all, items);
    att_status status = run_plan(&(plan){ .call = p,
                                          .b = panels,
                                          .b_panel_stride = ATT_PANEL_COLUMNS * p->depth,
                                          .b_row_stride = ATT_PANEL_COLUMNS,
                                          .b_batch_stride = p->b_batch_stride ? size : 0 },
                                 err);
    att_free(panels);
    return status;
}

/* Uses B in place, except for the last columns, which do not fill a panel. */
static att_status run_unpacked(const att_matmul_call *p, att_error *err)
{
    att_matmul_call whole = *p, rest = *p;
    whole.columns = p->columns / ATT_PANEL_COLUMNS * ATT_PANEL_COLUMNS;
    rest.columns = p->columns - whole.columns;
    rest.b += whole.columns;
    rest.c += whole.columns;
    rest.bias = p->bias ? p->bias + whole.columns : NULL;
    if (rest.columns > 0)
        ATT_TRY(run_packing_first(&rest, err));
    if (whole.columns == 0)
        return ATT_OK;
    return run_plan(&(plan){ .call = &whole,
                             .b = p->b,
                             .b_panel_stride = ATT_PANEL_COLUMNS,
                             .b_row_stride = p->b_stride,
                             .b_batch_stride = p->b_batch_stride },
                    err);
}

att_status att_matmul_run(const att_matmul_call *p, att_error *err)
{
    if (p->batch == 0 || p->rows == 0 || p->columns == 0)
        return ATT_OK;
    if (p->panels)
        return run_plan(&(plan){ .call = p,
                                 .b = p->panels,
                                 .b_panel_stride = ATT_PANEL_COLUMNS * p->depth,
                                 .b_row_stride = ATT_PANEL_COLUMNS },
                        err);
    if (p->b_transposed && p->rows <= ROWS_IN_BLOCK)
        return run_plan(&(plan){ .call = p,
                                 .b = p->b,
                                 .b_row_stride = ATT_PANEL_COLUMNS,
                                 .b_batch_stride = p->b_batch_stride,
                                 .b_is_transposed = true },
                        err);
    if (p->b_transposed ||
        (p->rows > MAX_ROWS_UNPACKED && p->depth * p->columns <= MAX_PACKED_FIRST))
        return run_packing_first(p, err);
    return run_unpacked(p, err);
}
