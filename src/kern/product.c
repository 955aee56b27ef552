/* The matrix product around its kernels; see product.h. The work is cut into jobs, each a block of
 * rows by a range of columns of one item's C, over the whole depth: threads share outputs only. */
#include "kern/product.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/parallel.h"

enum {
    COLUMNS_AT_ONCE = 2 * ATT_PANEL, /* of a transposed B: with a depth of 256, 32 kB */
    ROWS_IN_BLOCK = 168, /* with a depth of 256, A's part takes 172 kB of the second cache */
    ROWS_TURNED = 3,     /* up to so many, a transposed B is turned in registers on its way */
    ROWS_UNPACKED = 256, /* up to so many rows, B is used as it is where its layout allows */
    JOBS_PER_THREAD = 4,
    SMALL_WORK = 1 << 18, /* multiply-adds that are done before a second thread has woken up */
};

size_t att_product_packed_size(size_t depth, size_t columns)
{
    return (columns + ATT_PANEL - 1) / ATT_PANEL * ATT_PANEL * depth;
}

static size_t divide_up(size_t count, size_t by)
{
    return (count + by - 1) / by;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---------------------------------------------------------------- packing B */

/* One B, or one item's. */
typedef struct packing {
    float *panels;
    const float *b;
    size_t stride, item, depth, columns, column_groups;
    bool transposed;
} packing;

enum { COLUMNS_IN_GROUP = 4 * ATT_PANEL };

static void pack_groups(void *context, int64_t begin, int64_t end)
{
    const packing *p = context;
    const att_kernels *kernels = att_kernels_get();
    for (size_t n = (size_t)begin; n < (size_t)end; n++) {
        size_t item = n / p->column_groups, column = n % p->column_groups * COLUMNS_IN_GROUP;
        float *out = p->panels + item * att_product_packed_size(p->depth, p->columns);
        const float *b = p->b + item * p->item + column * (p->transposed ? p->stride : 1);
        kernels->pack(out + column * p->depth, b, p->stride, p->transposed, p->depth,
                      least(COLUMNS_IN_GROUP, p->columns - column));
    }
}

static void pack_all(packing p, size_t items)
{
    p.column_groups = divide_up(p.columns, COLUMNS_IN_GROUP);
    size_t count = items * p.column_groups, each = COLUMNS_IN_GROUP * p.depth;
    bool alone = count * each < SMALL_WORK / 4;
    att_parallel_for((int64_t)count, alone ? (int64_t)count : 1, pack_groups, &p);
}

void att_product_pack(float *panels, const float *b, size_t b_stride, bool b_transposed,
                      size_t depth, size_t columns)
{
    packing p = { .panels = panels,
                  .b = b,
                  .stride = b_stride,
                  .depth = depth,
                  .columns = columns,
                  .transposed = b_transposed };
    pack_all(p, 1);
}

/* ---------------------------------------------------------------- jobs */

/* How C is cut up, and where B is: in panels, or as it came. `turns`: it came transposed, and each
 * job turns it as it goes: in registers, or a few panels of one block of the depth at a time. */
typedef struct plan {
    const att_product_call *product;
    const float *b;
    size_t b_panel, b_step, b_item;
    bool turns;
    size_t row_blocks, column_blocks, columns_in_block;
} plan;

/* The whole depth of a block whose B is in panels from the first row on. */
static void run_depth(const att_product_call *p, att_product_block block, const float *a,
                      const float *b)
{
    size_t k = 0;
    do {
        block.depth = least(ATT_DEPTH_BLOCK, p->depth - k);
        block.a = a + k * p->a_step;
        block.b = b + k * block.b_step;
        block.add = p->add || k > 0;
        block.last = k + block.depth == p->depth;
        att_kernels_get()->product(&block);
        k += block.depth;
    } while (k < p->depth);
}

/* The same for a transposed B and few rows. */
static void run_few_rows(const att_product_call *p, att_product_block block, const float *a,
                         const float *b)
{
    block.b_column = p->b_stride;
    block.b_step = 1;
    run_depth(p, block, a, b);
}

/* And for more of them: what is packed is used up while it is in the nearest caches. */
static void run_turning(const att_product_call *p, att_product_block all, const float *a,
                        const float *b)
{
    _Alignas(64) float panels[ATT_DEPTH_BLOCK * COLUMNS_AT_ONCE];
    const att_kernels *kernels = att_kernels_get();
    for (size_t column = 0; column < all.columns; column += COLUMNS_AT_ONCE) {
        att_product_block block = all;
        block.columns = least(COLUMNS_AT_ONCE, all.columns - column);
        block.c += column;
        block.bias = all.bias ? all.bias + column : NULL;
        block.b = panels;
        size_t k = 0;
        do {
            block.depth = least(ATT_DEPTH_BLOCK, p->depth - k);
            block.b_panel = ATT_PANEL * block.depth;
            block.a = a + k * p->a_step;
            block.add = p->add || k > 0;
            block.last = k + block.depth == p->depth;
            kernels->pack(panels, b + column * p->b_stride + k, p->b_stride, true, block.depth,
                          block.columns);
            kernels->product(&block);
            k += block.depth;
        } while (k < p->depth);
    }
}

static void run_job(const plan *cut, size_t job)
{
    const att_product_call *p = cut->product;
    size_t column_block = job % cut->column_blocks, rest = job / cut->column_blocks;
    size_t row_block = rest % cut->row_blocks, item = rest / cut->row_blocks;
    size_t row = p->rows * row_block / cut->row_blocks;
    size_t column = column_block * cut->columns_in_block;
    const float *a = p->a + item * p->a_item + row * p->a_row;
    const float *b = cut->b + item * cut->b_item;
    att_product_block block = {
        .rows = p->rows * (row_block + 1) / cut->row_blocks - row,
        .columns = least(cut->columns_in_block, p->columns - column),
        .a_row = p->a_row,
        .a_step = p->a_step,
        .b_panel = cut->b_panel,
        .b_step = cut->b_step,
        .c = p->c + item * p->c_item + row * p->c_row + column,
        .c_row = p->c_row,
        .bias = p->bias ? p->bias + column : NULL,
        .activation = p->activation,
    };
    if (cut->turns && block.rows <= ROWS_TURNED && p->b_stride > 0)
        run_few_rows(p, block, a, b + column * p->b_stride);
    else if (cut->turns)
        run_turning(p, block, a, b + column * p->b_stride);
    else
        run_depth(p, block, a, b + column / ATT_PANEL * cut->b_panel);
}

static void run_jobs(void *context, int64_t begin, int64_t end)
{
    for (int64_t job = begin; job < end; job++)
        run_job(context, (size_t)job);
}

static void run_plan(plan cut)
{
    const att_product_call *p = cut.product;
    cut.row_blocks = divide_up(p->rows, ROWS_IN_BLOCK);
    cut.columns_in_block = divide_up(p->columns, ATT_PANEL) * ATT_PANEL;
    cut.column_blocks = 1;
    /* Reading B takes as long as three rows' multiply-adds. */
    double rows = (double)p->rows + 3;
    double work = (double)p->batch * rows * (double)p->columns * (double)p->depth;
    size_t threads = (size_t)att_threads_get(), jobs = p->batch * cut.row_blocks;
    bool alone = work < SMALL_WORK || threads == 1;
    if (!alone && jobs < threads * JOBS_PER_THREAD) {
        size_t wanted = divide_up(threads * JOBS_PER_THREAD, jobs);
        size_t panels = divide_up(divide_up(p->columns, wanted), ATT_PANEL);
        cut.columns_in_block = divide_up(panels, 4) * 4 * ATT_PANEL;
        cut.column_blocks = divide_up(p->columns, cut.columns_in_block);
    }
    jobs *= cut.column_blocks;
    att_parallel_for((int64_t)jobs, alone ? (int64_t)jobs : 1, run_jobs, &cut);
}

static att_status run_packing_first(const att_product_call *p, att_error *err)
{
    size_t size = att_product_packed_size(p->depth, p->columns), items = p->b_item ? p->batch : 1;
    if (size != 0 && items > SIZE_MAX / sizeof(float) / size)
        return att_fail_memory(err);
    float *panels = att_alloc(items * size, sizeof(float));
    if (!panels)
        return att_fail_memory(err);
    packing all = { .panels = panels,
                    .b = p->b,
                    .stride = p->b_stride,
                    .item = p->b_item,
                    .depth = p->depth,
                    .columns = p->columns,
                    .transposed = p->b_transposed };
    pack_all(all, items);
    run_plan((plan){ .product = p,
                     .b = panels,
                     .b_panel = ATT_PANEL * p->depth,
                     .b_step = ATT_PANEL,
                     .b_item = p->b_item ? size : 0 });
    att_free(panels);
    return ATT_OK;
}

/* Uses B where it lies, but for columns at its end that do not fill a panel. */
static att_status run_unpacked(const att_product_call *p, att_error *err)
{
    att_product_call whole = *p, rest = *p;
    whole.columns = p->columns / ATT_PANEL * ATT_PANEL;
    rest.columns = p->columns - whole.columns;
    rest.b += whole.columns;
    rest.c += whole.columns;
    rest.bias = p->bias ? p->bias + whole.columns : NULL;
    if (rest.columns > 0)
        ATT_TRY(run_packing_first(&rest, err));
    if (whole.columns > 0)
        run_plan((plan){ .product = &whole,
                         .b = p->b,
                         .b_panel = ATT_PANEL,
                         .b_step = p->b_stride,
                         .b_item = p->b_item });
    return ATT_OK;
}

att_status att_product_run(const att_product_call *p, att_error *err)
{
    if (p->batch == 0 || p->rows == 0 || p->columns == 0)
        return ATT_OK;
    if (p->panels) {
        run_plan((plan){
            .product = p, .b = p->panels, .b_panel = ATT_PANEL * p->depth, .b_step = ATT_PANEL });
        return ATT_OK;
    }
    if (p->b_transposed && p->rows <= ROWS_IN_BLOCK) {
        run_plan((plan){
            .product = p, .b = p->b, .b_step = ATT_PANEL, .b_item = p->b_item, .turns = true });
        return ATT_OK;
    }
    if (p->b_transposed || p->rows > ROWS_UNPACKED)
        return run_packing_first(p, err);
    return run_unpacked(p, err);
}
