/* The matrix product over vectors; see kern.h and ref/product.c.
 *
 * A tile of R rows by P panels of C stays in registers while the depth goes by: each step loads P
 * vectors of B and broadcasts R numbers of A. Every (R, P) whose sums fit the registers is
 * compiled; few rows get many panels, so that enough sums are under way to hide the multiply-add's
 * latency. */
#include "kern/vec/math.h"
#include "kern/vec/pack.h"

/* ---------------------------------------------------------------- finishing */

#define FINISH(name, op)                                                                           \
    static void finish_##name(float *c, size_t c_row, const float *bias, size_t rows,              \
                              size_t columns)                                                      \
    {                                                                                              \
        for (size_t i = 0; i < rows; i++)                                                          \
            for (size_t j = 0; j < columns; j += LANES) {                                          \
                float *at = c + i * c_row + j;                                                     \
                vec x = v_load_upto(at, columns - j);                                              \
                if (bias)                                                                          \
                    x = v_add(x, v_load_upto(bias + j, columns - j));                              \
                v_store_upto(at, op(x), columns - j);                                              \
            }                                                                                      \
    }

#define SAME(x) (x)
FINISH(none, SAME)
FINISH(relu, v_relu)
FINISH(gelu, v_gelu)
FINISH(silu, v_silu)
FINISH(tanh, v_tanh)
FINISH(sigmoid, v_sigmoid)

static void finish_tile(const att_product_block *block, float *c, size_t rows, size_t column,
                        size_t columns)
{
    static void (*const functions[ATT_ACTIVATIONS])(float *, size_t, const float *, size_t,
                                                    size_t) = {
        [ATT_ACTIVATION_NONE] = finish_none, [ATT_ACTIVATION_RELU] = finish_relu,
        [ATT_ACTIVATION_GELU] = finish_gelu, [ATT_ACTIVATION_SILU] = finish_silu,
        [ATT_ACTIVATION_TANH] = finish_tanh, [ATT_ACTIVATION_SIGMOID] = finish_sigmoid,
    };
    const float *bias = block->bias ? block->bias + column : NULL;
    if (block->last && (bias || block->activation != ATT_ACTIVATION_NONE))
        functions[block->activation](c, block->c_row, bias, rows, columns);
}

/* ---------------------------------------------------------------- tiles */

/* One tile: `columns` of C are stored, at most those of its panels. */
typedef struct tile {
    const float *a, *b;
    float *c;
    size_t a_row, a_step, b_panel, b_step, c_row;
    size_t depth, columns;
    bool add;
} tile;

INLINE void tile_store(const tile *t, vec sum, size_t i, size_t column)
{
    if (column >= t->columns)
        return;
    float *c = t->c + i * t->c_row + column;
    size_t left = t->columns - column;
    v_store_upto(c, t->add ? v_add(v_load_upto(c, left), sum) : sum, left);
}

INLINE void tile_multiply(const tile *t, const size_t rows, const size_t panels)
{
    vec sum[TILE_SUMS];
#pragma GCC unroll 32
    for (size_t s = 0; s < rows * panels; s++)
        sum[s] = v_set(0.0f);
    const float *a = t->a, *b = t->b;
    for (size_t k = 0; k < t->depth; k++, a += t->a_step, b += t->b_step) {
        vec row_of_b[8];
#pragma GCC unroll 8
        for (size_t p = 0; p < panels; p++)
            row_of_b[p] = v_load(b + p * t->b_panel);
#pragma GCC unroll 16
        for (size_t i = 0; i < rows; i++) {
            vec x = v_set(a[i * t->a_row]);
#pragma GCC unroll 8
            for (size_t p = 0; p < panels; p++)
                sum[i * panels + p] = v_fma(x, row_of_b[p], sum[i * panels + p]);
        }
    }
#pragma GCC unroll 16
    for (size_t i = 0; i < rows; i++)
#pragma GCC unroll 8
        for (size_t p = 0; p < panels; p++)
            tile_store(t, sum[i * panels + p], i, p * LANES);
}

#define FITS(rows, panels) ((rows) <= TILE_ROWS && (rows) * (panels) <= TILE_SUMS)

#define TILE(rows, panels)                                                                         \
    static void tile_##rows##_##panels(const tile *t)                                              \
    {                                                                                              \
        if (FITS(rows, panels))                                                                    \
            tile_multiply(t, rows, panels);                                                        \
    }

/* All tiles by rows; each row of the table has them by the binary logarithm of the panels. */
#define FOR_ALL_ROWS(DO)                                                                           \
    DO(1)                                                                                          \
    DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11) DO(12) DO(13) DO(14)

#define TILES_OF(rows) TILE(rows, 1) TILE(rows, 2) TILE(rows, 4) TILE(rows, 8)
FOR_ALL_ROWS(TILES_OF)

typedef void tile_function(const tile *t);
static tile_function *const tiles[][4] = {
#define TILE_ENTRY(rows, panels) FITS(rows, panels) ? tile_##rows##_##panels : NULL
#define TILE_ROW(rows)                                                                             \
    [rows] = { TILE_ENTRY(rows, 1), TILE_ENTRY(rows, 2), TILE_ENTRY(rows, 4), TILE_ENTRY(rows, 8) },
    FOR_ALL_ROWS(TILE_ROW)
};

/* ---------------------------------------------------------------- a block */

/* The most panels for tiles of so many rows, as a binary logarithm, out of those left. */
static size_t width_for(size_t rows, size_t panels_left)
{
    size_t width = 3;
    while (width > 0 && (rows << width > TILE_SUMS || (size_t)1 << width > panels_left))
        width--;
    return width;
}

/* Copies A so that each tile's rows lie side by side: one stream instead of many, which would
 * compete for the same places in the cache where the rows are a power of two apart. */
static void pack_rows(const att_product_block *block, size_t count)
{
    for (size_t n = 0; n < count; n++) {
        size_t first = block->rows * n / count, rows = block->rows * (n + 1) / count - first;
        float *out = block->packed_a + first * block->depth;
        const float *a = block->a + first * block->a_row;
        if (block->a_step == 1)
            interleave(out, rows, a, block->a_row, rows, block->depth);
        else
            gather_columns(out, rows, a, block->a_step, rows, block->depth);
    }
}

/* Rows are divided evenly among as few tiles as hold them. The panels of B are the outer loop, so
 * that they stay in the nearest cache while the tiles go by. */
void KERNEL(product)(const att_product_block *block)
{
    size_t count = (block->rows + TILE_ROWS - 1) / TILE_ROWS;
    size_t panels = (block->columns + LANES - 1) / LANES;
    if (count == 0)
        return;
    if (block->packed_a)
        pack_rows(block, count);
    tile t = { .depth = block->depth,
               .add = block->add,
               .c_row = block->c_row,
               .b_panel = block->b_panel,
               .b_step = block->b_step };
    for (size_t p = 0, width; p < panels; p += (size_t)1 << width) {
        width = width_for((block->rows + count - 1) / count, panels - p);
        size_t column = p * LANES, past = column + ((size_t)LANES << width);
        t.columns = (past < block->columns ? past : block->columns) - column;
        t.b = block->b + p * block->b_panel;
        for (size_t n = 0; n < count; n++) {
            size_t first = block->rows * n / count, rows = block->rows * (n + 1) / count - first;
            t.a = block->packed_a ? block->packed_a + first * block->depth
                                  : block->a + first * block->a_row;
            t.a_row = block->packed_a ? 1 : block->a_row;
            t.a_step = block->packed_a ? rows : block->a_step;
            t.c = block->c + first * block->c_row + column;
            tiles[rows][width](&t);
            finish_tile(block, t.c, rows, column, t.columns);
        }
    }
}

/* ---------------------------------------------------------------- packing */

void KERNEL(pack)(float *panels, const float *b, size_t stride, bool transposed, size_t depth,
                  size_t columns)
{
    for (size_t j = 0; j < columns; j += LANES) {
        size_t count = columns - j < LANES ? columns - j : LANES;
        if (transposed)
            interleave(panels + j * depth, LANES, b + j * stride, stride, count, depth);
        else
            gather_columns(panels + j * depth, LANES, b + j, stride, count, depth);
    }
}
